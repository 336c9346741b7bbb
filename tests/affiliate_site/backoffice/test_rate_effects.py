"""What forms of rates say that the last 30 days would have cost."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.days import A_DAY
from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from payouts.models.commission_types import RateKind
from payouts.services import scenarios
from payouts.services.programs import create_level
from tests.affiliate_site.backoffice.test_scenario_pages import gold  # noqa: F401 - a fixture
from tracking.services.hierarchy import create_group, set_parent

pytestmark = pytest.mark.engine_independent  # pages; services run on both


def object_url(row, page):
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=[row.pk])


SAME = "The sales of the last 30 days would have earned the same."


@pytest.fixture
def ask(staff_client):
    """Ask a page for its effect."""
    client = staff_client(role=Role.MANAGER)

    def get_effect(row, page, **values):
        rate = {"kind": RateKind.PERCENTAGE, "effect": "1"}
        response = client.get(object_url(row, page), rate | values)
        assert response.status_code == 200
        return response.json()["text"]

    return get_effect


def test_says_what_another_group_rate_would_have_cost(scenario, gold, ask):  # noqa: F811
    rate = scenario.account.group_rates.get()

    assert ask(rate, "edit", value="12") == "In the last 30 days: +2.00 EUR, for 1 affiliate."
    assert ask(rate, "edit", value="10") == SAME
    scenario.account.commission_types.update(value=15)
    assert ask(rate, "remove") == "In the last 30 days: +5.00 EUR, for 1 affiliate."
    rate.refresh_from_db()
    assert rate.value == 10


def test_says_what_a_commission_type_would_have_cost(scenario, ask):
    scenario.create_conversion("100", at=timezone.now() - 2 * A_DAY)
    kind = scenario.account.commission_types.get()

    assert ask(kind, "edit", title="Standard", value=str(kind.value)) == SAME
    text = ask(kind, "edit", title="Standard", value=str(kind.value - 1))
    assert text == "In the last 30 days: -1.00 EUR, for 1 affiliate."


def test_says_what_a_new_group_rate_would_have_cost(scenario, ask):
    account, now = scenario.account, timezone.now()
    kind = account.commission_types.get()
    group = create_group(account, title="Gold", at=now)
    scenario.mina.affiliate.update_row(group=group)
    scenario.create_conversion("100", at=now - 2 * A_DAY)
    values = {"commission_type": kind.pk, "group": group.pk, "value": str(kind.value + 1)}

    text = ask(scenario.program, "add-group-rate", **values)

    assert text == "In the last 30 days: +1.00 EUR, for 1 affiliate."
    assert not account.group_rates.exists()


def test_says_what_levels_would_have_cost(scenario, ask):
    account, now = scenario.account, timezone.now()
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    set_parent(
        account,
        affiliate_id=scenario.mina.slug,
        parent_id=parent.affiliate.slug,
        at=now - 9 * A_DAY,
    )
    rate = {"kind": RateKind.PERCENTAGE, "value": Decimal(2)}
    scenario.create_conversion("100", at=now - 2 * A_DAY)

    added = ask(scenario.program, "add-level", title="Parents", value="2")
    level = create_level(account, program=scenario.program, title="Parents", **rate, at=now)
    scenario.create_conversion("100", at=now - A_DAY)

    assert added == "In the last 30 days: +2.00 EUR, for 1 affiliate."
    assert ask(level, "remove").startswith("In the last 30 days: -2.00 EUR")


def test_says_nothing_of_an_entry_that_is_no_rate(scenario, gold, ask):  # noqa: F811
    rate = scenario.account.group_rates.get()

    assert ask(rate, "edit", value="much") == ""
    assert ask(rate, "edit", value="-1") == ""


def test_leaves_many_sales_to_the_page_what_if(scenario, gold, ask, monkeypatch):  # noqa: F811
    monkeypatch.setattr(scenarios, "MAX_SALES_AT_ONCE", 0)

    text = ask(scenario.account.group_rates.get(), "edit", value="12")

    assert text.startswith("More than 5,000 sales in the last 30 days")


def test_sees_one_account_only(scenario, other_account):
    kind, foreign = scenario.account.commission_types.get(), Client()
    user, _ = create_staff_user(
        other_account,
        email="mira@other.example.org",
        role=Role.OWNER,
        password="correct-horse-7",
        at=timezone.now(),
    )
    foreign.force_login(user)

    response = foreign.get(object_url(kind, "edit"), {"effect": "1", "value": "9"})

    assert response.status_code == 404
