"""Tables are checked row by row, and stored as the other system had them."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.services.webhooks import create_webhook
from affiliate_site.moving.tables import importing
from affiliate_site.moving.tables.importing import UnknownColumn
from affiliate_site.moving.tables.undo import undo_table_import
from payouts.models.ledger import LedgerAccount
from payouts.services.documents import count_unbilled, issue_documents, list_unbilled
from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.moving.tables.building import NOW, build, store
from tests.closed_months import close
from tests.document_scenario import set_rule, set_taxes, switch_on
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tracking.services.custom_fields import create_custom_field

pytestmark = pytest.mark.django_db

AFFILIATES = """ID,E-mail,First name,Last name,Group,Parent,Program,Status,\
Referral code,Coupon,Payout method,Payout: email,Country,Created,meta:source
odette,odette@notes.example.org,Odette,Varga,Gold,nils,harbor-lamp-partners,approved,\
od,OD10,PayPal,odette@pay.example.org,HU,2026-03-04,blog
nils,nils@notes.example.org,Nils,Berg,,,Harbor Lamp Partners,pending,,,,,,,
"""


def test_store_affiliates(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    assert report.counts == {"created": 2, "known": 0, "not_stored": 0}
    odette = account.affiliates.get(slug="odette")
    assert odette.parent.slug == "nils"
    assert odette.group.title == "Gold"
    assert odette.meta_data == {"source": "blog"}
    enrollment = odette.enrollments.get()
    assert enrollment.approved is True
    assert account.referral_codes.get(enrollment=enrollment).code == "od"
    assert account.coupons.get(enrollment=enrollment).code == "OD10"
    assert account.payout_methods.get(affiliate=odette).details == {
        "email": "odette@pay.example.org"
    }
    assert_ledger_consistent(account)


def test_log_what_became_of_each_affiliate(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    odette = account.affiliates.get(slug="odette")
    program = scenario.program
    entries = account.audit_log.filter(
        subject__in=[f"affiliate:{odette.log_id}", f"enrollment:{program.slug}/{odette.log_id}"],
    )
    logged = {entry.kind: entry.details for entry in entries}
    source = {"source": report.table_import.source}
    assert logged["affiliate.added_to_program"] == source | {
        "program": program.slug,
        "approved": True,
    }
    assert logged["affiliate.added_to_group"] == source | {"group": odette.group.public_id}
    assert logged["affiliate.updated"] == source | {"parent": odette.parent_id}
    assert logged["enrollment.updated"] == source | {"fields": ["coupon"]}
    assert "affiliate.created" in logged


CUSTOMERS = """Customer ID,Affiliate,Status,Created
member-1,od,paying,2026-03-05
member-2,nils@notes.example.org,,
"""
PAYMENTS = """Payment ID,Affiliate,Amount,Currency,Paid
march,odette,10.00,EUR,2026-04-01
,nils,3.5,EUR,2026-04-02
"""
SALES = """Order ID,Affiliate,Customer ID,Amount,Currency,Commission,Status,\
Payment,Created
order-1,odette,member-1,100.00,EUR,10.00,paid,march,2026-03-06T10:00:00Z
order-2,nils,member-2,50,EUR,3.5,paid,,2026-03-07T10:00:00Z
order-3,nils,,50,EUR,5,approved,,2026-03-08T10:00:00Z
order-4,nils,,50,EUR,,,,2026-03-09T10:00:00Z
"""
DEFAULTS = {"program": "harbor-lamp-partners"}


def store_sales(account, *, has_affiliates=False):
    """Store affiliates, customers, payments and sales; return the reports."""
    people = [] if has_affiliates else [store(account, "affiliates", AFFILIATES)]
    return [
        *people,
        store(account, "customers", CUSTOMERS, defaults=DEFAULTS),
        store(account, "payments", PAYMENTS),
        store(account, "conversions", SALES, defaults=DEFAULTS),
    ]


def test_store_customers_payments_and_sales(scenario):
    account = scenario.account
    store_sales(account)
    by_order = {row.external_id: row for row in account.conversions.order_by("external_id")}
    assert by_order["order-1"].customer.customer_id == "member-1"
    assert by_order["order-1"].created_at == datetime(2026, 3, 6, 10, tzinfo=UTC)
    paid = account.commissions.get(conversion=by_order["order-1"])
    assert (paid.status, paid.payment.public_id) == ("approved", "march")
    stated = account.commissions.get(conversion=by_order["order-2"])
    assert (stated.payment.amount, stated.payment.created_at.day) == (Decimal("3.5"), 7)
    due = account.commissions.get(conversion=by_order["order-3"])
    assert (due.status, due.payment) == ("approved", None)
    assert not account.commissions.filter(conversion=by_order["order-4"]).exists()
    assert get_payable_balances_by_slug(account) == {"nils": {"EUR": Decimal("1.5")}}
    assert_ledger_consistent(account)


def test_double_nothing_in_a_second_run(scenario):
    account = scenario.account
    store_sales(account)
    tables = [
        ("affiliates", AFFILIATES),
        ("customers", CUSTOMERS),
        ("payments", PAYMENTS),
        ("conversions", SALES),
    ]
    before = snapshot_account(account)
    for kind, text in tables:
        defaults = {} if kind in ("affiliates", "payments") else DEFAULTS
        report = build(account, kind, text, defaults=defaults).store()
        assert report.counts["created"] == report.counts["not_stored"] == 0
        assert report.table_import is None
    assert snapshot_account(account) == before


def test_write_nothing_in_a_preview(scenario):
    before = snapshot_account(scenario.account)
    report = build(scenario.account, "affiliates", AFFILIATES).preview()
    assert [row.outcome for row in report.rows] == ["created", "created"]
    assert [row.label for row in report.rows] == ["odette", "nils"]
    assert snapshot_account(scenario.account) == before


def test_send_nothing(scenario):
    account = scenario.account
    create_webhook(account, url="https://hooks.example.org/", events=[], at=NOW)
    account.refresh_from_db()
    assert account.uses_webhooks
    store_sales(account)
    assert not account.deliveries.exists()
    assert not account.mails.exists()


def find_problems(report):
    return [(each.row, each.column, each.code) for each in report.problems]


def test_find_what_is_wrong_with_affiliates(scenario):
    account = scenario.account
    store(account, "affiliates", AFFILIATES)
    text = """ID,E-mail,First name,Parent,Program,Status,Referral code,Coupon,\
Payout method,Payout: email,Payout: iban,Country,custom:Shoe size
,,Kim,,,,,,,,,,
a,mina@notes.example.org,,,,,,,,,,,
b,b@notes,,,,,,,,,,,
c,,C,,harbor-lamp-partners,,od,,,,,,
d,,D,,harbor-lamp-partners,,,OD10,,,,,
e,,E,,harbor-lamp-partners,,one two,,,,,,
f,,F,,,,code,,,,,,
g,,G,,,,,,paypal,nowhere,,,
h,,H,,,,,,,,DE89370400440532013000,,
i,,I,,,,,,cash,,,,
j,,J,k,,,,,,,,,
k,,K,j,,,,,,,,,
l,,L,b,,,,,,,,,
m,,M,,,,,,,,,Atlantis,
n,,N,,harbor-lamp-partners,maybe,,,,,,,
o,,O,,,,,,,,,,42
p,p@notes.example.org,P,,,,,,,,,,
q,P@notes.example.org,Q,,,,,,,,,,
p,,P,,,,,,,,,,
"""
    answers = {
        "value:status:maybe": "leave_out",
        "value:payout_method:cash": "leave_out",
    }
    report = build(account, "affiliates", text, answers=answers).preview()
    assert find_problems(report) == [
        (2, "ID", "missing"),
        (3, "E-mail", "email_in_use"),
        (4, "E-mail", "invalid_email"),
        (5, "Referral code", "code_in_use"),
        (6, "Coupon", "coupon_in_use"),
        (7, "Referral code", "several_codes"),
        (8, "Program", "missing"),
        (9, "Payout: email", "invalid_payout_details"),
        (10, "Payout method", "missing"),
        (11, "Payout method", "left_out"),
        (12, "Parent", "parent_cycle"),
        (13, "Parent", "parent_cycle"),
        (14, "Parent", "unknown_affiliate"),
        (15, "Country", "unknown_country"),
        (16, "Status", "left_out"),
        (17, "custom:Shoe size", "unknown_custom_field"),
        (19, "E-mail", "duplicate_address"),
        (20, "ID", "duplicate_affiliate"),
    ]
    assert all(each.sentence for each in report.problems)


def test_make_ids_and_keep_those_of_other_systems(scenario):
    account = scenario.account
    people = """ID,Full name,E-mail
AB_12,Ida Maria Holm,ida@notes.example.org
,Ida Maria Holm,ida2@notes.example.org
,Ida Maria Holm,ida3@notes.example.org
"""
    report = store(account, "affiliates", people)
    slugs = {row.email: row.slug for row in account.affiliates.exclude(email=None)}
    assert slugs["ida@notes.example.org"] == "ab-12"
    assert slugs["ida2@notes.example.org"] == "idamariaholm"
    assert slugs["ida3@notes.example.org"] == "idamariaholm2"
    ida = account.affiliates.get(slug="ab-12")
    assert (ida.firstname, ida.lastname) == ("Ida Maria", "Holm")
    payment = "Affiliate,Amount,Currency,Paid\nAB_12,5,EUR,2026-04-01\n"
    store(account, "payments", payment)
    assert account.payments.get().affiliate == ida
    assert report.table_import.created == 3


def test_fill_custom_fields(scenario):
    account = scenario.account
    create_custom_field(account, slug="size", title="Size", type="text", at=NOW)
    kinds = create_custom_field(
        account,
        slug="channels",
        title="Channels",
        type="multiselect",
        options=["Blog", "Mail"],
        at=NOW,
    )
    text = 'ID,First name,custom:Size,custom:channels\nida,Ida,42,"Blog, Mail"\n'
    store(account, "affiliates", text)
    stored = account.affiliates.get(slug="ida").custom_fields
    assert stored == {"size": "42", kinds.slug: ["Blog", "Mail"]}


def test_need_an_id_for_sales_that_look_the_same(scenario):
    text = """Affiliate,Amount,Currency,Created
mina@notes.example.org,5,EUR,2026-03-05
mina@notes.example.org,5,EUR,2026-03-05
mina@notes.example.org,5,EUR,
"""
    report = build(scenario.account, "conversions", text, defaults=DEFAULTS).preview()
    assert find_problems(report) == [
        (3, "External ID", "duplicate_row"),
        (4, "External ID", "missing"),
    ]


def test_refuse_columns_that_are_not_there(scenario):
    with pytest.raises(UnknownColumn, match="There is no column 'shoe'"):
        build(scenario.account, "affiliates", AFFILIATES, mapping={"shoe": "ID"})
    with pytest.raises(UnknownColumn, match="There is no header 'Shoe'"):
        build(scenario.account, "affiliates", AFFILIATES, mapping={"id": "Shoe"})


def test_say_what_the_database_refuses(scenario, monkeypatch):
    """Another import has stored an affiliate after the checks."""
    account = scenario.account
    importer = build(account, "affiliates", AFFILIATES, only_good=True)
    check = importing.check_rows

    def check_then_lose(kind, imports, rows, answers):
        check(kind, imports, rows, answers)
        rows[1].body["id"] = scenario.mina.slug

    monkeypatch.setattr(importing, "check_rows", check_then_lose)
    report = importer.store()
    assert find_problems(report) == [(3, "ID", "stored_by_another_run")]
    assert report.counts == {"created": 1, "known": 0, "not_stored": 1}
    assert account.affiliates.get(slug="odette").parent is None
    importer.only_good = False
    assert importer.store().table_import is None


PAID = """Order ID,Affiliate,Amount,Currency,Commission,Status,Created
o-1,mina@notes.example.org,100,EUR,10,paid,2026-03-06
o-2,mina@notes.example.org,100,EUR,10,paid,2026-03-07
o-3,mina@notes.example.org,100,EUR,10,paid,2026-03-08
"""


@pytest.mark.another_transaction
def test_pay_sales_whose_page_is_stored_again(scenario, monkeypatch):
    """Somebody reports one of the sales after the checks."""
    account = scenario.account
    check = importing.check_rows

    def check_then_report(kind, imports, rows, answers):
        check(kind, imports, rows, answers)
        sale = scenario.create_conversion("100", external_id="o-2")
        scenario.set_status(scenario.get_commission(sale), "disapproved")

    monkeypatch.setattr(importing, "check_rows", check_then_report)
    importer = build(account, "conversions", PAID, defaults=DEFAULTS, only_good=True)
    report = importer.store()
    assert find_problems(report) == [(3, "Order ID", "duplicate_external_id")]
    paid = account.commissions.exclude(payment=None)
    assert [row.conversion.external_id for row in paid.order_by("id")] == ["o-1", "o-3"]
    assert get_payable_balances_by_slug(account) == {}
    assert_ledger_consistent(account)


def test_need_a_date_for_the_payment_of_a_paid_sale(scenario):
    text = """Order ID,Affiliate,Amount,Currency,Commission,Status,Created
o-1,mina@notes.example.org,100,EUR,10,paid,
o-2,mina@notes.example.org,100,EUR,10,approved,
"""
    report = build(scenario.account, "conversions", text, defaults=DEFAULTS).preview()
    assert find_problems(report) == [(2, "Created", "missing")]


def test_bill_no_payment_of_another_system(scenario):
    account = scenario.account
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug)
    address = {"address": "Ring 1", "city": "Wien", "country": "AT"}
    account.affiliates.update(**address)
    report = store(account, "conversions", PAID, defaults=DEFAULTS)
    own = scenario.pay("5", at=NOW)
    assert count_unbilled(account) == 1
    assert [it.payment for it in list_unbilled(account, limit=9)] == [own]
    [document] = issue_documents(account, at=NOW)
    assert document.payment == own
    assert undo_table_import(account, public_id=report.table_import.public_id, at=NOW)
    assert_ledger_consistent(account)


OLD_CODES = """ID,E-mail,Program,Referral code,Further referral codes
odette,odette@notes.example.org,harbor-lamp-partners,od,"od-2024, od-shop"
nils,nils@notes.example.org,harbor-lamp-partners,nb,nb-2024 od-shop
lena,lena@notes.example.org,harbor-lamp-partners,nb-2024,
"""


def test_old_codes_lead_to_their_affiliate(scenario):
    account = scenario.account
    report = build(account, "affiliates", OLD_CODES, only_good=True).store()
    assert [(it.row, it.column, it.code, it.value) for it in report.problems] == [
        (3, "Further referral codes", "code_in_use", "od-shop"),
        (4, "Referral code", "code_in_use", "nb-2024"),
    ]
    (enrollment,) = account.affiliates.get(slug="odette").enrollments.all()
    codes = account.referral_code_aliases.filter(enrollment=enrollment)
    assert sorted(codes.values_list("code", flat=True)) == ["od-2024", "od-shop"]

    sales = "Order ID,Affiliate,Amount,Currency,Created\n1,od-2024,5,EUR,2026-03-09"
    store(account, "conversions", sales, defaults=DEFAULTS)
    assert account.conversions.get().affiliate.slug == "odette"


def test_lock_no_balance_before_the_last_row_is_written(scenario, monkeypatch):
    account = scenario.account
    store(account, "affiliates", AFFILIATES)
    monkeypatch.setattr(importing, "PAGE_SIZE", 1)
    table = LedgerAccount._meta.db_table
    with CaptureQueriesContext(connection) as queries:
        store_sales(account, has_affiliates=True)
    texts = [query["sql"] for query in queries]
    last = max(n for n, text in enumerate(texts) if 'INTO "tracking_importedob' in text)
    locks = [
        n
        for n, text in enumerate(texts)
        if f'UPDATE "{table}"' in text or f'INTO "{table}"' in text
    ]
    own = [n for n in locks if n > find_start(texts, "conversions")]
    assert own
    assert min(own) > last
    assert_ledger_consistent(account)


def find_start(texts, kind):
    """Where the import of a kind of table begins."""
    return max(
        n
        for n, text in enumerate(texts)
        if 'INTO "tracking_tableimport"' in text and f"'{kind}'" in text
    )


SALES_WITH_STATUS = """External ID,Program,Affiliate,Amount,Currency,Commission,\
Created,Status,Approved
o-1,harbor-lamp-partners,mina@notes.example.org,10,EUR,1,2026-04-01,{},{}
"""


@pytest.mark.parametrize(
    ("status", "approved", "defaults", "found"),
    [
        ("approved", "", {"approved": "pending"}, "approved"),
        ("paid", "", {"approved": "disapproved"}, "paid"),
        ("", "no", {"status": "approved"}, "disapproved"),
        ("", "yes", {"status": "paid"}, "paid"),
        ("", "", {"approved": "approved"}, "approved"),
        ("approved", "no", {}, None),
        ("", "", {"status": "approved", "approved": "disapproved"}, None),
    ],
)
def test_cells_count_more_than_values_for_empty_ones(scenario, status, approved, defaults, found):
    text = SALES_WITH_STATUS.format(status, approved)
    report = build(scenario.account, "conversions", text, defaults=defaults).preview()
    [row] = report.rows
    if found is None:
        assert [it.code for it in row.problems] == ["contradiction"]
    else:
        assert (row.problems, row.values["status"]) == ([], found)


def test_refuse_new_entries_with_dates_in_closed_months(scenario):
    account = scenario.account
    store_sales(account)
    close(account, 3)
    again = build(account, "conversions", SALES, defaults=DEFAULTS).preview()
    assert again.counts == {"created": 0, "known": 4, "not_stored": 0}
    tables = {
        "conversions": """Order ID,Affiliate,Amount,Currency,Commission,Status,Created,\
Day of payment
n-1,nils,50,EUR,5,approved,2026-03-31T23:59:59Z,
n-2,nils,50,EUR,5,paid,2026-04-01T00:00:00Z,2026-03-31
n-3,nils,50,EUR,5,paid,2026-04-01T00:00:00Z,2026-04-02
n-4,nils,50,EUR,5,approved,2026-02-01,
""",
        "payments": """Payment ID,Affiliate,Amount,Currency,Paid
p-1,nils,1,EUR,2026-03-31
p-2,nils,1,EUR,2026-04-01
""",
        "opening_balances": """Affiliate,Balance,Currency,Date
nils,1,EUR,2026-03-31
odette,1,EUR,2026-04-01
""",
    }
    problems = {}
    for kind, text in tables.items():
        defaults = DEFAULTS if kind == "conversions" else {}
        report = build(account, kind, text, defaults=defaults).preview()
        problems[kind] = [(it.row, it.column, it.code) for it in report.problems]
        report = build(account, kind, text, defaults=defaults, only_good=True).store()
        assert [(it.row, it.column, it.code) for it in report.problems] == problems[kind]
        sentence = report.problems[0].sentence
    assert problems == {
        "conversions": [
            (2, "Created", "closed_month"),
            (3, "Day of payment", "closed_month"),
            (5, "Created", "closed_month"),
        ],
        "payments": [(2, "Paid", "closed_month")],
        "opening_balances": [(2, "Date", "closed_month")],
    }
    assert sentence == (
        "March 2026 is closed: choose a later date, or an owner can reopen the month"
        " (Bookkeeping, Closing of a period)."
    )
    assert_ledger_consistent(account)
