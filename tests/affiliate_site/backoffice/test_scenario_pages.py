"""The pages of *What if*: the form, the result, the file and what is in progress."""

import csv
import io
import re
from decimal import Decimal

import openpyxl
import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.days import A_DAY
from accounts.models.api_keys import Role
from payouts.models.commission_types import RateKind
from payouts.services import scenarios
from payouts.services.programs import create_level, set_group_rate
from tests.affiliate_site.backoffice.forms import get_form
from tracking.services.hierarchy import add_to_group, create_group

pytestmark = pytest.mark.engine_independent  # pages; services run on both


@pytest.fixture
def gold(scenario):
    """A group with a rate of 10 %, with Mina and her sale of 100 EUR, two days ago."""
    account, now = scenario.account, timezone.now()
    group = create_group(account, title="Gold", at=now)
    add_to_group(account, group_id=group.public_id, affiliate_ids=[scenario.mina.slug], at=now)
    kind = account.commission_types.get()
    rate = {"kind": RateKind.PERCENTAGE, "value": Decimal(10)}
    set_group_rate(account, commission_type=kind, group=group, **rate, at=now)
    scenario.create_conversion("100", external_id="ORDER-1", at=now - 2 * A_DAY)
    return group


def url_of(page, *args):
    return reverse(f"admin:payouts_scenario_{page}", args=args)


def read(response):
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def add_level(scenario):
    """Parents of the next level earn 5.00 EUR from each sale."""
    rate = {"kind": RateKind.FIXED, "value": Decimal(5)}
    account, program, now = scenario.account, scenario.program, timezone.now()
    return create_level(account, program=program, title="Parent", **rate, at=now)


def calculate(client, scenario, **values):
    url = url_of("add")
    days = {"days": "last_30_days", "rate": f"{scenario.program.slug}|rates|standard"}
    return client.post(
        url, get_form(client, url) | {"kind": "percentage"} | days | values, follow=True
    )


def test_answers_what_a_group_would_have_earned(scenario, gold, staff_client):
    client = staff_client(role=Role.MANAGER)

    page = read(calculate(client, scenario, group=gold.pk, value="12"))

    assert "+2.00 EUR: 1 affiliate would earn more or less" in page
    assert "0 sales" not in page
    title = scenario.program.title
    assert f"{title}: Standard for Gold 10 % 12 %" in page
    by_affiliate = page.partition("By affiliate")[2]
    assert by_affiliate.startswith(
        " Affiliate As it was By these rules Difference"
        " Mina Kessler minakessler 10.00 EUR 12.00 EUR +2.00 EUR"
    )
    explained = page.partition("Sales that change")[2]
    slug = scenario.mina.slug
    assert explained.startswith(
        " Sale As it was By these rules ORDER-1"
        f" {slug}: 10.00 EUR (10 % by group Gold for type standard); Found by coupon"
        f" {slug}: 12.00 EUR (12 % by group Gold for type standard); Found by coupon"
    )
    listed = read(client.get(url_of("changelist")))
    assert f"{title}: Standard for Gold 10 % → 12 %" in listed
    assert "+2.00 EUR Ready" in listed


def test_offers_the_affiliates_as_a_file(scenario, gold, staff_client):
    client = staff_client()
    calculate(client, scenario, group=gold.pk, value="12")
    url = url_of("change", scenario.account.scenarios.get().pk)

    lines, book = (client.get(f"{url}?format={it}").getvalue() for it in ("csv", "xlsx"))

    slug = scenario.mina.slug
    titles = ["Affiliate: ID", "Affiliate", "Currency", "As it was", "By these rules", "Difference"]
    assert list(csv.reader(io.StringIO(lines.decode("utf-8-sig")))) == [
        titles,
        [slug, f"Mina Kessler ({slug})", "EUR", "10", "12", "2"],
    ]
    sheet = openpyxl.load_workbook(io.BytesIO(book)).active
    assert [*sheet.values][1] == (slug, f"Mina Kessler ({slug})", "EUR", 10, 12, 2)


def test_changes_rules_of_all_kinds(scenario, gold, staff_client):
    account = scenario.account
    add_level(scenario)
    client, title = staff_client(), scenario.program.title

    page = read(
        calculate(
            client,
            scenario,
            rate=f"{scenario.program.slug}|levels|2",
            kind="fixed",
            value="7,50",
            cookie_time="3",
            hold_days="4",
            recurring="no",
            recurring_cap="2",
            recurring_period_days="0",
            affiliates=[account.affiliates.get().pk],
            to_group=create_group(account, title="Silver", at=timezone.now()).pk,
            order="click_id",
        )
    )

    changes = page.partition("What changes")[2]
    for text in (
        f"{title}: level 2 5.00 EUR 7.50 EUR",
        f"{title}: days in which a click earns 45 3",
        f"{title}: days on hold 0 4",
        f"{title}: later sales of a customer earn yes no",
        f"{title}: highest number of sales per customer no limit 2",
        f"Group of {scenario.mina.slug} Gold Silver",
        "Order of attribution as usual click_id",
    ):
        assert text in changes
    assert "What cannot be known" in page


@pytest.mark.parametrize(
    ("values", "field", "error"),
    [
        ({}, "value", "Nothing would change"),
        ({"value": "10"}, "value", "Nothing would change"),
        ({"value": "101"}, "value", "100 % at most"),
        ({"removed": "on"}, "removed", "Only group rates and levels can be removed"),
        ({"removed": "on", "value": "12"}, "removed", "Enter a new rate, or remove it"),
        ({"hold_days": "999"}, "hold_days", "must be a whole number from 0 to 180"),
        ({"value": "12", "start": "2026-01-01"}, "end", "Enter both days"),
        ({"value": "12", "start": "2026-01-02", "end": "2026-01-01"}, "end", "in this order"),
        ({"order": "nothing"}, "order", "Select a valid choice"),
    ],
)
def test_refuses_beside_the_field(scenario, staff_client, values, field, error):
    response = calculate(staff_client(), scenario, **values)

    assert error in response.context["form"].errors[field][0]
    assert not scenario.account.scenarios.exists()


def test_refuses_a_level_of_a_group_and_affiliates_without_a_group(scenario, gold, staff_client):
    account = scenario.account
    add_level(scenario)

    errors = (
        calculate(
            staff_client(),
            scenario,
            rate=f"{scenario.program.slug}|levels|2",
            group=gold.pk,
            affiliates=[account.affiliates.get().pk],
        )
        .context["form"]
        .errors
    )

    assert "the same for all groups" in errors["group"][0]
    assert "Choose the group" in errors["to_group"][0]


def test_shows_how_far_it_is_and_never_a_part(scenario, gold, staff_client, monkeypatch):
    monkeypatch.setattr(scenarios, "MAX_SALES_AT_ONCE", 0)
    client = staff_client()

    page = read(calculate(client, scenario, value="12"))
    assert "Calculating" in page
    assert "as soon as the worker" in page

    row = scenario.account.scenarios.get()
    row.update_row(done=1200, total=20_000)
    page = read(client.get(url_of("change", row.pk)))
    assert "1,200 of 20,000 sales" in page
    assert "By affiliate" not in page
    assert client.get(url_of("change", row.pk) + "?format=csv").status_code == 404

    row.update_row(due_at=None, error="It is too much.")
    page = read(client.get(url_of("change", row.pk)))
    assert "Failed Calculate again Remove It is too much." in page


def test_says_what_cannot_be_known_and_that_files_have_more(
    scenario, gold, staff_client, monkeypatch
):
    monkeypatch.setattr("affiliate_site.backoffice.programs.scenarios.MAX_SHOWN", 0)
    monkeypatch.setattr("payouts.services.what_if.MAX_EXPLAINED", 1)
    scenario.create_conversion("10", at=timezone.now() - A_DAY)

    page = read(calculate(staff_client(), scenario, group=gold.pk, value="12", cookie_time="3"))

    assert "The 0 with the largest difference; the file has more." in page
    assert "The 1 that change most; 1 more." in page


def test_viewers_see_results_and_calculate_none(scenario, gold, staff_client):
    calculate(staff_client(), scenario, value="12", group=gold.pk)
    row = scenario.account.scenarios.get()
    viewer = staff_client(role=Role.VIEWER)

    assert "+2.00 EUR" in read(viewer.get(url_of("change", row.pk)))
    assert viewer.get(url_of("add")).status_code == 403
    for page in ("remove", "again"):
        assert viewer.post(url_of(page, row.pk)).status_code == 403


def test_removes_a_result(scenario, gold, staff_client):
    client = staff_client()
    calculate(client, scenario, value="12", group=gold.pk)
    row = scenario.account.scenarios.get()

    client.post(url_of("remove", row.pk))

    assert not scenario.account.scenarios.exists()


def test_calculates_the_same_days_and_changes_again_by_the_rules_of_today(
    scenario, gold, staff_client
):
    client, account = staff_client(role=Role.MANAGER), scenario.account
    calculate(client, scenario, value="12", group=gold.pk)
    first = account.scenarios.get()
    assert "Calculate again" in read(client.get(url_of("change", first.pk)))
    account.group_rates.update(value=11)

    page = read(client.post(url_of("again", first.pk), follow=True))

    again = account.scenarios.latest("pk")
    assert (again.first_day, again.last_day) == (first.first_day, first.last_day)
    assert again.changes == first.changes
    assert f"{scenario.program.title}: Standard for Gold 11 % 12 %" in page
    assert account.scenarios.get(pk=first.pk).result == first.result


def test_says_why_it_cannot_calculate_again(scenario, gold, staff_client):
    client, account = staff_client(role=Role.MANAGER), scenario.account
    calculate(client, scenario, value="12", group=gold.pk)
    row = account.scenarios.get()
    account.group_rates.update(value=12)

    assert "Nothing would change" in read(client.post(url_of("again", row.pk)))

    row.update_row(due_at=timezone.now())
    assert "Calculate again" not in read(client.get(url_of("change", row.pk)))
    assert account.scenarios.count() == 1


def test_makes_it_the_rule_by_one_confirmed_step(scenario, gold, staff_client):
    client = staff_client(role=Role.MANAGER)
    calculate(client, scenario, value="12", group=gold.pk, hold_days="5")
    url = url_of("apply", scenario.account.scenarios.get().pk)

    shown = read(client.get(url))
    assert f"{scenario.program.title}: Standard for Gold 10 % 12 %" in shown
    done = read(client.post(url, {}, follow=True))

    assert "This is the rule from now on" in done
    assert scenario.account.group_rates.get().value == 12
    assert scenario.program.reload().hold_days == 5
    again = client.post(url, {})
    assert "have changed since" in again.context["form"].errors["__all__"][0]


def test_removes_a_group_rate_and_makes_it_the_rule(scenario, gold, staff_client):
    """Here the group earns the rate of all, 10 %, either way: only its rate of 12 % goes."""
    client, account = staff_client(role=Role.MANAGER), scenario.account
    account.group_rates.update(value=12)

    page = read(calculate(client, scenario, group=gold.pk, removed="on"))
    assert f"{scenario.program.title}: Standard for Gold 12 % none" in page
    row = account.scenarios.get()
    client.post(url_of("apply", row.pk), {})

    assert not account.group_rates.exists()


def test_removes_a_level_with_those_above_it_and_makes_it_the_rule(scenario, staff_client):
    client, account = staff_client(role=Role.MANAGER), scenario.account
    for _ in range(3):
        add_level(scenario)

    page = read(calculate(client, scenario, rate=f"{scenario.program.slug}|levels|3", removed="on"))
    assert f"{scenario.program.title}: level 3 5.00 EUR none" in page
    assert f"{scenario.program.title}: level 4 5.00 EUR none" in page
    client.post(url_of("apply", account.scenarios.get().pk), {})

    assert list(account.levels.values_list("level", flat=True)) == [2]


def test_the_form_shows_the_present_rates_of_groups(scenario, gold, staff_client, monkeypatch):
    client = staff_client()

    def list_choices():
        form = client.get(url_of("add")).context["form"]
        return [text for _, text in form.fields["rate"].choices]

    title = scenario.program.title

    assert list_choices() == [f"{title}: Standard, now 10 %, Gold 10 %"]
    monkeypatch.setattr("affiliate_site.backoffice.programs.scenario_form.MAX_GROUPS", 0)
    assert list_choices() == [f"{title}: Standard, now 10 %, 1 more"]
