"""Self-billing documents: one for each payment that arrived, with unbroken numbers."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError
from hypothesis import given
from hypothesis import strategies as st

from accounts.errors import ErrorList
from payouts.errors import InvalidTaxData, InvalidTaxRule, TaxRuleNotFound
from payouts.models.documents import SupplierKind
from payouts.services.documents import (
    DocumentProblem,
    calculate_vat,
    count_unbilled,
    issue_documents,
    list_unbilled,
)
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_settings import update_payout_settings
from payouts.services.tax_data import (
    normalize_vat_id,
    remove_tax_rule,
)
from tests.document_scenario import AT, set_rule, set_taxes, settle, switch_on
from tests.payout_scenario import Paid, create_run, get_lines
from tracking.models.affiliates import Affiliate

pytestmark = pytest.mark.usefixtures("shared_scenario")

NILS = "nilsberg"


@pytest.fixture
def run(scenario):
    """Mina is paid 20 EUR, which one commission covers, Nils 119 EUR."""
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission)
    scenario.create_enrolled_affiliate("Nils", "Berg")
    run = create_run(scenario.account, Paid("20"), Paid("119", slug=NILS))
    address = {"address": "Ring 1", "postal_code": "1010", "city": "Wien"}
    Affiliate.objects.filter(account=scenario.account).update(country="AT", **address)
    return run


def list_labels(account):
    rows = account.documents.order_by("id")
    return [(str(row), row.kind, row.total) for row in rows]


def list_problems(account):
    return [each.problem for each in list_unbilled(account, limit=10)]


def test_nothing_is_billed_until_it_is_switched_on(account, scenario, run):
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    settle(run)
    assert issue_documents(account, at=AT) == []
    assert count_unbilled(account) == 0
    switch_on(account, documents_from=AT.date() + timedelta(days=1))
    assert issue_documents(account, at=AT) == []


def test_bills_settled_payments_with_both_sides_as_they_are(account, scenario, run):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    settle(run)
    mina, nils = account.documents.order_by("number")
    assert [str(mina), str(nils)] == ["SB-2026-00001", "SB-2026-00002"]
    assert (nils.net, nils.vat, nils.total) == (100, 19, 119)
    assert (mina.net, mina.vat, mina.total) == (
        Decimal("16.81"),
        Decimal("3.19"),
        20,
    )
    day = account.get_day(account.commissions.get().created_at)
    assert (mina.first_day, mina.last_day) == (day, day)
    assert (nils.first_day, nils.last_day) == (None, None)
    assert nils.issued_on == AT.date()
    assert nils.issuer == {
        "name": "Acme GmbH",
        "street": "Hauptstr.",
        "building": "5",
        "postal_code": "10115",
        "city": "Berlin",
        "country": "DE",
        "vat_id": "DE136695976",
    }
    assert nils.supplier == {
        "name": "Nils Berg",
        "street": "Ring 1",
        "postal_code": "1010",
        "city": "Wien",
        "country": "AT",
        "vat_id": "ATU12345675",
    }
    switch_on(account, payer_name="Other GmbH")
    Affiliate.objects.filter(slug=NILS).update(city="Graz")
    nils.refresh_from_db()
    assert (nils.issuer["name"], nils.supplier["city"]) == ("Acme GmbH", "Wien")
    settle(run)
    assert issue_documents(account, at=AT) == []
    kinds = account.audit_log.filter(kind__startswith="document.")
    assert list(kinds.values_list("subject", flat=True).order_by("id")) == [
        "document:SB-2026-00001",
        "document:SB-2026-00002",
    ]


def test_a_returned_payment_gets_a_correction_and_no_gap(account, scenario, run):
    switch_on(account)
    set_rule(account, "0", sentence="Reverse charge")
    set_taxes(account, scenario.mina.slug, NILS)
    settle(run)
    failed = PayoutResult(get_lines(run)[1].payment.public_id, ResultState.RETURNED)
    apply_payout_results(account, [failed], at=AT)
    first = account.payments.order_by("id").first()
    next_year = AT.replace(year=2027)
    cancel_payment(account, payment_id=first.public_id, at=next_year)
    assert list_labels(account) == [
        ("SB-2026-00001", "self_billing", 20),
        ("SB-2026-00002", "self_billing", 119),
        ("SB-2026-00003", "correction", -119),
        ("SB-2027-00001", "correction", -20),
    ]
    correction = account.documents.get(label="SB-2027-00001")
    assert str(correction.corrects) == "SB-2026-00001"
    assert (correction.net, correction.vat, correction.sentence) == (
        -20,
        0,
        "Reverse charge",
    )
    assert correction.issued_on == account.get_day(next_year)


def test_a_payment_without_a_document_is_canceled_without_a_correction(account, run):
    payment = get_lines(run)[0].payment
    cancel_payment(account, payment_id=payment.public_id, at=AT)
    assert list_labels(account) == []


def test_says_what_is_missing_and_bills_once_it_is_there(account, scenario, run):
    account.payout_settings.all().delete()
    update_payout_settings(account, changes={"documents_from": AT.date()}, at=AT)
    settle(run)
    assert list_problems(account) == []
    slugs = (scenario.mina.slug, NILS)
    switch_on(account, payer_street="")
    assert list_problems(account) == [DocumentProblem.NO_ISSUER] * 2
    switch_on(account)
    assert list_problems(account) == [DocumentProblem.NO_TAX_DATA] * 2
    set_taxes(account, *slugs, consented_on=None)
    assert list_problems(account) == [DocumentProblem.NO_CONSENT] * 2
    set_taxes(account, *slugs)
    set_rule(account, kind=SupplierKind.PRIVATE)
    set_rule(account, country="DE")
    assert list_problems(account) == [DocumentProblem.NO_TAX_RULE] * 2
    assert issue_documents(account, at=AT) == []
    set_rule(account, country="AT")
    Affiliate.objects.filter(slug=NILS).update(city="")
    assert list_problems(account) == [None, DocumentProblem.NO_ADDRESS]
    assert [str(row) for row in issue_documents(account, at=AT)] == ["SB-2026-00001"]
    Affiliate.objects.filter(slug=NILS).update(city="Wien")
    assert [str(row) for row in issue_documents(account, at=AT)] == ["SB-2026-00002"]
    assert count_unbilled(account) == 0


def test_payments_without_a_run_are_billed_by_hand_only(account, scenario, run):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    orders = [PaymentOrder(NILS, Decimal(amount), "EUR") for amount in ("10", "1.0050")]
    create_payments(account, orders=orders, at=AT)
    settle(run)
    assert len(list_labels(account)) == 2
    assert list_problems(account) == [None, DocumentProblem.NOT_IN_CENTS]
    issue_documents(account, at=AT)
    assert list_labels(account)[2:] == [("SB-2026-00003", "self_billing", 10)]


def test_open_and_canceled_payments_are_not_billed(account, scenario, run):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    assert issue_documents(account, at=AT) == []
    settle(run, state=ResultState.FAILED)
    assert issue_documents(account, at=AT) == []


def test_another_account_counts_for_itself(account, scenario, run, other_account):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    switch_on(other_account)
    settle(run)
    assert issue_documents(other_account, at=AT) == []
    assert other_account.document_sequences.count() == 0


def test_the_database_refuses_a_number_twice(account, scenario, run):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    settle(run)
    with pytest.raises(IntegrityError):
        account.documents.filter(number=2).update(number=1)


def test_the_number_of_statements_does_not_grow(
    account, scenario, run, django_assert_max_num_queries
):
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug, NILS)
    settle(run)
    orders = [PaymentOrder(NILS, Decimal(10), "EUR") for _ in range(30)]
    create_payments(account, orders=orders, at=AT)
    with django_assert_max_num_queries(14):
        assert len(issue_documents(account, at=AT)) == 30


@given(
    st.decimals("0.01", "999999", places=2),
    st.decimals(0, "99.99", places=2),
    st.sampled_from(["EUR", "JPY"]),
)
def test_net_and_vat_are_the_total(total, rate, currency):
    total = round(total) + 1 if currency == "JPY" else total
    vat = calculate_vat(total, rate, currency)
    assert 0 <= vat <= total
    assert abs((total - vat) * rate / 100 - vat) <= (1 if currency == "JPY" else Decimal("0.01"))


@pytest.mark.parametrize(
    ("country", "text", "stored"),
    [
        ("DE", "de 136 695 976", "DE136695976"),
        ("DE", "136695976", "DE136695976"),
        ("GR", "094259216", "EL094259216"),
        ("AT", "ATU12345675", "ATU12345675"),
        ("GB", "GB 980 7806 84", "980780684"),
        ("US", "12-3456789", "12-3456789"),
        ("US", "", ""),
    ],
)
def test_normalizes_vat_ids(country, text, stored):
    assert normalize_vat_id(country, text, path="vat_id") == stored


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"vat_id": "DE136695976"}, "vat_id"),
        ({"vat_id": "ATU1234567"}, "vat_id"),
        ({"country": "XX"}, "country"),
        ({"kind": SupplierKind.PRIVATE}, "vat_id"),
        ({"consented_on": AT.date() + timedelta(days=2)}, "consented_on"),
    ],
)
def test_refuses_wrong_tax_data(account, scenario, values, path):
    with pytest.raises(InvalidTaxData) as error:
        set_taxes(account, scenario.mina.slug, **values)
    assert error.value.path == path
    assert not account.tax_data.exists()


@pytest.mark.parametrize("rate", ["-1", "100", "7.125"])
def test_refuses_wrong_rates(account, rate):
    with pytest.raises(InvalidTaxRule):
        set_rule(account, rate)


def test_a_rule_without_vat_says_why(account):
    with pytest.raises((InvalidTaxRule, ErrorList)) as error:
        set_rule(account, "0")
    assert "Say why there is no VAT" in str(error.value)


def test_a_rule_is_replaced_and_removed(account):
    set_rule(account)
    rule = set_rule(account, "20")
    assert [row.rate for row in account.tax_rules.all()] == [20]
    remove_tax_rule(account, pk=rule.pk, at=AT)
    assert not account.tax_rules.exists()
    with pytest.raises(TaxRuleNotFound):
        remove_tax_rule(account, pk=rule.pk, at=AT)
