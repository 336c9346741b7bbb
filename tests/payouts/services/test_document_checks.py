"""What a document lacks is named before the payment: rules by kind, country, number."""

from datetime import timedelta

import pytest

from accounts.errors import ErrorList
from payouts.errors import InvalidTaxRule, PayoutRunChanged
from payouts.models.documents import RequiredNumber, SupplierKind
from payouts.services.documents import (
    WHERE_TO_ADD,
    DocumentProblem,
    list_lines_without_document,
    list_problems,
)
from payouts.services.payout_runs import create_draft, remake_draft
from payouts.services.payout_settings import get_payout_settings
from payouts.services.run_confirmation import confirm_run, describe_changes
from payouts.services.tax_data import load_taxes
from tests.document_scenario import set_rule, set_taxes, settle, switch_on
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

AT = CONVERSION_CREATED_AT + timedelta(days=3)
ADDRESS = {"address": "Ring 1", "postal_code": "1010", "city": "Wien", "country": "AT"}
SMALL = SupplierKind.SMALL_BUSINESS
PRIVATE = SupplierKind.PRIVATE
LACKS = DocumentProblem


@pytest.fixture
def mina(account, scenario):
    """Mina, who is owed 20 EUR; the account bills from Germany, and pays only then."""
    switch_on(account, requires_documents=True)
    affiliate = scenario.mina.affiliate
    affiliate.update_row(**ADDRESS)
    account.payout_methods.create(
        affiliate=affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
    scenario.approve(scenario.get_commission(scenario.create_conversion("200")))
    return affiliate


def load(account, affiliate):
    settings = get_payout_settings(account)
    country = settings.payer_country
    return settings, load_taxes(account, [affiliate.pk], payer_country=country)


def find_sentence(account, affiliate, **values):
    set_taxes(account, affiliate.slug, vat_id="", **values)
    rule = load(account, affiliate)[1].find_rule(affiliate.pk)
    return rule and rule.sentence


def draft(account):
    return create_draft(account, due_until=AT.date(), at=AT)


def list_states(run):
    lines = run.account.payout_lines.filter(run=run).order_by("id")
    return list(lines.values_list("state", "reason", "note"))


def test_the_rule_of_the_country_comes_before_the_eu_and_all_others(account, mina):
    for country in ("DE", "FR", "EU", ""):
        set_rule(account, country=country, sentence=country or "others")
    set_rule(account, "0", kind=SMALL, country="EU", sentence="small")

    def find(country, kind=SupplierKind.BUSINESS):
        return find_sentence(account, mina, country=country, kind=kind)

    expected = {"DE": "DE", "FR": "FR", "AT": "EU", "GR": "EU", "CH": "others"}
    assert {country: find(country) for country in expected} == expected
    assert find("AT", SMALL) == "small"
    assert find("DE", SMALL) is None  # the payer's own country is not another one
    assert find("AT", PRIVATE) is None
    switch_on(account, payer_country="CH", payer_vat_id="")
    assert find("AT") == "others"  # who pays from outside has no other EU countries


@pytest.mark.parametrize(
    ("required", "values", "problems"),
    [
        ("", {"vat_id": ""}, []),
        ("vat_id", {}, []),
        ("vat_id", {"vat_id": "", "tax_number": "12"}, [LACKS.NO_VAT_ID]),
        ("tax_number", {}, [LACKS.NO_TAX_NUMBER]),
        ("tax_number", {"tax_number": "12/345"}, []),
        ("either", {"vat_id": ""}, [LACKS.NO_NUMBER]),
        ("either", {"vat_id": "", "tax_number": "12/345"}, []),
        ("either", {}, []),
        ("reverse_charge", {}, []),
        ("reverse_charge", {"vat_id": "", "tax_number": "12"}, [LACKS.NO_VAT_ID]),
        (
            "reverse_charge",
            {"country": "DE", "vat_id": "DE 129273398"},
            [LACKS.NOT_ABROAD],
        ),
        ("vat_id", {"country": "DE", "vat_id": "DE 129273398"}, []),
        (
            "vat_id",
            {"vat_id": "", "consented_on": None},
            [LACKS.NO_CONSENT, LACKS.NO_VAT_ID],
        ),
    ],
)
def test_a_rule_asks_for_a_number(account, mina, required, values, problems):
    set_rule(account, "0", sentence="Because", required_number=required)
    set_taxes(account, mina.slug, **values)
    assert list_problems(mina, *load(account, mina)) == problems


def test_a_vat_id_that_is_no_longer_well_formed_is_missing(account, mina):
    set_rule(account, "0", sentence="Reverse charge", required_number="reverse_charge")
    set_taxes(account, mina.slug)
    account.tax_data.update(vat_id="ATU00000000")
    assert list_problems(mina, *load(account, mina)) == [LACKS.NO_VAT_ID]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"rate": "19", "required_number": RequiredNumber.REVERSE_CHARGE}, "rate"),
        ({"kind": PRIVATE, "required_number": "vat_id"}, "required_number"),
        ({"kind": PRIVATE, "required_number": "reverse_charge"}, "required_number"),
    ],
)
def test_refuses_rules_that_nobody_can_meet(account, values, path):
    with pytest.raises((InvalidTaxRule, ErrorList)) as error:
        set_rule(account, **({"rate": "0", "sentence": "Because"} | values))
    [each] = getattr(error.value, "errors", [error.value])
    assert each.path == path
    assert not account.tax_rules.exists()


def test_the_draft_leaves_out_whose_document_lacks_something(account, mina):
    set_rule(account, required_number="vat_id")
    set_taxes(account, mina.slug, vat_id="")
    missing = "The affiliate's VAT ID is missing. The affiliate can add it in the"
    run = draft(account)
    [(state, reason, note)] = list_states(run)
    assert (state, reason) == ("left_out", "document_incomplete")
    assert note == f"{missing} portal under Profile"

    set_taxes(account, mina.slug)
    remake_draft(account, pk=run.pk, at=AT)
    assert list_states(run) == [("included", "", "")]
    set_taxes(account, mina.slug, vat_id="")
    text = f"minakessler: its document is incomplete: {missing} portal under Profile"
    assert describe_changes(run, at=AT) == text
    with pytest.raises(PayoutRunChanged) as error:
        confirm_run(account, pk=run.pk, at=AT)
    assert error.value.params["changes"] == text
    assert not account.payments.exists()


def test_the_rules_of_the_account_are_not_for_the_affiliate_to_add(account, mina):
    set_taxes(account, mina.slug)
    [(_, _, note)] = list_states(draft(account))
    assert note == "No tax rule for the country of the affiliate"


def test_without_the_setting_what_is_missing_is_only_named(account, mina):
    switch_on(account, requires_documents=False)
    run = draft(account)
    assert list_states(run) == [("included", "", "")]
    text = f"{LACKS.NO_TAX_DATA.label}. {WHERE_TO_ADD}"
    [(line, why)] = list_lines_without_document(run, at=AT)
    assert (line.affiliate, why) == (mina, text)
    set_rule(account)
    set_taxes(account, mina.slug)
    assert list_lines_without_document(run, at=AT) == []
    set_taxes(account, mina.slug, consented_on=None)
    confirm_run(account, pk=run.pk, at=AT)
    [(_, why)] = list_lines_without_document(run, at=AT)
    assert why == f"{LACKS.NO_CONSENT.label}. {WHERE_TO_ADD}"


@pytest.mark.parametrize("days", [None, 1])
def test_without_documents_nothing_is_asked_for(account, mina, days):
    day = days and AT.date() + timedelta(days=days)
    switch_on(account, documents_from=day)
    run = draft(account)
    assert list_states(run) == [("included", "", "")]
    confirm_run(account, pk=run.pk, at=AT)


def test_the_document_has_name_and_number(account, mina):
    set_rule(account, "0", kind=SMALL, sentence="Kleinunternehmer, § 19 UStG")
    set_taxes(
        account,
        mina.slug,
        kind=SMALL,
        vat_id="",
        tax_number="12/345",
        legal_name="Mina Kessler e. U.",
    )
    run = draft(account)
    confirm_run(account, pk=run.pk, at=AT)
    settle(run, at=AT)
    document = account.documents.get()
    assert (document.net, document.vat, document.sentence) == (
        *(20, 0, "Kleinunternehmer, § 19 UStG"),
    )
    assert document.supplier["name"] == "Mina Kessler e. U."
    assert document.supplier["tax_number"] == "12/345"
