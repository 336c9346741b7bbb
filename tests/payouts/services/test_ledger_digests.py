"""Rewriting in place is visible: the audit log (E15) and the chain of digests (E16).

`rewrite` does what somebody with full access to the database can do: it drops the
triggers, changes rows and creates the triggers again. Each attack keeps all sums right,
so that E1 to E13 find nothing.
"""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection

from accounts.append_only import (
    DELETED_WITH_ACCOUNT,
    AllowDeletionWithAccount,
    MakeAppendOnly,
    get_trigger_names,
)
from accounts.models.audit_log import AuditLogEntry
from accounts.services.changes import log_event
from payouts.models.ledger import LedgerDigest, Transfer
from payouts.services import ledger_digests
from payouts.services.audit_log_invariants import COVERED_TABLES
from payouts.services.conversion_updates import add_commissions, update_commission
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.reconciliation import reconcile_all, record_result
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    ProgramScenario,
    build_line_items,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)
APPEND_ONLY = (AuditLogEntry, LedgerDigest, Transfer)


@pytest.fixture
def commission(scenario):
    """An approved commission of 20 EUR of a conversion of 200."""
    return approve(scenario, scenario.create_conversion("200"))


@pytest.fixture
def payment(account, scenario, commission):
    """A payment of 20 EUR for the commission."""
    return pay(account, scenario.mina, "20")


@pytest.fixture
def sealed(payment):
    """A commission and its payment, covered by a stored digest."""
    return seal()


def approve(scenario, conversion):
    commission = scenario.get_commission(conversion)
    scenario.approve(commission)
    return commission.reload()


def change(commission, **changes):
    """Change a commission as the API does."""
    update_commission(commission.account, commission_id=commission.pk, changes=changes, at=LATER)


def pay(account, affiliate, amount, at=CONVERSION_CREATED_AT):
    order = PaymentOrder(affiliate.slug, Decimal(amount), "EUR")
    (payment,) = create_payments(account, orders=[order], at=at)
    return payment


def seal(at=LATER):
    """Store the digest of the rows that have none yet; return the last digest."""
    report = reconcile_all(at=at)
    assert report.discrepancies == []
    record_result(report, at=at)
    return report.digest_report.head.digest


def list_violations(at=LATER, **options):
    """The violated invariants, and the tables whose digest differs."""
    found = reconcile_all(at=at, **options).discrepancies
    return {
        row.row.split()[0].partition("_")[2] or row.row if row.invariant == "E16" else row.invariant
        for row in found
    }


def get_operation(model):
    """Return the operation of the migrations that makes a table append-only."""
    if model._meta.db_table in DELETED_WITH_ACCOUNT:
        return AllowDeletionWithAccount(model._meta.model_name)
    return MakeAppendOnly(model._meta.model_name)


def rewrite(*statements):
    """Execute SQL without the append-only triggers, then create these again."""
    vendor = connection.vendor
    with connection.cursor() as cursor:
        if vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for model in APPEND_ONLY:
            table = model._meta.db_table
            for name in get_trigger_names(table):
                suffix = "" if vendor == "sqlite" else f" ON {table}"
                cursor.execute(f"DROP TRIGGER {name}{suffix}")
        for statement, *values in statements:
            cursor.execute(statement, values)
        for model in APPEND_ONLY:
            operation = get_operation(model)
            for statement in operation.get_forward_sql(model._meta.db_table, vendor):
                cursor.execute(statement)


def test_first_run_stores_a_digest_that_later_runs_repeat(sealed):
    (digest,) = LedgerDigest.objects.all()
    assert (digest.previous, digest.digest) == ("", sealed)
    assert digest.sealed_until == LATER - timedelta(hours=1)
    assert {name: rows["rows"] for name, rows in digest.segments.items()} == {
        "payouts_transfer": 3,
        "payouts_payment": 1,
        "accounts_auditlogentry": AuditLogEntry.objects.count(),
        "tracking_conversion": 1,
        "payouts_commission": 1,
    }

    assert seal() == sealed
    assert LedgerDigest.objects.count() == 1


def test_seals_new_rows_in_a_further_link(account, scenario, sealed):
    scenario.create_conversion("300", at=LATER)

    head = seal(LATER + timedelta(days=1))

    first, second = LedgerDigest.objects.order_by("id")
    assert (second.previous, second.digest) == (first.digest, head)
    assert second.segments["payouts_transfer"]["rows"] == 1
    assert second.segments["payouts_payment"] == {
        **second.segments["payouts_payment"],
        "last_id": first.segments["payouts_payment"]["last_id"],
        "rows": 0,
    }


def test_leaves_out_rows_younger_than_an_hour(scenario, sealed):
    """A transaction with a lower id may not have ended."""
    scenario.create_conversion("300", at=LATER)

    assert seal(LATER + timedelta(minutes=59)) == sealed
    assert seal(LATER + timedelta(minutes=61)) != sealed


def test_covers_all_accounts(other_account, payment):
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("100")
    seal()

    sql = "UPDATE accounts_auditlogentry SET actor = 'nobody' WHERE account_id = %s"
    rewrite((sql, other_account.pk))

    assert list_violations() == {"auditlogentry"}


def test_finds_a_payment_shrunk_with_its_transfer_and_both_balances(account, commission, scenario):
    payment = pay(account, scenario.mina, "19")
    seal()

    rewrite(
        ("UPDATE payouts_payment SET amount = 90000 WHERE id = %s", payment.pk),
        ("UPDATE payouts_transfer SET amount = 90000 WHERE kind = 'paid'",),
        ("UPDATE payouts_ledgeraccount SET balance = balance + 100000 WHERE kind = 'payable'",),
    )

    assert list_violations() == {"payment", "transfer"}


def test_finds_a_truncated_audit_log(sealed):
    rewrite(("DELETE FROM accounts_auditlogentry",))

    assert list_violations() == {"E15", "auditlogentry"}


def test_finds_an_audit_log_truncated_before_the_first_digest(payment):
    rewrite(("DELETE FROM accounts_auditlogentry",))

    assert list_violations() == {"E15"}
    assert [
        (row.row.split()[0], row.stored, row.computed)
        for row in reconcile_all(at=LATER).discrepancies
    ] == [(name, "no entry", f"{name}.created") for name in ("payment", "conversion", "commission")]


@pytest.mark.parametrize("column", ["actor", "kind", "created_at", "details"])
def test_finds_a_rewritten_audit_log_entry(sealed, column):
    value = {"created_at": CONVERSION_CREATED_AT, "details": '{"status": []}'}
    rewrite(
        (
            f"UPDATE accounts_auditlogentry SET {column} = %s"  # noqa: S608 - ours
            " WHERE kind = 'program.created'",
            value.get(column, "another"),
        )
    )

    assert list_violations() == {"auditlogentry"}


def test_finds_a_conversion_with_another_affiliate(scenario, account, commission):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")

    account.conversions.update(affiliate=other_affiliate.affiliate)

    assert list_violations() == {"E14"}


def test_finds_another_affiliate_in_conversion_commission_and_calculation(scenario, account):
    """Of an amount of zero, which has no transfers."""
    conversion = scenario.create_conversion("0")
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga").affiliate
    seal()

    account.conversions.filter(pk=conversion.pk).update(affiliate=other_affiliate)
    rewrite_calculation(
        scenario.get_commission(conversion),
        affiliate=other_affiliate,
        calculation={"affiliate_id": other_affiliate.pk},
    )

    assert list_violations() == {"conversion", "commission"}


def rewrite_calculation(commission, *, calculation, **values):
    """Change columns and the stored calculation."""
    text = json.dumps(json.loads(commission.calculation) | calculation)
    commission.account.commissions.filter(pk=commission.pk).update(**values, calculation=text)


@pytest.mark.parametrize(
    "values", [{"rate": Decimal(15)}, {"sub_amount": Decimal(150)}, {"amount": 21}]
)
def test_finds_a_commission_that_differs_from_its_calculation(account, commission, values):
    account.commissions.update(**values)

    assert "E14" in list_violations()


REWRITTEN_RATE = {
    "rate": Decimal(20),
    "calculation": {
        "rate": {"kind": "percentage", "value": "20"},
        "exact_amount": "40",
        "is_overridden": True,
    },
}
REWRITTEN_SUB_AMOUNT = {
    "sub_amount": Decimal(500),
    "calculation": {"sub_amount": "500", "exact_amount": "50", "is_overridden": True},
}


@pytest.mark.parametrize(
    "values", [REWRITTEN_RATE, REWRITTEN_SUB_AMOUNT], ids=["rate", "sub-amount"]
)
def test_finds_values_changed_with_their_calculation(account, commission, values):
    seal()

    rewrite_calculation(commission, **values)

    assert list_violations() == {"commission"}


def test_finds_a_changed_sub_amount_that_differs_from_the_audit_log(account, commission):
    """Even before the first digest."""
    change(commission, sub_amount=Decimal(300), amount=Decimal(20))
    assert list_violations() == set()

    rewrite_calculation(commission.reload(), **REWRITTEN_SUB_AMOUNT)

    (found,) = reconcile_all(at=LATER).discrepancies
    assert (found.invariant, found.row) == ("E15", f"commission {commission.pk}")
    assert found.stored.startswith("sub_amount 500")


def test_finds_a_change_in_place_before_a_logged_one(account, commission):
    seal()
    rewrite_calculation(commission, **REWRITTEN_SUB_AMOUNT)

    change(commission, sub_amount=Decimal(300))

    assert list_violations() == {"commission"}


def test_finds_changes_in_place_between_logged_ones(account, commission):
    for amount in (Decimal(300), Decimal(400)):
        change(commission, sub_amount=amount)
        rewrite_calculation(commission.reload(), **REWRITTEN_SUB_AMOUNT)
        change(commission, sub_amount=amount)

    assert list_violations() == {"E15"}


def test_finds_a_conversion_amount_changed_in_place(account, commission):
    seal()

    account.conversions.update(amount=Decimal(999))

    assert list_violations() == {"conversion"}


@pytest.mark.parametrize("is_allocated", [False, True])
def test_finds_an_unpaid_commission_marked_as_paid(account, scenario, payment, is_allocated):
    unpaid = approve(scenario, scenario.create_conversion("10"))
    if is_allocated:
        seal()
        account.payment_allocations.create(payment=payment, commission=unpaid)

    unpaid.update_row(payment=payment)

    assert list_violations() == {"payment" if is_allocated else "E12"}


def test_finds_deleted_and_inserted_rows(account, scenario, sealed):
    """The last audit log entry, and a transfer with an id below the sealed ones."""
    last = AuditLogEntry.objects.order_by("-id")[0]
    copied = Transfer.objects.order_by("-id")[0]

    rewrite(
        ("DELETE FROM accounts_auditlogentry WHERE id = %s", last.pk),
        ("UPDATE payouts_transfer SET id = -id WHERE id = %s", copied.pk),
    )

    assert list_violations() == {"auditlogentry", "transfer"}


def test_finds_a_rewritten_digest(sealed):
    rewrite(("UPDATE payouts_ledgerdigest SET digest = %s", "0" * 64))

    assert list_violations() == {"digest before 2026-03-05 08:15 UTC"}


def test_finds_a_removed_link(scenario, sealed):
    scenario.create_conversion("300", at=LATER)
    seal(LATER + timedelta(days=1))

    rewrite(("DELETE FROM payouts_ledgerdigest WHERE previous = ''",))

    assert "transfer" in list_violations(LATER + timedelta(days=1))


def test_expected_digest_reveals_a_rewritten_chain(payment):
    pinned = seal()
    assert list_violations(expected_digest=pinned) == set()

    rewrite(
        ("UPDATE accounts_auditlogentry SET actor = 'nobody'",),
        ("DELETE FROM payouts_ledgerdigest",),
    )
    assert seal() != pinned

    assert list_violations() == set()
    assert list_violations(expected_digest=pinned) == {"expected digest"}


def test_expects_every_digest_of_the_chain(scenario, payment):
    first = seal()
    scenario.create_conversion("300", at=LATER)
    second = seal(LATER + timedelta(days=1))

    for digest in (first, second):
        assert list_violations(expected_digest=digest) == set()
    assert list_violations(expected_digest="0" * 64) == {"expected digest"}


def test_stores_no_digest_after_a_broken_one(scenario, sealed):
    rewrite(("UPDATE accounts_auditlogentry SET actor = 'nobody'",))
    scenario.create_conversion("300", at=LATER)
    at = LATER + timedelta(days=1)

    record_result(reconcile_all(at=at), at=at)

    assert LedgerDigest.objects.count() == 1


def test_stores_one_of_two_concurrent_digests(payment):
    first, second = reconcile_all(at=LATER), reconcile_all(at=LATER)

    record_result(first, at=LATER)
    record_result(second, at=LATER)

    assert LedgerDigest.objects.count() == 1
    assert second.digest_report.head is None


def test_accepts_every_legal_change_of_sealed_rows(account, scenario):
    conversions = [
        scenario.create_conversion("100", "50", customer_id=f"c{number}") for number in range(3)
    ]
    for commission in account.commissions.all():
        scenario.approve(commission)
    payment = pay(account, scenario.mina, "40")
    seal()

    cancel_payment(account, payment_id=payment.public_id, at=LATER)
    pay(account, scenario.mina, "12", at=LATER)
    scenario.delete(conversions[0], at=LATER)
    for amount in ("80", "90.5"):
        scenario.change_amount(conversions[1], amount, at=LATER)
    first, second = account.commissions.filter(conversion=conversions[2])
    for changes in ({"sub_amount": Decimal(70)}, {"amount": Decimal("0.07")}):
        change(first, **changes, comment="x")
    scenario.disapprove(second, at=LATER)
    add_commissions(
        account,
        conversion_id=conversions[2].pk,
        line_items=build_line_items("5"),
        at=LATER,
    )

    assert list_violations(LATER + timedelta(minutes=1)) == set()
    seal(LATER + timedelta(days=1))


def test_accepts_another_affiliate_that_is_in_the_audit_log(account, scenario):
    """As when a conversion that a page reported is confirmed for somebody else."""
    conversion = scenario.create_conversion("0")
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga").affiliate
    seal()

    details = {"affiliate": [conversion.affiliate.log_id, other_affiliate.log_id]}
    log_event(account, "conversion.updated", conversion, at=LATER, **details)
    conversion.update_row(affiliate=other_affiliate)
    account.commissions.update(deleted_at=LATER)

    assert list_violations() == set()


def test_serializes_a_row_the_same_on_both_databases(account):
    entry = account.audit_log.create(
        id=2**40,
        kind="test.logged",
        subject="account:harbor",
        details={"b": [1, None, "ü"], "a": {"amount": "12.5"}},
        actor="x",
        created_at=CONVERSION_CREATED_AT + timedelta(microseconds=5),
    )
    (table,) = (table for table in COVERED_TABLES if table.model is AuditLogEntry)

    ((row,),) = ledger_digests._read_in_batches(table, pk=entry.pk)

    assert ledger_digests._serialize(row).decode() == (
        f'{{"account_id":{account.pk},"actor":"x",'
        '"created_at":"2026-03-04T09:15:27.000005+00:00",'
        '"details":{"a":{"amount":"12.5"},"b":[1,null,"ü"]},'
        f'"id":{2**40},"kind":"test.logged","subject":"account:harbor","trace_id":""}}'
    )


def test_triggers_are_recreated_by_these_tests(sealed):
    """Otherwise E10 would find what the digests must find."""
    rewrite()

    assert list_violations() == set()
    assert len(get_trigger_names("payouts_ledgerdigest")) == 2
