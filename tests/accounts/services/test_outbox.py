"""reliability.md, section 11: who is told what, in the story's own transaction."""

import pytest
from django.db import transaction

from accounts.services.events import note, note_each
from accounts.services.outbox import Telling, with_macros
from accounts.services.webhooks import add_postback, add_webhook, disable
from tests.conftest import NOW

URL = "https://hooks.example.net/"


@pytest.fixture(autouse=True)
def plug(settings):
    """A house that shows nothing but the names of its rows."""
    settings.EVENT_BODY = "tests.accounts.services.test_outbox.render"


def render(account, subjects):
    return [
        Telling(f'"{subject}"'.encode(), affiliate="mina", macros={"word": "a b"})
        for subject in subjects
    ]


def told(account):
    rows = account.deliveries.order_by("id")
    return [(it.endpoint.url, it.event.kind, bytes(it.body), it.url) for it in rows]


def test_tells_each_endpoint_that_listens(account):
    for events in ([], ["conversion.created"], ["payment.created"]):
        add_webhook(account, url=f"{URL}{''.join(events)}", events=events, at=NOW)

    note(account, "conversion.created", account, at=NOW)

    assert told(account) == [
        (URL, "conversion.created", b'"harbor"', ""),
        (f"{URL}conversion.created", "conversion.created", b'"harbor"', ""),
    ]


def test_gives_an_event_one_id_for_all_endpoints(account):
    for number in range(2):
        add_webhook(account, url=f"{URL}{number}", at=NOW)

    note_each(account, "affiliate.created", [account, account.plan], at=NOW)

    first, same, second, again = account.deliveries.order_by("id")
    assert (first.webhook_id, second.webhook_id) == (same.webhook_id, again.webhook_id)
    assert first.webhook_id != second.webhook_id
    assert first.webhook_id.startswith("evt_")
    assert (first.created_at, first.due_at, first.attempts) == (NOW, NOW, 0)


def test_tells_of_another_row_than_the_diary_names(account):
    add_webhook(account, url=URL, at=NOW)

    note(account, "affiliate.approved", account, at=NOW, telling=account.plan)

    assert told(account) == [(URL, "affiliate.approved", b'"enterprise"', "")]
    assert account.events.last().subject == "account:harbor"


def test_tells_nobody_what_is_for_the_diary_alone(account):
    add_webhook(account, url=URL, at=NOW)

    note(account, "api_key.issued", account, at=NOW)

    assert told(account) == []


def test_tells_nobody_of_another_account(account, other_account):
    add_webhook(other_account, url=URL, at=NOW)
    add_webhook(account, url=URL, events=["payment.created"], at=NOW)

    note(account, "customer.created", account, at=NOW)

    assert (told(account), told(other_account)) == ([], [])


def test_tells_no_endpoint_that_is_disabled(account):
    disable(add_webhook(account, url=URL, at=NOW), at=NOW)

    note(account, "customer.created", account, at=NOW)

    assert told(account) == []


def test_tells_nothing_of_what_did_not_happen(account):
    add_webhook(account, url=URL, at=NOW)

    with transaction.atomic():
        note(account, "customer.created", account, at=NOW)
        transaction.set_rollback(True)

    assert told(account) == []


def test_asks_nothing_more_of_an_account_that_has_no_webhook(account, statements):
    with statements() as asked:
        note(account, "affiliate.created", account, at=NOW)

    assert len(asked) == 1


def test_renders_nothing_that_nobody_listens_to(account, settings):
    add_webhook(account, url=URL, events=["payment.created"], at=NOW)
    settings.EVENT_BODY = "nowhere.to.be.found"

    note(account, "customer.created", account, at=NOW)

    assert told(account) == []


def test_calls_the_postbacks_of_the_affiliate_alone(account):
    add_postback(account, affiliate="mina", url=f"{URL}?w=${{word}}", at=NOW)
    add_postback(account, affiliate="odette", url=URL, at=NOW)
    add_postback(
        account, affiliate="mina", url=URL, events=["customer.updated"], at=NOW
    )

    note(account, "conversion.created", account, at=NOW)
    note(account, "conversion.deleted", account, at=NOW)

    assert told(account) == [
        (f"{URL}?w=${{word}}", "conversion.created", b"", f"{URL}?w=a%20b")
    ]


@pytest.mark.parametrize(
    ("url", "filled"),
    [
        ("/?a=${amount}", "/?a=12.5"),
        ("/${odd}", "/a%2Fb%3Fc%26d%3D%C3%A9%24%7Bamount%7D"),
        ("/?a=${nothing}&b=${}", "/?a=&b="),
        ("/?m=${list[x]}", "/?m=1"),
        ("/?a=$amount&b={amount}&c=${amount", "/?a=$amount&b={amount}&c=${amount"),
        ("/?a=${amount}${amount}", "/?a=12.512.5"),
    ],
)
def test_fills_in_macros(url, filled):
    values = {"amount": "12.5", "odd": "a/b?c&d=é${amount}", "list[x]": "1"}

    assert with_macros(url, values) == filled


def test_tells_of_so_many_at_once(account, statements):
    """PostgreSQL takes 65,535 values a statement: a payment may cover more rows."""
    add_webhook(account, url=URL, at=NOW)

    note_each(account, "commission.updated", [account] * 5000, at=NOW)

    assert account.deliveries.count() == 5000
