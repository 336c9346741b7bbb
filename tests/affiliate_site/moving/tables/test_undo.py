"""An import is undone as long as nothing was built on it."""

from datetime import timedelta
from decimal import Decimal

import pytest

from affiliate_site.moving.tables.undo import (
    TableImportBuiltUpon,
    TableImportNotFound,
    TableImportUndone,
    undo_table_import,
)
from payouts.services.ledger import LedgerSession, get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from tests.affiliate_site.moving.tables.building import NOW, store
from tests.affiliate_site.moving.tables.test_importing import (
    AFFILIATES,
    store_sales,
)
from tests.ledger_checks import assert_ledger_consistent
from tests.shop_inbox import deliver
from tests.stripe_events import SECRET, build_checkout, build_dispute
from tracking.models.shops import ConnectionMode
from tracking.services.affiliates import update_affiliate
from tracking.services.connections import create_connection
from tracking.services.enrollments import set_approval

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(days=1)
CUSTOMERS = "Customer ID,Affiliate\nmember-1,mina@notes.example.org\n"
SALES = """Order ID,Affiliate,Customer ID,Amount,Currency,Commission,Status,Created
order-1,mina@notes.example.org,{customer},100,EUR,10,{status},2026-03-06
"""


def undo(report, account):
    return undo_table_import(account, public_id=report.table_import.public_id, at=LATER)


def refuse_undo(report, account):
    """The reason why an import cannot be undone, which changes nothing."""
    with pytest.raises(TableImportBuiltUpon) as error:
        undo(report, account)
    report.table_import.refresh_from_db()
    assert report.table_import.undone_at is None
    assert_ledger_consistent(account)
    return error.value.text.partition("cannot be undone: ")[2]


@pytest.fixture
def sell(scenario):
    """Store a sale of Mina."""

    def sell(customer="", status="approved"):
        text = SALES.format(customer=customer, status=status)
        defaults = {"program": scenario.program.slug}
        return store(scenario.account, "conversions", text, defaults=defaults)

    return sell


def test_remove_affiliates_and_what_belongs_to_them(scenario):
    account = scenario.account
    before = account.affiliates.count()
    report = store(account, "affiliates", AFFILIATES)
    removed = undo(report, account)
    assert removed == {"group": 1, "affiliate": 2, "enrollment": 2}
    assert account.affiliates.count() == before
    assert not account.affiliate_groups.exists()
    assert not account.payout_methods.exists()
    assert_ledger_consistent(account)
    report.table_import.refresh_from_db()
    assert report.table_import.undone_at == LATER
    with pytest.raises(TableImportUndone):
        undo(report, account)
    assert store(account, "affiliates", AFFILIATES).counts["created"] == 2


BALANCES = "Affiliate,Balance,Currency,Date\nodette,12.5,EUR,2026-05-01\n"


def test_delete_affiliates_whose_balances_and_sales_are_undone(scenario):
    """The entries of the ledger stay, so they do, too, and their IDs."""
    account = scenario.account
    people, *others = store_sales(account)
    others.append(store(account, "opening_balances", BALANCES))
    for report in others[:-1][::-1]:
        assert "uses affiliate" in refuse_undo(people, account)
        undo(report, account)
    refusal = refuse_undo(people, account)
    assert refusal == "affiliate odette has an opening balance in EUR"
    undo(others[-1], account)

    undo(people, account)

    odette = account.affiliates.get(slug="odette")
    assert odette.deleted_at == LATER
    assert not account.referral_codes.filter(code="od").exists()
    assert_ledger_consistent(account)
    again = store_sales(account)
    again.append(store(account, "opening_balances", BALANCES))
    assert [report.counts["created"] for report in again] == [2, 2, 2, 4, 1]
    (odette_2,) = account.affiliates.not_deleted().filter(email=odette.email)
    assert odette_2.slug == "odette2"
    assert get_payable_balances_by_slug(account)["odette2"] == {"EUR": Decimal("12.5")}
    assert_ledger_consistent(account)


def test_remove_old_codes(scenario):
    text = "ID,E-mail,Program,Further referral codes\nodette,o@example.org,{},od-1 od-2"
    program = scenario.program.slug
    report = store(scenario.account, "affiliates", text.format(program))
    undo(report, scenario.account)
    assert not scenario.account.referral_code_aliases.exists()


def test_delete_sales_cancel_their_payments_and_read_them_again(scenario):
    account = scenario.account
    reports = store_sales(account)
    for report in reversed(reports[1:]):
        undo(report, account)
        assert_ledger_consistent(account)
    assert not account.conversions.not_deleted().exists()
    assert not account.payments.not_canceled().exists()
    assert not account.customers.not_deleted().exists()
    balances = account.ledger_accounts.filter(kind="payable")
    assert {row.balance for row in balances} == {0}
    again = store_sales(account, has_affiliates=True)
    assert [report.counts["created"] for report in again] == [2, 2, 4]
    assert_ledger_consistent(account)


def test_keep_what_was_known_before(scenario):
    account = scenario.account
    people = "ID,E-mail,Program\nmina-2,mina2@notes.example.org,\n"
    store(account, "affiliates", people)
    enrolled = f"ID,Program\nmina-2,{scenario.program.slug}\n"
    report = store(account, "affiliates", enrolled)
    assert undo(report, account) == {"enrollment": 1}
    assert account.affiliates.filter(slug="mina-2").exists()


def test_refuse_a_sale_that_was_decided_or_paid_since(scenario, sell):
    account = scenario.account
    report = sell(status="pending")
    commission = account.commissions.get()
    scenario.set_status(commission, "approved", at=LATER)
    assert "has changed since (commission.updated)" in refuse_undo(report, account)


def test_refuse_a_sale_that_another_payment_pays(scenario, sell):
    account = scenario.account
    report = sell()
    scenario.pay("10", at=LATER)
    assert "has changed since (commission.updated)" in refuse_undo(report, account)


def test_refuse_a_sale_that_a_shop_reports_too(scenario):
    """Or a later dispute would not find the sale that is imported again."""
    account = scenario.account
    connection = create_connection(
        account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=NOW,
    )
    text = SALES.replace("order-1", "pi_1").format(customer="", status="approved")
    defaults = {"program": scenario.program.slug}
    report = store(account, "conversions", text, defaults=defaults)
    click = str(scenario.create_click().public_id)
    deliver(connection, build_checkout(client_reference_id=click), at=LATER)
    assert account.shop_orders.get(is_adopted=True).conversion.commissions.exists()
    assert "uses conversion" in refuse_undo(report, account)
    deliver(connection, build_dispute("lost", hours=2), at=LATER)
    assert get_payable_balances_by_slug(account) == {}
    assert_ledger_consistent(account)


def test_refuse_customers_with_sales(scenario, sell):
    account = scenario.account
    defaults = {"program": scenario.program.slug}
    report = store(account, "customers", CUSTOMERS, defaults=defaults)
    sale = sell(customer="member-1")
    assert "uses customer" in refuse_undo(report, account)
    undo(sale, account)
    assert undo(report, account) == {"customer": 1}


def test_refuse_payments_that_pay_other_imports(scenario):
    account = scenario.account
    _, _, payments, sales = store_sales(account)
    assert "uses payment" in refuse_undo(payments, account)
    undo(sales, account)
    assert undo(payments, account) == {"payment": 2}


def test_refuse_affiliates_with_sales_changes_or_children(scenario):
    account = scenario.account
    report, *_ = store_sales(account)
    assert refuse_undo(report, account)


def test_refuse_affiliates_who_have_changed(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    update_affiliate(account, affiliate_id="nils", changes={"firstname": "Niels"}, at=LATER)
    assert "affiliate nils has changed since (affiliate.updated)" in refuse_undo(report, account)


def test_refuse_affiliates_who_were_approved_since(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    set_approval(account, program=scenario.program, affiliate_id="nils", approved=True, at=LATER)
    assert "has changed since" in refuse_undo(report, account)


def test_refuse_affiliates_with_children_from_elsewhere(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    child = "ID,First name,Parent\nkim,Kim,nils\n"
    store(account, "affiliates", child)
    assert "affiliate kim uses it" in refuse_undo(report, account)


def test_find_no_import_of_another_account(scenario, other_account):
    report = store(scenario.account, "affiliates", AFFILIATES)
    with pytest.raises(TableImportNotFound):
        undo(report, other_account)


def test_pay_nothing_twice_after_an_undo(scenario, sell):
    account = scenario.account
    report = sell()
    undo(report, account)
    order = PaymentOrder(affiliate_id=scenario.mina.slug, amount=1, currency="EUR")
    create_payments(account, orders=[order], at=LATER)
    assert not account.commissions.exclude(payment=None).exists()
    assert_ledger_consistent(account)


def test_lock_all_balances_at_once_before_any_is_changed(scenario, monkeypatch):
    account = scenario.account
    reports = store_sales(account)
    locked = []
    lock = LedgerSession.lock_balances

    def record(ledger):
        locked.append({affiliate for affiliate, _ in ledger.balance_keys})
        lock(ledger)

    monkeypatch.setattr(LedgerSession, "lock_balances", record)
    undo(reports[-1], account)
    assert len(locked) > 1
    assert locked[0] == set.union(*locked)
    assert_ledger_consistent(account)
