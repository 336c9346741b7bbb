"""Corrections of a sale by staff: with a reason, and to another affiliate."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.actor import use_actor
from payouts.calculation import LineItem
from payouts.errors import SameAffiliate, SettledCommission
from payouts.explanation import render_explanation
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import add_commissions
from payouts.services.corrections import (
    correct_conversion,
    list_corrections,
    reattribute_conversion,
    remove_conversion,
)
from payouts.services.explanation import explain_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.refunds import refund_conversion
from payouts.services.statistics import load_statistics
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    snapshot_account,
)
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tracking.attribution import TrackingParameters
from tracking.claims import ClaimStatus, Trust
from tracking.errors import (
    AffiliateNotApproved,
    AffiliateNotFound,
    ConversionNotFound,
    ProgramArchived,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    scenario.create_commission_type("accessories", "7.5")
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def otto(scenario):
    return scenario.create_enrolled_affiliate("Otto", "Brandt")


@pytest.fixture
def conversion(scenario):
    return scenario.create_conversion("100", ("40", "accessories"))


def reattribute(conversion, affiliate="ottobrandt", **arguments):
    arguments = {"reason": "Otto sent the newsletter.", "at": LATER} | arguments
    return reattribute_conversion(
        conversion.account,
        conversion_id=conversion.pk,
        affiliate_id=affiliate,
        **arguments,
    )


def list_earned(account):
    """Who earns what from commissions that are not removed."""
    rows = account.commissions.not_deleted().select_related("affiliate").order_by("id")
    return [(row.affiliate.slug, f"{row.amount.normalize():f}") for row in rows]


def test_a_correction_records_the_reason(account, conversion):
    with use_actor("staff 7"):
        correct_conversion(
            account,
            conversion_id=conversion.pk,
            changes={"amount": Decimal(70)},
            should_recalculate=True,
            reason="The shop sent the wrong amount.",
            at=LATER,
        )

    assert list_earned(account) == [("minakessler", "5"), ("minakessler", "1.5")]
    [row] = list_corrections(conversion)
    assert (row.reason, row.actor) == ("The shop sent the wrong amount.", "staff 7")
    assert row.created_at == LATER
    assert "wrong amount" not in str(list(account.audit_log.values()))


def test_a_removal_records_the_reason(account, conversion):
    remove_conversion(account, conversion_id=conversion.pk, reason="A test.", at=LATER)

    assert account.conversions.get().deleted_at == LATER
    assert list_earned(account) == []
    assert [row.reason for row in list_corrections(conversion)] == ["A test."]
    with pytest.raises(ConversionNotFound):
        remove_conversion(account, conversion_id=conversion.pk, reason="Again.", at=LATER)


def test_a_removal_refuses_those_of_another_account(account, conversion):
    with pytest.raises(ConversionNotFound):
        remove_conversion(AccountFactory(), conversion_id=conversion.pk, reason="No.", at=LATER)
    assert account.conversions.get().deleted_at is None


def test_the_new_affiliate_earns_by_the_rules_in_force(account, scenario, otto):
    """Its group's rate, its parents and the present rates of the program."""
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold")
    scenario.create_group_rate(group, "20")
    otto.affiliate.update_row(group=group)
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(otto, parent)
    scenario.create_level(2, "3")
    conversion = scenario.create_conversion("100", ("40", "accessories"))

    reattribute(conversion)

    assert list_earned(account) == [
        ("ottobrandt", "20"),
        ("ottobrandt", "3"),
        ("odettevarga", "3"),
        ("odettevarga", "1.2"),
    ]
    conversion.refresh_from_db()
    assert conversion.affiliate == otto.affiliate
    assert (conversion.tracking_source, conversion.click) == ("manual", None)


def test_what_the_old_affiliate_had_is_taken_back(account, scenario, otto, conversion):
    for row in account.commissions.all():
        scenario.approve(row)
    add_commissions(
        account,
        conversion_id=conversion.pk,
        line_items=build_line_items("50"),
        at=LATER,
    )

    reattribute(conversion)

    assert get_payable_balances_by_slug(account) == {}
    assert list_earned(account) == [("ottobrandt", "10"), ("ottobrandt", "3")]


def test_it_is_explained_and_verified(account, otto, conversion):
    reattribute(conversion)

    explained = explain_conversion(account, conversion_id=conversion.pk)
    assert explained.differences == []
    assert explained.attribution["winner"] == {
        "parameter": "staff",
        "affiliate": "ottobrandt",
        "program": "harbor-lamp-partners",
    }
    lines = render_explanation(explained, at=LATER)
    assert "Attribution: ottobrandt by staff" in lines
    assert "  attributed by staff" in lines
    entry = account.audit_log.get(kind="conversion.reattributed")
    mina = account.affiliates.get(slug="minakessler").log_id
    assert entry.details == {"affiliate": [mina, otto.affiliate.log_id]}
    assert list_corrections(conversion)[0].reason == "Otto sent the newsletter."


def test_it_can_be_refunded_and_attributed_again(account, scenario, otto, conversion):
    reattribute(conversion)
    reattribute(conversion, "minakessler")
    line = account.commissions.not_deleted().order_by("id").first()

    refund_conversion(
        account,
        conversion_id=conversion.pk,
        line_amounts={line.pk: Decimal(100)},
        reason="Returned.",
        at=LATER,
    )

    assert list_earned(account) == [("minakessler", "0"), ("minakessler", "3")]
    assert explain_conversion(account, conversion_id=conversion.pk).differences == []


def test_statistics_count_it_for_the_new_affiliate(account, otto, conversion):
    days = [CONVERSION_CREATED_AT.date()]
    load_statistics(account, days, at=LATER)

    reattribute(conversion)

    totals = load_statistics(account, days, at=LATER).totals_by_day(days, [otto.affiliate.pk])
    assert totals[days[0]].conversions == 1


def test_a_warning_about_the_old_affiliate_ends(account, scenario, otto):
    parameters = TrackingParameters(
        coupon=scenario.mina.coupon, customer_id="mina@notes.example.org"
    )
    conversion = scenario.create_conversion("100", parameters=parameters)
    assert conversion.warnings == ["customer_is_affiliate"]

    reattribute(conversion)

    conversion.refresh_from_db()
    assert conversion.warnings is None


def test_a_sale_that_only_a_page_reported_still_waits(account, scenario, otto):
    scenario.program.update_row(auto_approve_commissions=True)
    data = ConversionData(
        parameters=TrackingParameters(coupon=scenario.mina.coupon),
        line_items=[LineItem(Decimal(100))],
        trust=Trust.CLAIM,
        is_browser_sale=True,
    )
    conversion = create_conversion(account, data=data, at=CONVERSION_CREATED_AT)

    reattribute(conversion)

    conversion.refresh_from_db()
    assert conversion.claim_status == ClaimStatus.REVIEWED
    assert account.commissions.not_deleted().get().status == "pending"


def test_refuses_a_paid_sale(account, scenario, otto, conversion):
    for row in account.commissions.all():
        scenario.approve(row)
    scenario.pay("13")
    before = snapshot_account(account)

    with pytest.raises(SettledCommission):
        reattribute(conversion)

    assert snapshot_account(account) == before


def test_refuses_a_final_commission(account, scenario, otto, conversion):
    scenario.enable_payouts("100")
    scenario.approve(account.commissions.order_by("id").first())

    with pytest.raises(SettledCommission):
        reattribute(conversion)


def test_refuses_an_affiliate_who_may_not_earn(account, scenario, otto, conversion):
    scenario.create_enrolled_affiliate("Nora", "Lind", approved=False)
    before = snapshot_account(account)

    for slug, error in (
        ("noralind", AffiliateNotApproved),
        ("nobody", AffiliateNotFound),
        ("minakessler", SameAffiliate),
    ):
        with pytest.raises(error):
            reattribute(conversion, slug)
    assert snapshot_account(account) == before
    scenario.archive()
    with pytest.raises(ProgramArchived):
        reattribute(conversion)


def test_a_conversion_of_another_account_does_not_exist(conversion):
    with pytest.raises(ConversionNotFound):
        reattribute_conversion(
            AccountFactory(),
            conversion_id=conversion.pk,
            affiliate_id="minakessler",
            reason="x",
            at=LATER,
        )


def test_stores_all_or_nothing(account, otto, conversion):
    assert_atomic(account, lambda: reattribute(conversion), least=15)
