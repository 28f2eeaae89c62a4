"""A client on Python's h2 library for TransportTests, with the manners of Node's: one session, as many streams as SETTINGS
allows (100 before they are known), all requests at once.

Takes its task as JSON. Prints "sent" when every request is out, "goaway" when the server says which stream is the last,
and at the end a report as JSON.
"""

import json
import socket
import ssl
import sys

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes

GOAWAY = 7
HEAD_BYTES = 9


class Session:
    def __init__(self, task):
        self.task = task
        context = ssl.create_default_context(cafile=task["certificate"])
        context.set_alpn_protocols(["h2"])
        raw = socket.create_connection(("127.0.0.1", task["port"]))
        raw.settimeout(120)
        self.socket = context.wrap_socket(raw, server_hostname="127.0.0.1")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        if task["isShut"]:
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
        self.unread = b""
        self.limit = 100
        self.waiting = task["requests"]
        self.bodies = {}
        self.open = {}
        self.peak = 0
        self.is_sent = False
        self.report = {"limits": [], "statuses": {}, "names": 0, "resets": 0, "goaways": [], "closed": False}
        self.names = set()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.socket.sendall(data)

    # Requests

    def request(self):
        stream = self.h2.get_next_available_stream_id()
        body = self.task.get("body", "").encode()
        fields = [
            (":method", self.task["method"]),
            (":scheme", "https"),
            (":authority", f"127.0.0.1:{self.task['port']}"),
            (":path", self.task["path"]),
        ] + list(self.task.get("fields", {}).items())
        self.h2.send_headers(stream, fields, end_stream=not body)
        if body:
            self.bodies[stream] = body
        self.open[stream] = [None, b""]
        self.peak = max(self.peak, len(self.open))
        return stream

    def send(self):
        while self.waiting and len(self.open) < self.limit and not self.report["goaways"]:
            self.waiting -= 1
            self.request()
        for stream, body in list(self.bodies.items()):
            if self.h2.local_flow_control_window(stream) < len(body):
                break
            self.h2.send_data(stream, body, end_stream=not self.task["isStalled"])
            del self.bodies[stream]
        self.flush()
        if not self.is_sent and not self.waiting and not self.bodies:
            self.is_sent = True
            print("sent", flush=True)

    def reset_all(self):
        """Each request is taken back at once."""
        while self.waiting and not self.report["goaways"]:
            self.waiting -= 1
            stream = self.request()
            self.bodies.pop(stream, None)
            self.h2.reset_stream(stream, ErrorCodes.CANCEL)
            del self.open[stream]
            try:
                self.flush()
            except OSError:
                return

    # Answers

    def frames(self):
        """What came, frame by frame: h2 takes no more frames after a GOAWAY, so these stay here."""
        while len(self.unread) >= HEAD_BYTES:
            end = HEAD_BYTES + int.from_bytes(self.unread[:3], "big")
            if len(self.unread) < end:
                return
            frame, self.unread = self.unread[:end], self.unread[end:]
            if frame[3] == GOAWAY:
                last = int.from_bytes(frame[9:13], "big") & 0x7FFFFFFF
                self.report["goaways"].append({"last": last, "error": int.from_bytes(frame[13:17], "big")})
                if last < 2**31 - 1:
                    print("goaway", flush=True)
            else:
                yield frame

    def receive(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionError, ssl.SSLError):
            data = b""
        if not data:
            self.report["closed"] = True
            return False
        self.unread += data
        for frame in self.frames():
            for event in self.h2.receive_data(frame):
                self.handle(event)
        return True

    def handle(self, event):
        if isinstance(event, RemoteSettingsChanged):
            changed = event.changed_settings.get(SettingCodes.MAX_CONCURRENT_STREAMS)
            if changed:
                self.limit = changed.new_value
                self.report["limits"].append(changed.new_value)
        elif isinstance(event, ResponseReceived):
            self.open[event.stream_id][0] = dict(event.headers)[":status"]
        elif isinstance(event, DataReceived):
            self.open[event.stream_id][1] += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            status, body = self.open.pop(event.stream_id)
            self.report["statuses"][status] = self.report["statuses"].get(status, 0) + 1
            name = json.loads(body).get("name")
            if name:
                self.names.add(name)
        elif isinstance(event, StreamReset):
            self.open.pop(event.stream_id, None)
            self.report["resets"] += 1

    def run(self):
        if self.task["resets"]:
            self.flush()
            self.reset_all()
            while self.receive() and not self.report["goaways"]:
                pass
        else:
            self.send()
            while (self.open or self.waiting) and self.receive():
                self.send()
            # After a GOAWAY the end is the server's.
            while self.report["goaways"] and self.receive():
                self.flush()
        self.report["names"] = len(self.names)
        self.report["peak"] = self.peak
        self.report["unanswered"] = len(self.open) + self.waiting
        print(json.dumps(self.report), flush=True)


Session(json.loads(sys.argv[1])).run()
