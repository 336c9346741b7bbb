"""Candidates of tracking parameters (docs/api-contract.md, section 2.2.4)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrollmentFactory,
    ProgramFactory,
)
from tracking.attribution import Candidate, EnrollmentStatus, TrackingParameters
from tracking.services.candidates import resolve_candidates
from tracking.services.programs import archive_program

TRACKING_PARAMETERS = ("customer", "coupon", "referral_code", "click_id", "asset_id")


@pytest.fixture
def odette(account, program):
    """An enrollment of Odette with one tracking parameter of every kind."""
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    enrollment = EnrollmentFactory(
        account=account, program=program, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrollment=enrollment, code="ODETTE10")
    CustomerFactory(account=account, enrollment=enrollment, customer_id="acct-1")
    ClickFactory(account=account, enrollment=enrollment, created_at=NOW)
    return enrollment


def build_tracking_parameters(enrollment, name):
    """One tracking parameter of the enrollment."""
    account = enrollment.account
    if name == "asset_id":
        asset = account.assets.get(program=enrollment.program)
        source = account.sources.get(affiliate=enrollment.affiliate)
        return TrackingParameters(asset_id=str(asset), source_id=str(source))
    if name == "click_id":
        return TrackingParameters(click_id=str(account.clicks.get(enrollment=enrollment)))
    return {
        "customer": TrackingParameters(customer_id="acct-1"),
        "coupon": TrackingParameters(coupon="ODETTE10"),
        "referral_code": TrackingParameters(referral_code="qv7kd2p"),
    }[name]


def get_candidate(account, parameters):
    (resolved,) = resolve_candidates(account, parameters)
    return resolved.candidate


def is_known(account, **parameters):
    return get_candidate(account, TrackingParameters(**parameters)).is_known


def find_candidate(enrollment, name):
    """The candidate of one tracking parameter of the enrollment."""
    parameters = build_tracking_parameters(enrollment, name)
    return get_candidate(enrollment.account, parameters)


@pytest.mark.parametrize("name", TRACKING_PARAMETERS)
def test_finds_the_affiliate_and_the_program(account, odette, name):
    parameters = build_tracking_parameters(odette, name)

    (resolved,) = resolve_candidates(account, parameters)

    assert resolved.candidate.parameter == name
    assert resolved.candidate.affiliate == "odettevarga"
    assert resolved.candidate.program == "harbor-lamp-partners"
    assert resolved.candidate.enrollment_status is EnrollmentStatus.APPROVED
    assert resolved.candidate.is_program_archived is False
    assert resolved.candidate.blank_parameter is None
    assert (resolved.program, resolved.affiliate) == (odette.program, odette.affiliate)


@pytest.mark.parametrize("name", TRACKING_PARAMETERS)
def test_returns_the_state_of_enrollment_and_program(account, odette, name):
    """That an affiliate is deleted comes before its enrollment."""
    for approved, status in (
        (True, EnrollmentStatus.APPROVED),
        (False, EnrollmentStatus.DISAPPROVED),
        (None, EnrollmentStatus.PENDING),
    ):
        odette.update_row(approved=approved)
        assert find_candidate(odette, name).enrollment_status is status
    archive_program(account, slug=odette.program.slug, at=NOW)
    assert find_candidate(odette, name).is_program_archived is True
    odette.affiliate.update_row(deleted_at=NOW)
    assert find_candidate(odette, name).enrollment_status is EnrollmentStatus.DELETED


@pytest.mark.parametrize("name", TRACKING_PARAMETERS)
def test_sets_cookie_data_only_for_clicks(account, odette, name):
    odette.program.update_row(cookie_time=7)

    candidate = find_candidate(odette, name)

    expected = (NOW, 7) if name == "click_id" else (None, None)
    assert (candidate.clicked_at, candidate.cookie_time_days) == expected


@pytest.mark.parametrize("name", TRACKING_PARAMETERS)
def test_finds_nothing_in_another_account(other_account, odette, name):
    parameters = build_tracking_parameters(odette, name)

    candidate = get_candidate(other_account, parameters)

    assert candidate.is_known is False
    assert candidate == Candidate(name, candidate.value)


@pytest.mark.parametrize(
    "sent",
    [
        {"customer_id": "ACCT-1"},
        {"coupon": "odette10"},
        {"referral_code": "QV7KD2P"},
        {"click_id": "no-click"},
        {"click_id": "5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"},
        {"tracking_id": "0" * 32},
        {"asset_id": "1", "source_id": "1"},
        {"asset_id": "999999-000000", "source_id": "999999-000000"},
        {"asset_id": "9" * 40 + "-000000", "source_id": "1-000000"},
    ],
    ids=str,
)
def test_does_not_know_an_unknown_value(account, odette, sent):
    assert not is_known(account, **sent)


def test_accepts_click_ids_only_in_lower_case(account, odette):
    click = str(account.clicks.get())

    assert is_known(account, click_id=click)
    assert not is_known(account, click_id=f"{click[:-1]}F")


def test_does_not_find_a_deleted_customer(account, odette):
    account.customers.get().update_row(deleted_at=NOW)

    assert not is_known(account, customer_id="acct-1")


@pytest.mark.parametrize("field", ["asset_id", "source_id"])
def test_rejects_wrong_hex_digits(account, odette, field):
    parameters = build_tracking_parameters(odette, "asset_id")
    number, _, hex_digits = getattr(parameters, field).partition("-")
    other = "000000" if hex_digits != "000000" else "ffffff"
    changed = replace(parameters, **{field: f"{number}-{other}"})

    assert get_candidate(account, changed).is_known is False


def test_finds_asset_and_source_without_enrollment(account, odette):
    elsewhere = EnrollmentFactory(account=account)
    parameters = TrackingParameters(
        asset_id=str(account.assets.get(program=elsewhere.program)),
        source_id=str(account.sources.get(affiliate=odette.affiliate)),
    )

    (resolved,) = resolve_candidates(account, parameters)

    assert resolved.candidate.enrollment_status is EnrollmentStatus.NOT_ENROLLED
    assert resolved.candidate.affiliate == "odettevarga"
    assert resolved.candidate.program == elsewhere.program.slug
    assert resolved.enrollment is None


def test_marks_a_customers_affiliate_outside_the_program_as_not_enrolled(account, odette):
    elsewhere = ProgramFactory(account=account)
    account.customers.get().update_row(program=elsewhere)

    candidate = get_candidate(account, TrackingParameters(customer_id="acct-1"))

    assert candidate.enrollment_status is EnrollmentStatus.NOT_ENROLLED


@pytest.mark.parametrize(
    ("asset_id", "source_id", "blank"),
    [("", "1-000000", "asset_id"), ("1-000000", "", "source_id"), ("", "", "asset_id")],
)
def test_marks_a_blank_asset_or_source(account, asset_id, source_id, blank):
    parameters = TrackingParameters(asset_id=asset_id, source_id=source_id)

    assert get_candidate(account, parameters).blank_parameter == blank


@pytest.mark.parametrize(
    "field", ["customer_id", "coupon", "referral_code", "click_id", "tracking_id"]
)
@pytest.mark.parametrize("value", ["", " \t", "\u00a0"], ids=ascii)
def test_marks_a_blank_parameter(account, field, value):
    candidate = get_candidate(account, TrackingParameters(**{field: value}))

    name = "customer" if field == "customer_id" else field
    assert candidate == Candidate(name, value, blank_parameter=name)


@pytest.mark.parametrize(
    "sent",
    [
        *({}, {"asset_id": "1-000000"}, {"source_id": "1-000000"}, {"asset_id": ""}),
        {"program_group": "shops"},
    ],
    ids=str,
)
def test_ignores_incomplete_parameters(account, sent):
    assert resolve_candidates(account, TrackingParameters(**sent)) == []


@pytest.mark.parametrize("name", ["coupon", "referral_code", "click_id", "asset_id"])
@pytest.mark.parametrize(
    ("group", "is_known"),
    [(None, True), ("", True), ("lamps", True), ("LAMPS", False), ("books", False)],
    ids=["none", "blank", "its-own", "another-case", "another"],
)
def test_finds_only_programs_of_the_group(account, odette, name, group, is_known):
    odette.program.update_row(program_group="lamps")
    parameters = replace(build_tracking_parameters(odette, name), program_group=group)

    assert get_candidate(account, parameters).is_known is is_known


def test_does_not_restrict_a_known_customer_to_a_group(account, odette):
    assert is_known(account, customer_id="acct-1", program_group="books")


def test_resolves_all_parameters(account, odette):
    rival = ClickFactory(account=account, created_at=NOW - timedelta(days=99))
    parameters = TrackingParameters(
        customer_id="unknown",
        coupon="ODETTE10",
        referral_code="",
        click_id=str(rival),
        tracking_id="unknown",
    )

    candidates = {
        resolved.candidate.parameter: resolved.candidate
        for resolved in resolve_candidates(account, parameters)
    }

    assert candidates["customer"].is_known is False
    assert candidates["coupon"].affiliate == "odettevarga"
    assert candidates["referral_code"].blank_parameter == "referral_code"
    assert candidates["click_id"].affiliate == rival.affiliate.slug
    assert candidates["tracking_id"].is_known is False
