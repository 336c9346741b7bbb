"""Search of lists: exact values in indexed columns of the user's account."""

from datetime import timedelta

import pytest
from django.urls import reverse

from payouts.services.conversion_updates import delete_conversion
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

LIST = "tracking_conversion"


def search_ids(client, page, term):
    response = client.get(reverse(f"admin:{page}_changelist"), {"q": term})
    assert response.status_code == 200
    return sorted(row.pk for row in response.context["cl"].result_list)


@pytest.fixture
def owner_client(staff_client):
    return staff_client(role="viewer")


@pytest.mark.parametrize("term", ["order 7", " order 7 "])
def test_finds_an_id_with_a_space(owner_client, scenario, term):
    conversion = scenario.create_conversion("10", external_id="order 7")
    scenario.create_conversion(
        "10", external_id="order", at=CONVERSION_CREATED_AT + timedelta(seconds=1)
    )
    scenario.create_conversion(
        "10", external_id="7", at=CONVERSION_CREATED_AT + timedelta(seconds=2)
    )

    assert search_ids(owner_client, LIST, term) == [conversion.pk]


def test_searches_all_columns(owner_client, scenario):
    first = scenario.create_conversion("10", external_id="42", customer_id="c-1")
    second = scenario.create_conversion("10", external_id="43", customer_id="42")
    scenario.create_conversion("10", external_id="44", customer_id="c-2")

    assert search_ids(owner_client, LIST, "42") == [first.pk, second.pk]
    assert search_ids(owner_client, LIST, "c-1") == [first.pk]


@pytest.mark.parametrize("term", ["4", "%", "_", "42%", "', 1", "\u0663", "x" * 9000])
def test_finds_nothing_by_partial_or_invalid_terms(owner_client, scenario, term):
    scenario.create_conversion("10", external_id="42", customer_id="c-1")

    for page in (LIST, "tracking_click", "payouts_payment", "accounts_auditlogentry"):
        assert search_ids(owner_client, page, term) == []


def test_finds_an_email_in_any_case(owner_client, scenario):
    affiliate = scenario.account.affiliates.get(firstname="Mina")

    found = search_ids(owner_client, "tracking_affiliate", affiliate.email.upper())

    assert found == [affiliate.pk]


def test_finds_the_rows_of_an_affiliate(owner_client, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("10")
    commission = scenario.get_commission(
        scenario.create_conversion("10", affiliate=odette)
    )

    assert search_ids(owner_client, "payouts_commission", odette.slug) == [
        commission.pk
    ]


def test_finds_no_deleted_conversion_by_its_external_id(owner_client, scenario):
    deleted = scenario.create_conversion("10", external_id="42")
    delete_conversion(
        scenario.account, conversion_id=deleted.pk, at=CONVERSION_CREATED_AT
    )
    created = scenario.create_conversion(
        "10", external_id="42", at=CONVERSION_CREATED_AT + timedelta(minutes=1)
    )

    assert search_ids(owner_client, LIST, "42") == [created.pk]


def test_finds_nothing_of_another_account(owner_client, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    foreign.create_conversion("10", external_id="42", customer_id="c-9")

    for term in ("42", "c-9"):
        assert search_ids(owner_client, LIST, term) == []
    assert search_ids(owner_client, "tracking_affiliate", foreign.mina.slug) == []
