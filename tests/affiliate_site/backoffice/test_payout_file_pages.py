"""Files of a payout run and answers to it, by staff with a browser."""

import re
from datetime import date
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from affiliate_site.backoffice.payouts import payer_settings_page, payout_result_pages
from payouts.services.payments import cancel_payment
from payouts.services.payout_answers import Booking, PayoutResult, ResultState
from payouts.services.payout_settings import build_payer, get_payout_settings
from tests.affiliate_site.backoffice.form_values import get_version
from tests.affiliate_site.backoffice.money_forms import (
    get_entries,
    list_messages,
    page_url,
)
from tests.document_scenario import set_rule, set_taxes, switch_on
from tests.ledger_checks import assert_ledger_consistent
from tests.payout_scenario import PAYER, Paid, create_run, get_lines
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def run(scenario):
    scenario.create_enrolled_affiliate("Nils", "Berg")
    run = create_run(
        scenario.account,
        Paid("20"),
        Paid("30", slug="nilsberg"),
        Paid("5", "USD", slug="nilsberg", details={"account_number": "1"}),
        state="confirmed",
    )
    yield run
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def other_run(other_account):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    return create_run(other_account, Paid("7", slug=other.mina.slug))


def get_page(client, row, name="change", **query):
    response = client.get(page_url(row, name), query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def upload(client, run, *answers):
    """Send a list of answers; return the entries and the page that shows them."""
    lines = [f"{line.payment.public_id},{more}" for line, more in answers]
    text = "\n".join(["payment,state,reference,amount,reason", *lines])
    file = SimpleUploadedFile("answers.csv", text.encode())
    return client.post(page_url(run, "results"), {"file": file, "format": "auto"})


def apply(client, run, shown):
    hidden = {
        "format": "auto",
        "results": shown.context["form"].packed,
        "effects": shown.context["effects"].digest,
        "token": shown.context["token"],
    }
    return client.post(page_url(run, "results"), hidden, follow=True)


def list_tables(response):
    return {
        section.title: [row[0] for row in section.values]
        for section in response.context["result_sections"]
    }


def test_lists_files_and_names(staff_client, run):
    page = get_page(staff_client(), run)
    assert f"{run}-pain001-bank-EUR.xml" in page
    assert "50.00 EUR" in page
    third = get_lines(run)[2].payment
    assert f"{third} is not in a bank file but in a list: SEPA pays in EUR only." in page
    assert "Mina Keßler" in page
    assert "Mina Kessler" in page
    page = get_page(staff_client("viewer"), run)
    assert f"{run}-pain001-bank-EUR.xml" in page
    assert "/files/" not in page


def test_says_in_one_line_what_no_bank_file_can_have(staff_client, account, run):
    details = get_lines(run)[2].receiver["details"]
    others = create_run(account, *(Paid("1", it, details=details) for it in ("USD", "GBP")))

    page = get_page(staff_client(), others)

    text = "2 payments are not in a bank file but in a list: SEPA pays in EUR only."
    assert text in page


def test_downloads_a_file_and_records_it(staff_client, account, run):
    client, url = staff_client(), page_url(run, "files")
    name = f"{run}-pain001-bank-EUR.xml"
    entries = get_entries(client, f"{url}?file={name}")
    assert entries["file"] == name
    button = f'name="file" value="{name}">{name}</button>'
    assert button in get_page(client, run)
    response = client.post(url, {"file": name})
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response.content == client.post(url, {"file": name}).content
    assert response.content.startswith(b"<?xml")
    run = run.reload()
    assert run.state == "exported"
    assert account.audit_log.filter(kind="payout_run.exported").count() == 2

    response = client.post(url, {"file": "csv", "columns": ["amount", "payment"]})
    assert response.content.decode().splitlines()[:2] == [
        '"payment","amount"',
        f'"{get_lines(run)[0].payment}","20.00"',
    ]
    assert client.post(url, {"file": "xlsx"}).content.startswith(b"PK")
    rest = client.post(url, {"file": f"{run}-rest-csv-bank-USD.csv", "columns": ["currency"]})
    assert rest.content == b'"currency"\r\n"USD"\r\n'
    assert "file" in client.post(url, {"file": "none"}).context["form"].errors


def test_warns_of_a_bank_file_with_other_payments(staff_client, account, run):
    client, name = staff_client(), f"{run}-pain001-bank-EUR.xml"
    assert client.post(page_url(run, "files"), {"file": name}).status_code == 200
    warning = f"was made as {str(run).replace('_', '-')} with 2 payments"
    assert warning not in get_page(client, run)
    first = get_lines(run)[0].payment
    cancel_payment(account, payment_id=str(first), at=timezone.now())
    for page in (get_page(client, run), get_page(client, run, "files")):
        assert warning in page
        assert "50.00 EUR. Who gets that file and the one of now pays twice" in page
    for line in get_lines(run)[1:]:
        if line.payment.canceled_at is None:
            cancel_payment(account, payment_id=str(line.payment), at=timezone.now())
    assert warning in get_page(client, run)  # it still pays all that was canceled


def test_says_that_a_file_cannot_be_made_again(staff_client, account, run):
    client, name = staff_client(), f"{run}-pain001-bank-EUR.xml"
    line = get_lines(run)[0]
    client.post(page_url(run, "files"), {"file": name})
    account.payout_lines.filter(pk=line.pk).update(receiver={})
    assert f"{name} cannot be made again" in get_page(client, run)
    for chosen in (name, f"{run}-rest-csv-bank-USD.csv"):
        response = client.post(page_url(run, "files"), {"file": chosen})
        if chosen != name:
            assert response["Content-Disposition"]
            continue
        [error] = response.context["form"].non_field_errors()
        assert error.startswith("This file cannot be made again")
        assert str(line.payment) in error
    assert client.post(page_url(run, "files"), {"file": "csv"}).status_code == 200


def test_shows_why_an_answer_about_a_whole_file_is_not_applied(staff_client, run):
    client, message = staff_client(), str(run).replace("_", "-")
    client.post(page_url(run, "files"), {"file": f"{run}-pain001-bank-EUR.xml"})
    report = (
        "<Document><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>{}</OrgnlMsgId>"
        "<OrgnlNbOfTxs>{}</OrgnlNbOfTxs><GrpSts>RJCT</GrpSts>{}</OrgnlGrpInfAndSts>"
        "</CstmrPmtStsRpt></Document>"
    )
    duplicate = "<StsRsnInf><Rsn><Cd>DU01</Cd></Rsn></StsRsnInf>"

    def send(number, reason=""):
        content = report.format(message, number, reason).encode()
        file = SimpleUploadedFile("answer.xml", content)
        return client.post(page_url(run, "results"), {"file": file, "format": "auto"})

    for shown, sentence in (
        (send(3), "the file has 2 payments, 50.00 EUR"),
        (send(2, duplicate), "it was ordered twice"),
    ):
        assert list_tables(shown)["Not applied, to check"] == [message]
        assert sentence in shown.content.decode()
        apply(client, run, shown)
    assert [line.state for line in get_lines(run)] == ["unknown"] * 3
    apply(client, run, send(2))
    states = [line.state for line in get_lines(run)]
    assert states == ["returned", "returned", "unknown"]


def test_asks_for_the_payer_before_a_bank_file(staff_client, run):
    run.update_row(payer={})
    client, url = staff_client(), page_url(run, "files")
    assert reverse("admin:payer_settings") in get_page(client, run, "files")
    response = client.post(url, {"file": f"{run}-pain001-bank-EUR.xml"})
    [error] = response.context["form"].non_field_errors()
    assert error.startswith("Enter who pays")
    assert run.reload().state == "confirmed"


def test_shows_what_answers_would_change_and_applies_them(staff_client, account, run):
    client = staff_client()
    first, second, third = get_lines(run)
    answers = [(first, "settled,R1,20,"), (second, "failed,,,AC04"), (third, ",,6,")]
    shown = upload(client, run, *answers)
    assert list_tables(shown) == {
        "Not applied, to check": [third.payment.public_id],
        "Refused or returned, owed again": [second.payment.public_id],
        "Settled": [first.payment.public_id],
    }
    names = {row[1] for it in shown.context["result_sections"] for row in it.values}
    berg = 'Nils Berg <span class="subtext">nilsberg</span>'
    assert names == {berg, 'Mina Kessler <span class="subtext">minakessler</span>'}
    page = " ".join(shown.content.decode().split())
    assert "the file says 6 USD, the payment is 5.00 USD" in page
    assert {line.state for line in get_lines(run)} == {"unknown"}

    response = apply(client, run, shown)
    assert "settled: 1" in list_messages(response)[0]
    assert [line.state for line in get_lines(run)] == ["settled", "returned", "unknown"]
    assert account.payments.get(pk=second.payment_id).canceled_at
    assert apply(client, run, shown).redirect_chain  # the same page again: nothing
    assert [line.state for line in get_lines(run)] == ["settled", "returned", "unknown"]

    again = upload(client, run, *answers)
    assert dict(again.context["effect_facts"])["Applied before"] == "2"
    page = get_page(client, first.payment)
    assert "R1" in page
    assert "settled" in page
    assert "AC04" in get_page(client, second.payment)


def test_names_whom_no_document_bills(staff_client, account, run):
    """Three payments arrived, and one affiliate has no tax data."""
    switch_on(account)
    set_rule(account)
    mina, *others = get_lines(run)
    set_taxes(account, str(mina.affiliate))
    address = {"address": "Ring 1", "city": "Wien", "country": "AT"}
    mina.affiliate.update_row(**address)
    client = staff_client()

    answers = [(line, "settled,,,") for line in (mina, *others)]
    page = apply(client, run, upload(client, run, *answers))

    missing = "nilsberg (The affiliate has no tax data)"
    assert list_messages(page) == [
        "The results were applied: settled: 3, documents issued: 1. Without a document:"
        f" {missing}; {missing}."
    ]


def test_says_what_failed_and_what_is_next(staff_client, account, run):
    client = staff_client()
    assert list_alerts(client, run) == []
    first, second, third = get_lines(run)
    account.payout_methods.create(affiliate=second.affiliate, kind="bank", is_primary=True)
    answers = [(first, "settled,R1,,"), (second, "failed,,,AC04")]
    apply(client, run, upload(client, run, *answers))
    cancel_payment(account, payment_id=third.payment.public_id, at=timezone.now())

    assert list_alerts(client, run) == [
        "1 of 3 payments was refused or returned: 30.00 EUR, due again for the next"
        " payout run. Show which",
        "1 of 3 payments was canceled: 5.00 USD, due again for the next payout run. Show which",
        "Correct these payout methods first, or mark them as looked at: Bank account of nilsberg.",
    ]
    text = "20.00 EUR, 0.00 USD of 50.00 EUR, 5.00 USD: 30.00 EUR, 5.00 USD came back"
    assert f'<strong class="text-important">{text}</strong>' in get_page(client, run)
    runs = client.get("/admin/payouts/payoutrun/").content.decode()
    assert text in " ".join(runs.split())
    links = re.findall(r'href="([^"]*)">Show which', get_page(client, run))
    listed = client.get(links[0].replace("&amp;", "&")).context["cl"].result_list
    assert [row.pk for row in listed] == [second.pk]


def test_says_of_a_payment_what_the_bank_did(staff_client, account, run):
    client = staff_client()
    lines = get_lines(run)
    answers = [(line, "failed,,,AC04") for line in lines]
    apply(client, run, upload(client, run, *answers[:2]))
    assert ">Partly failed<" in get_page(client, run)
    apply(client, run, upload(client, run, answers[2]))

    payment = lines[0].payment
    listed = " ".join(client.get("/admin/payouts/payment/").content.decode().split())
    for page in (get_page(client, payment), listed):
        assert ">Refused or returned<" in page
        assert ">Canceled<" not in page
    assert "Came back on" in get_page(client, payment)
    log = client.get("/admin/accounts/auditlogentry/").content.decode()
    name = f"payment {lines[2].payment} to nilsberg: 5.00 USD"
    assert f"recorded that {name} was refused or returned" in strip_tags(log)
    assert run.reload().state == "partly_failed"
    runs = client.get("/admin/payouts/payoutrun/").content.decode()
    for page in (get_page(client, run), " ".join(runs.split())):
        assert ">Failed<" in page


def list_alerts(client, run):
    """The texts of the alerts of a run's page."""
    found = re.findall(r'<p role="alert"[^>]*>(.*?)</p>', get_page(client, run))
    return [re.sub(r"<[^>]*>", "", text) for text in found]


def test_names_what_is_wrong_with_a_file(staff_client, run, other_run, monkeypatch):
    client, url = staff_client(), page_url(run, "results")

    def find_error(**entries):
        [error] = client.post(url, {"format": "auto", **entries}).context["form"].errors["file"]
        return error

    def send(content):
        return find_error(file=SimpleUploadedFile("a.csv", content))

    assert find_error() == "Choose a file."
    assert "empty" in send(b"")
    assert "incomplete" in send(b"<Document>")
    packed = payout_result_pages.pack_results(other_run, [])
    assert find_error(results=packed) == "Choose the file again."
    other = get_lines(other_run)[0].payment.public_id
    error = send(f"payment,state\n{other},settled".encode())
    assert error.startswith(f"{other} is not a payment of run {run}")
    monkeypatch.setattr(payout_result_pages, "MAX_PACKED_LENGTH", 10)
    assert "too many payments" in send(b"payment,state\npa,paid")


def test_keeps_answers_as_they_were_read(run):
    day, amount = date(2026, 4, 5), Decimal("1.50")
    results = [
        PayoutResult(
            *("pa", ResultState.FAILED, amount, "EUR", "R", "AC04", day),
            is_message=True,
            count=3,
            booking=Booking.ENTRY,
        ),
        PayoutResult("x", ResultState.UNKNOWN),
    ]
    packed = payout_result_pages.pack_results(run, results)
    assert payout_result_pages.unpack_results(run, packed) == results


def test_applies_a_statement_to_payments_of_other_runs(staff_client, account, run):
    client, url = staff_client(), page_url(run, "results")
    [line] = get_lines(create_run(account, Paid("1")))
    text = f"payment,state\n{line.payment},returned"
    file = SimpleUploadedFile("answers.csv", text.encode())
    entries = {"format": "auto", "has_other_runs": "on"}
    shown = client.post(url, entries | {"file": file})
    confirmed = {
        "results": shown.context["form"].packed,
        "effects": shown.context["effects"].digest,
        "token": shown.context["token"],
    }
    client.post(url, entries | confirmed)
    assert line.reload().state == "returned"


@pytest.mark.parametrize("name", ["files", "results"])
def test_is_for_confirmed_runs(staff_client, run, name):
    run.update_row(state="draft")
    assert staff_client().get(page_url(run, name)).status_code == 302


def test_changes_who_pays(staff_client, account):
    client, url = staff_client(), reverse("admin:payer_settings")
    entries = {f"payer_{name}": text for name, text in PAYER.items()}
    entries |= get_version(client, url)
    wrong = entries | {"payer_iban": "NL92ABNA0417164300"}
    assert "payer_iban" in client.post(url, wrong).context["form"].errors
    entries["payer_iban"] = "NL91 ABNA 0417 1643 00"
    response = client.post(url, entries | {"requires_second_person": "on"}, follow=True)
    assert list_messages(response) == ["The settings were saved."]
    settings = get_payout_settings(account)
    assert (build_payer(settings), settings.requires_second_person) == (PAYER, True)
    assert get_entries(client, url)["payer_city"] == "Amsterdam"


def test_only_an_owner_decides_who_confirms(staff_client, account):
    url = reverse("admin:payer_settings")
    payer = {f"payer_{name}": text for name, text in PAYER.items()}
    clients = {role: staff_client(role) for role in ("finance", "owner")}
    for role, is_set in (("finance", False), ("owner", True)):
        client = clients[role]
        entries = get_entries(client, url) | payer | {"requires_second_person": "on"}
        assert client.post(url, entries).status_code == 302
        settings = account.payout_settings.get()
        assert settings.requires_second_person == is_set
    client = clients["finance"]
    entries = get_entries(client, url) | payer
    entries.pop("requires_second_person")
    assert client.post(url, entries).status_code == 302
    assert account.payout_settings.get().requires_second_person


def test_finance_does_not_undo_what_an_owner_decides_meanwhile(staff_client, account, monkeypatch):
    """The field that finance cannot change was read before the settings are locked."""
    update = payer_settings_page.update_payout_settings

    def update_after_owner(account, **arguments):
        update(account, changes={"requires_second_person": True}, at=arguments["at"])
        return update(account, **arguments)

    monkeypatch.setattr(payer_settings_page, "update_payout_settings", update_after_owner)
    payer = {f"payer_{name}": text for name, text in PAYER.items()}
    client, url = staff_client("finance"), reverse("admin:payer_settings")
    response = client.post(url, payer | get_version(client, url))
    assert response.status_code == 302
    settings = account.payout_settings.get()
    assert (build_payer(settings), settings.requires_second_person) == (PAYER, True)
