"""An APNs of a kind on Python's h2 library, for InteroperabilityTests: another HTTP/2 than nghttp2 and NIO.

h2 checks what the client sends and raises when a rule is broken; what it does not check (fields that must never be
indexed, one body for each request) is checked here. Prints its port, serves, and on a line of input prints a report as
JSON. Behaviour is given as JSON, and everything by chance comes from its seed.
"""

import asyncio
import json
import random
import ssl
import sys

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame

NEVER_INDEXED = {":path", "authorization"}
# The first one of a connection is indexed, for its name; later ones never.
FIRST_INDEXED = {"apns-id", "apns-expiration", "apns-collapse-id"}
REFUSALS = [
    (400, {"reason": "BadDeviceToken"}),
    (410, {"reason": "Unregistered", "timestamp": 1700000000000}),
    (429, {"reason": "TooManyRequests"}),
    (503, {"reason": "ServiceUnavailable"}),
]


class Report:
    def __init__(self):
        self.connections = 0
        self.statuses = {}
        self.refused = 0
        self.reset = 0
        self.beyond = 0
        self.cancelled = 0
        self.goodbyes = 0
        self.violations = []

    def violation(self, text):
        self.violations.append(text)

    def line(self):
        return json.dumps(self.__dict__, sort_keys=True)


class Connection(asyncio.Protocol):
    def __init__(self, behaviour, report):
        self.behaviour = behaviour
        self.report = report
        report.connections += 1
        self.random = random.Random(behaviour["seed"] * 1000 + report.connections)
        self.h2 = H2Connection(
            H2Configuration(client_side=False, header_encoding="utf-8", validate_inbound_headers=True)
        )
        self.requests = 0
        self.named = set()
        self.open = {}
        self.ready = []
        self.last = None
        self.is_mad = False
        self.timer = None

    def chance(self, name):
        return self.random.random() < self.behaviour.get(name, 0)

    # Settings

    def settings(self):
        changed = {}
        for code, name in (
            (SettingCodes.MAX_CONCURRENT_STREAMS, "streams"),
            (SettingCodes.INITIAL_WINDOW_SIZE, "windows"),
            (SettingCodes.HEADER_TABLE_SIZE, "tables"),
            (SettingCodes.MAX_FRAME_SIZE, "frames"),
        ):
            if name in self.behaviour:
                changed[code] = self.random.choice(self.behaviour[name])
        return changed

    def connection_made(self, transport):
        self.transport = transport
        # The client sends no request before it has these, so they hold at once.
        self.h2.local_settings = Settings(client=False, initial_values=self.settings())
        self.h2.decoder.max_allowed_table_size = self.h2.local_settings.header_table_size
        self.h2.max_inbound_frame_size = self.h2.local_settings.max_frame_size
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        if not self.transport.is_closing():
            self.transport.write(self.h2.data_to_send())

    # What the client sends

    def data_received(self, data):
        try:
            self.take(data)
        except Exception as error:
            self.report.violation(f"the server failed: {error!r}")
            self.transport.abort()

    def take(self, data):
        try:
            events = self.h2.receive_data(data)
        except ProtocolError as error:
            if not self.is_mad:
                self.report.violation(f"{type(error).__name__}: {error}")
            self.flush()
            self.transport.close()
            return
        for event in events:
            self.handle(event)
        self.flush()
        if self.timer is None and self.ready:
            # Answers gather for a moment, and leave in another order than the requests came in.
            self.timer = asyncio.get_running_loop().call_later(0.001, self.answer_all)

    def handle(self, event):
        if isinstance(event, RequestReceived):
            self.check(event.headers)
            if self.last is None or event.stream_id <= self.last:
                self.open[event.stream_id] = [event.headers, b""]
            else:
                self.report.beyond += 1
        elif isinstance(event, DataReceived):
            if event.stream_id in self.open:
                self.open[event.stream_id][1] += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.requests += 1
            if event.stream_id in self.open:
                self.check_body(*self.open[event.stream_id])
                self.ready.append(event.stream_id)
            self.maybe_change()
        elif isinstance(event, StreamReset):
            self.open.pop(event.stream_id, None)
            self.report.cancelled += 1
        elif isinstance(event, ConnectionTerminated):
            if event.error_code == ErrorCodes.NO_ERROR:
                self.report.goodbyes += 1
            elif not self.is_mad:
                self.report.violation(f"GOAWAY {event.error_code}: {event.additional_data}")

    def check(self, headers):
        for pair in headers:
            is_later = pair[0] in FIRST_INDEXED and pair[0] in self.named
            if pair[0] in FIRST_INDEXED:
                self.named.add(pair[0])
            if isinstance(pair, NeverIndexedHeaderTuple) != (pair[0] in NEVER_INDEXED or is_later):
                self.report.violation(f"{pair[0]} goes as {type(pair).__name__}")
        fields = dict(headers)
        if fields.get(":method") != "POST" or fields.get(":scheme") != "https" or ":authority" not in fields:
            self.report.violation(f"pseudo fields: {list(fields)}")
        if not fields.get(":path", "").startswith("/3/device/"):
            self.report.violation("path")

    def check_body(self, headers, body):
        if json.loads(body)["id"] != dict(headers)["apns-id"]:
            self.report.violation("a request has the body of another")

    # What the server does

    def maybe_change(self):
        flap = self.behaviour.get("flapEvery")
        if flap and self.requests % flap == 0:
            self.h2.update_settings(self.settings())
            for stream in self.open:
                # A window that shrank below nothing: h2 itself would not open it again.
                self.h2.increment_flow_control_window(1000, stream)
        if self.chance("ping"):
            self.h2.ping(self.random.randbytes(8))
        farewell = self.behaviour.get("goAwayAfter")
        if farewell and self.requests == farewell:
            # h2 takes nothing more after a GOAWAY of its own, so this one goes past it.
            self.last = self.random.choice(sorted(self.open))
            frame = GoAwayFrame(0, last_stream_id=self.last, error_code=0, additional_data=b'{"reason":"Shutdown"}')
            self.flush()
            self.transport.write(frame.serialize())
            for stream in [stream for stream in self.open if stream > self.last]:
                self.open.pop(stream)
                self.report.beyond += 1
            self.ready = [stream for stream in self.ready if stream <= self.last]
        mad = self.behaviour.get("garbageAfter")
        if mad and self.requests == mad:
            self.is_mad = True
            self.flush()
            self.transport.write(self.garbage())

    def garbage(self):
        """A valid answer, damaged: each connection breaks in another way."""
        stream = self.random.choice(sorted(self.open))
        bytes = bytearray(
            b"\0\0\1\1\4" + stream.to_bytes(4, "big") + b"\x88" + b"\0\0\2\0\1" + stream.to_bytes(4, "big") + b"{}"
        )
        for _ in range(self.random.randrange(1, 4)):
            bytes[self.random.randrange(len(bytes))] = self.random.randrange(256)
        return self.random.randbytes(self.random.choice([0, 0, 30])) + bytes

    def answer_all(self):
        self.timer = None
        ready, self.ready = self.ready, []
        self.random.shuffle(ready)
        for stream in ready:
            if stream in self.open and not self.transport.is_closing():
                self.open.pop(stream)
                try:
                    self.answer(stream)
                except ProtocolError:
                    # The client has reset the stream, or a mad server has broken its own state.
                    self.report.cancelled += 1
        self.flush()
        if self.last is not None and not [stream for stream in self.open if stream <= self.last]:
            # The client ends a drained connection. Closing here could reset it before its bytes are read.
            asyncio.get_running_loop().call_later(10, self.transport.close)

    def answer(self, stream):
        if self.chance("refuse"):
            self.report.refused += 1
            return self.h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
        if self.chance("reset"):
            self.report.reset += 1
            return self.h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
        if self.chance("interim"):
            self.h2.send_headers(stream, [(":status", "103"), ("link", "</a>")])
        status, body = self.random.choice(REFUSALS) if self.chance("reject") else (200, None)
        self.report.statuses[str(status)] = self.report.statuses.get(str(status), 0) + 1
        fields = [(":status", str(status)), ("apns-unique-id", str(stream))]
        if body is None:
            return self.h2.send_headers(stream, fields, end_stream=True)
        self.h2.send_headers(stream, fields)
        has_trailers = self.chance("trailers")
        self.h2.send_data(stream, json.dumps(body).encode(), end_stream=not has_trailers, pad_length=7)
        if has_trailers:
            self.h2.send_headers(stream, [("x-trailer", "1")], end_stream=True)


async def main():
    certificate, key, text = sys.argv[1:4]
    behaviour = json.loads(text)
    report = Report()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(behaviour, report), "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print(report.line(), flush=True)


asyncio.run(main())
