"""Referral codes: used ones stay with who used them, mangled ones are understood."""

import pytest

from accounts.errors import ErrorList
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import SECRET
from tracking.attribution import TrackingParameters
from tracking.errors import (
    CodeAlreadyChosen,
    DuplicateAlias,
    DuplicateReferralCode,
    UnknownReferralCode,
)
from tracking.models.enrollments import ReferralCodeAlias
from tracking.services.affiliates import PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click, record_page_click
from tracking.services.enrollments import (
    EnrollmentData,
    choose_code,
    create_enrollment,
    update_enrollment,
)
from tracking.services.erasure import erase_affiliate
from tracking.services.referral_codes import find_meant_code

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.another_transaction,
]


@pytest.fixture
def scenario(scenario):
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    return scenario


def change(scenario, who, **changes):
    return update_enrollment(
        scenario.account,
        program=scenario.program,
        affiliate_id=who.slug,
        changes=changes,
        at=AT,
    )


def visit(scenario, code, record=record_click):
    visit = Visit(parameters=TrackingParameters(referral_code=code))
    return record(scenario.account, visit=visit, at=AT)


def get_code(scenario, who):
    return scenario.account.referral_codes.get(enrollment=who.enrollment).code


def choose(scenario, who, code):
    choose_code(who.affiliate, program_slug=scenario.program.slug, code=code, at=AT)


def test_a_code_that_brought_somebody_is_nobody_elses(scenario):
    mina, odette = scenario.mina, scenario.odette
    old = mina.code
    visit(scenario, old)
    change(scenario, mina, referral_code="mina-new")
    for code in (old, old.upper()):
        with pytest.raises((DuplicateReferralCode, ErrorList)):
            change(scenario, odette, referral_code=code)
    with pytest.raises((DuplicateAlias, ErrorList)):
        change(scenario, odette, aliases=[old])
    with pytest.raises(UnknownReferralCode):
        visit(scenario, old)
    change(scenario, mina, referral_code=old)
    assert visit(scenario, old).affiliate == mina.affiliate


def test_an_alias_that_brought_somebody_is_nobody_elses(scenario):
    change(scenario, scenario.mina, aliases=["harbor"])
    visit(scenario, "harbor")
    change(scenario, scenario.mina, aliases=[])
    with pytest.raises((DuplicateReferralCode, ErrorList)):
        change(scenario, scenario.odette, referral_code="harbor")


def test_a_code_that_was_typed_in_wrong_is_free(scenario):
    change(scenario, scenario.mina, referral_code="harbour")
    change(scenario, scenario.mina, referral_code="harbor")
    change(scenario, scenario.odette, referral_code="harbour")
    assert get_code(scenario, scenario.odette) == "harbour"


def test_only_a_digest_of_a_used_code_outlives_an_erasure(scenario):
    mina, odette = scenario.mina, scenario.odette
    change(scenario, mina, referral_code="mina-kessler", aliases=["mina"])
    visit(scenario, "mina-kessler")
    erase_affiliate(scenario.account, mina.affiliate)
    for code in ("mina-kessler", "mina"):
        with pytest.raises((DuplicateReferralCode, ErrorList)):
            change(scenario, odette, referral_code=code)
    for digest in scenario.account.former_id_digests.values_list("digest", flat=True):
        assert "mina" not in digest


MANGLED = [
    *(
        "Mina-Lamp",
        "MINA-LAMP",
        " mina-lamp ",
        "mina-lamp/",
        "mina-lamp.",
        "mina-lamp),",
    ),
    *("mina-lamp\u200b", "mina\u00ad-lamp", "mina-lamp?utm=x", "mina-lamp&amp;x=1"),
    *("mina-lamp\u201d", "mina-lamp#top", "mina-lamp.)\u2026"),
]


@pytest.mark.parametrize("code", MANGLED)
def test_a_mangled_code_earns_for_whom_it_names(scenario, code):
    change(scenario, scenario.mina, referral_code="mina-lamp")
    click = visit(scenario, code, record_page_click)
    assert click.affiliate == scenario.mina.affiliate
    with pytest.raises(UnknownReferralCode):
        visit(scenario, code)


@pytest.mark.parametrize(
    ("codes", "text", "meant"),
    [
        (("lamp", "LAMP"), "Lamp", None),
        (("lamp", "LAMP"), "LAMP.", "LAMP"),
        (("lamp.", "desk"), "lamp.", "lamp."),
        (("lamp", "desk"), "lampx", None),
        (("lamp", "desk"), "lamp" + "." * 500, "lamp"),
        (("lamp", "desk"), "", None),
    ],
)
def test_only_one_code_can_be_meant(scenario, codes, text, meant):
    for who, code in zip((scenario.mina, scenario.odette), codes, strict=True):
        scenario.account.referral_codes.filter(enrollment=who.enrollment).update(code=code)
    if text == "lamp.":
        assert visit(scenario, text, record_page_click).affiliate
    else:
        assert find_meant_code(scenario.account, text) == meant


def test_an_alias_can_be_meant(scenario):
    ReferralCodeAlias.objects.create(
        account=scenario.account, enrollment=scenario.odette.enrollment, code="desk"
    )
    click = visit(scenario, "DESK)", record_page_click)
    assert click.affiliate == scenario.odette.affiliate


def test_an_affiliate_chooses_a_code_once_and_old_links_work(scenario):
    mina, old = scenario.mina, scenario.mina.code
    choose(scenario, mina, "mina-10")
    assert get_code(scenario, mina) == "mina-10"
    for code in ("mina-10", old):
        assert visit(scenario, code).affiliate == mina.affiliate
    with pytest.raises(CodeAlreadyChosen):
        choose(scenario, mina, "mina-11")
    entry = scenario.account.audit_log.filter(kind="enrollment.code_chosen").get()
    assert entry.subject == f"enrollment:{mina.enrollment.log_id}"


@pytest.mark.parametrize("code", [str, str.upper])
def test_an_affiliate_cannot_choose_the_code_of_another(scenario, code):
    wanted = code(scenario.odette.code)
    with pytest.raises(DuplicateReferralCode):
        choose(scenario, scenario.mina, wanted)
    assert scenario.mina.enrollment.reload().code_chosen_at is None


def test_an_affiliate_may_choose_its_own_former_code(scenario):
    change(scenario, scenario.mina, aliases=["old-mina"])
    choose(scenario, scenario.mina, "old-mina")
    assert get_code(scenario, scenario.mina) == "old-mina"
    assert not scenario.account.referral_code_aliases.filter(code="old-mina").exists()


def test_takes_the_wanted_code_else_one_with_a_number(scenario):
    account = scenario.account
    for expected in ("lina", "lina2"):
        person = PersonData(firstname="Lina", lastname="Ode")
        affiliate = create_affiliate(account, data=person, password=SECRET, at=AT)
        data = EnrollmentData(affiliate_id=affiliate.slug, wanted_code="lina")
        enrollment = create_enrollment(account, program=scenario.program, data=data, at=AT)
        assert account.referral_codes.get(enrollment=enrollment).code == expected
