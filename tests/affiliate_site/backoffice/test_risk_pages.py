"""Risk rules and cases: the dry run, the facts side by side, and the decisions."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from payouts.services.erasure import erase_person
from payouts.services.payout_runs import create_draft
from payouts.services.risk_cases import create_rule, evaluate_rules, switch_on
from tests.affiliate_site.backoffice.forms import get_form
from tracking.attribution import TrackingParameters
from tracking.services.portal_addresses import record_opening


@pytest.fixture
def sale(scenario):
    """A sale of Mina, two seconds after a click."""
    now = timezone.now()
    click = scenario.create_click(at=now - timedelta(seconds=2))
    parameters = TrackingParameters(click_id=str(click.public_id))
    return scenario.create_conversion(parameters=parameters, external_id="ORDER-1", at=now)


@pytest.fixture
def case(scenario, sale):
    """The open case of that sale."""
    account, now = scenario.account, timezone.now()
    rule = create_rule(account, rule="fast_sale", at=now)
    switch_on(account, pk=rule.pk, at=now)
    account.risk_rules.filter(pk=rule.pk).update(
        enabled_at=now - timedelta(hours=1), evaluated_to=0
    )
    evaluate_rules(account, at=now)
    return account.risk_cases.get()


def url_of(model, page, *args):
    return reverse(f"admin:payouts_{model}_{page}", args=args)


def read(response):
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def read_text(page):
    """The text of a page, with links in sentences."""
    return " ".join(re.sub(r"<[^>]*>", "", page).split())


def send(client, url, **values):
    return client.post(url, get_form(client, url) | values, follow=True)


def test_a_rule_says_whom_it_would_have_caught_before_it_is_on(scenario, sale, staff_client):
    client = staff_client()
    send(client, url_of("riskrule", "add"), rule="fast_sale")
    rule = scenario.account.risk_rules.get()

    page = read(client.get(url_of("riskrule", "change", rule.pk)))
    assert "1 affiliate of the last 90 days." in page
    assert "Mina Kessler" in page.partition("Whom it would have caught")[2]
    assert rule.enabled_at is None

    send(client, url_of("riskrule", "edit", rule.pk), threshold="2")
    page = read(client.get(url_of("riskrule", "switch_on", rule.pk)))
    assert "0 affiliates of the last 90 days." in page
    page = read(send(client, url_of("riskrule", "switch_on", rule.pk)))
    assert "The rule is on." in page
    assert "Whom it would have caught" not in page
    assert rule.reload().enabled_at
    assert not scenario.account.risk_cases.exists()


def test_accounts_from_one_address_are_named_with_links(scenario, staff_client):
    account, now = scenario.account, timezone.now()
    people = [scenario.create_enrolled_affiliate(name, "Lund") for name in ("Ada", "Bo", "Cy")]
    for person in people:
        record_opening(person.affiliate, "d" * 64, at=now)
    rule = create_rule(account, rule="accounts_from_one_ip", at=now)
    client = staff_client()
    links = [
        f'"{reverse("admin:tracking_affiliate_change", args=[it.affiliate.pk])}"' for it in people
    ]
    page = client.get(url_of("riskrule", "change", rule.pk)).text
    assert (
        "Accounts opened from its address: 3; The others: Cy Lund (cylund), Bo Lund (bolund)"
        in read_text(page)
    )
    assert [page.count(link) for link in links] == [3, 3, 3]

    switch_on(account, pk=rule.pk, at=now)
    evaluate_rules(account, at=now)
    case = account.risk_cases.get(affiliate=people[0].affiliate)
    page = client.get(url_of("riskcase", "change", case.pk)).text
    assert "Cy Lund (cylund), Bo Lund (bolund)" in read_text(page)
    assert [page.count(link) for link in links[1:]] == [1, 1]


def test_cases_are_listed_by_age_with_their_facts(scenario, case, staff_client):
    client = staff_client()
    newer = scenario.account.risk_cases.create(
        rule="refund_rate", affiliate=scenario.mina.affiliate
    )

    page = read(client.get(url_of("riskcase", "changelist"), {"state__exact": "open"}))
    assert page.index("Sale right after the click") < page.index("Refund rate")
    page = read(client.get(url_of("riskcase", "change", case.pk)))
    assert "ORDER-1" in page
    assert "200.00 EUR" in page
    assert "Seconds from click to sale" in page
    assert "Opened this risk case" in page
    newer.update_row(rule="of_another_version")
    assert "of_another_version" in read(client.get(url_of("riskcase", "change", newer.pk)))


@pytest.mark.parametrize(
    ("page", "state", "status"),
    [
        ("clear", "Cleared", "pending"),
        ("disapprove", "Disapproved", "disapproved"),
        ("exclude", "Affiliate excluded", "disapproved"),
    ],
)
def test_staff_decide_with_a_note(page, state, status, scenario, sale, case, staff_client):
    client = staff_client(role=Role.MANAGER)

    text = read(send(client, url_of("riskcase", page, case.pk), note="Own orders"))

    assert "The case was decided." in text
    assert state in text
    assert "Own orders" in text
    assert scenario.get_commission(sale).status == status
    text = read(client.get(url_of("riskcase", page, case.pk), follow=True))
    assert "not possible in this state" in text


def test_a_case_says_what_becomes_of_each_commission(scenario, case, sale, staff_client):
    account, client = scenario.account, staff_client()
    other = scenario.create_conversion("100", at=timezone.now())
    account.risk_findings.create(
        case=case, rule=case.rule, affiliate=case.affiliate, conversion=other
    )
    scenario.approve(scenario.get_commission(sale))
    scenario.disapprove(scenario.get_commission(other))

    def read_outcomes(page="change"):
        text = read(client.get(url_of("riskcase", page, case.pk)))
        return text.partition("If they are disapproved")[2]

    assert "20.00 EUR Approved, becomes disapproved" in read_outcomes()
    assert "10.00 EUR Is disapproved already" in read_outcomes("disapprove")
    scenario.pay("20")
    assert "20.00 EUR Paid or final, stays" in read_outcomes("exclude")
    case.update_row(state="cleared")
    assert read_outcomes() == ""


def test_undecided_cases_are_counted_in_the_sidebar_and_on_the_dashboard(
    scenario, case, staff_client
):
    client = staff_client()
    scenario.account.risk_cases.create(
        rule="refund_rate", affiliate=scenario.mina.affiliate, state="cleared"
    )

    context = client.get("/admin/").context

    items = [item for group in context["sidebar_navigation"] for item in group["items"]]
    assert [item["badge"] for item in items if item["title"] == "Risk cases"] == [1]
    (card,) = [each for each in context["attention_cards"] if each.title == "Risk cases"]
    assert card.value == "1"
    assert [*client.get(card.url).context["cl"].result_list] == [case]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.FINANCE])
def test_others_only_look(role, scenario, case, staff_client):
    client = staff_client(role=role)

    assert client.get(url_of("riskcase", "change", case.pk)).status_code == 200
    assert client.get(url_of("riskcase", "clear", case.pk)).status_code == 403
    assert client.get(url_of("riskrule", "add")).status_code == 403


def test_the_note_is_erased_with_the_affiliate(scenario, case):
    case.update_row(note="Mina asked twice")

    erase_person(scenario.account, identifier=scenario.mina.slug, at=timezone.now())

    assert case.reload().note == ""


def test_pay_day_names_undecided_cases(scenario, sale, case, staff_client):
    """The run pays the other sale; confirming it evaluates the rules first."""
    account, now = scenario.account, timezone.now()
    set_payout_method(scenario)
    scenario.approve(scenario.get_commission(sale), at=now)
    other = scenario.create_conversion("50", at=now)
    scenario.approve(scenario.get_commission(other), at=now)
    run = create_draft(account, due_until=account.get_day(now), at=now)
    client = staff_client(role=Role.OWNER)

    page = read(client.get(url_of("payoutrun", "confirm", run.pk)))
    assert "Undecided: 1 risk case" in page
    assert "Payout run" in read(send(client, url_of("payoutrun", "confirm", run.pk)))
    assert [payment.amount for payment in account.payments.all()] == [5]

    url = url_of("commission", "changelist")
    assert "Under review" in read(client.get(url))
    url = reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk])
    assert "20.00 EUR 20.00 EUR of it under review" in read(client.get(url, {"tab": "payouts"}))


def test_confirming_evaluates_the_rules_first(scenario, sale, staff_client):
    account, now = scenario.account, timezone.now()
    set_payout_method(scenario)
    scenario.approve(scenario.get_commission(sale), at=now)
    run = create_draft(account, due_until=account.get_day(now), at=now)
    rule = create_rule(account, rule="fast_sale", at=now)
    switch_on(account, pk=rule.pk, at=now - timedelta(hours=1))
    account.risk_rules.update(settled_to=0)  # as if the sale had been committed late

    page = read(send(staff_client(), url_of("payoutrun", "confirm", run.pk)))

    assert "the amount was 20 EUR, is 0 EUR" in page
    assert not account.payments.exists()
    assert account.risk_cases.count() == 1


def set_payout_method(scenario):
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
