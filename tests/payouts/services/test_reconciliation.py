"""Each ledger invariant holds after operations and finds errors.

Errors are written to the database directly, in rows that may be updated; the
triggers of the append-only tables stay enabled.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction

from payouts.models.commissions import Commission
from payouts.services import reconciliation
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from payouts.services.reconciliation import Discrepancy, reconcile
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


def make_approved_commission(scenario, amount="100", **sale):
    commission = scenario.get_commission(scenario.create_conversion(amount, **sale))
    scenario.approve(commission)
    return commission


def list_discrepancies(*accounts):
    return reconcile(accounts, at=LATER).discrepancies


def list_violated_invariants(*accounts):
    return {row.invariant for row in list_discrepancies(*accounts)}


def list_rows(account, invariant):
    return [row.row for row in list_discrepancies(account) if row.invariant == invariant]


def execute(sentence, *values):
    """Run SQL directly."""
    with connection.cursor() as cursor:
        cursor.execute(sentence, values)


def write(row, **values):
    """Change columns of a row without the services."""
    columns = ", ".join(f"{name} = %s" for name in values)
    sql = f"UPDATE {row._meta.db_table} SET {columns} WHERE id = %s"  # noqa: S608 - ours
    execute(sql, *values.values(), row.pk)


def exchange_affiliates(mine, hers):
    for one, other in ((mine.affiliate_id, hers), (hers.affiliate_id, mine)):
        write(other, affiliate_id=one)


def get_columns(row, **changed):
    """The columns of a row without its id, to copy it."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    } | changed


def top_up(account, amount=100):
    top_up_payout_balance(account, amount=Decimal(amount), currency="EUR", at=CONVERSION_CREATED_AT)


def pay(account, *orders):
    orders = [
        PaymentOrder(row.slug, Decimal(amount), *(rest or ["EUR"])) for row, amount, *rest in orders
    ]
    return create_payments(account, orders=orders, at=CONVERSION_CREATED_AT)


def get_ledger_account(account, kind, currency="EUR"):
    return account.ledger_accounts.get(kind=kind, currency=currency)


def insert_transfer(account, commission, step, **invalid):
    """Insert an invalid transfer: pending → payable."""
    return account.transfers.create(
        **{
            "currency": "EUR",
            "kind": "approved",
            "debit": get_ledger_account(account, "pending"),
            "credit": get_ledger_account(account, "payable"),
            "amount": commission.amount,
            "commission": commission,
            "sequence_number": step,
        }
        | invalid
    )


def test_finds_no_discrepancy_in_an_empty_ledger(account):
    report = assert_ledger_consistent(account)

    assert (report.ledger_account_count, report.transfer_count) == (0, 0)
    assert (report.closed_transfer_count, report.last_closed_transfer_id) == (0, None)


def test_finds_no_discrepancy_after_operations(scenario, account, other_account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    theirs = ProgramScenario(other_account, prefix="zz-marker-")
    make_approved_commission(theirs)
    make_approved_commission(scenario)
    make_approved_commission(scenario, "5000", currency="JPY", affiliate=other_affiliate)
    scenario.create_conversion("0", "12.345", currency="KWD")
    scenario.program.update_row(auto_approve_commissions=True, recurring=False)
    scenario.create_conversion("10", "20", customer_id="acct-1")
    scenario.create_conversion("10", "20", customer_id="acct-1")
    scenario.disapprove(make_approved_commission(scenario))

    report = assert_ledger_consistent(account, other_account)

    assert report.ledger_account_count == 3 + 3 + 3 + 3
    assert report.transfer_count == account.transfers.count() + 2
    assert report.negative_balance_count == 0


def test_counts_the_transfers_of_closed_days(scenario, account):
    scenario.create_conversion("200")
    last = account.transfers.get()
    scenario.create_conversion(
        "300",
        at=CONVERSION_CREATED_AT.replace(hour=0, minute=0, second=0) + timedelta(days=1),
    )

    report = reconcile([account], at=LATER)

    assert report.discrepancies == []
    assert (
        report.closed_transfer_count,
        report.last_closed_transfer_id,
        report.closed_transfer_total,
    ) == (1, last.pk, 20)
    assert report.transfer_count == 2


@pytest.mark.parametrize(
    ("kind", "balance", "equations"),
    [
        pytest.param("pending", "19.99", {"E1", "E2", "E4"}, id="pending-less"),
        pytest.param("pending", "20.0001", {"E1", "E2", "E4"}, id="pending-a-bit"),
        pytest.param("payable", "0", {"E1", "E2", "E3"}, id="payable-zero"),
        pytest.param("payable", "-10", {"E1", "E2", "E3"}, id="payable-below"),
        pytest.param("payable", "10.0001", {"E1", "E2", "E3"}, id="payable-a-bit"),
    ],
)
def test_finds_a_balance_that_is_not_the_sum_of_its_transfers(
    scenario, account, commission, kind, balance, equations
):
    make_approved_commission(scenario)

    account.ledger_accounts.filter(kind=kind).update(balance=Decimal(balance))

    assert list_violated_invariants(account) == equations


def test_reports_the_row_and_both_amounts(scenario, account, commission):
    account.ledger_accounts.filter(kind="pending").update(balance=Decimal("19.5"))

    failures = list_discrepancies(account)

    row = "pending of minakessler in EUR"
    assert [
        (
            *(failure.invariant, failure.account, failure.row),
            *(Decimal(failure.stored), Decimal(failure.computed)),
        )
        for failure in failures
    ] == [
        ("E1", "harbor", "EUR", Decimal("-0.5"), 0),
        ("E2", "harbor", row, Decimal("19.5"), 20),
        ("E4", "harbor", row, Decimal("19.5"), 20),
    ]


def test_finds_two_wrong_balances_with_the_right_sum(scenario, account, commission):
    """E1 alone does not find it."""
    make_approved_commission(scenario)

    account.ledger_accounts.filter(kind="pending").update(balance=Decimal(15))
    account.ledger_accounts.filter(kind="payable").update(balance=Decimal(15))

    assert list_violated_invariants(account) == {"E2", "E3", "E4"}


@pytest.mark.parametrize(
    ("values", "equations"),
    [
        pytest.param({"amount": Decimal("20.01")}, {"E4", "E5", "E6"}, id="amount"),
        pytest.param({"status": "approved"}, {"E3", "E4", "E6"}, id="approved"),
        pytest.param({"status": "disapproved"}, {"E4", "E5", "E6"}, id="disapproved"),
        pytest.param({"currency": "JPY"}, {"E4", "E5"}, id="currency"),
    ],
)
def test_finds_a_commission_changed_without_the_ledger(account, commission, values, equations):
    account.commissions.filter(pk=commission.pk).update(**values)

    assert list_violated_invariants(account) >= equations


def test_finds_a_commission_with_another_affiliate(scenario, account, commission):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")

    account.commissions.update(affiliate=other_affiliate.affiliate)

    assert "E4" in list_violated_invariants(account)


@pytest.mark.parametrize("currency", ["EUR", "CHF"], ids=["", "in-a-new-ledger"])
def test_finds_a_commission_without_transfers(account, commission, currency):
    account.commissions.create(**get_columns(commission, currency=currency))

    assert list_violated_invariants(account) == {"E4", "E5", "E6", "E15"}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((3, 4), id="one-is-missing"),
        pytest.param((2, 4), id="a-gap"),
        pytest.param((0, 3), id="one-is-zero"),
    ],
)
def test_finds_incomplete_sequence_numbers(account, commission, steps):
    """The amounts are right, the sequence numbers are not."""
    first, second = steps
    insert_transfer(account, commission, first)
    insert_transfer(
        account,
        commission,
        second,
        kind="reopened",
        debit=get_ledger_account(account, "payable"),
        credit=get_ledger_account(account, "pending"),
    )

    assert list_violated_invariants(account) == {"E6"}


def test_finds_an_extra_transfer(account, commission):
    insert_transfer(account, commission, 2)

    assert list_violated_invariants(account) == {"E2", "E6"}


@pytest.mark.parametrize(
    "invalid",
    [
        pytest.param({"kind": "earned"}, id="kind-of-another-pair"),
        pytest.param({"kind": "reopened"}, id="the-wrong-way"),
        pytest.param({"kind": "gift"}, id="no-kind-at-all"),
        pytest.param({"currency": "JPY"}, id="another-currency"),
    ],
)
def test_finds_a_transfer_with_invalid_sides(account, commission, invalid):
    insert_transfer(account, commission, 2, **invalid)

    assert "E9" in list_violated_invariants(account)


def test_finds_a_transfer_into_another_currency(scenario, account, commission):
    scenario.create_conversion("100", currency="JPY")

    insert_transfer(account, commission, 2, credit=get_ledger_account(account, "payable", "JPY"))

    assert "E9" in list_violated_invariants(account)


def test_finds_a_transfer_into_another_account(account, other_account, commission):
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("100")

    insert_transfer(account, commission, 2, credit=get_ledger_account(other_account, "payable"))

    assert {"E9", "E11"} <= list_violated_invariants(account)


def post_opening_balances(account):
    """One that was taken back, and one that stands."""
    key = {"affiliate_id": "minakessler", "currency": "EUR", "at": LATER}
    first = post_opening_balance(account, amount=Decimal(5), **key)
    reverse_opening_balance(account, **key)
    second = post_opening_balance(account, amount=Decimal(5), **key)
    assert list_violated_invariants(account) == set()
    return first, second


def test_finds_a_second_opening_balance(account, commission):
    _, standing = post_opening_balances(account)

    second = account.transfers.create(**get_columns(standing))

    assert list_rows(account, "E17") == [f"transfer {second.pk}"]
    assert list_violated_invariants(account) == {"E1", "E2", "E3", "E17"}


@pytest.mark.parametrize("wrong", ["amount", "sides", "reversal_of_id"])
def test_finds_a_wrong_reversal_of_an_opening_balance(account, commission, wrong):
    _, standing = post_opening_balances(account)
    earned = account.transfers.get(commission=commission)
    right = {
        "debit_id": standing.credit_id,
        "credit_id": standing.debit_id,
        "reversal_of_id": standing.pk,
    }
    invalid = {
        "amount": {"amount": Decimal(4)},
        "sides": {"debit_id": standing.debit_id, "credit_id": standing.credit_id},
        "reversal_of_id": {"reversal_of_id": earned.pk},
    }

    row = account.transfers.create(**get_columns(standing, **right | invalid[wrong]))

    assert list_rows(account, "E17") == [f"transfer {row.pk}"]


def test_finds_an_opening_balance_of_a_payment(scenario, account, commission):
    first, _ = post_opening_balances(account)
    payment = scenario.pay("1")
    reversed_row = account.transfers.get(reversal_of=first)

    row = account.transfers.create(
        **get_columns(reversed_row, payment_id=payment.pk, reversal_of_id=None)
    )

    assert f"transfer {row.pk}" in list_rows(account, "E17")


@pytest.mark.parametrize(("has_case", "since"), [(True, None), (False, LATER)])
def test_finds_who_is_wrongly_under_review(scenario, account, has_case, since):
    mina = scenario.mina.affiliate
    mina.update_row(under_review_since=LATER)
    case = account.risk_cases.create(rule="refund_rate", affiliate=mina)
    assert list_violated_invariants(account) == set()

    case.update_row(state="open" if has_case else "cleared")
    mina.update_row(under_review_since=since)

    assert list_rows(account, "E18") == [f"affiliate {mina.log_id}"]


def test_finds_a_table_without_triggers(account, monkeypatch):
    """Instead of dropping a trigger, check a table that has none."""
    monkeypatch.setattr(reconciliation, "APPEND_ONLY_MODELS", (Commission,))

    failures = list_discrepancies(account)

    assert [
        (failure.invariant, failure.account, failure.row, failure.stored) for failure in failures
    ] == [("E10", "-", "payouts_commission", "no trigger")] * 2


NO_UPDATE = "payouts_transfer_no_update"
REFUSAL = {
    "sqlite": " BEGIN SELECT RAISE(ABORT, 'payouts_transfer is append-only'); END",
    "postgresql": " FOR EACH ROW {}EXECUTE FUNCTION payouts_transfer_append_only()",
}


@pytest.mark.parametrize(
    ("event", "condition"),
    [
        ("BEFORE UPDATE ON payouts_commission", ""),
        ("BEFORE INSERT ON payouts_transfer", ""),
        ("BEFORE UPDATE OF kind ON payouts_transfer", ""),
        ("BEFORE UPDATE ON payouts_transfer", "WHEN (new.amount = 0) "),
    ],
    ids=["another-table", "another-event", "one-column", "a-condition"],
)
def test_finds_a_trigger_of_the_right_name_that_protects_nothing(account, event, condition):
    is_sqlite = connection.vendor == "sqlite"
    refusal = REFUSAL[connection.vendor]
    action = f" {condition}{refusal}" if is_sqlite else refusal.format(condition)

    execute(f"DROP TRIGGER {NO_UPDATE}" + ("" if is_sqlite else " ON payouts_transfer"))
    execute(f"CREATE TRIGGER {NO_UPDATE} {event}{action}")

    assert [row.invariant for row in list_discrepancies(account)] == ["E10"]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no such modes")
@pytest.mark.parametrize(
    "corruption",
    [
        f"ALTER TABLE payouts_transfer ENABLE REPLICA TRIGGER {NO_UPDATE}",
        f"ALTER TABLE payouts_transfer DISABLE TRIGGER {NO_UPDATE}",
        "CREATE OR REPLACE FUNCTION payouts_transfer_append_only() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$",
        "CREATE OR REPLACE FUNCTION payouts_transfer_append_only() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN IF false THEN"
        " RAISE EXCEPTION 'payouts_transfer is append-only'; END IF;"
        " RETURN new; END $$",
    ],
    ids=["fires for replicas alone", "disabled", "refuses nothing", "says it refuses"],
)
def test_finds_a_disabled_trigger(account, corruption):
    execute(corruption)

    assert list_violated_invariants(account) == {"E10"}


def test_finds_two_equal_commissions_with_exchanged_affiliates(scenario, account):
    mine = scenario.get_commission(scenario.create_conversion("200"))
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    hers = scenario.get_commission(scenario.create_conversion("200", affiliate=other_affiliate))

    exchange_affiliates(mine, hers)

    assert list_rows(account, "E6") == [f"commission {row.pk} (pending)" for row in (mine, hers)]
    assert list_violated_invariants(account) == {"E6", "E14"}


def test_finds_two_equal_payments_with_exchanged_affiliates(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    exchange_affiliates(*pay(account, (scenario.mina, 5), (other_affiliate, 5)))

    assert [row.invariant for row in list_discrepancies(account)] == ["E7"] * 2


@pytest.mark.parametrize(
    "corruption",
    [{"deleted_at": LATER}, {"currency": "USD"}],
    ids=["deleted", "dollars"],
)
def test_finds_a_commission_that_contradicts_its_conversion(account, commission, corruption):
    write(commission.conversion, **corruption)

    assert list_violated_invariants(account) == {"E6"}


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        ("commissions", "affiliate"),
        ("commissions", "conversion"),
        ("conversions", "program"),
        ("enrollments", "affiliate"),
        ("referral_codes", "enrollment"),
        ("commission_types", "program"),
        ("ledger_accounts", "affiliate"),
    ],
)
def test_finds_a_row_that_belongs_to_two_accounts(account, other_account, commission, rows, column):
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("100")
    foreign_row = getattr(getattr(other_account, rows).first(), column)
    foreign_row = foreign_row or other_account.affiliates.get()
    mine = getattr(account, rows).exclude(**{column: None}).first()

    type(mine)._base_manager.filter(pk=mine.pk).update(**{column: foreign_row})

    row = f"{mine._meta.db_table} {mine.pk}"
    found = Discrepancy("E11", "harbor", row, "another account's", column)
    assert found in list_discrepancies(account, other_account)


@pytest.mark.skipif(
    connection.vendor != "sqlite",
    reason="PostgreSQL's columns hold nothing but integers",
)
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("payouts_ledgeraccount", "balance", "200000.5"),
        ("payouts_commission", "amount", "200000.5"),
        ("payouts_commission", "sub_amount", "'much'"),
        ("tracking_conversion", "amount", "0.1"),
        ("payouts_commissiontype", "value", "1.5"),
    ],
)
def test_finds_a_stored_amount_that_is_not_an_integer(account, commission, table, column, value):
    execute(f"UPDATE {table} SET {column} = {value}")  # noqa: S608 - ours

    failures = list(reconciliation.check_e10_triggers_and_e13_precision())

    assert Discrepancy("E13", "-", table, failures[0].stored, column) in failures
    assert {failure.invariant for failure in failures} == {"E13"}


def test_checks_the_given_accounts_only(scenario, account, other_account):
    scenario.create_conversion("200")
    account.ledger_accounts.filter(kind="pending").update(balance=Decimal(1))

    assert list_violated_invariants(other_account) == set()
    assert list_violated_invariants(other_account, account) == {"E1", "E2", "E4"}


def test_counts_negative_balances(scenario, account):
    make_approved_commission(scenario)
    account.ledger_accounts.filter(kind="payable").update(balance=Decimal(-1))

    assert reconcile([account], at=LATER).negative_balance_count == 1


# Payments: E3, E7, E8 and E12.


@pytest.fixture
def payment(scenario, account):
    """A payment of 10 EUR for a commission of 10; another affiliate has one as well."""
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    make_approved_commission(scenario)
    make_approved_commission(scenario, affiliate=other_affiliate)
    return pay(account, (scenario.mina, 10), (other_affiliate, 10))[0]


def test_finds_no_discrepancy_after_all_kinds_of_payments(scenario, account):
    make_approved_commission(scenario, "300")
    for uses_payouts in (False, True):
        account.uses_payouts = uses_payouts
        account.save()
        top_up(account, 25)
        first, _ = pay(account, (scenario.mina, 10), (scenario.mina, 40))
        account.uses_payouts = not uses_payouts
        account.save()
        cancel_payment(account, payment_id=first.public_id, at=LATER)

    report = assert_ledger_consistent(account)

    # Mina: 30 - 40 - 40; payout balance: 50 - 40, stored as a negative balance.
    assert report.negative_balance_count == 2


@pytest.mark.parametrize(
    ("column", "value", "equations"),
    [
        pytest.param("amount", 110_000, {"E3", "E7"}, id="amount"),
        pytest.param("currency", "JPY", {"E3", "E12"}, id="currency"),
        pytest.param("canceled_at", LATER, {"E3", "E7", "E8", "E12"}, id="canceled"),
    ],
)
def test_finds_a_payment_changed_without_the_ledger(account, payment, column, value, equations):
    write(payment, **{column: value})

    assert list_violated_invariants(account) == equations


def test_finds_a_payment_with_another_affiliate(account, payment):
    other_affiliate = account.affiliates.get(slug="odettevarga")

    write(payment, affiliate_id=other_affiliate.pk)

    assert list_violated_invariants(account) == {"E3", "E7", "E12"}


def test_reports_a_payment_that_is_no_longer_canceled(account, payment):
    cancel_payment(account, payment_id=payment.public_id, at=LATER)

    write(payment, canceled_at=None)

    assert list_rows(account, "E7") == [f"payment {payment.public_id} (standing)"]
    assert list_violated_invariants(account) == {"E3", "E7", "E8"}


def test_finds_a_payment_without_a_transfer(account, payment):
    lost = account.payments.create(**get_columns(payment, public_id="pa_lost"))

    assert list_violated_invariants(account) == {"E3", "E7", "E15"}
    assert list_rows(account, "E7") == [f"payment {lost.public_id} (standing)"]


@pytest.mark.parametrize(
    "invalid",
    [
        pytest.param({"amount": Decimal("9.99")}, id="another-amount"),
        pytest.param({"reversal_of": None}, id="reverses-nothing"),
        pytest.param({"reversal_of": "the-other"}, id="reverses-another"),
        pytest.param({"credit": "pending"}, id="goes-elsewhere"),
        pytest.param({"credit": "the-other"}, id="another-affiliate"),
    ],
)
def test_finds_an_invalid_reversal(account, payment, invalid):
    paid, other = account.transfers.filter(kind="paid").order_by("id")
    if invalid.get("reversal_of") == "the-other":
        invalid = {"reversal_of": other}
    if invalid.get("credit") == "the-other":
        invalid = {"credit": other.debit}
    if invalid.get("credit") == "pending":
        mine = account.ledger_accounts.filter(affiliate=payment.affiliate)
        invalid = {"credit": mine.get(kind="pending")}
    write(payment, canceled_at=LATER)
    reversal = {
        "kind": "payment_canceled",
        "debit": paid.credit,
        "credit": paid.debit,
        "reversal_of": paid,
    }

    account.transfers.create(
        currency="EUR", payment=payment, **{"amount": Decimal(10)} | reversal | invalid
    )

    assert "E7" in list_violated_invariants(account)


def test_finds_a_payment_that_the_payout_balance_does_not_include(scenario, account):
    """Only the stored payout balance is wrong: E2, and E1 with it."""
    top_up(account)

    execute("UPDATE payouts_ledgeraccount SET balance = 0 WHERE kind = 'funding'")

    assert list_violated_invariants(account) == {"E1", "E2"}


@pytest.mark.parametrize(
    ("debit", "credit"),
    [
        pytest.param("external", "funding", id="the-wrong-way"),
        pytest.param("funding", "expense", id="from-somewhere-else"),
    ],
)
def test_finds_a_top_up_without_external_side(scenario, account, commission, debit, credit):
    top_up(account)

    account.transfers.create(
        currency="EUR",
        kind="funded",
        debit=get_ledger_account(account, debit),
        credit=get_ledger_account(account, credit),
        amount=Decimal(5),
    )

    assert list_violated_invariants(account) >= {"E8", "E9"}


def test_finds_a_payment_from_another_payout_source(scenario, account, payment):
    """An extra transfer into the payout balance, of no payment and no top-up."""
    top_up(account)
    payable = account.transfers.filter(kind="paid").first().debit

    account.transfers.create(
        currency="EUR",
        kind="payment_canceled",
        debit=get_ledger_account(account, "funding"),
        credit=payable,
        amount=Decimal(5),
    )

    assert list_violated_invariants(account) >= {"E8"}


@pytest.mark.parametrize("corruption", ["canceled", "another-affiliate", "other-currency"])
def test_finds_a_commission_with_an_invalid_payment(scenario, account, payment, corruption):
    mine = account.commissions.get(payment=payment)
    if corruption == "canceled":
        cancel_payment(account, payment_id=payment.public_id, at=LATER)
    elif corruption == "another-affiliate":
        payment = account.payments.exclude(pk=payment.pk).get()
    else:
        (payment,) = pay(account, (scenario.mina, 1, "JPY"))

    write(mine, payment_id=payment.pk)

    row = f"commission {mine.pk} (approved)"
    assert list_discrepancies(account) == [
        Discrepancy("E12", "harbor", row, payment.public_id, "no payment")
    ]


def test_database_allows_payments_of_approved_commissions_only(account, payment):
    """A constraint ensures E12: no pending or deleted commission is paid."""
    for column, value in (("status", "pending"), ("deleted_at", LATER)):
        with pytest.raises(IntegrityError), transaction.atomic():
            execute(
                f"UPDATE payouts_commission SET {column} = %s"  # noqa: S608 - ours
                " WHERE payment_id IS NOT NULL",
                value,
            )
