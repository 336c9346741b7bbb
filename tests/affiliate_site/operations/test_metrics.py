"""`/metrics` for Prometheus."""

import json
import re
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from accounts.models.accounts import Account
from accounts.models.webhooks import Delivery
from accounts.services.accounts import record_reconciliation
from accounts.services.command_runs import record_command_run
from affiliate_site.operations import metrics
from affiliate_site.operations.metrics import MetricsMiddleware
from tests.command_line import ROOT
from tests.concurrency.server import make_key, run_server
from tests.factories.accounts import AccountFactory

TOKEN = "a-token-for-tests"
ENABLED = override_settings(METRICS_TOKEN=TOKEN)
RULES = [
    (ROOT / "deploy/alerts.yaml").read_text(),
    (ROOT / "deploy/grafana-dashboard.json").read_text(),
]


class Metrics:
    """Values by name and labels."""

    def __init__(self, text: str) -> None:
        self.values = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def get(self, name: str, **labels: str) -> float:
        return self.values[f"affiliate_site_{name}", tuple(sorted(labels.items()))]


def ask(rf, token=TOKEN, method="get"):
    """Return the answer of the middleware to a request for the metrics."""
    request = getattr(rf, method)("/metrics", headers={"Authorization": token})
    request.trace_id = "0" * 32
    return MetricsMiddleware(None)(request)


def read(rf) -> Metrics:
    response = ask(rf, f"Bearer {TOKEN}")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain; version=")
    return Metrics(response.content.decode())


def test_is_off_without_a_token(client, db):
    assert client.get("/metrics").status_code == 404


@ENABLED
def test_is_unknown_to_callers_without_the_token(rf):
    for token in (
        "",
        TOKEN,
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        "Bearer é",
    ):
        assert ask(rf, token).status_code == 404
    assert ask(rf, f"Bearer {TOKEN}", "post").status_code == 404


def test_is_neither_logged_nor_counted(client, settings, db, captured_log):
    """As the health checks: it comes every few seconds, and says nothing of clients."""
    settings.METRICS_TOKEN = TOKEN
    name = "affiliate_site.operations.metrics.MetricsMiddleware"
    settings.MIDDLEWARE = [settings.MIDDLEWARE[0], name, *settings.MIDDLEWARE[1:]]

    for token, status in ((TOKEN, 200), ("wrong", 404)):
        headers = {"Authorization": f"Bearer {token}"}
        assert client.get("/metrics", headers=headers).status_code == status
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})

    assert '"event": "request"' not in captured_log()
    assert b'route="metrics' not in text.content


@ENABLED
def test_reports_what_the_database_knows(rf, account):
    at = timezone.now() - timedelta(hours=3)
    # Other tests commit accounts and deliveries.
    Account.objects.exclude(pk=account.pk).update(reconciled_at=at, discrepancy_count=0)
    Delivery.objects.update(due_at=None)
    record_command_run("prune", at=at)
    AccountFactory()
    record_reconciliation(account, discrepancy_count=2, at=at)
    endpoint = account.webhook_endpoints.create(public_id="wh_1", url="https://a.example")
    event = account.audit_log.create(kind="conversion.created", subject="conversion:1")
    for number, due_at in enumerate((at, timezone.now() + timedelta(hours=1), None)):
        account.deliveries.create(
            endpoint=endpoint, event=event, body=b"", due_at=due_at, message_id=number
        )
        event = account.audit_log.create(kind="conversion.created", subject="x")

    found = read(rf)

    assert found.get("database_up") == 1
    assert found.get("webhook_deliveries_waiting") == 2
    assert 10_800 <= found.get("webhook_oldest_due_seconds") < 10_900
    assert found.get("ledger_discrepancies") == 2
    assert found.get("accounts_without_ledger_check") == 1
    name = "command_last_success_timestamp_seconds"
    assert found.get(name, command="prune") == pytest.approx(at.timestamp())


@ENABLED
def test_answers_while_the_database_is_away(rf, db, monkeypatch):
    def fail():
        raise OperationalError("away")

    monkeypatch.setattr(metrics, "get_oldest_due_time", fail)

    found = read(rf)

    assert found.get("database_up") == 0
    assert not any("webhook" in name for name, _ in found.values)


@pytest.mark.integration
@pytest.mark.engine_independent
def test_counts_the_requests_of_all_processes(committed_db, monkeypatch):
    monkeypatch.setenv("METRICS_TOKEN", TOKEN)
    account = AccountFactory(slug="metrics-account")
    with run_server(workers=2) as server:
        key = make_key(account)
        for _ in range(6):  # a connection each: both processes answer some
            client = server.connect(key)
            assert client.request("GET", "/programs/")[0] == 200
            assert client.request("GET", "/nothing/")[0] == 404
        client.http.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        text = client.http.getresponse().read().decode()
    found = Metrics(text)

    route = "1.6/programs/"
    assert found.get("requests_total", route=route, method="GET", status="200") == 6
    unknown = found.get("requests_total", route="unknown", method="GET", status="404")
    assert unknown == 6
    assert found.get("request_seconds_count", route=route) == 6
    assert found.get("statements_total", route=route) >= 6 * 3
    # Dashboard and alerts ask for what there is.
    names = {name for name, _ in found.values} | {
        # Only with a nightly command that has run, or a webhook worker.
        "affiliate_site_command_last_success_timestamp_seconds"
    }
    for rules in RULES:
        asked = set(re.findall(r"affiliate_site_\w+", rules))
        assert asked - names == set()
    routes = {route.strip("/") for rules in RULES for route in find_routes(rules)}
    assert routes == {"1.6/conversions", "1.7/pb/con/c"}


@pytest.mark.integration
@pytest.mark.engine_independent
def test_the_successor_of_a_process_continues_its_counts(committed_db, tmp_path):
    """Files of each process of its own would fill the memory and slow the answer."""
    environment = {"METRICS_TOKEN": TOKEN, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    limit = ("--max-requests", "4", "--max-requests-jitter", "0")
    with run_server(*limit, workers=1, **environment) as server:
        for _ in range(12):
            client = server.connect("no key")
            assert client.request("GET", "/programs/")[0] == 401
        headers = {"Authorization": f"Bearer {TOKEN}"}
        client = server.connect("")
        client.http.request("GET", "/metrics", headers=headers)
        found = Metrics(client.http.getresponse().read().decode())
        files = sorted(path.name for path in tmp_path.iterdir())

    labels = {"route": "1.6/programs/", "method": "GET", "status": "401"}
    assert found.get("requests_total", **labels) == 12
    # The process that forks holds the zeros of counters without labels.
    assert files == ["counter_0.db", "counter_main.db", "histogram_0.db"]


def find_routes(rules: str) -> list[str]:
    """The routes that expressions compare with."""
    texts = re.findall(r'route=~\\?"([^"\\]+)', rules)
    return [route for text in texts for route in text.split("|")]


def test_dashboard_is_complete():
    dashboard = json.loads(RULES[1])

    assert [panel["id"] for panel in dashboard["panels"]] == list(range(1, 10))
    assert all(target["expr"] for p in dashboard["panels"] for target in p["targets"])
