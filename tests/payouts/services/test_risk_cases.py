"""Risk rules: what they find, the cases that they open, and the decisions."""

import random
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import RiskCaseDecided
from payouts.models.commissions import CommissionStatus
from payouts.services import risk_cases, risk_rules
from payouts.services.payout_methods import set_payout_method
from payouts.services.refunds import refund_conversion
from payouts.services.risk_cases import (
    clear_case,
    create_rule,
    disapprove_case,
    evaluate_rules,
    exclude_affiliate,
    list_dry_run,
    list_evaluated_accounts,
    switch_off,
    switch_on,
    update_rule,
)
from payouts.services.risk_rules import RISK_RULES
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import TrackingParameters
from tracking.services.account_settings import update_customer_email_keys

ON_AT = CONVERSION_CREATED_AT - timedelta(days=1)
LATER = CONVERSION_CREATED_AT + timedelta(hours=2)


def add_rule(account, name, threshold=None, **settings):
    rule = create_rule(account, rule=name, threshold=threshold, at=ON_AT, **settings)
    return switch_on(account, pk=rule.pk, at=ON_AT)


def evaluate(account, *, at=LATER):
    while evaluate_rules(account, at=at):
        pass


def sell_after(scenario, seconds, **sale):
    """A sale so many seconds after a click."""
    click = scenario.create_click(at=CONVERSION_CREATED_AT - timedelta(seconds=seconds))
    parameters = TrackingParameters(click_id=str(click.public_id))
    return scenario.create_conversion(parameters=parameters, **sale)


def get_case(account, **conditions):
    return account.risk_cases.get(**conditions)


def list_found(case):
    rows = case.account.risk_findings.filter(case=case).order_by("conversion")
    return [(row.conversion_id, row.facts) for row in rows]


def test_a_sale_right_after_its_click_opens_a_case_that_others_join(scenario):
    account = scenario.account
    add_rule(account, "fast_sale", 5)
    first, second = sell_after(scenario, 2), sell_after(scenario, 4)
    sell_after(scenario, 5)

    evaluate(account)
    third = sell_after(scenario, 0)
    evaluate(account)

    case = get_case(account)
    assert case.affiliate == scenario.mina.affiliate
    assert case.state == "open"
    assert [pk for pk, _ in list_found(case)] == [first.pk, second.pk, third.pk]
    assert list_found(case)[0][1] == [
        ["Click", "2026-03-04 09:15:25 UTC"],
        ["Seconds from click to sale", "2"],
    ]
    log = account.audit_log.filter(kind__startswith="risk_case.").order_by("id")
    assert [(row.kind, row.subject, row.details, row.actor) for row in log] == [
        ("risk_case.opened", f"riskcase:{case.pk}", {"findings": 2}, "system"),
        ("risk_case.joined", f"riskcase:{case.pk}", {"findings": 1}, "system"),
    ]


def test_what_was_cleared_opens_a_case_on_new_facts_only(scenario):
    account = scenario.account
    add_rule(account, "fast_sale", 5)
    sell_after(scenario, 2)
    evaluate(account)
    cleared = clear_case(account, pk=get_case(account).pk, note="A test order", at=LATER)

    evaluate_rules(account, at=LATER, is_complete=True)
    assert [row.state for row in account.risk_cases.all()] == ["cleared"]
    again = sell_after(scenario, 3)
    evaluate(account)

    assert (cleared.note, cleared.decided_at) == ("A test order", LATER)
    assert list_found(get_case(account, state="open"))[0][0] == again.pk
    with pytest.raises(RiskCaseDecided):
        clear_case(account, pk=cleared.pk, note="Once more", at=LATER)


def test_a_rule_looks_at_no_sale_from_before_it_was_on(scenario):
    account = scenario.account
    sell_after(scenario, 2)
    rule = create_rule(account, rule="fast_sale", at=ON_AT)
    caught = list_dry_run(rule, at=LATER)
    switch_on(account, pk=rule.pk, at=LATER)
    sell_after(scenario, 2)  # recorded later, of an earlier moment

    evaluate_rules(account, at=LATER, is_complete=True)

    assert len(caught) == 1
    assert not account.risk_cases.exists()


def test_a_rule_that_is_off_finds_nothing(scenario):
    account = scenario.account
    rule = add_rule(account, "fast_sale")
    switch_off(account, pk=rule.pk, at=ON_AT)
    sell_after(scenario, 2)

    evaluate(account)

    assert list_evaluated_accounts() == []
    assert not account.risk_cases.exists()


def test_a_sale_that_was_committed_late_is_seen_by_the_second_look(scenario):
    """Its ID is lower than that of a sale which was seen before."""
    account = scenario.account
    rule = add_rule(account, "fast_sale")
    late = sell_after(scenario, 2)
    evaluate(account)
    account.risk_findings.all().delete()
    account.risk_cases.all().delete()  # as if it had not been committed then

    evaluate(account, at=LATER + timedelta(minutes=1))
    assert not account.risk_cases.exists()
    evaluate(account, at=LATER + risk_cases.SETTLING_TIME)

    assert list_found(get_case(account))[0][0] == late.pk
    assert rule.reload().settled_to == late.pk  # it is not looked at a third time


def test_many_sales_are_seen_in_bounded_steps(scenario, monkeypatch):
    monkeypatch.setattr(risk_cases, "MAX_BATCHES", 1)
    monkeypatch.setattr(risk_cases, "BATCH_SIZE", 2)
    account = scenario.account
    add_rule(account, "fast_sale")
    evaluate(account)
    for _ in range(5):
        sell_after(scenario, 1)

    steps = [evaluate_rules(account, at=LATER) for _ in range(3)]

    assert steps == [True, True, False]
    assert account.risk_findings.count() == 5


def test_a_coupon_without_clicks(scenario):
    account = scenario.account
    add_rule(account, "coupon_without_clicks", 3)
    lonely = scenario.create_conversion()
    scenario.create_click(at=CONVERSION_CREATED_AT - timedelta(days=2))
    evaluate(account)
    assert not account.risk_cases.exists()  # its affiliate had a click

    click = account.clicks.get()
    click.update_row(created_at=CONVERSION_CREATED_AT - timedelta(days=4))
    evaluate_rules(account, at=LATER, is_complete=True)

    assert list_found(get_case(account)) == [
        (lonely.pk, [["Clicks in the 3 days before", "0"]]),
    ]


def test_a_customer_who_is_the_affiliate(scenario):
    account = scenario.account
    add_rule(account, "customer_is_affiliate")
    scenario.create_conversion(customer_id="somebody@else.example.org")
    own = scenario.create_conversion(customer_id="Mina+shop@notes.example.org")

    evaluate(account)

    assert list_found(get_case(account)) == [
        (own.pk, [["E-mail address", "that of the affiliate"]]),
    ]


def refund(scenario, sale, *, at=LATER):
    refund_conversion(
        scenario.account, conversion_id=sale.pk, amount=Decimal(10), reason="Came back", at=at
    )


def test_the_refund_rate_of_an_affiliate(scenario):
    account = scenario.account
    add_rule(account, "refund_rate", 40)
    sales = [scenario.create_conversion() for _ in range(5)]
    refund(scenario, sales[0])
    evaluate(account, at=LATER)
    assert not account.risk_cases.exists()  # 20 %

    refund(scenario, sales[1], at=LATER + timedelta(minutes=5))
    evaluate(account, at=LATER + timedelta(minutes=30))
    assert not account.risk_cases.exists()  # it looks once an hour
    evaluate(account, at=LATER + timedelta(hours=1))

    case = get_case(account)
    facts = [["Sales of 90 days", "5"], ["With a refund", "2"], ["Refund rate", "40 %"]]
    assert list_found(case) == [(None, facts)]
    clear_case(account, pk=case.pk, note="A broken batch", at=LATER)
    evaluate(account, at=LATER + timedelta(hours=3))
    assert account.risk_cases.count() == 1
    refund(scenario, sales[2], at=LATER + timedelta(hours=4))
    evaluate(account, at=LATER + timedelta(hours=5))
    assert account.risk_cases.count() == 2


def test_disapproving_leaves_what_is_paid(scenario):
    account = scenario.account
    add_rule(account, "fast_sale")
    paid, approved, pending = (sell_after(scenario, 1) for _ in range(3))
    for sale in (paid, approved):
        scenario.approve(scenario.get_commission(sale))
    scenario.pay(20)
    evaluate(account)

    case = disapprove_case(account, pk=get_case(account).pk, note="Own orders", at=LATER)

    statuses = [scenario.get_commission(sale).status for sale in (paid, approved, pending)]
    assert statuses == ["approved", "disapproved", "disapproved"]
    comments = {row.comment for row in account.commissions.all()}
    assert comments == {None}  # affiliates read those
    assert case.state == "disapproved"


def test_an_interrupted_decision_is_continued(scenario, monkeypatch):
    account = scenario.account
    add_rule(account, "fast_sale")
    for _ in range(2):
        sell_after(scenario, 1)
    evaluate(account)
    case, done = get_case(account), []

    def fail_second(*args, **kwargs):
        if done:
            raise InterruptedError
        done.append(1)
        return disapprove(*args, **kwargs)

    disapprove = risk_cases.disapprove_commission
    monkeypatch.setattr(risk_cases, "disapprove_commission", fail_second)
    with pytest.raises(InterruptedError):
        disapprove_case(account, pk=case.pk, note="", at=LATER)
    assert case.reload().state == "open"
    monkeypatch.undo()
    disapprove_case(account, pk=case.pk, note="", at=LATER)

    assert {row.status for row in account.commissions.all()} == {CommissionStatus.DISAPPROVED}


def test_an_excluded_affiliate_earns_nothing_more(scenario):
    account = scenario.account
    add_rule(account, "fast_sale")
    sell_after(scenario, 1)
    evaluate(account)

    case = exclude_affiliate(account, pk=get_case(account).pk, note="", at=LATER)

    assert scenario.mina.enrollment.reload().approved is False
    assert {row.status for row in account.commissions.all()} == {CommissionStatus.DISAPPROVED}
    assert case.state == "excluded"
    kinds = account.audit_log.filter(created_at=LATER).values_list("kind", flat=True)
    assert {"affiliate.disapproved", "commission.updated", "risk_case.excluded"} <= set(kinds)


def test_rules_are_audited(scenario):
    account = scenario.account
    rule = add_rule(account, "fast_sale", 5)
    update_rule(account, pk=rule.pk, threshold=7, at=LATER)
    update_rule(account, pk=rule.pk, threshold=7, at=LATER)
    switch_off(account, pk=rule.pk, at=LATER)

    log = account.audit_log.filter(kind__startswith="risk_rule.").order_by("id")
    assert [(row.kind, row.subject, row.details) for row in log] == [
        ("risk_rule.created", "riskrule:fast_sale", {}),
        ("risk_rule.switched_on", "riskrule:fast_sale", {}),
        ("risk_rule.updated", "riskrule:fast_sale", {"threshold": [5, 7]}),
        ("risk_rule.switched_off", "riskrule:fast_sale", {}),
    ]


def sell_after_click(scenario, *, affiliate=None, **visit):
    """A sale ten minutes after a click."""
    click = scenario.create_click(
        affiliate, at=CONVERSION_CREATED_AT - timedelta(minutes=10), **visit
    )
    parameters = TrackingParameters(click_id=str(click.public_id))
    return scenario.create_conversion(parameters=parameters)


def test_a_forbidden_referrer_with_wildcards(scenario):
    account = scenario.account
    add_rule(account, "forbidden_referrer", patterns="*.coupons.example\ndeals.example")
    found = [
        sell_after_click(scenario, referrer=f"https://{host}/lamps?q=coupons.example")
        for host in ("Best.Coupons.example", "deals.example")
    ]
    for referrer in ("https://coupons.example.org/", "https://[odd", "", None):
        sell_after_click(scenario, referrer=referrer)

    evaluate(account)

    assert list_found(get_case(account)) == [
        (
            found[0].pk,
            [
                ["Host of the referrer", "best.coupons.example"],
                ["Forbidden", "*.coupons.example"],
            ],
        ),
        (found[1].pk, [["Host of the referrer", "deals.example"], ["Forbidden", "deals.example"]]),
    ]


def test_parameters_of_paid_traffic(scenario):
    account = scenario.account
    add_rule(account, "paid_traffic")
    page = "https://shop.example.net/lamps"
    paid = sell_after_click(scenario, landing_page=f"{page}?gclid=x1&a=1&msclkid=x2")
    sell_after_click(scenario, landing_page=f"{page}?ref=gclid")

    evaluate(account)

    assert list_found(get_case(account)) == [
        (paid.pk, [["Parameters of the landing page", "gclid, msclkid"]]),
    ]


def test_parameters_that_single_programs_forbid(scenario):
    account, slug = scenario.account, scenario.program.slug
    patterns = f"gclid other\n\nfbclid other {slug.upper()}\nmsclkid"
    add_rule(account, "paid_traffic", patterns=patterns)
    page = "https://shop.example.net/lamps?gclid=1"
    sell_after_click(scenario, landing_page=page)
    own = sell_after_click(scenario, landing_page=f"{page}&FBCLID=1")
    everywhere = sell_after_click(scenario, landing_page=f"{page}&msclkid=1")

    evaluate(account)

    assert list_found(get_case(account)) == [
        (own.pk, [["Parameters of the landing page", "fbclid"]]),
        (everywhere.pk, [["Parameters of the landing page", "msclkid"]]),
    ]


def test_customers_with_an_address_to_throw_away(scenario):
    account = scenario.account
    account = update_customer_email_keys(account, keys=["mail"], at=LATER)
    add_rule(account, "disposable_address")
    sales = {}
    for number, domain in enumerate(("mailinator.com", "eu.Mailinator.com", "example.org", "com")):
        customer = scenario.create_customer(f"c{number}")
        customer.update_row(meta_data={"mail": f"buyer@{domain}"})
        sales[domain] = scenario.create_conversion(customer_id=customer.customer_id).pk
    scenario.create_conversion()

    evaluate(account)

    found = [["Domain of the e-mail address", "mailinator.com"]]
    assert list_found(get_case(account)) == [
        (sales["mailinator.com"], found),
        (sales["eu.Mailinator.com"], found),
    ]


def test_customers_with_the_name_or_address_of_the_affiliate(scenario):
    account = scenario.account
    add_rule(account, "customer_named_as_affiliate")
    scenario.mina.affiliate.update_row(
        firstname="Mína", address="Lange Str. 5", postal_code="10 115"
    )
    customer = scenario.create_customer("c1")
    customer.update_row(meta_data={"buyer": " mina  KESSLER "})
    sell = scenario.create_conversion
    named = sell(customer_id=customer.customer_id)
    parts = sell(meta_data={"first": "Mina", "last": "Kessler", "zip": "10 115"})
    housed = sell(meta_data={"street": "LANGE STR 5", "zip": "10-115"})
    for others in ({}, {"first": "Mina", "last": ""}, {"buyer": "Mina Kesslerova"}):
        sell(meta_data=others)

    evaluate(account)
    same = "that of the affiliate"
    assert list_found(get_case(account)) == [
        (named.pk, [["Name", same]]),
        (parts.pk, [["Name", same]]),
        (housed.pk, [["Address", same]]),
    ]
    clear_case(account, pk=get_case(account).pk, note="", at=LATER)
    scenario.mina.affiliate.update_row(firstname="", lastname="", address=None, postal_code=None)
    sell(meta_data={"first": "", "last": " "})
    evaluate(account)
    assert account.risk_cases.count() == 1


def test_many_customers_from_one_ip_address(scenario):
    account = scenario.account
    add_rule(account, "shared_ip", 3)
    days = [0, 0, 2, 2, 2]
    sales = [
        scenario.create_conversion(
            customer_id=f"c{number}",
            ip="198.51.100.7",
            at=CONVERSION_CREATED_AT + timedelta(days=day),
        )
        for number, day in enumerate(days)
    ]
    other = scenario.create_enrolled_affiliate("Ada", "Lund")
    scenario.create_conversion(customer_id="c9", ip="198.51.100.7", affiliate=other)

    evaluate(account, at=LATER + timedelta(days=3))

    assert list_found(get_case(account)) == [
        (sale.pk, [["Customers from its IP address within a day", "3"]]) for sale in sales[2:]
    ]


def test_two_affiliates_with_one_payout_detail(scenario):
    account = scenario.account
    add_rule(account, "shared_payout_detail")
    people = [scenario.create_enrolled_affiliate("Ada", name) for name in ("Lund", "Berg", "Holm")]
    for person, email in zip(people, ("a@x.example", "A@x.example", "b@x.example"), strict=True):
        set_payout_method(
            account,
            affiliate_id=person.slug,
            kind="paypal",
            details={"email": email},
            is_primary=True,
            at=LATER,
        )

    evaluate(account)

    facts = [["Payout method", "paypal"], ["Affiliates with it", "2"]]
    cases = account.risk_cases.order_by("affiliate")
    assert [case.affiliate for case in cases] == [person.affiliate for person in people[:2]]
    assert [list_found(case) for case in cases] == [[(None, facts)]] * 2
    for case in cases:
        clear_case(account, pk=case.pk, note="A couple", at=LATER)
    evaluate_rules(account, at=LATER, is_complete=True)
    assert account.risk_cases.count() == 2


def sell_on_days(scenario, person, *days):
    """A sale so many days before `CONVERSION_CREATED_AT`, each."""
    for number in days:
        at = CONVERSION_CREATED_AT - timedelta(days=number)
        scenario.create_conversion(affiliate=person, at=at)


@pytest.mark.parametrize("seed", range(6))
def test_many_sales_in_one_day(seed, scenario, monkeypatch):
    """Compared with a plain count of the days of sales."""
    monkeypatch.setattr(risk_rules, "MIN_SALES_A_DAY", 2)
    dice = random.Random(seed)  # noqa: S311 - reproducible sales
    people = [scenario.mina, scenario.create_enrolled_affiliate("Ada", "Lund")]
    days = [[dice.choice((0, 0, 0, 0, 1, 1, *range(32))) for _ in range(15)] for _ in people]
    for person, sold in zip(people, days, strict=True):
        sell_on_days(scenario, person, *sold)
    rule = create_rule(scenario.account, rule="sales_jump", at=ON_AT, threshold=4)

    found = list_dry_run(rule, at=LATER)

    expected = []
    for day in (1, 0):
        for person, sold in zip(people, days, strict=True):
            before = sum(day < it <= day + 28 for it in sold)
            if sold.count(day) >= max(2, before / 7) and before:
                expected.append((person.affiliate.pk, sold.count(day), before))
    keys = {"2026-03-03", "2026-03-04"}
    assert {fact.key for fact in found} <= keys
    assert [
        (fact.affiliate_id, *(int(value) for _, value in fact.facts[1:])) for fact in found
    ] == expected


def test_a_jump_opens_one_case_a_day(scenario):
    account = scenario.account
    add_rule(account, "sales_jump", 5)
    sell_on_days(scenario, scenario.mina, 3, *(0 for _ in range(10)))

    evaluate(account)
    evaluate(account, at=LATER + timedelta(hours=2))

    facts = [["Day", "2026-03-04"], ["Sales", "10"], ["Sales in the 28 days before", "1"]]
    assert list_found(get_case(account)) == [(None, facts)]


def test_claims_that_are_contested_often(scenario):
    account = scenario.account
    add_rule(account, "contested_claims", 2)
    for _ in range(2):
        sale = scenario.create_conversion()
        account.conversion_claims.create(
            conversion=sale,
            program=scenario.program,
            affiliate=scenario.mina.affiliate,
            amount=1,
            currency="EUR",
            created_at=CONVERSION_CREATED_AT,
        )
        if sale.pk and not account.risk_cases.exists():
            evaluate_rules(account, at=LATER, is_complete=True)

    case = get_case(account)
    assert list_found(case) == [(None, [["Contested orders of 90 days", "2"]])]


@pytest.mark.parametrize("name", [name for name, it in RISK_RULES.items() if it.is_about_sales])
def test_a_batch_takes_a_fixed_number_of_statements(name, scenario, capture_queries):
    account = scenario.account
    rule = create_rule(account, rule=name, at=ON_AT)
    numbers = []
    for count in (2, 8):
        for number in range(count):
            sell_after(scenario, 1, customer_id=f"{name}-{count}-{number}", ip="198.51.100.7")
        with capture_queries() as queries:
            list(RISK_RULES[name].find(rule, account.conversions.all()))
        numbers.append(len(queries))
    assert numbers[0] == numbers[1] <= 2
