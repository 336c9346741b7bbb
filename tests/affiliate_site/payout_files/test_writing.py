"""Which line of a payout run goes into which file, and the lists."""

from datetime import timedelta
from decimal import Decimal
from io import BytesIO
from zipfile import ZipFile

import pytest

from affiliate_site.payout_files import writing
from affiliate_site.payout_files.writing import (
    CSV_COLUMNS,
    FORMATS,
    list_unfit_lines,
    plan_default_files,
    plan_files,
    write_csv,
    write_xlsx,
)
from payouts.errors import PayerIncomplete, PayoutRunNotConfirmed, ReceiverErased
from payouts.services.payments import cancel_payment
from tests.payout_scenario import (
    CONFIRMED_AT,
    Paid,
    build_files,
    build_run,
    create_run,
    get_lines,
)
from tracking.money import list_currencies

AT = CONFIRMED_AT + timedelta(hours=1)
PAYPAL = Paid(method="paypal", details={"email": "mina@notes.example.org"})
WISE = Paid(method="wise", details={"email": "mina@notes.example.org"})


@pytest.fixture
def run(scenario):
    """Nine payments by all methods; each affiliate has one line of a currency."""
    run = create_run(
        scenario.account,
        Paid(),
        Paid(currency="USD", details={"account_number": "12"}, method="wire_transfer"),
        Paid(currency="GBP", method="other", details={}),
    )
    for slug, paid in {"nils": PAYPAL, "olga": WISE, "pia": PAYPAL}.items():
        scenario.create_enrolled_affiliate(slug.title(), slug.title())
        paid = Paid(**{**vars(paid), "slug": f"{slug}{slug}"})
        add_lines(run, paid)
    return run


def add_lines(run, *paid):
    """Further lines, moved from a run of their own."""
    other = create_run(run.account, *paid)
    run.account.payout_lines.filter(run=other).update(run=run)


def describe(files):
    return [
        (each.name.removeprefix(f"{each.lines[0].run.public_id}-"), len(each.lines))
        for each in files
    ]


def test_pays_each_line_by_one_file(run):
    assert describe(plan_default_files(run)) == [
        ("pain001-bank-EUR.xml", 1),
        ("paypal-EUR.csv", 2),
        ("wise-EUR.csv", 1),
        ("rest-csv-bank-USD.csv", 1),
        ("csv-other-GBP.csv", 1),
    ]
    [rest] = [it for it in plan_default_files(run) if it.unfit]
    assert [reason for _, reason in rest.unfit] == ["SEPA pays in EUR only"]


def test_reads_the_lines_once(run, capture_queries):
    """Also what the files name of payments and affiliates."""
    with capture_queries() as captured:
        for planned in plan_default_files(run):
            FORMATS[planned.format].write(run, planned.lines, "pr-1")
            planned.list_written_names()
            write_csv(run, planned.lines, tuple(CSV_COLUMNS))

    assert len(captured) == 1


def test_writes_the_formats_that_are_asked_for(run):
    files = build_files(run, formats=["csv", "pain001"], at=AT)
    assert [(each.format, each.currency, each.line_count) for each in files] == [
        ("csv", "EUR", 1),
        ("csv", "USD", 1),
        ("csv", "GBP", 1),
        ("csv", "EUR", 2),
        ("csv", "EUR", 1),
        ("pain001", "EUR", 1),
    ]
    assert {each.control_sum for each in files} == {Decimal("12.5"), Decimal(25)}
    again = build_files(run, formats=["csv", "pain001"], at=AT)
    assert [it.content for it in again] == [it.content for it in files]


def test_writes_the_rest_of_a_method_beside_its_file(run):
    assert describe(plan_files(run, formats=["pain001"])) == [
        ("pain001-bank-EUR.xml", 1),
        ("rest-csv-bank-USD.csv", 1),
    ]
    assert describe(plan_files(run, formats=["paypal"])) == [("paypal-EUR.csv", 2)]


def test_records_each_file_that_is_made(run):
    [bank, paypal, *_] = plan_default_files(run)
    first = bank.build(run, at=AT)
    assert b"<MsgId>" + run.public_id.replace("_", "-").encode() + b"<" in first.content
    assert bank.build(run, at=AT).content == first.content
    paypal.build(run, at=AT)
    rows = run.account.payout_files.order_by("id")
    assert [(row.format, row.message_id and row.message_id[:3], row.payments) for row in rows] == [
        (each.format, prefix, [str(line.payment) for line in each.lines])
        for each, prefix in ((bank, "pr-"), (paypal, None))
    ]


def test_a_file_that_cannot_be_written_is_not_recorded(run):
    run.update_row(payer={})
    with pytest.raises(PayerIncomplete):
        plan_default_files(run)[0].build(run, at=AT)
    assert not run.account.payout_files.exists()


def test_other_payments_are_another_message(run, scenario):
    scenario.create_enrolled_affiliate("Quinn", "Quinn")
    add_lines(run, Paid(slug="quinnquinn"))
    before = plan_default_files(run)[0].build(run, at=AT).content
    line = get_lines(run)[0]
    cancel_payment(run.account, payment_id=str(line.payment), at=AT)
    after = plan_default_files(run)[0].build(run, at=AT).content
    name = run.public_id.replace("_", "-")
    for content, number in ((before, ""), (after, ".2")):
        assert f"<MsgId>{name}{number}</MsgId>" in content.decode()
        assert f"<PmtInfId>{name}{number}-1</PmtInfId>" in content.decode()


@pytest.mark.parametrize("index", range(5))
def test_makes_no_file_again_whose_receiver_was_erased(run, index):
    """It stays in its own file, whatever the file needs of a receiver."""
    files = plan_default_files(run)
    names = [each.name for each in files]
    pk = files[index].lines[0].pk
    for each in files:
        each.build(run, at=AT)
    run.account.payout_lines.filter(pk=pk).update(receiver={})
    planned = plan_default_files(run)
    if len(files[index].lines) == 1:
        names[index] = names[index].replace(".", "-erased.")
    assert [each.name for each in planned] == names
    for number, each in enumerate(planned):
        if number == index:
            with pytest.raises(ReceiverErased):
                each.build(run, at=AT)
        else:
            each.build(run, at=AT)


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (
            Paid("30", details={"account_number": "1"}),  # erased, they look like Mina
            ["pain001-bank-EUR.xml", "rest-csv-bank-EUR.csv"],
        ),
        (
            Paid("30", method="wise", details={"recipient": "77"}),
            ["wise-EUR.csv", "wise-EUR-recipients.csv"],
        ),
    ],
    ids=["rest", "part"],
)
@pytest.mark.parametrize("is_made", [True, False])
def test_an_erased_receiver_blocks_no_file_of_others(scenario, other, names, is_made):
    """Without a record, they were paid without such a file."""
    scenario.create_enrolled_affiliate("Nils", "Berg")
    mina = Paid("20") if other.method == "bank" else WISE
    nils = Paid(**{**vars(other), "slug": "nilsberg"})
    run = create_run(scenario.account, mina, nils)
    files = {each.name.removeprefix(f"{run.public_id}-"): each for each in plan_default_files(run)}
    assert list(files) == names
    if is_made:
        files[names[1]].build(run, at=AT)
    run.account.payout_lines.filter(pk=get_lines(run)[1].pk).update(receiver={})
    first, *rest = plan_default_files(run)
    assert (
        describe([first, *rest])
        == [
            (names[0], 1),
            (names[1].replace("-recipients", "").replace(".", "-erased."), 1),
        ][: 1 + is_made]
    )
    assert first.build(run, at=AT).line_count == 1
    for each in rest:
        with pytest.raises(ReceiverErased):
            each.build(run, at=AT)


@pytest.mark.parametrize(
    "address", ["+49@x.test", "-mina@x.test", "=a@x.test", "|a@x.test", "a;=b@x.test"]
)
@pytest.mark.parametrize("method", ["paypal", "wise"])
def test_an_address_that_a_file_would_change_is_not_in_it(scenario, method, address):
    """The money would go to nobody, or to somebody else."""
    details = {"email": address}
    run = create_run(scenario.account, Paid(method=method, details=details))
    [rest] = plan_default_files(run)
    assert describe([rest]) == [(f"rest-csv-{method}-EUR.csv", 1)]
    [(_, reason)] = rest.unfit
    assert reason.startswith("spreadsheets take its address for a formula")


@pytest.mark.parametrize(
    ("method", "amount", "currency", "reason"),
    [
        ("paypal", "1250.50", "HUF", "PayPal pays whole units of HUF only"),
        ("paypal", "30.01", "TWD", "PayPal pays whole units of TWD only"),
        ("paypal", "12.345", "KWD", "PayPal does not pay in KWD"),
        ("paypal", "12.345", "EUR", "the amount has more decimals than EUR"),
        ("bank", "12.50", "USD", "SEPA pays in EUR only"),
        ("wise", "12.345", "KWD", "Wise does not pay in KWD"),
        ("wise", "1250.50", "HUF", "Wise pays whole units of HUF only"),
        ("wise", "1250.5", "UGX", "the amount has more decimals than UGX"),
        ("wise", "1250.5", "KRW", "the amount has more decimals than KRW"),
        ("wise", "12.50", "COP", "Wise does not pay in COP to an e-mail address"),
        (
            *("wise", "1000001", "JPY"),
            "Wise pays at most 1,000,000 JPY to an e-mail address",
        ),
    ],
)
def test_a_payment_that_its_service_refuses_is_in_a_list(
    scenario, method, amount, currency, reason
):
    details = None if method == "bank" else {"email": "mina@notes.example.org"}
    paid = Paid(amount, currency=currency, method=method, details=details)
    run = create_run(scenario.account, paid)
    [rest] = plan_default_files(run)
    assert describe([rest]) == [(f"rest-csv-{method}-{currency}.csv", 1)]
    assert [why for _, why in rest.unfit] == [reason]
    assert [why for _, why in list_unfit_lines(run)] == [reason]


@pytest.mark.parametrize(
    ("method", "currency"),
    [
        *(("paypal", "HUF"), ("paypal", "TWD"), ("paypal", "JPY")),
        *(("wise", "HUF"), ("wise", "JPY"), ("wise", "KRW"), ("wise", "UGX")),
    ],
)
def test_services_get_whole_units_without_decimals(scenario, method, currency):
    details = {"email": "mina@notes.example.org"}
    paid = Paid("1250", currency=currency, method=method, details=details)
    run = create_run(scenario.account, paid)
    [planned] = plan_default_files(run)
    assert f'"1250","{currency}"'.encode() in planned.build(run, at=AT).content
    assert list_unfit_lines(run) == []


def test_wise_pays_saved_recipients_in_more_currencies(scenario):
    paid = Paid("12.50", currency="COP", method="wise", details={"recipient": "1234"})
    assert list_unfit_lines(create_run(scenario.account, paid)) == []


def test_each_format_but_lists_knows_its_currencies():
    """A service that refuses a currency must not be paid by."""
    for name, file_format in FORMATS.items():
        assert (file_format.methods is None) == (file_format.currencies is None), name
        known = file_format.currencies or frozenset()
        assert known <= list_currencies(), name
        assert file_format.whole_units <= known, name


def test_a_method_without_a_file_is_paid_by_a_list(scenario):
    paid = Paid("12.345", method="other", details={})
    assert list_unfit_lines(create_run(scenario.account, paid)) == []


def test_splits_files_at_the_limit_of_the_receiver(run, monkeypatch):
    assert (FORMATS["paypal"].max_lines, FORMATS["wise"].max_lines) == (5000, 1000)
    split = writing.replace(FORMATS["paypal"], max_lines=1)
    monkeypatch.setitem(FORMATS, "paypal", split)
    assert describe(plan_files(run, formats=["paypal"])) == [
        ("paypal-EUR-1.csv", 1),
        ("paypal-EUR-2.csv", 1),
    ]


def test_leaves_out_what_staff_have_canceled_but_not_what_the_bank_returned(run):
    first, second, *_ = get_lines(run)
    later = CONFIRMED_AT + timedelta(days=1)
    for line in (first, second):
        payment_id = line.payment.public_id
        cancel_payment(run.account, payment_id=payment_id, at=later)
    first.update_row(state="returned")
    names = [name for name, _ in describe(plan_default_files(run))]
    assert "pain001-bank-EUR.xml" in names
    assert "rest-csv-bank-USD.csv" not in names


@pytest.mark.parametrize("state", ["draft", "discarded"])
def test_has_no_files_of_a_draft(run, state):
    run.update_row(state=state)
    with pytest.raises(PayoutRunNotConfirmed):
        build_files(run, formats=["csv"], at=AT)


def test_refuses_amounts_that_a_currency_has_not(run):
    account_line = get_lines(run)[0]
    account_line.update_row(amount=Decimal("12.3456"))
    planned = plan_default_files(run)[2]
    assert planned.name.endswith("-rest-csv-bank-EUR.csv")
    assert "more decimals" in dict(planned.unfit)[account_line]
    assert b'"12.3456"' in planned.build(run, at=AT).content


def test_writes_paypal_without_titles():
    paid = [PAYPAL, Paid("1250", "JPY", "paypal", {"email": "=cmd@x.example"})]
    assert FORMATS["paypal"].write(*build_run(*paid), "").decode() == (
        '"mina@notes.example.org","12.50","EUR","pa_0000000000000001",'
        '"Payment pa_0000000000000001"\r\n'
        '"\'=cmd@x.example","1250","JPY","pa_0000000000000002",'
        '"Payment pa_0000000000000002"\r\n'
    )


def test_writes_wise_with_its_titles():
    assert FORMATS["wise"].write(*build_run(WISE), "").decode() == (
        '"name","recipientEmail","paymentReference","receiverType","amountCurrency",'
        '"amount","sourceCurrency","targetCurrency"\r\n'
        '"Mina Keßler","mina@notes.example.org","pa0000000000000001","PERSON","target",'
        '"12.50","EUR","EUR"\r\n'
    )
    saved = Paid(method="wise", details={"recipient": "77"})
    assert (
        FORMATS["wise"]
        .write(*build_run(saved), "")
        .decode()
        .startswith('"recipientId","name","recipientEmail"')
    )


def test_writes_a_list_with_chosen_columns_and_without_formulas():
    paid = Paid("0.5", "KWD", details={"iban": "+1"}, name="=1+1")
    run, lines = build_run(paid)
    assert write_csv(run, lines, ["name", "iban", "amount", "city"]).decode() == (
        '"name","iban","amount","city"\r\n"\'=1+1","\'+1","0.500","Köln"\r\n'
    )


def test_writes_the_same_spreadsheet_each_time(time_machine):
    run, lines = build_run(Paid(name="=1+1", details={}))
    content = write_xlsx(run, lines)
    time_machine.move_to(CONFIRMED_AT)
    assert write_xlsx(run, lines) == content
    sheet = ZipFile(BytesIO(content)).read("xl/worksheets/sheet1.xml").decode()
    assert "&#39;=1+1" in sheet or "'=1+1" in sheet
    assert "<v>12.5</v>" in sheet


def test_lists_the_names_that_are_written_otherwise(run):
    bank, paypal, *_ = plan_default_files(run)
    [(_, name, written)] = bank.list_written_names()
    assert (name, written) == ("Mina Keßler", "Mina Kessler")
    assert paypal.list_written_names() == []
