"""The ledger: transfers and balances (docs/architecture.md)."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction

from payouts.errors import BalanceTooLarge
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.ledger import (
    LedgerSession,
    get_payable_balances_by_slug,
    open_ledger_session,
)
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

EARNED = ("earned", "expense", "pending")
APPROVED = ("approved", "pending", "payable")
REOPENED = ("reopened", "payable", "pending")
WITHDRAWN = ("withdrawn", "pending", "expense")

STATUS_SEQUENCES = {
    "pending": ((), [EARNED]),
    "approved": ((approve_commission,), [EARNED, APPROVED]),
    "approved-twice": ((approve_commission, approve_commission), [EARNED, APPROVED]),
    "disapproved": ((disapprove_commission,), [EARNED, WITHDRAWN]),
    "disapproved-twice": (
        (disapprove_commission, disapprove_commission),
        [EARNED, WITHDRAWN],
    ),
    "approved-then-disapproved": (
        (approve_commission, disapprove_commission),
        [EARNED, APPROVED, REOPENED, WITHDRAWN],
    ),
    "disapproved-then-approved": (
        (disapprove_commission, approve_commission),
        [EARNED, WITHDRAWN, EARNED, APPROVED],
    ),
}


def apply_status_changes(scenario, commission, *decisions):
    for decide in decisions:
        decide(scenario.account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)


def list_transfers(account, commission):
    """Type, debit and credit of a commission's transfers in sequence."""
    rows = account.transfers.filter(commission=commission).order_by("sequence_number")
    return list(rows.values_list("kind", "debit__kind", "credit__kind"))


def get_stored_balances(account):
    """Stored balances by type, affiliate slug and currency."""
    rows = account.ledger_accounts.values_list("kind", "affiliate__slug", "currency", "balance")
    return {(kind, slug, currency): balance for kind, slug, currency, balance in rows}


@pytest.mark.parametrize("transition", STATUS_SEQUENCES)
def test_posts_each_status_transition(scenario, account, transition):
    decisions, moves = STATUS_SEQUENCES[transition]
    commission = scenario.get_commission(scenario.create_conversion("200"))

    apply_status_changes(scenario, commission, *decisions)

    assert list_transfers(account, commission) == moves
    rows = account.transfers.order_by("sequence_number")
    assert [row.sequence_number for row in rows] == list(range(1, len(moves) + 1))
    assert {(row.amount, row.currency, row.created_at) for row in rows} == {
        (Decimal(20), "EUR", CONVERSION_CREATED_AT)
    }


@pytest.mark.parametrize("transition", STATUS_SEQUENCES)
def test_posts_nothing_for_a_commission_of_zero(scenario, account, transition):
    decisions, _ = STATUS_SEQUENCES[transition]
    commission = scenario.get_commission(scenario.create_conversion("0"))

    apply_status_changes(scenario, commission, *decisions)

    assert not account.transfers.exists()


def test_posts_an_approved_commission_at_creation(scenario, account):
    scenario.program.update_row(auto_approve_commissions=True)

    commission = scenario.get_commission(scenario.create_conversion("200"))

    assert list_transfers(account, commission) == [EARNED, APPROVED]


def test_posts_nothing_past_the_cap(scenario, account):
    scenario.program.update_row(recurring=False)
    scenario.create_conversion("200", customer_id="acct-1")

    commission = scenario.get_commission(scenario.create_conversion("200", customer_id="acct-1"))

    assert list_transfers(account, commission) == []


@pytest.mark.parametrize(
    ("decisions", "pending", "payable"),
    [
        pytest.param((), 20, 0, id="pending"),
        pytest.param((approve_commission,), 0, 20, id="approved"),
        pytest.param((approve_commission, disapprove_commission), 0, 0, id="disapproved"),
    ],
)
def test_stores_pending_payable_and_funding_balances(
    scenario, account, decisions, pending, payable
):
    apply_status_changes(
        scenario, scenario.get_commission(scenario.create_conversion("200")), *decisions
    )

    assert get_stored_balances(account) == {
        ("expense", None, "EUR"): None,
        ("pending", "minakessler", "EUR"): Decimal(pending),
        ("payable", "minakessler", "EUR"): Decimal(payable),
    }


def test_has_a_ledger_account_for_each_affiliate_and_currency(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("200")
    scenario.create_conversion("200", affiliate=other_affiliate)
    scenario.create_conversion("0.30000000000000004")
    scenario.create_conversion("200", currency="JPY")

    assert get_stored_balances(account) == {
        ("expense", None, "EUR"): None,
        ("pending", "minakessler", "EUR"): Decimal("20.03"),
        ("payable", "minakessler", "EUR"): Decimal(0),
        ("pending", "odettevarga", "EUR"): Decimal(20),
        ("payable", "odettevarga", "EUR"): Decimal(0),
        ("expense", None, "JPY"): None,
        ("pending", "minakessler", "JPY"): Decimal(20),
        ("payable", "minakessler", "JPY"): Decimal(0),
    }


def test_returns_balances_sorted_and_without_zeros(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    idle = scenario.create_enrolled_affiliate("Abel", "Idle")
    for affiliate, currency in (
        *((other_affiliate, "EUR"), (scenario.mina, "KWD"), (scenario.mina, "EUR")),
        *((scenario.mina, "JPY"), (other_affiliate, "CHF")),
    ):
        conversion = scenario.create_conversion("200", affiliate=affiliate, currency=currency)
        apply_status_changes(scenario, scenario.get_commission(conversion), approve_commission)
    apply_status_changes(
        scenario,
        scenario.get_commission(scenario.create_conversion("1", affiliate=other_affiliate)),
        disapprove_commission,
    )
    scenario.create_conversion("200", affiliate=idle)
    mark_deleted(other_affiliate.affiliate)

    balances = get_payable_balances_by_slug(account)

    assert balances == {
        "minakessler": {"EUR": 20, "JPY": 20, "KWD": 20},
        "odettevarga": {"CHF": 20, "EUR": 20},
    }
    assert [list(balances), *map(list, balances.values())] == [
        ["minakessler", "odettevarga"],
        ["EUR", "JPY", "KWD"],
        ["CHF", "EUR"],
    ]
    assert get_payable_balances_by_slug(account, other_affiliate.affiliate.pk) == {
        "odettevarga": {"CHF": 20, "EUR": 20}
    }
    assert get_payable_balances_by_slug(account, idle.affiliate.pk) == {}


def test_separates_the_ledgers_of_two_accounts(scenario, account, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-")
    apply_status_changes(
        theirs,
        theirs.get_commission(theirs.create_conversion("1000")),
        approve_commission,
    )

    apply_status_changes(
        scenario,
        scenario.get_commission(scenario.create_conversion("200")),
        approve_commission,
    )

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": 20}}
    assert_ledger_consistent(account, other_account)


# Append-only transfers.


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda rows: rows.update(amount=Decimal(1)), id="update"),
        pytest.param(lambda rows: rows.update(sequence_number=9), id="renumber"),
        pytest.param(lambda rows: rows._raw_delete(rows.db), id="delete"),
    ],
)
def test_rejects_updates_and_deletes_of_transfers(scenario, account, change):
    scenario.create_conversion("200")

    with (
        assert_unchanged(account),
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
    ):
        change(account.transfers.all())


# Limits.


def test_rejects_a_balance_that_exceeds_its_column(scenario, account):
    """The limit is 9·10¹⁴, 90 times the largest amount."""
    scenario.create_commission_type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    scenario.create_commission_type("rest", 89, kind=RateKind.FIXED)
    scenario.create_commission_type("one", 1, kind=RateKind.FIXED)
    scenario.create_conversion(*[("0", "huge")] * 90)
    scenario.create_conversion(("0", "rest"))

    with assert_unchanged(account), pytest.raises(BalanceTooLarge) as raised:
        scenario.create_conversion(("0", "one"), customer_id="acct-1")

    assert str(raised.value) == "This value has too many digits."
    assert get_stored_balances(account)[("pending", "minakessler", "EUR")] == 9 * 10**14 - 1


def test_rejects_an_approval_that_exceeds_the_column(scenario, account):
    scenario.create_commission_type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    scenario.create_commission_type("rest", 90, kind=RateKind.FIXED)
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_conversion(*[("0", "huge")] * 90)
    scenario.program.update_row(auto_approve_commissions=False)
    last = scenario.get_commission(scenario.create_conversion(("0", "rest")))

    with assert_unchanged(account), pytest.raises(BalanceTooLarge):
        apply_status_changes(scenario, last, approve_commission)


# Locks.


def list_statements(statements, operation):
    with statements() as queries:
        operation()
    return [query["sql"] for query in queries.captured_queries]


def test_locks_the_ledger_last_when_a_conversion_is_created(scenario, capture_queries):
    queries = list_statements(
        capture_queries,
        lambda: scenario.create_conversion("200", customer_id="acct-1", external_id="one"),
    )

    ledger = [
        number
        for number, sql in enumerate(queries)
        if "payouts_ledgeraccount" in sql or "payouts_transfer" in sql
    ]
    others = [
        number
        for number, sql in enumerate(queries)
        if sql.startswith(("INSERT", "UPDATE")) and number not in ledger
    ]
    assert max(others) < min(ledger)


def test_locks_the_ledger_before_a_commission_changes(scenario, account, capture_queries):
    commission = scenario.get_commission(scenario.create_conversion("200"))

    queries = list_statements(
        capture_queries,
        lambda: apply_status_changes(scenario, commission, approve_commission),
    )

    locked = next(
        number
        for number, sql in enumerate(queries)
        if "payouts_ledgeraccount" in sql and "ORDER BY" in sql
    )
    changed = next(
        number
        for number, sql in enumerate(queries)
        if sql.startswith('UPDATE "payouts_commission"')
    )
    looked_again = [
        number
        for number, sql in enumerate(queries)
        if sql.startswith("SELECT") and 'FROM "payouts_commission"' in sql
    ]
    assert locked < max(looked_again) < changed


@pytest.mark.skipif(
    connection.vendor == "sqlite",
    reason="SQLite has one writer: there are no row locks to look at",
)
def test_locks_rows_once_in_the_order_of_their_ids(scenario, account, capture_queries):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    balance_keys = [(row.affiliate.pk, "EUR") for row in (other_affiliate, scenario.mina)]

    def open_books():
        with (
            transaction.atomic(),
            open_ledger_session(account, balance_keys, at=CONVERSION_CREATED_AT) as ledger,
        ):
            ledger.has_funds(balance_keys[0], Decimal(0), reserved=())

    account.uses_payouts = True
    queries = list_statements(capture_queries, open_books)

    locks = [sql for sql in queries if "FOR NO KEY UPDATE" in sql]
    assert len(locks) == 1
    assert 'ORDER BY "payouts_ledgeraccount"."id" ASC' in locks[0]


def test_creates_no_ledger_account_before_its_first_use(scenario, account, capture_queries):
    def ask_nothing():
        with open_ledger_session(
            account, [(scenario.mina.affiliate.pk, "EUR")], at=CONVERSION_CREATED_AT
        ):
            pass

    assert list_statements(capture_queries, ask_nothing) == []
    assert get_stored_balances(account) == {}


def test_creates_ledger_accounts_in_one_order_before_and_after_a_lock(
    scenario, account, monkeypatch
):
    """Else two first sales in a new currency could wait for each other."""

    def lock_and_write(ledger):
        ledger.lock_balances()
        write_transfers(ledger)

    write_transfers = LedgerSession.write_transfers
    scenario.create_conversion("200", currency="EUR")
    monkeypatch.setattr(LedgerSession, "write_transfers", lock_and_write)
    scenario.create_conversion("200", currency="USD")

    rows = account.ledger_accounts.order_by("pk").values_list("currency", "kind")
    kinds = {name: [kind for currency, kind in rows if currency == name] for name in ("EUR", "USD")}
    assert kinds["EUR"] == kinds["USD"] != []
