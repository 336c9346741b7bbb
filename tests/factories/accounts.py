"""Factories of accounts and plans."""

import factory

from accounts.models.accounts import Account, Plan


class PlanFactory(factory.django.DjangoModelFactory):
    """One of the plans that the migrations create."""

    class Meta:
        model = Plan
        django_get_or_create = ["name"]

    name = "pro"


class AccountFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Account

    slug = factory.Sequence(lambda n: f"account-{n}")
    name = factory.Sequence(lambda n: f"Company {n}")
    plan = factory.SubFactory(PlanFactory)
