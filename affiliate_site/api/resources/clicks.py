"""Clicks: `/clicks/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.filters import (
    BaseFilterSet,
    DateFromFilter,
    DateToFilter,
    ReferenceFilter,
    TextFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import MetaDataField
from affiliate_site.api.representations.tracking import (
    ClickRepresentation,
    CreatedClickRepresentation,
    click_by_public_id,
)
from affiliate_site.api.tracking_fields import (
    LenientTextField,
    TrackingParameterField,
    UserAgentField,
    build_tracking_parameters,
    is_missing,
    require_parameters,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ClickNotFound
from tracking.models.clicks import Click, parse_click_id
from tracking.services.clicks import Visit, record_click


class ClickInputSerializer(InputSerializer):
    """A visit by a referral link."""

    referral_code = TrackingParameterField()
    asset_id = TrackingParameterField()
    source_id = TrackingParameterField()
    referrer = LenientTextField()
    landing_page = LenientTextField()
    user_agent = UserAgentField()
    ip = LenientTextField()
    meta_data = MetaDataField(required=False)


class ClickFilterSet(BaseFilterSet):
    """Filters of clicks; `meta_data[key]` alone selects clicks that have the key."""

    program_id = ReferenceFilter(field_name="program")
    affiliate_id = ReferenceFilter(field_name="affiliate")
    date_from = DateFromFilter(field_name="created_at")
    date_to = DateToFilter(field_name="created_at")

    def filter_queryset(self, rows):
        rows = super().filter_queryset(rows)
        key = self.form.cleaned_data.get("meta_data[key]")
        value = self.form.cleaned_data.get("meta_data[value]")
        return rows.with_meta_data(key, value or None) if key else rows


for name in ("meta_data[key]", "meta_data[value]"):
    ClickFilterSet.base_filters[name] = TextFilter(method=lambda rows, name, value: rows)


class ClickViewSet(TenantViewSet):
    """Clicks (docs/api-contract.md, section 2.8)."""

    permission_model = Click
    throttle_rate = {
        "list": RateLimit(900, minutes=1),
        "retrieve": RateLimit(100, minutes=1),
    }
    plan_features = {"list": "clicks", "retrieve": "clicks"}
    tracking_actions = ("create",)
    serializer_classes = {"create": ClickInputSerializer}
    filterset_class = ClickFilterSet
    representation = ClickRepresentation
    row_query = (click_by_public_id, "public_id", ClickNotFound)
    representations = {"create": CreatedClickRepresentation}

    def list(self, request):
        """List clicks, newest first."""
        return self.list_page(self.account.clicks.newest_first())

    def create(self, request):
        """Create a click; every call creates a new one."""
        if is_missing(self.body.get("referral_code")):
            require_parameters(self.body, "asset_id", "source_id")
        click = record_click(self.account, visit=build_visit(self.validate_body()), at=self.at)
        return self.render_row((click.public_id,))

    def retrieve(self, request, click_id):
        """Retrieve a click."""
        public_id = parse_click_id(click_id)
        if public_id is None:
            raise ClickNotFound
        return self.render_key(public_id)


def build_visit(data: dict) -> Visit:
    """Build the service's input; a blank referral code counts as not sent."""
    if is_missing(data.get("referral_code")):
        data.pop("referral_code", None)
    return Visit(
        parameters=build_tracking_parameters(data),
        referrer=data.get("referrer"),
        landing_page=data.get("landing_page"),
        user_agent=data.get("user_agent"),
        ip=data.get("ip"),
        meta_data=data.get("meta_data", {}),
        link_parameter=data.get("link_parameter"),
    )
