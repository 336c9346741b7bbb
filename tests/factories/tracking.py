"""Factories of the tracking models; each takes the account."""

import factory

from accounts.ids import generate_public_id
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.sources import Coupon


class ProgramFactory(factory.django.DjangoModelFactory):
    """A program without a commission type; `create_program` creates one with it."""

    class Meta:
        model = Program

    slug = factory.Sequence(lambda n: f"program-{n}")
    title = factory.Faker("catch_phrase")
    currency = "EUR"


class AffiliateFactory(factory.django.DjangoModelFactory):
    """An affiliate with its source, without enrollment."""

    class Meta:
        model = Affiliate
        skip_postgeneration_save = True

    slug = factory.Sequence(lambda n: f"affiliate-{n}")
    firstname = factory.Faker("first_name")
    lastname = factory.Faker("last_name")
    email = None
    email_folded = factory.LazyAttribute(lambda obj: obj.email and obj.email.casefold())
    password = "!"

    @factory.post_generation
    def source(self, create, extracted, **kwargs):
        self.account.sources.create(affiliate=self)


class EnrollmentFactory(factory.django.DjangoModelFactory):
    """An approved enrollment with a referral code (`code="…"`) and an asset."""

    class Meta:
        model = Enrollment
        skip_postgeneration_save = True

    program = factory.SubFactory(ProgramFactory, account=factory.SelfAttribute("..account"))
    affiliate = factory.SubFactory(AffiliateFactory, account=factory.SelfAttribute("..account"))
    approved = True

    @factory.post_generation
    def code(self, create, extracted, **kwargs):
        code = extracted or f"code-{self.pk}"
        self.account.referral_codes.create(enrollment=self, code=code)

    @factory.post_generation
    def asset(self, create, extracted, **kwargs):
        self.account.assets.get_or_create(program=self.program)


class CouponFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Coupon

    code = factory.Sequence(lambda n: f"COUPON-{n}")
    enrollment = factory.SubFactory(EnrollmentFactory, account=factory.SelfAttribute("..account"))


class ClickFactory(factory.django.DjangoModelFactory):
    """A click through an enrollment's link."""

    class Meta:
        model = Click

    enrollment = factory.SubFactory(EnrollmentFactory, account=factory.SelfAttribute("..account"))
    program = factory.SelfAttribute("enrollment.program")
    affiliate = factory.SelfAttribute("enrollment.affiliate")


class CustomerFactory(factory.django.DjangoModelFactory):
    """A customer of an enrollment; its initial status is its status."""

    class Meta:
        model = Customer

    class Params:
        enrollment = factory.SubFactory(
            EnrollmentFactory, account=factory.SelfAttribute("..account")
        )

    public_id = factory.LazyFunction(lambda: generate_public_id("cu"))
    customer_id = factory.Sequence(lambda n: f"acct-{n}")
    program = factory.SelfAttribute("enrollment.program")
    affiliate = factory.SelfAttribute("enrollment.affiliate")
    status = "new"
    initial_status = factory.SelfAttribute("status")
