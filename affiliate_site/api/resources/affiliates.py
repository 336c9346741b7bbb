"""Affiliates: `/affiliates/`, and the account's custom fields."""

from accounts.ids import parse_numbered_id
from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import TextField
from affiliate_site.api.filters import BaseFilterSet, EmailFilter, TextFilter
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.person_serializers import (
    AffiliateUpdateSerializer,
    PersonDetailsInputSerializer,
    PersonNameInputSerializer,
    build_affiliate_changes,
    build_person_data,
    wants_welcome_mail,
)
from affiliate_site.api.representations.affiliates import (
    AffiliateRepresentation,
    CreatedAffiliateRepresentation,
    CustomFieldRepresentation,
    affiliate_by_slug,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import (
    create_affiliate,
    create_password,
    delete_affiliate,
    get_affiliate,
    update_affiliate,
)
from tracking.services.portal_links import send_welcome_mail


class PasswordInputSerializer(InputSerializer):
    """A password; one is generated if it is not sent."""

    password = TextField(required=False, min_length=8, max_length=128)


class AffiliateInputSerializer(
    PersonNameInputSerializer, PasswordInputSerializer, PersonDetailsInputSerializer
):
    """A new affiliate."""


class AffiliateFilterSet(BaseFilterSet):
    """Filters of affiliates."""

    aliases = {"parentId": "parent_id"}

    click_id = TextFilter(method="filter_by_click")
    source_id = TextFilter(method="filter_by_source")
    email = EmailFilter()
    referral_code = TextFilter(method="filter_by_referral_code")
    parent_id = TextFilter(field_name="parent__slug")
    affiliate_group_id = TextFilter(field_name="group__public_id")

    def filter_by_click(self, rows, name, value):
        clicks = self.account.clicks
        return rows.filter(pk__in=clicks.with_public_id(value).values("affiliate"))

    def filter_by_source(self, rows, name, value):
        source_pk, hex_digits = parse_numbered_id(value) or (0, "")
        sources = self.account.sources.filter(pk=source_pk, hex=hex_digits)
        return rows.filter(pk__in=sources.values("affiliate"))

    def filter_by_referral_code(self, rows, name, value):
        codes = self.account.referral_codes.filter(code=value)
        return rows.filter(pk__in=codes.values("enrollment__affiliate"))


class AffiliateViewSet(TenantViewSet):
    """Affiliates (docs/api-contract.md, section 2.4)."""

    permission_model = Affiliate
    throttle_rate = RateLimit(1500, minutes=5)
    serializer_classes = {
        "create": AffiliateInputSerializer,
        "partial_update": AffiliateUpdateSerializer,
    }
    filterset_class = AffiliateFilterSet
    representation = AffiliateRepresentation
    row_query = (affiliate_by_slug, "slug", AffiliateNotFound)
    representations = {
        "create": CreatedAffiliateRepresentation,
        "list_custom_fields": [CustomFieldRepresentation],
    }

    def prepare_request(self):
        """Hash the password too, which is slow, before any transaction."""
        super().prepare_request()
        if self.action == "create":
            self.validated_body = self.validate_body()
            self.password = create_password(self.validated_body.get("password"))

    def get_replay_data(self, data):
        """Return the response without its password."""
        return data | {"password": None}

    def list(self, request):
        """List affiliates, newest first."""
        return self.list_page(self.account.affiliates.not_deleted().newest_first())

    def create(self, request):
        """Create an affiliate; it is in no program until it is added to one."""
        affiliate = create_affiliate(
            self.account,
            data=build_person_data(self.validated_body),
            password=self.password,
            at=self.at,
        )
        if wants_welcome_mail(self.request):
            send_welcome_mail(self.account, affiliate, at=self.at)
        row = self.get_row(affiliate_by_slug, AffiliateNotFound, slug=affiliate.slug)
        return self.render_row((*row, self.password.generated))

    def retrieve(self, request, affiliate_id):
        """Retrieve an affiliate."""
        return self.render_key(affiliate_id)

    def partial_update(self, request, affiliate_id):
        """Update an affiliate; company and address are replaced as a whole."""
        get_affiliate(self.account, affiliate_id)
        changes = build_affiliate_changes(self.validate_body())
        update_affiliate(self.account, affiliate_id=affiliate_id, changes=changes, at=self.at)
        return self.render_key(affiliate_id)

    def destroy(self, request, affiliate_id):
        """Delete an affiliate; its commissions and balances remain."""
        delete_affiliate(self.account, affiliate_id=affiliate_id, at=self.at)
        return self.render_no_content()

    def list_custom_fields(self, request):
        """List the custom fields of affiliates, in the order of definition."""
        return self.list_page(self.account.field_definitions.in_definition_order())
