"""A desktop as Chromium finds it on Linux: a session bus on which the service of notifications is the only one. What it is
asked to show can be clicked, which to the browser is a click like any other.

Of D-Bus there is what Chromium uses of it (https://dbus.freedesktop.org/doc/dbus-specification.html): messages in little
endian, names that are asked for, one service.
"""

import pathlib
import socket
import struct
import threading

BUS = "org.freedesktop.DBus"
SERVICE = "org.freedesktop.Notifications"
# The name of the connection that has the service.
OWNER = ":1.0"
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
# Header fields.
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = range(1, 9)


class Desktop:
    """A bus at a socket of `directory`."""

    def __init__(self, directory):
        path = pathlib.Path(directory, "bus")
        self.address = f"unix:path={path}"
        # Of each notification its title, and the connection that it came from.
        self._shown = []
        self._serial = 0
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def titles(self):
        """The titles of what was shown so far."""
        return [title for title, _ in self._shown]

    def click(self, title):
        """Clicks the last notification with a title."""
        number = max(number for number, shown in enumerate(self.titles(), 1) if shown == title)
        fields = {PATH: "/org/freedesktop/Notifications", INTERFACE: SERVICE, MEMBER: "ActionInvoked", SENDER: OWNER}
        self._send(self._shown[number - 1][1], SIGNAL, fields, "us", number, "default")

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                # The end.
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                if greet(connection, stream):
                    while (message := Message.read(stream)) is not None:
                        if message.kind == CALL:
                            self._answer(connection, message)
        except OSError:
            # The browser is gone.
            pass

    def _answer(self, connection, call):
        is_bus = call.fields.get(DESTINATION) == BUS
        member, name = call.fields.get(MEMBER), call.first_text() if is_bus else None
        answers = {
            "Hello": ("s", ":1.1"), "AddMatch": ("",), "RemoveMatch": ("",), "RequestName": ("u", 1),
            "NameHasOwner": ("b", int(name == SERVICE)), "ListActivatableNames": ("as", [SERVICE]),
        }
        if name == SERVICE:
            answers |= {"GetNameOwner": ("s", OWNER), "StartServiceByName": ("u", 2)}
        if call.fields.get(DESTINATION) == SERVICE:
            answers = {
                "GetCapabilities": ("as", ["actions", "body"]), "CloseNotification": ("",),
                "GetServerInformation": ("ssss", "desktop", "test", "1", "1.2"),
            }
            if member == "Notify":
                self._shown.append((call.title(), connection))
                answers["Notify"] = ("u", len(self._shown))
        fields = {REPLY_SERIAL: call.serial, SENDER: BUS if is_bus else OWNER}
        if member in answers:
            self._send(connection, RETURN, fields, *answers[member])
        else:
            self._send(connection, ERROR, fields | {ERROR_NAME: BUS + ".Error.ServiceUnknown"}, "s", "There is none.")

    def _send(self, connection, kind, fields, signature, *values):
        body = Writer()
        for value in values:
            body.put(value)
        header = Writer()
        for code, value in (fields | ({SIGNATURE: signature} if signature else {})).items():
            header.pad(8)
            kind_of_value = {PATH: "o", REPLY_SERIAL: "u", SIGNATURE: "g"}.get(code, "s")
            header.bytes += bytes([code, 1]) + kind_of_value.encode() + b"\0"
            if kind_of_value == "g":
                header.bytes += bytes([len(value)]) + value.encode() + b"\0"
            else:
                header.put(value)
        with self._lock:
            self._serial += 1
            lengths = struct.pack("<III", len(body.bytes), self._serial, len(header.bytes))
            # Twelve bytes and a length stand before the fields, which so begin at a multiple of eight.
            header.pad(8)
            connection.sendall(b"l" + bytes([kind, 0, 1]) + lengths + header.bytes + body.bytes)


def greet(connection, stream):
    """Lets everybody in; whether messages follow."""
    stream.read(1)
    for line in stream:
        if line.startswith(b"BEGIN"):
            return True
        answer = b"ERROR"
        if line.startswith(b"AUTH"):
            answer = b"OK 0123456789abcdef0123456789abcdef" if b"EXTERNAL" in line else b"REJECTED EXTERNAL"
        connection.sendall(answer + b"\r\n")
    return False


class Writer:
    """Values as the bus has them: each begins at a multiple of its size."""

    def __init__(self):
        self.bytes = b""

    def pad(self, size):
        self.bytes += bytes(-len(self.bytes) % size)

    def put(self, value):
        """A number, a text, or a list of texts."""
        self.pad(4)
        if isinstance(value, int):
            self.bytes += struct.pack("<I", value)
        elif isinstance(value, str):
            text = value.encode()
            self.bytes += struct.pack("<I", len(text)) + text + b"\0"
        else:
            items = Writer()
            for item in value:
                items.put(item)
            self.bytes += struct.pack("<I", len(items.bytes)) + items.bytes


class Message:
    """What came."""

    def __init__(self, kind, serial, header, body):
        self.kind = kind
        self.serial = serial
        self.fields = {}
        self._body = body
        at = 0
        while at < len(header):
            at += -at % 8
            code, form = header[at], chr(header[at + 2])
            at += 4
            if form == "g":
                end = at + 1 + header[at]
                value, at = header[at + 1:end].decode(), end + 1
            elif form == "u":
                value, at = read_number(header, at)
            else:
                value, at = read_text(header, at)
            self.fields[code] = value

    @staticmethod
    def read(stream):
        """The next message; None: there is no other."""
        start = stream.read(16)
        if len(start) < 16:
            return None
        length, serial, header = struct.unpack("<III", start[4:])
        fields = stream.read(header + -header % 8)[:header]
        return Message(start[1], serial, fields, stream.read(length))

    def first_text(self):
        """The first value, where it is a text."""
        return read_text(self._body, 0)[0] if self.fields.get(SIGNATURE, "").startswith("s") else None

    def title(self):
        """Of a notification: behind the program, a number and the icon."""
        _, at = read_text(self._body, 0)
        _, at = read_number(self._body, at)
        _, at = read_text(self._body, at)
        return read_text(self._body, at)[0]


def read_number(data, at):
    """A number of four bytes, and where it ends."""
    at += -at % 4
    return struct.unpack_from("<I", data, at)[0], at + 4


def read_text(data, at):
    """A text, and where it ends."""
    length, at = read_number(data, at)
    return data[at:at + length].decode(), at + length + 1
