"""The risk rules about IP addresses of affiliates, compared with plain look-ups."""

import random
from collections import defaultdict
from datetime import timedelta

import pytest

from payouts.services.risk_cases import (
    clear_case,
    create_rule,
    evaluate_rules,
    list_dry_run,
    switch_on,
)
from payouts.services.risk_rules import MAX_OTHERS
from tests.factories.tracking import AffiliateFactory
from tests.program_scenario import CLICK_CREATED_AT, CONVERSION_CREATED_AT, ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_addresses import (
    calculate_address_digest,
    record_address,
    record_opening,
)
from tracking.services.retention import anonymize_visitor_data

ON_AT = CONVERSION_CREATED_AT - timedelta(days=1)
LATER = CONVERSION_CREATED_AT + timedelta(hours=2)
HOME, OFFICE = "192.88.99.7", "192.88.99.8"


def sell(scenario, affiliate, sale_ip=None, click_ip=None):
    """A sale through a link."""
    click = scenario.create_click(affiliate, ip=click_ip)
    parameters = TrackingParameters(click_id=str(click.public_id))
    return scenario.create_conversion(parameters=parameters, ip=sale_ip)


def open_account(account, address=HOME, *, at=LATER):
    """An affiliate who applied from an address."""
    affiliate = AffiliateFactory(account=account)
    record_opening(affiliate, calculate_address_digest(account, address), at=at)
    return affiliate


def find_sales(scenario):
    rule = create_rule(scenario.account, rule="affiliate_ip", at=ON_AT)
    return {fact.conversion_id: fact.facts for fact in list_dry_run(rule, at=LATER)}


@pytest.mark.parametrize("seed", range(4))
def test_sales_from_an_address_of_their_affiliate(seed, scenario):
    dice = random.Random(seed)  # noqa: S311 - reproducible sales
    people = [scenario.mina, scenario.create_enrolled_affiliate("Ada", "Lund")]
    networks = ["192.88.99.{}", "192.88.98.{}", "2a02:db8:1:{}::5"]
    addresses = [text.format(number) for text in networks for number in (1, 2)]
    used = [set(dice.sample(addresses, 2)) for _ in people]
    for person, own in zip(people, used, strict=True):
        for address in sorted(own):
            record_address(person.affiliate, address.replace("::5", "::9"), at=LATER)
    expected = {}
    text = f"that of the affiliate, last used {LATER:%Y-%m-%d}"
    for _ in range(20):
        number = dice.randrange(2)
        ips = dice.choices([*addresses, None], k=2)
        sale = sell(scenario, people[number], *ips)
        labels = ("IP address of the sale", "IP address of the click")
        found = [(label, text) for label, ip in zip(labels, ips, strict=True) if ip in used[number]]
        if found:
            expected[sale.pk] = found

    assert expected
    assert find_sales(scenario) == expected


def test_a_new_sale_is_compared_with_what_is_known_then(scenario):
    account = scenario.account
    rule = create_rule(account, rule="affiliate_ip", at=ON_AT)
    switch_on(account, pk=rule.pk, at=ON_AT)
    sell(scenario, scenario.mina, HOME)
    evaluate_rules(account, at=LATER)
    record_address(scenario.mina.affiliate, HOME, at=LATER)
    found = sell(scenario, scenario.mina, HOME)

    evaluate_rules(account, at=LATER)

    assert account.risk_findings.get().conversion_id == found.pk


def test_a_shortened_address_is_nobodys(scenario):
    for address in ("192.88.99.0", "192.88.99.9", "2a02:db8:1::9"):
        record_address(scenario.mina.affiliate, address, at=LATER)
    sales = [sell(scenario, scenario.mina, ip, ip) for ip in ("192.88.99.9", "2a02:db8:1::9")]
    scenario.account.visitor_data_days = 1

    assert set(find_sales(scenario)) == {sale.pk for sale in sales}
    at = CLICK_CREATED_AT + timedelta(days=30)
    assert anonymize_visitor_data(scenario.account, at=at, dry_run=False) == 4
    rule = scenario.account.risk_rules.get()
    assert list_dry_run(rule, at=LATER) == []


def test_addresses_of_another_account_do_not_count(scenario, other_account):
    other = ProgramScenario(other_account)
    record_address(other.mina.affiliate, HOME, at=LATER)
    sell(scenario, scenario.mina, HOME, HOME)
    for _ in range(2):
        open_account(scenario.account)
        open_account(other_account)
    rule = create_rule(scenario.account, rule="accounts_from_one_ip", at=ON_AT)

    assert find_sales(scenario) == {}
    assert list_dry_run(rule, at=LATER) == []


@pytest.mark.parametrize("seed", range(4))
def test_accounts_opened_from_one_address(seed, account, capture_queries):
    dice = random.Random(seed)  # noqa: S311 - reproducible applications
    groups = defaultdict(list)
    for _ in range(30):
        address, days = f"192.88.99.{dice.randrange(1, 8)}", dice.choice((0, 1, 89, 90, 91))
        affiliate = open_account(account, address, at=LATER - timedelta(days=days))
        record_address(affiliate, HOME, at=LATER)  # signing in opens nothing
        if dice.random() < 0.1:
            affiliate.update_row(deleted_at=LATER)
        elif days <= 90:
            groups[address].append(affiliate)
    rule = create_rule(account, rule="accounts_from_one_ip", at=ON_AT)

    with capture_queries() as captured:
        found = list_dry_run(rule, at=LATER)

    expected = {
        affiliate.pk: [
            ("Accounts opened from its address", str(len(group))),
            ("The others", " ".join(it.log_id for it in reversed(group) if it != affiliate)),
        ]
        for group in groups.values()
        for affiliate in group
        if len(group) >= 3
    }
    assert rule.threshold == 3
    assert {fact.affiliate_id: fact.facts for fact in found} == expected
    assert len(captured) == 1


def test_a_fact_names_some_of_a_large_group(account):
    people = [open_account(account) for _ in range(MAX_OTHERS + 2)]
    rule = create_rule(account, rule="accounts_from_one_ip", at=ON_AT)

    found = list_dry_run(rule, at=LATER)

    (_, number), (_, others) = found[0].facts
    assert number == str(MAX_OTHERS + 2)
    assert others.split() == [it.log_id for it in reversed(people[2:])]


def test_a_group_that_was_cleared_opens_cases_again_for_a_new_member_only(account):
    rule = create_rule(account, rule="accounts_from_one_ip", at=ON_AT)
    switch_on(account, pk=rule.pk, at=ON_AT)

    def evaluate(days):
        at = LATER + timedelta(days=days)
        evaluate_rules(account, at=at)
        cases = account.risk_cases.filter(state="open").order_by("affiliate")
        pks = [case.affiliate_id for case in cases]
        for case in cases:
            clear_case(account, pk=case.pk, note="A family", at=at)
        return pks

    first, *others = [open_account(account, at=LATER + timedelta(days=day)) for day in range(5)]
    assert evaluate(5) == [it.pk for it in (first, *others)]
    assert evaluate(6) == []
    delete_affiliate(account, affiliate_id=others.pop().slug, at=LATER)
    assert evaluate(7) == []  # three were left
    assert evaluate(91) == []  # the first is out of the window
    fifth = open_account(account, at=LATER + timedelta(days=91))
    assert evaluate(91.5) == [it.pk for it in (*others[1:], fifth)]
