"""Contract 2.2.4: what each clue points at, as it stands now."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrolmentFactory,
    ProgramFactory,
)
from tracking.attribution import Clues, Pointer, Standing
from tracking.services.pointers import find_all
from tracking.services.programs import archive

CLUES = ("customer", "coupon", "referral_code", "click_id", "asset_id")


@pytest.fixture
def odette(account, program):
    """Odette in Harbor's program, with one thing of every kind."""
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    enrolment = EnrolmentFactory(
        account=account, program=program, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrolment=enrolment, code="ODETTE10")
    CustomerFactory(account=account, enrolment=enrolment, customer_id="acct-1")
    ClickFactory(account=account, enrolment=enrolment, created_at=NOW)
    return enrolment


def clue_to(enrolment, clue):
    """That one clue, of what the enrolment has."""
    account = enrolment.account
    if clue == "asset_id":
        asset = account.assets.get(program=enrolment.program)
        source = account.sources.get(affiliate=enrolment.affiliate)
        return Clues(asset_id=str(asset), source_id=str(source))
    if clue == "click_id":
        return Clues(click_id=str(account.clicks.get(enrolment=enrolment)))
    return {
        "customer": Clues(customer_id="acct-1"),
        "coupon": Clues(coupon="ODETTE10"),
        "referral_code": Clues(referral_code="qv7kd2p"),
    }[clue]


def pointer_to(account, clues):
    (found,) = find_all(account, clues)
    return found.pointer


@pytest.mark.parametrize("clue", CLUES)
def test_finds_the_affiliate_and_the_program_of_a_clue(account, odette, clue):
    clues = clue_to(odette, clue)

    (found,) = find_all(account, clues)

    assert found.pointer.clue == clue
    assert found.pointer.affiliate == "odettevarga"
    assert found.pointer.program == "harbor-lamp-partners"
    assert found.pointer.standing is Standing.APPROVED
    assert found.pointer.archived is False
    assert found.pointer.blank is None
    assert (found.program, found.affiliate) == (odette.program, odette.affiliate)


@pytest.mark.parametrize("clue", CLUES)
@pytest.mark.parametrize(
    ("approved", "standing"),
    [
        (True, Standing.APPROVED),
        (False, Standing.DISAPPROVED),
        (None, Standing.WAITING),
    ],
    ids=["approved", "disapproved", "waiting"],
)
def test_tells_how_the_affiliate_stands(account, odette, clue, approved, standing):
    odette.change(approved=approved)

    assert pointer_to(account, clue_to(odette, clue)).standing is standing


@pytest.mark.parametrize("clue", CLUES)
def test_tells_a_removed_affiliate_before_anything_else(account, odette, clue):
    odette.change(approved=None)
    odette.affiliate.change(removed_at=NOW)

    assert pointer_to(account, clue_to(odette, clue)).standing is Standing.REMOVED


@pytest.mark.parametrize("clue", CLUES)
def test_tells_an_archived_program(account, odette, clue):
    archive(account, slug=odette.program.slug, at=NOW)

    assert pointer_to(account, clue_to(odette, clue)).archived is True


@pytest.mark.parametrize("clue", CLUES)
def test_keeps_the_age_of_a_click_alone(account, odette, clue):
    odette.program.change(cookie_time=7)

    pointer = pointer_to(account, clue_to(odette, clue))

    aged = (NOW, 7) if clue == "click_id" else (None, None)
    assert (pointer.clicked_at, pointer.cookie_days) == aged


@pytest.mark.parametrize("clue", CLUES)
def test_finds_nobody_in_another_account(other_account, odette, clue):
    clues = clue_to(odette, clue)

    pointer = pointer_to(other_account, clues)

    assert pointer.known is False
    assert pointer == Pointer(clue, pointer.value)


@pytest.mark.parametrize(
    "clues",
    [
        Clues(customer_id="ACCT-1"),
        Clues(coupon="odette10"),
        Clues(referral_code="QV7KD2P"),
        Clues(click_id="no-click"),
        Clues(click_id="5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"),
        Clues(tracking_id="0" * 32),
        Clues(asset_id="1", source_id="1"),
        Clues(asset_id="999999-000000", source_id="999999-000000"),
        Clues(asset_id="9" * 40 + "-000000", source_id="1-000000"),
    ],
    ids=[
        "customer-in-another-case",
        "coupon-in-another-case",
        "code-in-another-case",
        "odd-click",
        "unknown-click",
        "unknown-visitor",
        "pair-without-hex",
        "unknown-pair",
        "huge-pair",
    ],
)
def test_finds_nobody_under_an_unknown_value(account, odette, clues):
    assert pointer_to(account, clues).known is False


def test_takes_the_id_of_a_click_in_lower_case_alone(account, odette):
    click = str(account.clicks.get())

    assert pointer_to(account, Clues(click_id=click)).known is True
    assert pointer_to(account, Clues(click_id=f"{click[:-1]}F")).known is False


@pytest.mark.parametrize("half", ["asset_id", "source_id"])
def test_finds_nobody_when_the_hex_digits_differ(account, odette, half):
    clues = clue_to(odette, "asset_id")
    number = getattr(clues, half).partition("-")[0]
    hex_digits = getattr(clues, half).partition("-")[2]
    other = "000000" if hex_digits != "000000" else "ffffff"

    pointer = pointer_to(account, replace(clues, **{half: f"{number}-{other}"}))

    assert pointer.known is False


def test_knows_both_halves_of_a_pair_that_never_met(account, odette):
    elsewhere = EnrolmentFactory(account=account)
    clues = Clues(
        asset_id=str(account.assets.get(program=elsewhere.program)),
        source_id=str(account.sources.get(affiliate=odette.affiliate)),
    )

    (found,) = find_all(account, clues)

    assert found.pointer.standing is Standing.STRANGER
    assert found.pointer.affiliate == "odettevarga"
    assert found.pointer.program == elsewhere.program.slug
    assert found.enrolment is None


def test_calls_a_customers_affiliate_outside_the_program_a_stranger(account, odette):
    elsewhere = ProgramFactory(account=account)
    account.customers.get().change(program=elsewhere)

    pointer = pointer_to(account, Clues(customer_id="acct-1"))

    assert pointer.standing is Standing.STRANGER


def test_does_not_find_a_removed_customer(account, odette):
    account.customers.get().change(removed_at=NOW)

    assert pointer_to(account, Clues(customer_id="acct-1")).known is False


@pytest.mark.parametrize(
    "field", ["customer_id", "coupon", "referral_code", "click_id", "tracking_id"]
)
@pytest.mark.parametrize("value", ["", " \t", "\u00a0"], ids=ascii)
def test_marks_what_was_sent_blank(account, field, value):
    pointer = pointer_to(account, Clues(**{field: value}))

    clue = "customer" if field == "customer_id" else field
    assert pointer == Pointer(clue, value, blank=clue)


@pytest.mark.parametrize(
    ("asset_id", "source_id", "blank"),
    [
        ("", "1-000000", "asset_id"),
        ("1-000000", "", "source_id"),
        ("", "", "asset_id"),
    ],
    ids=["asset", "source", "both"],
)
def test_names_the_blank_half_of_a_pair(account, asset_id, source_id, blank):
    pointer = pointer_to(account, Clues(asset_id=asset_id, source_id=source_id))

    assert pointer.blank == blank


@pytest.mark.parametrize(
    "clues",
    [
        Clues(),
        Clues(asset_id="1-000000"),
        Clues(source_id="1-000000"),
        Clues(asset_id=""),
        Clues(program_group="shops"),
    ],
    ids=["nothing", "asset-alone", "source-alone", "blank-asset-alone", "group-alone"],
)
def test_counts_what_is_no_whole_clue_as_not_sent(account, clues):
    assert find_all(account, clues) == []


@pytest.mark.parametrize("clue", ["coupon", "referral_code", "click_id", "asset_id"])
@pytest.mark.parametrize(
    ("group", "known"),
    [(None, True), ("", True), ("lamps", True), ("LAMPS", False), ("books", False)],
    ids=["none", "blank", "its-own", "another-case", "another"],
)
def test_finds_programs_of_the_group_alone(account, odette, clue, group, known):
    odette.program.change(group_label="lamps")
    clues = replace(clue_to(odette, clue), program_group=group)

    assert pointer_to(account, clues).known is known


def test_does_not_restrict_a_known_customer_to_a_group(account, odette):
    clues = Clues(customer_id="acct-1", program_group="books")

    assert pointer_to(account, clues).known is True


def test_looks_up_the_losers_too(account, odette):
    rival = ClickFactory(account=account, created_at=NOW - timedelta(days=99))
    clues = Clues(
        customer_id="unknown",
        coupon="ODETTE10",
        referral_code="",
        click_id=str(rival),
        tracking_id="unknown",
    )

    found = {it.pointer.clue: it.pointer for it in find_all(account, clues)}

    assert found["customer"].known is False
    assert found["coupon"].affiliate == "odettevarga"
    assert found["referral_code"].blank == "referral_code"
    assert found["click_id"].affiliate == rival.affiliate.slug
    assert found["tracking_id"].known is False
