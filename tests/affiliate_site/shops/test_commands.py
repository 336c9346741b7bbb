"""The commands of connections and of the inbox."""

import json
from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from affiliate_site.shops.ready_made import READY_MADE
from affiliate_site.shops.sources import StripeSource
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import SECRET, build_charge, build_checkout
from tests.webhook_receiver import respond_with, run_receiver
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection, get_connection
from tracking.services.inbox import Envelope, store_event


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="stripe",
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=timezone.now(),
    )


def store(connection, body):
    text = json.dumps(body)
    envelope = Envelope(body["id"], body["type"], timezone.now(), text)
    return store_event(connection, envelope, at=timezone.now())


def test_connects_a_shop(scenario, tmp_path, settings):
    settings.PUBLIC_URL = "https://aff.example.com"
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    result = run_json_command(
        "create_connection",
        scenario.account.slug,
        *("--kind", "stripe", "--program", scenario.program.slug),
        *("--secret-file", str(secret), "--mode", "live"),
    )
    connection = get_connection(scenario.account, result["connection"])
    assert result == {
        "connection": connection.public_id,
        "url": f"https://aff.example.com/in/{connection.public_id}/",
        "kind": "stripe",
        "program": scenario.program.slug,
        "mode": "live",
        "has_secret": True,
    }
    assert connection.secrets == [SECRET]


def test_listens_by_default(scenario):
    result = run_json_command("create_connection", scenario.account.slug, "--kind", "stripe")
    assert (result["mode"], result["program"], result["has_secret"]) == (
        "listen",
        None,
        False,
    )


@pytest.mark.parametrize("name", READY_MADE)
def test_begins_with_a_ready_made_mapping(scenario, name):
    result = run_json_command(
        "create_connection",
        scenario.account.slug,
        *("--kind", "other", "--mapping", name),
    )
    connection = get_connection(scenario.account, result["connection"])
    ready_made = READY_MADE[name]
    assert (connection.kind, connection.name) == ("other", ready_made.title)
    assert connection.settings == {"other": ready_made.mapping, "ready_made": name}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("other", "--mapping", "payhip"), ", ".join(READY_MADE)),
        (("stripe", "--mapping", "polar"), "--mapping needs --kind other."),
    ],
)
def test_names_the_mappings_that_there_are(scenario, arguments, expected):
    with pytest.raises(CommandError) as info:
        run_command("create_connection", scenario.account.slug, "--kind", *arguments)
    assert expected in str(info.value).replace("'", "")
    assert not scenario.account.connections.exists()


def test_refuses_a_short_secret(scenario, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("short")
    error = run_failing_command(
        "create_connection",
        scenario.account.slug,
        *("--kind", "stripe", "--secret-file", str(secret)),
    )
    assert error == "Enter the signing secret of the shop, of 8 to 255 characters."
    assert not scenario.account.connections.exists()


def test_names_a_file_that_it_cannot_read(scenario):
    error = run_failing_command(
        "create_connection",
        scenario.account.slug,
        *("--kind", "stripe", "--secret-file", "/nowhere/secret"),
    )
    assert error.startswith("Cannot read /nowhere/secret: ")


def test_lists_connections_without_their_secrets(connection):
    text = run_command("list_connections", connection.account.slug)
    assert connection.public_id in text
    assert SECRET not in text
    (row,) = run_json_command("list_connections", connection.account.slug)["connections"]
    assert row["refused"] == 0
    assert (row["connection"], row["mode"], row["secrets"]) == (
        connection.public_id,
        "live",
        1,
    )


def test_rotates_a_secret(connection, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("whsec_the_new_one")
    arguments = ("set_connection_secret", connection.account.slug, str(connection))
    result = run_json_command(*arguments, "--secret-file", str(secret))
    assert result["secrets"] == 2
    assert run_json_command(*arguments, "--forget-earlier")["secrets"] == 1
    assert connection.reload().secrets == ["whsec_the_new_one"]


@pytest.mark.parametrize("mode", ConnectionMode.values)
def test_switches_a_connection(connection, mode):
    arguments = (connection.account.slug, str(connection), "--mode", mode)
    text = run_command("set_connection", *arguments)
    assert (connection.reload().mode, text.count("\n")) == (mode, 1)


def test_does_not_find_the_connection_of_another_account(connection, other_account):
    error = run_failing_command(
        "set_connection", other_account.slug, str(connection), "--mode", "off"
    )
    assert error == f"Connection '{connection}' not found"


def test_processes_what_is_due(scenario, connection):
    click = scenario.create_click(at=timezone.now())
    store(connection, build_checkout(client_reference_id=str(click.public_id)))
    connection.account.programs.update(cookie_time=365)
    assert run_json_command("process_inbox", "--once") == {
        "processed": 1,
        "failed": 0,
        "waiting": 0,
    }
    event = connection.account.shop_events.get()
    assert event.due_at is None


def test_lists_events_with_state_and_result(connection):
    deliver(connection, build_checkout())
    deliver(connection, build_charge(100, payment_intent="pi_9", id="ch_9"))
    rows = run_json_command("list_inbox", connection.account.slug)["events"]
    states = {row["event"]: (row["state"], row["result"]) for row in rows}
    assert states == {
        "evt_checkout_session_completed_0_cs_live_a1": (
            "no_referral",
            ["Nobody referred this customer."],
        ),
        "evt_charge_refunded_0_ch_9": (
            "waiting",
            ["The sale is not known yet: this is applied when it arrives."],
        ),
    }
    (row,) = run_json_command("list_inbox", connection.account.slug, "--state", "waiting")["events"]
    assert row["kind"] == "charge.refunded"
    assert list_sales(connection.account) == []


@pytest.fixture
def stripe_api(settings, monkeypatch):
    """An API of Stripe that lists one event once."""
    with run_receiver() as receiver:
        settings.WEBHOOK_ALLOWED_HOSTS = [receiver.host_and_port]
        monkeypatch.setattr(StripeSource, "url", f"http://{receiver.host_and_port}")
        answer = {"data": [build_checkout()], "has_more": False}
        receiver.respond = respond_with(200, json.dumps(answer).encode())
        yield receiver


def test_catches_up_with_a_key_from_a_file(connection, stripe_api, tmp_path):
    key = tmp_path / "key"
    key.write_text("rk_live_1234\n")
    arguments = ("catch_up_connection", connection.account.slug, str(connection))
    connection.update_row(created_at=timezone.now() - timedelta(hours=2))
    result = run_json_command(*arguments, "--key-file", str(key))
    assert (result["connection"], result["read"], result["new"]) == (
        connection.public_id,
        1,
        1,
    )
    assert connection.reload().source_key == "rk_live_1234"
    assert stripe_api.requests[0].headers["authorization"] == "Bearer rk_live_1234"
    day = (timezone.now() - timedelta(days=5)).date().isoformat()
    text = run_command(*arguments, "--since", day)
    assert text.startswith("Read ")
    assert text.endswith("of which 0 are new.\n")
    assert connection.account.shop_events.count() == 1


def test_says_in_a_line_why_it_cannot_catch_up(connection, stripe_api):
    arguments = ("catch_up_connection", connection.account.slug, str(connection))
    error = run_failing_command(*arguments)
    assert error == "Set the key that reads from the shop before you catch up."
    error = run_failing_command(*arguments, "--shop-url", "http://shop.example")
    assert error.startswith("Invalid URL: only https on port 443")
    connection.update_row(kind="paddle")
    assert run_failing_command(*arguments).startswith("A shop of the kind Paddle ")


@pytest.mark.parametrize("day", ["yesterday", "0001-01-01", "2026-13-01"])
def test_wants_a_day(connection, day):
    with pytest.raises(CommandError, match="is not a day like 2026-11-30"):
        run_command(
            "catch_up_connection",
            *(connection.account.slug, str(connection), "--since", day),
        )


def test_does_not_catch_up_with_a_shop_of_another_account(connection, other_account):
    error = run_failing_command("catch_up_connection", other_account.slug, str(connection))
    assert error == f"Connection '{connection}' not found"
