"""A what-if gives what the same sales earn in an account that has the changed rules."""

import json
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.days import A_DAY
from accounts.errors import DomainError
from affiliate_site.management.commands.what_if import serialize_what_if
from payouts.models.commission_types import RateKind
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.what_if import calculate_what_if
from payouts.statistics import Period
from tests.factories.accounts import AccountFactory
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario, build_line_items
from tracking.attribution import TrackingParameters
from tracking.services.customers import CustomerData, create_customer
from tracking.services.hierarchy import create_group

pytestmark = pytest.mark.integration

PERIOD = Period(AT.date(), AT.date() + A_DAY * 40)
PEOPLE = ("mina", "ada")
ORDERS = (
    ("customer", "coupon", "click_id"),
    ("coupon", "customer", "click_id"),
    ("click_id", "customer", "coupon"),
    ("customer", "click_id", "coupon"),
)
rates = st.tuples(st.sampled_from(RateKind.values), st.integers(min_value=0, max_value=99))
programs = st.fixed_dictionaries(
    {
        "rate": rates,
        "extra": rates,
        "group": st.none() | rates,
        "level": st.none() | rates,
        "cookie_time": st.integers(min_value=1, max_value=3),
        "hold_days": st.integers(min_value=0, max_value=40),
        "recurring": st.booleans(),
        "recurring_cap": st.none() | st.integers(min_value=1, max_value=2),
        "recurring_period_days": st.none() | st.integers(min_value=1, max_value=3),
    }
)
rules = st.fixed_dictionaries(
    {
        "programs": st.tuples(programs, programs),
        "groups": st.tuples(st.booleans(), st.booleans()),
        "order": st.sampled_from(ORDERS),
    }
)
which = st.integers(min_value=0, max_value=1)
coupons = st.none() | st.tuples(which, which)
clicks = st.none() | st.tuples(which, which, st.integers(min_value=0, max_value=80))
customers = st.none() | which
steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(min_value=1, max_value=60)),
        st.tuples(st.just("join"), which, coupons, clicks),
        *[
            st.tuples(
                st.just("sell"),
                coupons,
                clicks,
                customers,
                st.lists(
                    st.tuples(st.integers(min_value=0, max_value=9999), st.booleans()),
                    min_size=1,
                    max_size=2,
                ),
            )
        ]
        * 4,
    ),
    max_size=14,
)


class Shop:
    """An account with these rules: two programs and two affiliates, one of them the
    parent of the other."""

    def __init__(self, chosen):
        self.account, self.at, self.chosen = AccountFactory(plan__name="enterprise"), AT, chosen
        harbor = ProgramScenario(self.account)
        tea = ProgramScenario(self.account, slug="tea", email=None)
        ada = harbor.create_enrolled_affiliate("Ada", "Lund")
        self.programs = (harbor, tea)
        self.people = (
            (harbor.mina, ada),
            (tea.enroll(harbor.mina.affiliate), tea.enroll(ada.affiliate)),
        )
        harbor.add_child(harbor.mina, ada)
        self.group = create_group(self.account, title="Gold", at=AT)
        for scenario, values in zip(self.programs, chosen["programs"], strict=True):
            self.set_rules(scenario, values)
        for person, is_member in zip(self.people[0], chosen["groups"], strict=True):
            person.affiliate.update_row(group=self.group if is_member else None)

    def set_rules(self, scenario, values):
        kind, value = values["rate"]
        standard = self.account.commission_types.get(program=scenario.program)
        standard.update_row(kind=kind, value=Decimal(value))
        kind, value = values["extra"]
        scenario.create_commission_type("extra", value, kind=kind)
        if values["group"]:
            kind, value = values["group"]
            scenario.create_group_rate(self.group, value, kind=kind)
        if values["level"]:
            kind, value = values["level"]
            scenario.create_level(2, value, kind=kind)
        names = ("cookie_time", "hold_days", "recurring", "recurring_cap", "recurring_period_days")
        scenario.program.update_row(**{name: values[name] for name in names})

    def wait(self, hours):
        self.at += timedelta(hours=hours)
        return True

    def get_parameters(self, coupon, click):
        """Tracking parameters; a click has happened so many hours ago."""
        found = {}
        if coupon:
            program, person = coupon
            found["coupon"] = self.people[program][person].coupon
        if click:
            program, person, hours = click
            affiliate, at = self.people[program][person], self.at - timedelta(hours=hours)
            found["click_id"] = str(self.programs[program].create_click(affiliate, at=at).public_id)
        return found

    def join(self, customer, coupon, click):
        order = tuple(name for name in self.chosen["order"] if name != "customer")
        parameters = TrackingParameters(**self.get_parameters(coupon, click))
        return self.try_to(create_customer, CustomerData(f"c-{customer}", parameters, order=order))

    def sell(self, coupon, click, customer, items):
        name = None if customer is None else f"c-{customer}"
        parameters = TrackingParameters(**self.get_parameters(coupon, click), customer_id=name)
        lines = build_line_items(
            *((str(Decimal(cents) / 100), "extra" if extra else None) for cents, extra in items)
        )
        data = ConversionData(parameters, lines, order=self.chosen["order"])
        return self.try_to(create_conversion, data)

    def try_to(self, service, data):
        self.at += timedelta(seconds=1)
        try:
            return bool(service(self.account, data=data, at=self.at))
        except DomainError:
            return False

    def sum_up(self):
        """What affiliates, programs and months earn, and when it is due."""
        sums = {name: defaultdict(Decimal) for name in ("affiliates", "programs", "due_months")}
        rows = self.account.commissions.select_related("affiliate", "conversion__program")
        for row in rows.exclude(status="disapproved"):
            sums["affiliates"][row.affiliate.slug] += row.amount
            sums["programs"][row.conversion.program.slug] += row.amount
            sums["due_months"][f"{row.due_at:%Y-%m}"] += row.amount
        return {
            name: {key: sum_ for key, sum_ in each.items() if sum_} for name, each in sums.items()
        }

    def what_if(self, changes):
        changes = json.loads(json.dumps(changes))
        return serialize_what_if(calculate_what_if(self.account, period=PERIOD, changes=changes))


def describe(rate):
    return rate and {"kind": rate[0], "value": rate[1]}


def build_changes(shop, chosen):
    """The rules of an account as the changes of another one."""
    group = shop.group.public_id
    programs = {}
    for scenario, values in zip(shop.programs, chosen["programs"], strict=True):
        kept = {key: values[key] for key in values.keys() - {"rate", "extra", "group", "level"}}
        standard = describe(values["rate"]) | {"groups": {group: describe(values["group"])}}
        programs[scenario.program.slug] = kept | {
            "rates": {"standard": standard, "extra": describe(values["extra"])},
            "levels": {"2": describe(values["level"])},
        }
    people = zip(shop.people[0], chosen["groups"], strict=True)
    groups = {person.slug: group if is_member else None for person, is_member in people}
    return {"programs": programs, "groups": groups, "order": list(chosen["order"])}


def read_sums(result, side):
    """The sums of a result that are not zero, as `Shop.sum_up` has them."""
    keys = {"affiliates": "affiliate", "programs": "program", "due_months": "month"}
    return {
        name: {row[key]: row[side] for row in result[name] if row[side]}
        for name, key in keys.items()
    }


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(present=rules, changed=rules, steps=steps)
@pytest.mark.django_db
def test_gives_what_the_changed_rules_would_have_given(present, changed, steps):
    with transaction.atomic():
        shop, other = Shop(present), Shop(changed)
        taken = 0
        for name, *arguments in steps:
            other.at = shop.at
            if getattr(shop, name)(*arguments):
                taken += name == "sell"
                getattr(other, name)(*arguments)

        for unchanged in ({}, build_changes(shop, present)):
            result = shop.what_if(unchanged)
            assert result["sales"] == taken
            assert result["sales_changed"] == 0, result
            assert read_sums(result, "before") == read_sums(result, "after") == shop.sum_up()
        result = shop.what_if(build_changes(shop, changed))
        assert read_sums(result, "before") == shop.sum_up()
        assert read_sums(result, "after") == other.sum_up(), result
        assert taken - result["conversions_refused"] == other.account.conversions.count()
        transaction.set_rollback(True)
