"""Affiliates: `/affiliates/`."""

from django_countries import countries
from rest_framework import serializers

from accounts.ids import numbered
from accounts.services.usage import Rate
from affiliate_site.api.errors import Flaw, bracketed
from affiliate_site.api.fields import (
    TOO_LONG,
    TOO_MANY,
    WRONG_TYPE,
    Email,
    Input,
    Lookup,
    MetaData,
    Text,
    text_of,
)
from affiliate_site.api.filters import Address, ListFilter, Words
from affiliate_site.api.shapes.people import (
    AffiliateShape,
    NewAffiliateShape,
    affiliate_shape,
    new_affiliate_shape,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import Application, sign_up

LONGEST_FIELD = 5000
MOST_CHOICES = 50


class CompanyInput(Input):
    """A company, all optional."""

    name = Text(required=False)
    description = Text(required=False, max_length=1000)


class CountryCode(Lookup):
    """An alpha-2 code, any case."""

    def to_internal_value(self, data):
        code = super().to_internal_value(data)
        if not code.isascii() or code.upper() not in countries:
            raise Flaw("Unknown country")
        return code.upper()


class CountryInput(Input):
    """A country; a plain string is taken as its code."""

    code = CountryCode()

    def to_internal_value(self, data):
        return super().to_internal_value({"code": data} if is_text(data) else data)


class AddressInput(Input):
    """A postal address: whole, or not at all."""

    address = Text()
    address_two = Text(required=False)
    postal_code = Text()
    city = Text()
    state = Text(required=False)
    country = CountryInput()

    def sent(self, data):
        return {"country": {}} | self.named(data)


class CustomFields(serializers.DictField):
    """Values of custom fields: text, or a list of texts for a multiple choice."""

    def to_internal_value(self, data):
        if not isinstance(data, dict):
            raise Flaw(WRONG_TYPE, type="object")
        flaws = {}
        for key, value in data.items():
            try:
                self.look_at(value)
            except Flaw as flaw:
                flaws[bracketed(key)] = flaw.detail
        if flaws:
            raise serializers.ValidationError(flaws)
        return data

    def look_at(self, value):
        values = value if isinstance(value, list) else [value]
        if len(values) > MOST_CHOICES:
            raise Flaw(TOO_MANY, limit=MOST_CHOICES)
        for each in values:
            if each is not None and len(text_of(each)) > LONGEST_FIELD:
                raise Flaw(TOO_LONG, limit=LONGEST_FIELD)


class AffiliateInput(Input):
    """Who wants to be an affiliate."""

    firstname = Text()
    lastname = Text()
    email = Email(required=False)
    password = Text(required=False, min_length=8, max_length=128)
    company = CompanyInput(required=False)
    address = AddressInput(required=False)
    custom_fields = CustomFields(required=False)
    meta_data = MetaData(required=False)


class AffiliateFilter(ListFilter):
    """Nobody has a parent or a group yet, so asking for one finds nobody."""

    click_id = Words(method="by_click")
    source_id = Words(method="by_source")
    email = Address(method="by_email")
    referral_code = Words(method="by_code")
    parent_id = Words(method="nobody")
    parentId = Words(method="nobody")  # noqa: N815 - an alias of the public API
    affiliate_group_id = Words(method="nobody")

    def by_click(self, rows, name, value):
        clicks = self.account.clicks
        return rows.filter(pk__in=clicks.with_id(value).values("affiliate"))

    def by_source(self, rows, name, value):
        number, hex_digits = numbered(value) or (0, "")
        sources = self.account.sources.filter(pk=number, hex=hex_digits)
        return rows.filter(pk__in=sources.values("affiliate"))

    def by_code(self, rows, name, value):
        codes = self.account.referral_codes.filter(code=value)
        return rows.filter(pk__in=codes.values("enrolment__affiliate"))

    def by_email(self, rows, name, value):
        return rows.with_email(value)

    def nobody(self, rows, name, value):
        return rows.none()


class AffiliateViewSet(TenantViewSet):
    """Spec: Affiliates."""

    thing = Affiliate
    rates = Rate(1500, minutes=5)
    reads = {"create": AffiliateInput}
    filters = {"list": AffiliateFilter}
    answers = {
        "list": AffiliateShape(many=True),
        "create": NewAffiliateShape,
        "retrieve": AffiliateShape,
    }

    def list(self, request):
        """The account's affiliates, newest first."""
        return self.page(
            affiliate_shape, self.account.affiliates.present().newest_first()
        )

    def create(self, request):
        """Sign an affiliate up; it is in no program until it is added to one."""
        affiliate, password = sign_up(
            self.account, application=application_of(self.read()), at=self.at
        )
        row = self.found(
            self.account.affiliates.filter(pk=affiliate.pk), AffiliateNotFound
        )
        return self.answer(new_affiliate_shape(row, password))

    def retrieve(self, request, affiliate_id):
        """One affiliate."""
        rows = self.account.affiliates.present().filter(slug=affiliate_id)
        return self.answer(affiliate_shape(self.found(rows, AffiliateNotFound)))


def application_of(said: dict) -> Application:
    """What was read, as the service takes it; custom fields nobody defined are left."""
    company, address = said.get("company", {}), said.get("address", {})
    return Application(
        firstname=said["firstname"],
        lastname=said["lastname"],
        email=said.get("email"),
        password=said.get("password"),
        company={f"company_{name}": value for name, value in company.items()},
        address=address | ({"country": address["country"]["code"]} if address else {}),
        meta_data=said.get("meta_data", {}),
    )


def is_text(value) -> bool:
    """Is it a string?"""
    return isinstance(value, str)
