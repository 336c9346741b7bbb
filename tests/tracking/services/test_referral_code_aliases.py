"""Further codes of an affiliate in a program, such as those of an earlier system."""

import pytest

from accounts.errors import ErrorList
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.errors import DuplicateAlias, DuplicateReferralCode
from tracking.services.clicks import Visit, record_click
from tracking.services.enrollments import update_enrollment
from tracking.services.erasure import erase_affiliate
from tracking.services.hierarchy import set_parent

pytestmark = pytest.mark.django_db


def change(scenario, who=None, **changes):
    return update_enrollment(
        scenario.account,
        program=scenario.program,
        affiliate_id=(who or scenario.mina).slug,
        changes=changes,
        at=AT,
    )


def click(scenario, code):
    visit = Visit(parameters=TrackingParameters(referral_code=code))
    return record_click(scenario.account, visit=visit, at=AT)


def list_codes(scenario):
    rows = scenario.account.referral_code_aliases.order_by("code")
    return list(rows.values_list("code", flat=True))


def test_a_link_with_an_alias_counts_like_the_code(scenario):
    change(scenario, aliases=["old-mina", "mina.2019"])
    for code in ("old-mina", "mina.2019", scenario.mina.code):
        assert click(scenario, code).affiliate == scenario.mina.affiliate
    sale = scenario.create_conversion(parameters=TrackingParameters(referral_code="old-mina"))
    assert sale.affiliate == scenario.mina.affiliate


def test_sets_all_of_them_and_logs_it(scenario):
    change(scenario, aliases=["a1", "a2", "a2"])
    change(scenario, aliases=["a2", "a3"])
    assert list_codes(scenario) == ["a2", "a3"]
    change(scenario, aliases=[])
    assert list_codes(scenario) == []
    entry = scenario.account.audit_log.filter(kind="enrollment.updated").latest("id")
    assert entry.details == {"fields": ["aliases"]}


def test_a_removed_one_stops_working(scenario):
    change(scenario, aliases=["old"])
    change(scenario, aliases=[])
    with pytest.raises(Exception, match="referral code"):
        click(scenario, "old")


def test_codes_of_others_are_refused_both_ways(scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    change(scenario, odette, aliases=["old-odette"])
    for code in (odette.code, "old-odette"):
        with pytest.raises((DuplicateAlias, ErrorList), match=code):
            change(scenario, aliases=["mine", code])
    with pytest.raises(DuplicateReferralCode):
        change(scenario, referral_code="old-odette")
    assert list_codes(scenario) == ["old-odette"]


def test_another_account_may_have_the_same(scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="far-")
    change(scenario, aliases=["same"])
    change(foreign, aliases=["same"])
    assert click(scenario, "same").affiliate == scenario.mina.affiliate
    assert click(foreign, "same").affiliate == foreign.mina.affiliate


def test_names_a_parent(scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    change(scenario, aliases=["old-mina"])
    child = set_parent(
        scenario.account,
        affiliate_id=odette.slug,
        parent_id=None,
        parent_reference="old-mina",
        at=AT,
    )
    assert child.parent == scenario.mina.affiliate


def test_are_erased_with_the_affiliate(scenario):
    change(scenario, aliases=["mina-kessler"])
    erase_affiliate(scenario.account, scenario.mina.affiliate)
    assert list_codes(scenario) == []
