"""Explanations in words, as staff and the command `explain` show them."""

from datetime import timedelta

import pytest

from payouts.explanation import render_explanation
from payouts.services.corrections import release_commission
from payouts.services.explanation import explain_conversion
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.attribution import TrackingParameters
from tracking.services.hierarchy import set_parent

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(account):
    scenario = ProgramScenario(account)
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    return scenario


def render(conversion, at=LATER):
    found = explain_conversion(conversion.account, conversion_id=conversion.pk)
    assert found.differences == []
    return "\n".join(render_explanation(found, at=at))


def test_says_that_a_commission_was_removed_with_its_conversion(scenario, account):
    conversion = scenario.create_conversion("200")
    scenario.delete(conversion, at=LATER)

    text = render(conversion)

    assert "  Removed 2026-03-05 09:15:27 UTC" in text
    assert text.endswith("  Status: removed with the conversion")


def test_says_warnings_in_words(scenario):
    conversion = scenario.create_conversion("200", customer_id="mina+x@notes.example.org")

    text = render(conversion)

    assert "  Warning: The customer ID is the affiliate's e-mail address." in text
    assert (
        "  Pending because it needs review: The customer ID is the affiliate's e-mail"
        " address\n" in text
    )


@pytest.mark.parametrize(
    ("ignore_cookie_age", "reason"),
    [(False, "expired by 15 d 0 h"), (True, "coupon comes first")],
)
def test_names_the_age_of_a_click_only_if_it_counts(scenario, ignore_cookie_age, reason):
    clicked_at = CONVERSION_CREATED_AT - timedelta(days=60)
    click = scenario.create_click(scenario.odette, at=clicked_at)
    parameters = TrackingParameters(coupon=scenario.mina.coupon, click_id=str(click.public_id))

    conversion = scenario.create_conversion(
        "200", parameters=parameters, ignore_cookie_age=ignore_cookie_age
    )

    assert f"→ odettevarga: {reason}\n" in render(conversion)


def test_names_no_parents_where_the_commission_type_pays_none(scenario, account):
    parent = {"affiliate_id": "minakessler", "parent_id": "odettevarga"}
    set_parent(account, **parent, at=CONVERSION_CREATED_AT)
    scenario.create_level(2, "3")
    mark_deleted(scenario.odette.affiliate)
    own_type = scenario.create_commission_type("own", "5")
    own_type.update_row(mlm=False)

    assert "skipped" not in render(scenario.create_conversion(("200", "own")))
    assert "Level 2 skipped odettevarga" in render(scenario.create_conversion("200"))


def test_says_why_a_commission_is_not_due_yet(scenario):
    scenario.program.update_row(hold_days=30)
    conversion = scenario.create_conversion("200")

    line = (
        "  Due: not yet, on hold until 2026-04-03 09:15:27 UTC, because the program"
        " holds sales for 30 days"
    )
    assert line in render(conversion)
    line = "2026-04-03 09:15:27 UTC, because the program holds sales for 30 days"
    pending = render(conversion, at=LATER + timedelta(days=29))
    assert f"  Due: once it is approved: its hold ended {line}" in pending
    scenario.approve(scenario.get_commission(conversion))
    assert f"  Due: since {line}" in render(conversion, at=LATER + timedelta(days=29))
    scenario.disapprove(scenario.get_commission(conversion))
    assert "  Due: " not in render(conversion)


@pytest.mark.parametrize(
    ("is_approved", "when"), [(True, "at once"), (False, "once it is approved")]
)
def test_says_why_nothing_holds_a_commission(scenario, is_approved, when):
    conversion = scenario.create_conversion("200")
    if is_approved:
        scenario.approve(scenario.get_commission(conversion))

    line = f"  Due: {when}, because neither program nor affiliate group holds sales"
    assert line in render(conversion)


def test_says_that_a_group_holds_no_sales_though_the_program_does(scenario):
    scenario.program.update_row(hold_days=30)
    create_group_hold(scenario, days=0)
    conversion = scenario.create_conversion("200")
    scenario.approve(scenario.get_commission(conversion))

    line = "  Due: at once, because the group of who referred the sale holds no sales"
    assert line in render(conversion)


def test_says_that_staff_released_a_commission(scenario):
    create_group_hold(scenario, days=1)
    conversion = scenario.create_conversion("200")
    scenario.approve(scenario.get_commission(conversion))
    release_commission(
        scenario.account,
        commission_id=scenario.get_commission(conversion).pk,
        reason="",
        at=CONVERSION_CREATED_AT + timedelta(hours=2),
    )

    line = (
        "  Due: since 2026-03-04 11:15:27 UTC, because staff released it, though the"
        " group of who referred the sale holds sales for 1 day"
    )
    assert line in render(conversion)


def create_group_hold(scenario, *, days):
    group = scenario.account.affiliate_groups.create(public_id="top", title="Top", hold_days=days)
    scenario.mina.affiliate.update_row(group=group)
