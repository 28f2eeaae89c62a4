"""A collector of traces that is none of ours: what comes is read by protobuf's own JSON rules into the messages that
OpenTelemetry publishes (PyPI opentelemetry-proto), unknown fields refused.

It prints `listening PORT`, for each request `taken COUNT` or `refused STATUS`, and answers `GET /spans` with what it has.
The first request is answered 503 with the argument `--once-unavailable`, with `--once-stalled` by no more than the head of an
answer, after which the sender must come again.
"""

import base64
import http.server
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

SPANS = []
REFUSALS = [503] if "--once-unavailable" in sys.argv else []
STALLS = [100] if "--once-stalled" in sys.argv else []


def hexadecimal(data):
    """Ids stand in hexadecimal, which JSON's reader takes for base64: the digits are what was meant."""
    return base64.b64encode(data).decode()


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in value.array_value.values]
    return getattr(value, kind)


def attributes_of(attributes):
    return {attribute.key: value_of(attribute.value) for attribute in attributes}


def check_id(text, digits):
    if len(text) != digits or not set(text) <= set("0123456789abcdef") or not text.strip("0"):
        raise ValueError(f"{text} is no id of {digits} digits")
    return text


def spans_of(request):
    for resource in request.resource_spans:
        service = attributes_of(resource.resource.attributes)
        if not service.get("service.name"):
            raise ValueError("the resource has no service.name")
        for scope in resource.scope_spans:
            for span in scope.spans:
                if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
                    raise ValueError("a span ends before it begins")
                yield {
                    "service": service["service.name"],
                    "scope": scope.scope.name,
                    "trace": check_id(hexadecimal(span.trace_id), 32),
                    "span": check_id(hexadecimal(span.span_id), 16),
                    "parent": check_id(hexadecimal(span.parent_span_id), 16) if span.parent_span_id else "",
                    "state": span.trace_state,
                    "name": span.name,
                    "kind": span.kind,
                    "status": span.status.code,
                    "message": span.status.message,
                    "attributes": attributes_of(span.attributes),
                    "links": [
                        {
                            "trace": check_id(hexadecimal(link.trace_id), 32),
                            "span": check_id(hexadecimal(link.span_id), 16),
                            "state": link.trace_state,
                        }
                        for link in span.links
                    ],
                }


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(200, SPANS)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if REFUSALS:
            print("refused", REFUSALS[0], flush=True)
            return self.answer(REFUSALS.pop(), {}, [("Retry-After", "0")])
        if STALLS:
            self.send_response(200)
            self.send_header("Content-Length", str(STALLS.pop()))
            self.end_headers()
            return print("stalled", flush=True)
        try:
            if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/json":
                raise ValueError(f"{self.path} as {self.headers['Content-Type']}")
            request = json_format.Parse(body.decode(), trace_service_pb2.ExportTraceServiceRequest())
            spans = list(spans_of(request))
        except Exception as error:  # pylint: disable=broad-except
            print("broken", repr(error), flush=True)
            return self.answer(400, {"message": str(error)})
        SPANS.extend(spans)
        self.answer(200, {"partialSuccess": {"rejectedSpans": "1"}} if "--reject-one" in sys.argv else {})
        return print("taken", len(spans), flush=True)

    def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
        """Nothing: what counts is printed."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
