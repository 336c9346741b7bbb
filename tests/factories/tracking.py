"""Rows of tracking for tests; every factory takes the account."""

import factory

from tracking.models.programs import Program


class ProgramFactory(factory.django.DjangoModelFactory):
    """A program without a commission type; `open_program` makes one with it."""

    class Meta:
        model = Program

    slug = factory.Sequence(lambda n: f"program-{n}")
    title = factory.Faker("catch_phrase")
    currency = "EUR"
