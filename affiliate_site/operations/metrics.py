"""Metrics for Prometheus at `/metrics`; off without `METRICS_TOKEN`.

Each process of gunicorn counts requests in files of a shared directory
(`deploy/gunicorn.conf.py`). Other metrics are read from the database for each answer.
"""

import hmac
import os
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    values,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from accounts.services.accounts import get_reconciliation_state
from accounts.services.command_runs import get_command_runs
from accounts.services.deliveries import count_pending_deliveries, get_oldest_due_time
from affiliate_site import http_errors
from affiliate_site.operations.logs import get_route

PREFIX = "affiliate_site_"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)  # seconds

if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
    # Files are named by the number of the worker, not by its process id.
    values.ValueClass = values.MultiProcessValue(lambda: os.environ.get("METRICS_PROCESS", "main"))

REQUESTS = Counter(
    f"{PREFIX}requests",
    "Answered requests; the route is the URL pattern.",
    ["route", "method", "status"],
)
SECONDS = Histogram(
    f"{PREFIX}request_seconds", "Seconds until the answer.", ["route"], buckets=BUCKETS
)
STATEMENTS = Counter(f"{PREFIX}statements", "SQL statements of requests.", ["route"])
FALLBACKS = Counter(f"{PREFIX}rate_limit_fallbacks", "Counted by the database instead of Redis.")


class MetricsMiddleware:
    """Counts requests and answers `/metrics` to callers with the token."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if request.path_info == "/metrics":
            return render_metrics(request)
        started = time.perf_counter()
        response = self.get_response(request)
        route = get_route(request) or "unknown"
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(route, method, response.status_code).inc()
        SECONDS.labels(route).observe(time.perf_counter() - started)
        STATEMENTS.labels(route).inc(request.query_count)
        return response


def count_rate_limit_fallback() -> None:
    """Count a rate limit that the database counted because Redis failed."""
    FALLBACKS.inc()


def render_metrics(request) -> HttpResponse:
    """Return all metrics as text; without the right token the path is unknown."""
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    sent = request.headers.get("Authorization", "").encode()
    if request.method not in ("GET", "HEAD") or not hmac.compare_digest(sent, expected):
        return http_errors.not_found(request)
    registry = CollectorRegistry()
    registry.register(DatabaseCollector())
    text = generate_latest(registry) + generate_latest(get_request_registry())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def get_request_registry() -> CollectorRegistry:
    """Return the counts of all processes, or of this one without gunicorn."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


class DatabaseCollector(Collector):
    """Reads metrics from the database; `database_up` is 0 if it does not answer."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            families = list(self.read())
        except (DatabaseError, InterfaceError):
            families = []
        yield build_gauge("database_up", "Whether the database answers.", int(bool(families)))
        yield from families

    def read(self) -> Iterator[GaugeMetricFamily]:
        """Read the metrics of the database."""
        oldest = get_oldest_due_time()
        age = (timezone.now() - oldest).total_seconds() if oldest else 0
        yield build_gauge(
            "webhook_deliveries_waiting",
            "Deliveries to be sent now or later.",
            count_pending_deliveries(),
        )
        yield build_gauge(
            "webhook_oldest_due_seconds",
            "For how long the oldest delivery has been due.",
            max(age, 0),
        )
        ledger = get_reconciliation_state()
        yield build_gauge(
            "ledger_discrepancies",
            "Rows that the last check_ledger --note found wrong.",
            ledger.discrepancy_count,
        )
        yield build_gauge(
            "accounts_without_ledger_check",
            "Accounts that check_ledger --note has never checked.",
            ledger.unchecked_count,
        )
        runs = GaugeMetricFamily(
            f"{PREFIX}command_last_success_timestamp_seconds",
            "When a nightly command succeeded last, or a webhook worker was alive.",
            labels=["command"],
        )
        for command, at in get_command_runs().items():
            runs.add_metric([command], at.timestamp())
        yield runs


def build_gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """Return a gauge without labels."""
    return GaugeMetricFamily(PREFIX + name, text, value=value)
