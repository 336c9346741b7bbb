"""Accounts for tests."""

import factory

from accounts.models.accounts import Account, Plan


class PlanFactory(factory.django.DjangoModelFactory):
    """One of the plans that the migrations made."""

    class Meta:
        model = Plan
        django_get_or_create = ["name"]

    name = "pro"


class AccountFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Account

    slug = factory.Sequence(lambda n: f"account-{n}")
    name = factory.Faker("company")
    plan = factory.SubFactory(PlanFactory)
