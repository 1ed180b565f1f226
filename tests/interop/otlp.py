"""Parses lines of OTLP/JSON from standard input with the published protos: unknown fields and wrong types are errors.

Prints how many spans and points of metrics there were.
"""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

spans = points = 0
for body in map(json.loads, sys.stdin):
    for s in (s for r in body.get("resourceSpans", []) for c in r["scopeSpans"] for s in c["spans"]):
        for key, size in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
            if key in s:
                # OTLP's JSON has ids in hex, where the protos' own has base64.
                raw = bytes.fromhex(s[key])
                assert len(raw) == size, s
                s[key] = base64.b64encode(raw).decode()
    request = json_format.ParseDict(body, ExportTraceServiceRequest() if "resourceSpans" in body else ExportMetricsServiceRequest())
    assert type(request).FromString(request.SerializeToString()) == request
    if "resourceSpans" in body:
        spans += sum(len(c.spans) for r in request.resource_spans for c in r.scope_spans)
    else:
        points += sum(len(m.histogram.data_points) for r in request.resource_metrics for c in r.scope_metrics for m in c.metrics)
print(spans, points)
