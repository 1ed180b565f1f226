"""Parses OTLP/JSON from standard input with the published protos: unknown fields and wrong types are errors."""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

body = json.load(sys.stdin)
spans = [s for r in body["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
for s in spans:
    for key, size in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
        if key in s:
            # OTLP's JSON has ids in hex, where the protos' own has base64.
            raw = bytes.fromhex(s[key])
            assert len(raw) == size, s
            s[key] = base64.b64encode(raw).decode()
request = json_format.ParseDict(body, ExportTraceServiceRequest())
again = ExportTraceServiceRequest.FromString(request.SerializeToString())
assert again == request
print(sum(len(c.spans) for r in again.resource_spans for c in r.scope_spans), len(spans))
