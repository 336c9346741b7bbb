"""docs/reliability.md, section 6: deliveries in the transaction of the change."""

import pytest
from django.db import transaction

from accounts.errors import TooManyMacros
from accounts.services.changes import record_change, record_changes
from accounts.services.outbox import (
    EventPayload,
    build_url,
    fill_macros,
    publish_no_events,
)
from accounts.services.webhooks import (
    create_postback_endpoint,
    create_webhook,
    disable_webhook,
)
from tests.conftest import NOW

URL = "https://hooks.example.net/"


@pytest.fixture(autouse=True)
def render_names(settings):
    """Render only the names of rows as payloads."""
    settings.EVENT_PAYLOAD_RENDERER = "tests.accounts.services.test_outbox.render"


def render(account, subjects):
    return [
        EventPayload(f'"{subject}"'.encode(), affiliate="mina", macros={"currency": "a b"})
        for subject in subjects
    ]


def list_delivered_bodies(account):
    return [
        (delivery.endpoint.url, delivery.event.kind, bytes(delivery.body))
        for delivery in account.deliveries.order_by("id")
    ]


def test_creates_a_delivery_per_subscribed_endpoint(account):
    for events in ([], ["conversion.created"], ["payment.created"]):
        create_webhook(account, url=f"{URL}{''.join(events)}", events=events, at=NOW)

    record_change(account, "conversion.created", account, at=NOW)

    assert list_delivered_bodies(account) == [
        (URL, "conversion.created", b'"harbor"'),
        (f"{URL}conversion.created", "conversion.created", b'"harbor"'),
    ]


def test_an_event_has_one_id_for_all_endpoints(account):
    for number in range(2):
        create_webhook(account, url=f"{URL}{number}", at=NOW)

    record_changes(account, "affiliate.created", [account, account.plan], at=NOW)

    first, first_copy, second, second_copy = account.deliveries.order_by("id")
    assert first.message_id == first_copy.message_id
    assert second.message_id == second_copy.message_id
    assert first.message_id != second.message_id
    assert first.message_id.startswith("evt_")
    assert (first.created_at, first.due_at, first.attempts) == (NOW, NOW, 0)


def test_the_payload_row_can_differ_from_the_subject(account):
    create_webhook(account, url=URL, at=NOW)

    record_change(account, "affiliate.approved", account, at=NOW, payload_row=account.plan)

    assert list_delivered_bodies(account) == [(URL, "affiliate.approved", b'"enterprise"')]
    assert account.audit_log.last().subject == "account:harbor"


def test_does_not_publish_audit_only_events(account):
    create_webhook(account, url=URL, at=NOW)

    record_change(account, "api_key.created", account, at=NOW)

    assert list_delivered_bodies(account) == []


def test_does_not_publish_to_another_account(account, other_account):
    create_webhook(other_account, url=URL, at=NOW)
    create_webhook(account, url=URL, events=["payment.created"], at=NOW)

    record_change(account, "customer.created", account, at=NOW)

    assert (list_delivered_bodies(account), list_delivered_bodies(other_account)) == (
        [],
        [],
    )


def test_does_not_publish_to_a_disabled_endpoint(account):
    disable_webhook(create_webhook(account, url=URL, at=NOW), at=NOW)

    record_change(account, "customer.created", account, at=NOW)

    assert list_delivered_bodies(account) == []


def test_publishes_nothing_within_a_scope(account):
    create_webhook(account, url=URL, at=NOW)

    with publish_no_events():
        again = type(account).objects.get(pk=account.pk)
        record_change(again, "customer.created", again, at=NOW)
        record_change(account, "customer.created", account, at=NOW)
    assert list_delivered_bodies(account) == []

    record_change(account, "customer.deleted", account, at=NOW)
    assert [kind for _, kind, *_ in list_delivered_bodies(account)] == ["customer.deleted"]


def test_deliveries_are_rolled_back_with_the_change(account):
    create_webhook(account, url=URL, at=NOW)

    with transaction.atomic():
        record_change(account, "customer.created", account, at=NOW)
        transaction.set_rollback(True)

    assert list_delivered_bodies(account) == []


def test_runs_no_extra_query_without_webhooks(account, capture_queries):
    with capture_queries() as queries:
        record_change(account, "affiliate.created", account, at=NOW)

    assert len(queries) == 1


def test_renders_nothing_without_subscribers(account, settings):
    create_webhook(account, url=URL, events=["payment.created"], at=NOW)
    settings.EVENT_PAYLOAD_RENDERER = "nowhere.to.be.found"

    record_change(account, "customer.created", account, at=NOW)

    assert list_delivered_bodies(account) == []


def test_publishes_to_the_postbacks_of_the_affiliate_only(account):
    create_postback_endpoint(account, affiliate="mina", url=f"{URL}?w=${{currency}}", at=NOW)
    create_postback_endpoint(account, affiliate="odette", url=URL, at=NOW)
    create_postback_endpoint(
        account, affiliate="mina", url=URL, events=["customer.updated"], at=NOW
    )

    record_change(account, "conversion.created", account, at=NOW)
    record_change(account, "conversion.deleted", account, at=NOW)

    assert list_delivered_bodies(account) == [
        (f"{URL}?w=${{currency}}", "conversion.created", b'{"currency":"a b"}')
    ]
    delivery = account.deliveries.get()
    assert (delivery.url, build_url(delivery)) == ("", f"{URL}?w=a%20b")
    # One that a release before has stored is called as it is.
    delivery.url, delivery.body = f"{URL}?w=%24%7Bcurrency%7D&x=${{currency}}", b""
    assert build_url(delivery) == delivery.url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/?a=${amount}", "/?a=12.5"),
        ("/${special}", "/a%2Fb%3Fc%26d%3D%C3%A9%24%7Bamount%7D"),
        ("/?a=${nothing}&b=${}", "/?a=&b="),
        ("/?m=${list[x]}", "/?m=1"),
        ("/?a=$amount&b={amount}&c=${amount", "/?a=$amount&b={amount}&c=${amount"),
        ("/?a=${amount}${amount}", "/?a=12.512.5"),
    ],
)
def test_fills_in_macros(url, expected):
    values = {"amount": "12.5", "special": "a/b?c&d=é${amount}", "list[x]": "1"}

    assert fill_macros(url, values) == expected


@pytest.mark.parametrize(
    ("url", "values", "expected"),
    [
        ("/" + "${a}" * 21, {"a": "x"}, "/" + "x" * 20),
        ("/${conversion.commissions}/${conversion.commissions}", {"a": "x"}, "/[]/"),
        ("/${a}/${b}", {"a": "x" * 8001, "b": "y"}, "//y"),
        ("/${a}/${b}", {"a": "é" * 1334, "b": "y"}, "//y"),  # 6 characters each
        ("/${a}/${a}/${a}/${b}", {"a": "x" * 8000, "b": "y"}, None),
    ],
)
def test_bounds_the_address(url, values, expected):
    """Postbacks that were created before the limits are called all the same."""
    filled = fill_macros(url, values | {"conversion.commissions": "[]"}).replace("%5B%5D", "[]")

    assert filled == (expected or "/" + "x" * 8000 + "/" + "x" * 8000 + "//")


@pytest.mark.parametrize("url", ["${currency}" * 21, "${conversion.commissions}" * 2, "${}" * 300])
def test_refuses_addresses_that_could_become_too_long(account, url):
    with pytest.raises(TooManyMacros) as error:
        create_postback_endpoint(account, affiliate="mina", url=f"{URL}?{url}", at=NOW)

    assert "at most 20 are possible, and ${conversion.commissions} only once" in str(error.value)
    assert not account.webhook_endpoints.exists()
    allowed = "${currency}" * 19 + "${conversion.commissions}"
    create_postback_endpoint(account, affiliate="mina", url=f"{URL}?{allowed}", at=NOW)


def test_publishes_many_events_at_once(account, capture_queries):
    """PostgreSQL allows 65,535 values per statement; a payment may have more rows."""
    create_webhook(account, url=URL, at=NOW)

    record_changes(account, "commission.updated", [account] * 5000, at=NOW)

    assert account.deliveries.count() == 5000
