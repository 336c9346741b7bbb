"""Clicks: `/clicks/`."""

from accounts.services.usage import Rate
from affiliate_site.api.clues import (
    Clue,
    Hearsay,
    UserAgent,
    clues_of,
    demand,
    is_missing,
)
from affiliate_site.api.filters import From, ListFilter, Until, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import MetaData
from affiliate_site.api.shapes.visitors import (
    ClickIdShape,
    ClickShape,
    click_id_shape,
    click_shape,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ClickNotFound
from tracking.models.clicks import Click
from tracking.services.clicks import Visit, record_click


class ClickInput(Input):
    """A visit through a link."""

    referral_code = Clue()
    asset_id = Clue()
    source_id = Clue()
    referrer = Hearsay()
    landing_page = Hearsay()
    user_agent = UserAgent()
    ip = Hearsay()
    meta_data = MetaData(required=False)


class ClickFilter(ListFilter):
    """`meta_data[key]` alone: has this key; with `meta_data[value]`: equals."""

    program_id = Words(field_name="program__slug")
    affiliate_id = Words(field_name="affiliate__slug")
    date_from = From(field_name="created_at")
    date_to = Until(field_name="created_at")

    def filter_queryset(self, rows):
        rows = super().filter_queryset(rows)
        key = self.form.cleaned_data["meta_data[key]"]
        value = self.form.cleaned_data["meta_data[value]"]
        return rows.with_meta_data(key, value or None) if key else rows


for name in ("meta_data[key]", "meta_data[value]"):
    ClickFilter.base_filters[name] = Words(method=lambda rows, name, value: rows)


class ClickViewSet(TenantViewSet):
    """Spec: Clicks."""

    thing = Click
    rates = {"list": Rate(900, minutes=1), "retrieve": Rate(100, minutes=1)}
    features = {"list": "clicks", "retrieve": "clicks"}
    tracks = ("create",)
    reads = {"create": ClickInput}
    filters = {"list": ClickFilter}
    answers = {
        "list": ClickShape(many=True),
        "create": ClickIdShape,
        "retrieve": ClickShape,
    }

    def list(self, request):
        """The account's clicks, newest first."""
        return self.page(click_shape, self.account.clicks.newest_first())

    def create(self, request):
        """Record a visit; every call makes a new click."""
        if is_missing(self.body.get("referral_code")):
            demand(self.body, "asset_id", "source_id")
        click = record_click(self.account, visit=visit_of(self.read()), at=self.at)
        return self.answer(click_id_shape(click))

    def retrieve(self, request, click_id):
        """One click."""
        rows = self.account.clicks.with_id(click_id)
        return self.answer(click_shape(self.found(rows, ClickNotFound)))


def visit_of(said: dict) -> Visit:
    """What was read, as the service takes it; a blank code counts as not sent."""
    if is_missing(said.get("referral_code")):
        said.pop("referral_code", None)
    return Visit(
        clues=clues_of(said),
        referrer=said.get("referrer"),
        landing_page=said.get("landing_page"),
        user_agent=said.get("user_agent"),
        ip=said.get("ip"),
        meta_data=said.get("meta_data", {}),
    )
