"""Exports of other systems in the office: what is paid, owed, pending and refused."""

from collections import defaultdict
from decimal import Decimal

import pytest
from django.utils import timezone

from affiliate_site.moving.tables.undo import undo_table_import
from payouts.services.documents import list_unbilled
from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.backoffice.table_import_pages import (
    choose,
    client,
    get_entries,
    read,
    store,
    upload,
    url_of,
)
from tests.document_scenario import set_rule, switch_on
from tests.ledger_checks import assert_ledger_consistent

__all__ = ["choose", "client", "upload"]

MAX_CLICKS = 25
# Choose kind and file (two each with the list and the dialog), continue.
UPLOAD_CLICKS = 5


def sum_by_state(account):
    """The commissions of each affiliate that are paid, owed, pending and refused."""
    names = {"approved": "owed", "pending": "pending", "disapproved": "refused"}
    sums = defaultdict(lambda: defaultdict(Decimal))
    for row in account.commissions.not_deleted().select_related("affiliate"):
        state = "paid" if row.payment_id else names[row.status]
        sums[row.affiliate.email or row.affiliate.slug][state] += row.amount
    return {name: dict(own) for name, own in sums.items()}


def amounts(**values):
    return {name: Decimal(text) for name, text in values.items()}


@pytest.fixture
def move_in(client, upload, choose):
    """A function that imports a table with answers; at most 25 clicks."""

    def move_in(kind, text, *, system="", button="_save", **answers):
        found = upload(kind, text, system=system)
        clicks = UPLOAD_CLICKS + 2 * bool(system) + 2 * len(answers) + 2
        assert clicks <= MAX_CLICKS
        page = choose(found, **answers)
        has_problems = page.context["report"].problems != []
        assert has_problems == (button == "_only_good"), page.context["report"].problems
        assert store(client, page, button).status_code == 302
        return page

    return move_in


REWARDFUL_PEOPLE = """ID,First name,Last name,Email,State,Token,Link,PayPal email
u-1,Ada,Roth,ada@x.example,active,ada-1,https://shop.example/?via=ada-1,
u-2,Ben,Ost,ben@x.example,active,,https://shop.example/?via=ben-2,ben@pay.example
u-3,Cleo,Ito,cleo@x.example,suspicious,,,
"""
REWARDFUL = """ID,State,Currency,Sale amount,Commission amount,Affiliate email,Created,\
Due,Paid
c-1,paid,EUR,100.00,20.05,ada@x.example,2026-03-01 00:00:00 UTC,2026-03-31,2026-04-15
c-2,paid,EUR,50.00,10.00,ada@x.example,2026-03-02 01:13:00 UTC,2026-03-31,2026-04-15
c-3,paid,EUR,10.00,2.00,ada@x.example,2026-03-03 01:13:00 UTC,2026-03-31,2026-04-16
c-4,due,EUR,30.00,6.00,ben@x.example,2026-03-04 01:13:00 UTC,2026-04-02,
c-5,pending,EUR,40.00,8.00,ben@x.example,2026-03-05 01:13:00 UTC,2026-04-04,
c-6,voided,EUR,70.00,14.00,zoe@x.example,2026-03-06 01:13:00 UTC,2026-04-04,
"""


def test_pays_what_rewardful_has_paid_once_a_day(account, program, move_in):
    people = {"value:status:suspicious": "pending"}
    page = move_in("affiliates", REWARDFUL_PEOPLE, system="rewardful", **people)
    assert "Without a referral code: u-3." in read(page)
    codes = account.referral_codes.exclude(enrollment__affiliate__email="cleo@x.example")
    assert sorted(codes.values_list("code", flat=True)) == ["ada-1", "ben-2"]

    page = move_in("conversions", REWARDFUL, system="rewardful", affiliates="create")
    facts = dict(page.context["facts"])
    assert facts["Commission, paid"] == "32.05 EUR"
    assert facts["Commission, owed"] == "6.00 EUR"
    assert sum_by_state(account) == {
        "ada@x.example": amounts(paid="32.05"),
        "ben@x.example": amounts(owed="6", pending="8"),
        "zoe@x.example": amounts(refused="14"),
    }
    payments = account.payments.order_by("created_at")
    assert [(it.amount, f"{it.created_at:%F}") for it in payments] == [
        (Decimal("30.05"), "2026-04-15"),
        (Decimal(2), "2026-04-16"),
    ]
    assert account.enrollments.get(affiliate__email="zoe@x.example").approved is True
    assert not account.mails.exists()
    assert_ledger_consistent(account)


def test_issues_no_document_of_what_was_paid_elsewhere(account, program, move_in):
    people = REWARDFUL_PEOPLE.replace("suspicious", "active")
    move_in("affiliates", people, system="rewardful")
    switch_on(account)
    set_rule(account)
    move_in("conversions", REWARDFUL, system="rewardful", affiliates="create")
    assert account.payments.count() == 2
    assert list_unbilled(account, limit=9) == []


PAP = """transid;userid;rstatus;payoutstatus;totalcost;commission;orderid;\
dateinserted;dateapproved
1;0a1;A;P;142,67;28,53;PO-1;2026-03-01 00:00:00;2026-03-01 00:00:00
2;0a1;A;P;1409,28;281,86;PO-2;2026-03-09 01:13:00;2026-03-09 00:00:00
3;0a2;A;U;492,07;98,41;PO-3;2026-03-05 02:26:00;2026-03-05 00:00:00
4;0a2;P;U;317,54;63,51;PO-4;2026-03-07 03:39:00;
5;0a2;D;U;168,68;33,74;PO-5;2026-03-08 04:52:00;
"""


def test_asks_once_for_the_day_of_payments(account, program, client, upload, move_in):
    found = upload("conversions", PAP, system="post-affiliate-pro")
    form = client.get(url_of(found, "columns")).context["form"]
    assert form["paid_on"].value() == "2026-03-09"  # of the latest that is paid
    move_in(
        "conversions",
        PAP,
        system="post-affiliate-pro",
        affiliates="create",
        paid_on="2026-04-10",
    )
    assert sum_by_state(account) == {
        "0a1": amounts(paid="310.39"),
        "0a2": amounts(owed="98.41", pending="63.51", refused="33.74"),
    }
    payment = account.payments.get()
    assert (payment.amount, f"{payment.created_at:%F}") == (
        Decimal("310.39"),
        "2026-04-10",
    )
    settings = account.table_imports.get().settings
    assert settings["columns"]["paid"] == "payoutstatus"
    assert settings["answers"] == {
        "column:dateapproved": "ignore",
        "paid_on": "2026-04-10",
        "affiliates": "create",
    }
    page = client.get(url_of(account.table_imports.get()))
    assert "Day of payments 2026-04-10" in read(page)
    assert_ledger_consistent(account)


PAP_KINDS = """transid;userid;rtype;tier;rstatus;payoutstatus;totalcost;commission;\
orderid;dateinserted
1;0a1;S;1;A;U;100,00;20,00;PO-1;2026-03-01 00:00:00
2;0a2;S;2;A;U;100,00;5,00;PO-1;2026-03-01 00:00:00
3;0a1;U;1;A;U;50,00;10,00;PO-2;2026-03-02 00:00:00
4;0a1;R;1;A;U;-50,00;-10,00;PO-2;2026-03-03 00:00:00
5;0a2;C;1;A;U;0,00;0,10;;2026-03-04 00:00:00
"""


def test_asks_which_rows_are_sales(account, program, client, upload, move_in):
    found = upload("conversions", PAP_KINDS, system="post-affiliate-pro")
    form = client.get(url_of(found, "columns")).context["form"]
    asked = [name for name in form.fields if name.startswith("value:")]
    assert asked == ["value:row_kind:r", "value:row_kind:c", "value:tier:2"]
    page = move_in(
        "conversions",
        PAP_KINDS,
        system="post-affiliate-pro",
        button="_only_good",
        affiliates="create",
        **dict.fromkeys(asked, "leave_out"),
    )
    left = {it.row for it in page.context["report"].problems if it.code == "left_out"}
    assert left == {3, 5, 6}
    assert sum_by_state(account) == {"0a1": amounts(owed="30")}


def test_a_kind_of_row_is_not_left_unread_by_chance(account, program, client, upload):
    found = upload("conversions", PAP_KINDS, system="post-affiliate-pro")
    url = url_of(found, "columns")
    entries = get_entries(client, url) | {"affiliates": "create"}
    chosen = {name: entries.pop(name) for name in ("column__row_kind", "column__tier")}
    assert list(chosen.values()) == ["2", "3"]
    form = client.post(url, entries).context["form"]
    assert list(form.errors) == ["column:rtype", "column:tier"]


@pytest.mark.parametrize(("kind", "expected"), [("opening_balances", "15"), ("payments", "-15")])
def test_creates_whom_balances_and_payments_name(account, program, client, move_in, kind, expected):
    rows = "Partner;Amount;Currency;Date\nada@x.example;10;EUR;2026-03-01\n"
    rows += "Ada@x.example;5;EUR;2026-03-02\nbo;7,5;EUR;2026-03-03\n"
    twice = {"twice": "add_up"} if kind == "opening_balances" else {}
    page = move_in(kind, rows, affiliates="create", **twice)
    assert "Affiliates who are created: ada@x.example, bo." in read(page)
    ada = account.affiliates.get(email="ada@x.example")
    assert not account.enrollments.exists()
    balances = get_payable_balances_by_slug(account)
    sign = 1 if kind == "opening_balances" else -1
    assert balances[ada.slug]["EUR"] == Decimal(expected)
    assert balances["bo"]["EUR"] == Decimal("7.5") * sign
    assert_ledger_consistent(account)
    table_import = account.table_imports.get()
    undo_table_import(account, public_id=table_import.public_id, at=timezone.now())
    assert not account.affiliates.not_deleted().exists()
    assert_ledger_consistent(account)


TAPFILIATE = """id,external_id,amount,created_at,affiliate_id,program_id,customer_id,\
commission_amount,commission_approved,commission_paid,currency,payment_id
1,TA-1,300.90,2026-03-01T00:00:00+00:00,tp0,umzug,k-0,60.18,true,true,EUR,
2,TA-2,100.00,2026-03-03T01:13:00+00:00,tp0,umzug,k-1,20.00,true,false,EUR,
3,TA-3,100.00,2026-03-04T01:13:00+00:00,tp1,umzug,k-0,20.00,,false,EUR,
4,TA-4,50.00,2026-03-05T01:13:00+00:00,tp1,umzug,k-2,10.00,false,false,EUR,
"""


def test_creates_unknown_people_in_one_answer(account, program, move_in):
    page = move_in("conversions", TAPFILIATE, system="tapfiliate", affiliates="create")
    assert "Affiliates who are created: tp0, tp1." in read(page)
    assert "Customers who are created: 3." in read(page)
    assert sum_by_state(account) == {
        "tp0": amounts(paid="60.18", owed="20"),
        "tp1": amounts(pending="20", refused="10"),
    }
    owners = account.customers.values_list("customer_id", "affiliate__slug")
    assert sorted(owners) == [("k-0", "tp0"), ("k-1", "tp0"), ("k-2", "tp1")]
    assert_ledger_consistent(account)

    stored = account.table_imports.get()
    undo_table_import(account, public_id=stored.public_id, at=timezone.now())
    assert not account.affiliates.not_deleted().exists()
    assert not account.customers.not_deleted().exists()
    assert_ledger_consistent(account)


PARTNERSTACK = """key,created_at,partner_key,amount,currency,reward_amount,\
reward_status,payout_date
tx-1,2026-03-01T00:00:00Z,ps_0,16923,EUR,3385,paid,2026-04-10
tx-2,2026-03-03T01:13:00Z,ps_0,125751,EUR,25150,approved,
tx-3,2026-03-05T02:26:00Z,ps_1,172848,EUR,34570,hold,
tx-4,2026-03-07T03:39:00Z,ps_1,148755,EUR,29751,declined,
"""


@pytest.mark.parametrize("system", ["partnerstack", ""])
def test_asks_whether_amounts_are_cents(account, program, client, upload, move_in, system):
    found = upload("conversions", PARTNERSTACK, system=system)
    url = url_of(found, "columns")
    units = client.get(url).context["form"]["units"]
    assert units.value() == ("cents" if system else "")
    assert units.field.choices == [
        ("whole", "172,848.00, all together 464,277.00"),
        ("cents", "1,728.48, all together 4,642.77"),
    ]
    other = (
        {}
        if system
        else {
            "column__commission": "5",
            "column:reward_status": "status",
        }
    )
    other |= {"affiliates": "create"}
    entries = get_entries(client, url) | other | {"units": ""}
    errors = client.post(url, entries).context["form"].errors
    assert "units" in errors
    if not system:  # the words of the column are asked about next
        other |= {"value:status:hold": "pending"}
    move_in("conversions", PARTNERSTACK, system=system, units="cents", **other)
    assert sum_by_state(account) == {
        "ps-0": amounts(paid="33.85", owed="251.50"),
        "ps-1": amounts(pending="345.70", refused="297.51"),
    }


EXCEL = """Bestellnummer;Datum;Partner-Code;Netto;Provision;Status;Ausgezahlt am
EX-1;01.03.2026;ex-ada;1.413,68 €;282,74 €;bezahlt;10.04.2026
EX-2;03.03.26;ex-ben;584,35 €;116,87 €;bezahlt;12.04.2026
EX-3;2026-03-05;ex-ben;1.082,07 €;216,41 €;freigegeben;
EX-4;07.03.2026;ex-ada;32,57 €;6,51 €;offen;
EX-5;09.03.26;ex-ada;123,65 €;24,73 €;storniert;
Summe;;;1.234.567,89 €;;;
"""


def test_reads_a_spreadsheet_in_german(account, program, client, upload, move_in):
    found = upload("conversions", EXCEL.encode("cp1252"))
    form = client.get(url_of(found, "columns")).context["form"]
    asked = {name: form[name].value() for name in form.fields if ":" in name}
    assert asked == {
        "dates:day.month.year": "day.month.year",
        "dates:day.month.yy": "day.month.yy",
        "dates:iso": "iso",
        "value:status:bezahlt": "paid",
        "value:status:freigegeben": "approved",
        "value:status:offen": "pending",
        "value:status:storniert": "disapproved",
    }
    page = move_in("conversions", EXCEL.encode("cp1252"), affiliates="create", encoding="cp1252")
    assert "Lines of totals are left out: row 7." in read(page)
    assert sum_by_state(account) == {
        "ex-ada": amounts(paid="282.74", pending="6.51", refused="24.73"),
        "ex-ben": amounts(paid="116.87", owed="216.41"),
    }
    days = account.conversions.order_by("external_id").values_list("created_at", flat=True)
    assert [f"{at:%F}" for at in days] == [f"2026-03-0{day}" for day in (1, 3, 5, 7, 9)]
    codes = account.referral_codes.values_list("code", flat=True)
    assert sorted(codes) == ["ex-ada", "ex-ben"]


BALANCES = """E-Mail;Offener Betrag;Währung;Stand
ada@x.example;1.000,00;EUR;31.10.2026
ben@x.example;1.037,04;EUR;31.10.2026
nobody@x.example;5,00;EUR;31.10.2026
ben@x.example;-20,00;EUR;31.10.2026
Summe;2.022,04;;
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("add_up", {"ada": "1000", "ben": "1017.04"}), ("leave_out", {"ada": "1000"})],
)
def test_lets_the_last_balance_of_somebody_not_win(
    account, move_in, time_machine, answer, expected
):
    time_machine.move_to("2026-11-27T12:00:00Z")
    move_in("affiliates", "ID,E-mail\nada,ada@x.example\nben,ben@x.example\n")
    answers = {"twice": answer, "affiliates": "leave_out"}
    page = move_in("opening_balances", BALANCES, button="_only_good", **answers)
    assert "nobody@x.example is left out, as you have answered" in read(page)
    rows = account.transfers.filter(kind="opening_balance")
    found = dict(rows.values_list("credit__affiliate__slug", "amount"))
    assert found == {slug: Decimal(text) for slug, text in expected.items()}
    assert_ledger_consistent(account)


def test_stops_at_columns_about_money_that_nobody_reads(account, program, client, upload, move_in):
    text = "Order,Affiliate,Amount,Commission,Created,Provision bezahlt,Payout state\n"
    text += "1,ada,10.00,1.00,2026-03-01,x,old\n2,ada,20.00,2.00,2026-03-02,n,old\n"
    found = upload("conversions", text)
    url = url_of(found, "columns")
    entries = get_entries(client, url) | {"affiliates": "create"}
    form = client.post(url, entries).context["form"]
    asked = ["column:Provision bezahlt", "column:Payout state"]
    assert list(form.errors) == asked
    assert client.get(url_of(found, "check")).url == url
    entries |= {asked[0]: "paid", asked[1]: "ignore"}
    form = client.post(url, entries).context["form"]  # its words are asked about next
    assert form["value:paid:x"].value() == "paid"
    move_in(
        "conversions",
        text,
        affiliates="create",
        paid_on="2026-03-01",
        **{asked[0]: "paid", asked[1]: "ignore"},
        **{"value:paid:x": "paid", "value:paid:n": "unpaid"},
    )
    assert sum_by_state(account) == {"ada": amounts(paid="1", pending="2")}


def test_refuses_rows_that_contradict_themselves(client, account, program, upload, choose):
    text = "Order,Affiliate,Amount,Commission,Created,Status,Paid,Day of payment\n"
    text += "1,ada,10 EUR,1,2026-03-01,paid,no,\n2,ada,20,2,2026-03-02,pending,yes,\n"
    text += "3,ada,30,3,2026-03-03,approved,no,2026-04-01\n4,ada,$40,4,2026-03-04,,,\n"
    page = choose(upload("conversions", text), affiliates="create")
    problems = page.context["report"].problems
    assert [(it.row, it.column, it.code) for it in problems] == [
        (2, "Paid", "contradiction"),
        (3, "Paid", "status_of_paid_sale"),
        (4, "Paid", "contradiction"),
        (5, "Amount", "other_currency"),
    ]
