"""operations.md, section 3: what has done its work is forgotten every night."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models.keys import RateWindow
from accounts.services import upkeep
from accounts.services.events import note
from accounts.services.webhooks import add_webhook
from payouts.services.commissions import approve
from payouts.services.figures import figures_of
from tests.command_line import is_refused_as_wrong, run, run_json
from tests.proof import books_agree, everything
from tests.shop import SOLD, Shop

DAY = timedelta(days=1)
QUARTER = timedelta(minutes=15)
MOMENT = timedelta(minutes=1)
MONTH = timedelta(days=30)
NOTHING = {
    "rate_windows": 0,
    "attempts": 0,
    "idempotency_keys": 0,
    "deliveries": 0,
    "changed_days": 0,
    "sign_ins": 0,
    "traces": 0,
}


@pytest.fixture
def aged(account, other_account):
    """Of each kind one that is spent and one that is not; in two accounts."""
    now = timezone.now()
    for number, started in enumerate((now - QUARTER - MOMENT, now - QUARTER + MOMENT)):
        RateWindow.objects.create(subject=f"key {number}", started=started, hits=1)
    for owner in (account, other_account):
        for number, spent in enumerate((MOMENT, -MOMENT)):
            owner.conversion_attempts.create(
                source="api",
                external_id=f"order-{number}",
                failed_at=now - timedelta(hours=1) - spent,
                message="",
            )
            owner.idempotency_keys.create(
                key=f"k-{number}",
                fingerprint="f",
                status=200,
                body=b"{}",
                created_at=now - DAY - spent,
            )
            mark = "zz-marker-" if owner is other_account else ""
            shop = Shop(owner, f"program-{number}", mark=mark, email=None)
            click = shop.click(at=now - 90 * DAY - spent)
            click.change(ip="192.0.2.7", user_agent="Harbor/1")
    yield account
    books_agree(account, other_account)


def left(account):
    """What is left of each kind, by what tells it apart."""
    return {
        "windows": sorted(RateWindow.objects.values_list("subject", flat=True)),
        "attempts": [
            it.external_id for it in account.conversion_attempts.order_by("external_id")
        ],
        "answers": [it.key for it in account.idempotency_keys.order_by("key")],
        "clicks": [
            (it.ip, it.user_agent) for it in account.clicks.order_by("created_at")
        ],
    }


ALL = {
    "rate_windows": 1,
    "attempts": 2,
    "idempotency_keys": 2,
    "deliveries": 0,
    "changed_days": 0,
    "sign_ins": 0,
    "traces": 2,
}


def test_forgets_what_is_spent_and_nothing_else(aged, other_account):
    told = run_json("prune")

    assert told == ALL
    for account in (aged, other_account):
        assert left(account) == {
            "windows": ["key 1"],
            "attempts": ["order-1"],
            "answers": ["k-1"],
            "clicks": [("192.0.2.0", None), ("192.0.2.7", "Harbor/1")],
        }
    assert run_json("prune") == NOTHING


def test_changes_nothing_when_it_only_counts(aged):
    before = everything(aged), left(aged)

    assert run_json("prune", "--dry-run") == ALL
    assert (everything(aged), left(aged)) == before


def test_tells_a_line_per_kind(aged):
    assert run("prune").splitlines() == [f"{kind}: {n}" for kind, n in ALL.items()]


def test_forgets_in_batches_each_its_own_transaction(aged, monkeypatch, statements):
    monkeypatch.setattr(upkeep, "BATCH", 2)
    long_ago = timezone.now() - DAY
    RateWindow.objects.bulk_create(
        RateWindow(subject=f"old {number}", started=long_ago, hits=1)
        for number in range(4)
    )

    with statements() as asked:
        counts = run_json("prune")

    deleting = [
        it["sql"]
        for it in asked.captured_queries
        if it["sql"].startswith("DELETE") and "ratewindow" in it["sql"]
    ]
    assert counts["rate_windows"] == 5
    assert len(deleting) == 3


def test_finds_nothing_to_do_in_an_empty_site(db):
    assert run_json("prune") == NOTHING


def test_keeps_the_key_of_an_answer_free_for_another_request(aged, api, account):
    run("prune")

    response = api.post(
        "/affiliates/",
        {"firstname": "Mina", "lastname": "Kessler"},
        **{"Idempotency-Key": "k-0"},
    )

    assert response.status_code == 200
    assert "Idempotent-Replayed" not in response


@pytest.mark.parametrize("arguments", [["harbor"], ["--days=3"]])
def test_stops_at_wrong_arguments(db, arguments):
    assert is_refused_as_wrong("prune", *arguments)


def test_forgets_deliveries_a_month_after_they_were_done(account):
    """Those that wait stay, but for an endpoint that was disabled as long ago."""
    now = timezone.now()
    open_one, closed, lately = (
        add_webhook(account, url=f"https://hooks.example.net/{it}", at=now)
        for it in range(3)
    )
    closed.change(disabled_at=now - MONTH - MOMENT)
    lately.change(disabled_at=now - MONTH + MOMENT)
    event = account.events.first()
    for endpoint, attempted, due in (
        (open_one, now - MONTH - MOMENT, None),
        (open_one, now - MONTH + MOMENT, None),
        (open_one, None, now),
        (closed, None, now),
        (lately, None, now),
    ):
        account.deliveries.create(
            endpoint=endpoint,
            event=event,
            webhook_id=f"evt_{account.deliveries.count()}",
            created_at=now - 2 * MONTH,
            attempted_at=attempted,
            due_at=due,
        )
        event = add_event(account)

    assert run_json("prune", "--dry-run")["deliveries"] == 2
    assert run_json("prune")["deliveries"] == 2

    kept = account.deliveries.order_by("id").values_list("webhook_id", flat=True)
    assert list(kept) == ["evt_1", "evt_2", "evt_4"]


def add_event(account):
    note(account, "account.locked", account, at=timezone.now())
    return account.events.last()


def test_forgets_sign_ins_that_have_ended(account):
    now = timezone.now()
    for name, moment in (("old", now - MOMENT), ("new", now + MOMENT)):
        Session.objects.create(session_key=name, session_data="", expire_date=moment)

    assert run_json("prune")["sign_ins"] == 1

    assert Session.objects.get().session_key == "new"


def test_forgets_figures_of_days_that_changed(account, other_account):
    shop, later = Shop(account), timezone.now()
    day = SOLD.date()
    sale = shop.sell("100")
    figures_of(account, [day, day + DAY], at=later)
    Shop(other_account, mark="zz-").sell("1")
    figures_of(other_account, [day], at=later)
    approve(account, commission_id=shop.commission_of(sale).pk, at=later)

    assert run_json("prune", "--dry-run")["changed_days"] == 1
    assert run_json("prune")["changed_days"] == 1

    assert account.changed_days.count() == 0
    assert [it.day for it in account.counted_days.all()] == [day + DAY]
    assert other_account.counted_days.count() == 1
