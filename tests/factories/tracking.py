"""Rows of tracking for tests; every factory takes the account."""

import factory

from accounts.ids import new_id
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.customers import Customer
from tracking.models.enrolments import Enrolment
from tracking.models.programs import Program
from tracking.models.sources import Coupon


class ProgramFactory(factory.django.DjangoModelFactory):
    """A program without a commission type; `open_program` makes one with it."""

    class Meta:
        model = Program

    slug = factory.Sequence(lambda n: f"program-{n}")
    title = factory.Faker("catch_phrase")
    currency = "EUR"


class AffiliateFactory(factory.django.DjangoModelFactory):
    """An affiliate with its source, in no program."""

    class Meta:
        model = Affiliate
        skip_postgeneration_save = True

    slug = factory.Sequence(lambda n: f"affiliate-{n}")
    firstname = factory.Faker("first_name")
    lastname = factory.Faker("last_name")
    email = None
    email_folded = factory.LazyAttribute(lambda it: it.email and it.email.casefold())
    password = "!"

    @factory.post_generation
    def source(self, create, extracted, **kwargs):
        self.account.sources.create(affiliate=self)


class EnrolmentFactory(factory.django.DjangoModelFactory):
    """An approved affiliate in a program, with a code (`code="…"`) and an asset."""

    class Meta:
        model = Enrolment
        skip_postgeneration_save = True

    program = factory.SubFactory(
        ProgramFactory, account=factory.SelfAttribute("..account")
    )
    affiliate = factory.SubFactory(
        AffiliateFactory, account=factory.SelfAttribute("..account")
    )
    approved = True

    @factory.post_generation
    def code(self, create, extracted, **kwargs):
        code = extracted or f"code-{self.pk}"
        self.account.referral_codes.create(enrolment=self, code=code)

    @factory.post_generation
    def asset(self, create, extracted, **kwargs):
        self.account.assets.get_or_create(program=self.program)


class CouponFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Coupon

    code = factory.Sequence(lambda n: f"COUPON-{n}")
    enrolment = factory.SubFactory(
        EnrolmentFactory, account=factory.SelfAttribute("..account")
    )


class ClickFactory(factory.django.DjangoModelFactory):
    """A click through an enrolment's link."""

    class Meta:
        model = Click

    enrolment = factory.SubFactory(
        EnrolmentFactory, account=factory.SelfAttribute("..account")
    )
    program = factory.SelfAttribute("enrolment.program")
    affiliate = factory.SelfAttribute("enrolment.affiliate")


class CustomerFactory(factory.django.DjangoModelFactory):
    """A customer of an enrolment; its first status is the present one."""

    class Meta:
        model = Customer

    class Params:
        enrolment = factory.SubFactory(
            EnrolmentFactory, account=factory.SelfAttribute("..account")
        )

    public_id = factory.LazyFunction(lambda: new_id("cu"))
    customer_id = factory.Sequence(lambda n: f"acct-{n}")
    program = factory.SelfAttribute("enrolment.program")
    affiliate = factory.SelfAttribute("enrolment.affiliate")
    status = "new"
    first_status = factory.SelfAttribute("status")
