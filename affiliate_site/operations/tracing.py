"""Traces for OpenTelemetry; off without `OTEL_EXPORTER_OTLP_ENDPOINT`.

A request is a span with route, method and status, and each SQL statement a span with
its verb and table. Paths, queries, headers, bodies, values and texts of statements are
not sent. The exporter, the sampler and the resource follow the standard variables.
"""

import os
import re
from functools import cache

from django.db import connection
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    Link,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from affiliate_site.operations.logs import get_route, get_trace_parent

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
VERB = re.compile(r"\s*([A-Za-z]+)")
TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([a-z_]+)"?')


@cache
def get_tracer_provider(process_id: int) -> TracerProvider:
    """Return the provider of this process, whose thread does not survive a fork."""
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "affiliate-site"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class OpenTelemetryMiddleware:
    """Makes a span of each request.

    The span links to the caller's trace instead of continuing it, because anybody can
    send the header.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        tracer = get_tracer_provider(os.getpid()).get_tracer("affiliate_site")
        caller = TraceContextTextMapPropagator().extract(get_trace_parent(request))
        context = get_current_span(caller).get_span_context()
        with (
            tracer.start_as_current_span(
                "request",
                context=Context(),
                kind=SpanKind.SERVER,
                links=[Link(context)] if context.is_valid else [],
                record_exception=False,
            ) as span,
            connection.execute_wrapper(StatementTracer(tracer)),
        ):
            response = self.get_response(request)
            route = get_route(request) or "unknown"
            method = request.method if request.method in METHODS else "_OTHER"
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", response.status_code)
            span.set_attribute("affiliate_site.trace_id", request.trace_id)
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response


class StatementTracer:
    """Makes a span of each SQL statement of a request."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __call__(self, execute, sql, params, many, context):
        with self.tracer.start_as_current_span(
            describe_statement(sql),
            kind=SpanKind.CLIENT,
            attributes={"db.system.name": connection.vendor},
            record_exception=False,
        ):
            return execute(sql, params, many, context)


def describe_statement(sql: str) -> str:
    """Return verb and first table: `SELECT accounts_apikey`."""
    verb, table = VERB.match(sql), TABLE.search(sql)
    return " ".join(found[1] for found in (verb, table) if found) or "statement"
