"""Affiliates: `/affiliates/`, and the account's custom fields."""

from accounts.ids import numbered
from accounts.services.usage import Rate
from affiliate_site.api.fields import Text
from affiliate_site.api.filters import Address, ListFilter, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.people import (
    DetailsInput,
    NameInput,
    PersonChange,
    application_of,
    changes_of,
)
from affiliate_site.api.shapes.people import (
    AffiliateShape,
    CustomFieldShape,
    NewAffiliateShape,
    affiliate_shape,
    custom_field_shape,
    new_affiliate_shape,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import (
    affiliate_named,
    change_affiliate,
    new_secret,
    remove_affiliate,
    sign_up,
)


class PasswordInput(Input):
    """A password; without one, one is made."""

    password = Text(required=False, min_length=8, max_length=128)


class AffiliateInput(NameInput, PasswordInput, DetailsInput):
    """Who wants to be an affiliate."""


class AffiliateFilter(ListFilter):
    """All of them narrow together."""

    aliases = {"parentId": "parent_id"}

    click_id = Words(method="by_click")
    source_id = Words(method="by_source")
    email = Address(method="by_email")
    referral_code = Words(method="by_code")
    parent_id = Words(field_name="parent__slug")
    affiliate_group_id = Words(field_name="group__public_id")

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


class AffiliateViewSet(TenantViewSet):
    """Spec: Affiliates."""

    thing = Affiliate
    rates = Rate(1500, minutes=5)
    reads = {"create": AffiliateInput, "partial_update": PersonChange}
    filters = {"list": AffiliateFilter, "list_custom_fields": ListFilter}
    answers = {
        "list": AffiliateShape(many=True),
        "create": NewAffiliateShape,
        "retrieve": AffiliateShape,
        "partial_update": AffiliateShape,
        "destroy": None,
        "list_custom_fields": CustomFieldShape(many=True),
    }

    def prepare(self):
        """A password is hashed before any transaction opens."""
        if self.action == "create":
            self.said = self.read()
            self.secret = new_secret(self.said.get("password"))

    def to_keep(self, data):
        """A replay shows no password."""
        return data | {"password": None}

    def list(self, request):
        """The account's affiliates, newest first."""
        return self.page(
            affiliate_shape, self.account.affiliates.present().newest_first()
        )

    def create(self, request):
        """Sign an affiliate up; it is in no program until it is added to one."""
        affiliate = sign_up(
            self.account,
            application=application_of(self.said),
            secret=self.secret,
            at=self.at,
        )
        rows = self.account.affiliates.filter(pk=affiliate.pk)
        row = self.found(rows, AffiliateNotFound)
        return self.answer(new_affiliate_shape(row, self.secret.made))

    def retrieve(self, request, affiliate_id):
        """One affiliate."""
        return self.shown(affiliate_id)

    def partial_update(self, request, affiliate_id):
        """Change what is sent of an affiliate; company and address as a whole."""
        affiliate_named(self.account, affiliate_id)
        changes = changes_of(self.read())
        change_affiliate(
            self.account, affiliate_id=affiliate_id, changes=changes, at=self.at
        )
        return self.shown(affiliate_id)

    def destroy(self, request, affiliate_id):
        """Remove an affiliate: it earns no more, what it earned stays."""
        remove_affiliate(self.account, affiliate_id=affiliate_id, at=self.at)
        return self.nothing()

    def list_custom_fields(self, request):
        """What the account asks its affiliates besides, in the order of definition."""
        return self.page(
            custom_field_shape, self.account.field_definitions.as_defined()
        )

    def shown(self, affiliate_id):
        rows = self.account.affiliates.present().filter(slug=affiliate_id)
        return self.answer(affiliate_shape(self.found(rows, AffiliateNotFound)))
