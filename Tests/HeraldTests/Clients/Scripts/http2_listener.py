"""HTTP/2 over TLS for the push service of the tests, by the library h2: requests come whole, answers are short."""

import asyncio
import ssl

import h2.config
import h2.connection
import h2.events


class Fields:
    """Header fields of a request, all values of each."""

    def __init__(self, fields):
        self._fields = [(name.decode(), value.decode()) for name, value in fields]

    def all(self, name):
        return [value for other, value in self._fields if other == name]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default


class Listener(asyncio.Protocol):
    """One connection. `answer(path, fields, body)` is an async function that gives status and fields."""

    def __init__(self, answer):
        self._answer = answer
        self._connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._requests = {}
        self._tasks = set()
        self._transport = None

    @classmethod
    async def listen(cls, certificate, key, answer):
        """Listens on a free port of the loopback interface; the port."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        tls.set_alpn_protocols(["h2"])
        server = await asyncio.get_running_loop().create_server(lambda: cls(answer), "127.0.0.1", 0, ssl=tls)
        return server.sockets[0].getsockname()[1]

    def connection_made(self, transport):
        self._transport = transport
        self._connection.initiate_connection()
        self._flush()

    def data_received(self, data):
        for event in self._connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self._requests[event.stream_id] = (Fields(event.headers), bytearray())
            elif isinstance(event, h2.events.DataReceived):
                self._connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self._requests[event.stream_id][1].extend(event.data)
            elif isinstance(event, h2.events.StreamEnded):
                # A task that nobody holds may be collected.
                task = asyncio.ensure_future(self._reply(event.stream_id))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif isinstance(event, h2.events.StreamReset):
                self._requests.pop(event.stream_id, None)
        self._flush()

    async def _reply(self, stream):
        fields, body = self._requests.pop(stream)
        status, more = await self._answer(fields.get(":path"), fields, bytes(body))
        self._connection.send_headers(stream, [(":status", str(status)), *more.items()], end_stream=True)
        self._flush()

    def _flush(self):
        self._transport.write(self._connection.data_to_send())
