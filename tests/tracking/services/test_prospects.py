"""Promotion of prospects, also with concurrency (docs/api-contract.md, section 7.8)."""

import json

import pytest
from django.db import transaction

from accounts.errors import ErrorList
from payouts.services import conversion_creation
from tests.conftest import NOW
from tests.ledger_checks import (
    assert_atomic,
    assert_unchanged,
)
from tests.program_scenario import (
    AFFILIATE_CREATED_AT,
    CONVERSION_CREATED_AT,
    ProgramScenario,
)
from tracking.attribution import TrackingParameters
from tracking.errors import (
    ArchivedProgramReadOnly,
    ProspectAlreadyPromoted,
    ProspectNotFound,
    UnknownReference,
)
from tracking.services import candidates
from tracking.services.affiliates import PersonData
from tracking.services.attribution import verify_attribution_record
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.hierarchy import create_group
from tracking.services.programs import archive_program
from tracking.services.prospects import (
    ProspectData,
    create_prospect,
    delete_prospect,
    promote_prospect,
    promote_prospect_manually,
)

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")


def make_prospect(account, *, firstname="Pia", lastname="Lang", **fields):
    references = {name: fields.pop(name) for name in ("program_id", "group_id") if name in fields}
    person = PersonData(firstname=firstname, lastname=lastname, **fields)
    data = ProspectData(person, **references)
    return create_prospect(account, data=data, at=AFFILIATE_CREATED_AT)


def build_tracking_parameters(scenario, prospect):
    """The tracking parameters of a prospect: code, or asset and source."""
    source = scenario.account.sources.get(prospect=prospect)
    return {
        "code": TrackingParameters(
            referral_code=scenario.account.referral_codes.get(prospect=prospect).code
        ),
        "pair": TrackingParameters(asset_id=scenario.mina.asset_id, source_id=str(source)),
    }


def get_referral_code_parameters(scenario, prospect):
    return build_tracking_parameters(scenario, prospect)["code"]


@pytest.fixture
def pia(scenario):
    return make_prospect(scenario.account, email="pia@notes.example.org")


def test_numbers_affiliates_with_the_same_name(account, scenario):
    slugs = []
    for _ in range(3):
        parameters = get_referral_code_parameters(scenario, make_prospect(account))
        slugs.append(scenario.create_conversion("1", parameters=parameters).affiliate.slug)

    assert slugs == ["pialang", "pialang2", "pialang3"]


def test_promotes_to_an_affiliate_without_usable_password(account, scenario, pia):
    affiliate = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, pia)
    ).affiliate

    assert affiliate.reload().password.startswith("!")
    assert account.sources.filter(affiliate=affiliate).count() == 1
    assert pia.reload().affiliate == affiliate


@pytest.mark.parametrize("settings", [{}, {"auto_approve_affiliates": False}])
def test_approves_regardless_of_the_program_settings(account, scenario, pia, settings):
    scenario.program.update_row(**settings or {"auto_approve_affiliates": True})

    affiliate = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, pia)
    ).affiliate

    assert account.enrollments.get(affiliate=affiliate).approved is True


def test_stores_verifiable_attribution_records(account, scenario, pia):
    conversion = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, pia), customer_id=None
    )
    customer = scenario.create_customer(
        "acct-1",
        referral_code=get_referral_code_parameters(scenario, pia).referral_code,
    )

    first = account.attribution_records.get(conversion=conversion)
    second = account.attribution_records.get(customer=customer)
    assert verify_attribution_record(first)
    assert verify_attribution_record(second)
    assert json.loads(first.outcome)["affiliate"] == pia.public_id
    assert json.loads(second.outcome)["affiliate"] == "pialang"


@pytest.mark.parametrize("method", ["customer", "conversion"])
def test_promotion_is_atomic(account, scenario, pia, method):
    parameters = get_referral_code_parameters(scenario, pia)
    scenario.create_click(scenario.mina)

    def promote():
        if method == "customer":
            return scenario.create_customer("acct-1", referral_code=parameters.referral_code)
        return scenario.create_conversion("200", parameters=parameters)

    assert_atomic(account, promote, least=11)
    assert pia.reload().promotion_method == method


# Concurrent changes


@pytest.mark.parametrize("by", ["code", "pair"])
def test_retries_if_the_prospect_is_promoted_during_the_attribution(
    account, scenario, pia, monkeypatch, by
):
    """The promotion happens between the queries for enrollments and prospects."""
    parameters = build_tracking_parameters(scenario, pia)
    query = {
        "code": candidates.prospect_by_referral_code,
        "pair": candidates.prospect_by_asset_and_source,
    }[by]
    first = query.first

    def promote_first(**values):
        monkeypatch.setattr(query, "first", first)
        scenario.create_conversion("1", parameters=parameters["code"])
        return first(**values)

    monkeypatch.setattr(query, "first", promote_first)

    conversion = scenario.create_conversion("1", parameters=parameters[by])

    # The retry rolled the other promotion back: both used one connection.
    assert conversion.affiliate == pia.reload().affiliate
    assert account.conversions.count() == 1


def test_retries_if_the_prospect_is_promoted_concurrently(account, scenario, pia, monkeypatch):
    parameters = get_referral_code_parameters(scenario, pia)
    promote = conversion_creation.promote_winning_prospect

    def change_first(*args, **kwargs):
        monkeypatch.setattr(conversion_creation, "promote_winning_prospect", promote)
        scenario.create_customer("acct-1", referral_code=parameters.referral_code)
        return promote(*args, **kwargs)

    monkeypatch.setattr(conversion_creation, "promote_winning_prospect", change_first)

    conversion = scenario.create_conversion("1", parameters=parameters)

    # The retry rolled the other promotion back: both used one connection.
    assert conversion.affiliate == pia.reload().affiliate
    assert account.affiliates.count() == 2


def test_does_not_promote_a_prospect_deleted_concurrently(account, scenario, pia, monkeypatch):
    parameters = get_referral_code_parameters(scenario, pia)
    promote = conversion_creation.promote_winning_prospect

    def change_first(*args, **kwargs):
        account.prospects.filter(pk=pia.pk).update(deleted_at=CONVERSION_CREATED_AT)
        return promote(*args, **kwargs)

    monkeypatch.setattr(conversion_creation, "promote_winning_prospect", change_first)
    with pytest.raises(ConcurrentUpdate):
        scenario.create_conversion("1", parameters=parameters)

    assert account.affiliates.count() == 1
    assert pia.reload().promoted_at is None


# Custom fields


def test_prefers_the_id_of_a_custom_field_to_the_title_of_another(account, scenario):
    for slug, title in (("site", "Blog"), ("blog", "site")):
        account.field_definitions.create(slug=slug, title=title, type="text")
    prospect = make_prospect(account, custom_fields={"site": "s.example"})

    affiliate = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, prospect)
    ).affiliate

    assert affiliate.reload().custom_fields == {"site": "s.example"}


def test_promotes_with_several_values_of_a_field_that_now_takes_one(account, scenario):
    field = account.field_definitions.create(slug="shoes", title="Shoes", type="multiselect")
    prospect = make_prospect(account, custom_fields={"shoes": ["38", "39"]})
    field.update_row(type="text")

    affiliate = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, prospect)
    ).affiliate

    assert affiliate.reload().promoted_at == CONVERSION_CREATED_AT


def test_drops_empty_custom_fields(account, scenario):
    account.field_definitions.create(slug="site", title="Site", type="text")
    prospect = make_prospect(account, custom_fields={"site": None, "unknown": "x"})

    affiliate = scenario.create_conversion(
        "1", parameters=get_referral_code_parameters(scenario, prospect)
    ).affiliate

    assert affiliate.reload().custom_fields == {}


# Creation and deletion


def test_creation_is_atomic(account, scenario):
    assert_atomic(account, lambda: make_prospect(account), least=5)
    prospect = account.prospects.get()
    event = account.audit_log.get(kind="affiliate_prospect.created")
    assert (event.subject, event.details) == (f"prospect:{prospect.public_id}", {})


@pytest.mark.parametrize(
    ("fields", "error_class"),
    [
        ({"program_id": "zz-marker-harbor-lamp-partners"}, UnknownReference),
        ({"group_id": "ag_zz"}, UnknownReference),
        ({"program_id": "late"}, ArchivedProgramReadOnly),
        ({"program_id": "late", "group_id": "ag_zz"}, UnknownReference),
        ({"program_id": "late", "custom_fields": {"site": ["a"]}}, ErrorList),
    ],
    ids=[
        "foreign program",
        "foreign group",
        "archived",
        "reference first",
        "custom field first",
    ],
)
def test_rejects_invalid_references(account, other_account, scenario, fields, error_class):
    ProgramScenario(other_account, prefix="zz-marker-")
    other_account.affiliate_groups.create(public_id="ag_zz", title="zz-marker")
    account.field_definitions.create(slug="site", title="Site", type="text")
    ProgramScenario(account, "late", email=None)
    archive_program(account, slug="late", at=NOW)

    with assert_unchanged(account), pytest.raises(error_class):
        make_prospect(account, **fields)


def test_staff_promote_a_prospect(account, scenario):
    group = create_group(account, title="Top", at=AFFILIATE_CREATED_AT)
    pia = make_prospect(account, email="pia@notes.example.org", group_id=group.public_id)
    code = account.referral_codes.get(prospect=pia)

    enrollment = promote_prospect_manually(account, public_id=pia.public_id, at=NOW)

    pia.refresh_from_db()
    code.refresh_from_db()
    affiliate = enrollment.affiliate
    assert (pia.affiliate, pia.promoted_at, pia.promotion_method) == (*(affiliate, NOW, "manual"),)
    assert (affiliate.email, affiliate.group) == (pia.email, group)
    assert (enrollment.approved, code.enrollment) == (True, enrollment)
    kinds = account.audit_log.order_by("-id").values_list("kind", flat=True)
    assert "affiliate_prospect.promoted" in kinds[:3]


def test_staff_promote_a_prospect_once(account, pia):
    promote_prospect_manually(account, public_id=pia.public_id, at=NOW)

    with pytest.raises(ProspectAlreadyPromoted):
        promote_prospect_manually(account, public_id=pia.public_id, at=NOW)

    assert account.affiliates.filter(firstname="Pia").count() == 1


def test_staff_promote_no_deleted_prospect_and_none_of_an_archived_program(account, scenario, pia):
    scenario.archive(at=NOW)
    with pytest.raises(ArchivedProgramReadOnly):
        promote_prospect_manually(account, public_id=pia.public_id, at=NOW)
    delete_prospect(account, public_id=pia.public_id, at=NOW)
    with pytest.raises(ProspectNotFound):
        promote_prospect_manually(account, public_id=pia.public_id, at=NOW)


def test_promotion_notices_that_the_group_was_deleted_meanwhile(account, scenario):
    group = create_group(account, title="Top", at=AFFILIATE_CREATED_AT)
    pia = make_prospect(account, group_id=group.public_id)
    account.prospects.filter(pk=pia.pk).update(group=None)  # pia still has it

    with pytest.raises(ConcurrentUpdate), transaction.atomic():
        promote_prospect(account, prospect=pia, method="conversion", at=NOW)
