"""Endpoints that succeed or fail on demand, for tests of the request pipeline.

Used as `@pytest.mark.urls("tests.dummy_endpoints")`; the paths of the site work too.
"""

import sqlite3

from django.db import InterfaceError, OperationalError
from django.urls import path

from accounts.errors import Conflict, InvalidInput, NotFound
from accounts.services.rate_limits import RateLimit
from affiliate_site import urls as site
from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import TextField, TrimmedTextField
from affiliate_site.api.filters import (
    BaseFilterSet,
    BooleanFilter,
    ChoiceFilter,
    DateFromFilter,
    DateToFilter,
    TextFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.programs import ProgramRepresentation
from affiliate_site.api.viewsets import TenantViewSet
from tracking.models.programs import Program

handler400 = site.handler400
handler404 = site.handler404
handler500 = site.handler500

CRASH_MESSAGE = "the very words of the crash"


class DummyError(InvalidInput):
    """An error without a field."""

    message = "Refused for {reason}"


class DummyFieldError(InvalidInput):
    """An error of a field."""

    message = "At most {limit}"
    message_raw = "At most {{ limit }}"
    property_path = "amount"


class DummyNotFound(NotFound):
    """The object does not exist."""

    message = "Dummy not found"


class DummyConflict(Conflict):
    """The object is in a conflicting state."""

    message = "The dummy is in use."
    code = "dummy_in_use"


FAILURES = {
    "crash": RuntimeError(CRASH_MESSAGE),
    "recursion": RecursionError(CRASH_MESSAGE),
    "away": OperationalError(CRASH_MESSAGE),
    "full": OperationalError(CRASH_MESSAGE),
    "cut-off": InterfaceError(CRASH_MESSAGE),
    "refused": DummyError(reason="a reason"),
    "refused-field": DummyFieldError(limit=7),
    "missing": DummyNotFound(),
    "conflict": DummyConflict(),
}


FAILURES["full"].__cause__ = sqlite3.OperationalError("database or disk is full")


class DummySerializer(InputSerializer):
    """A required and an optional field."""

    name = TrimmedTextField()
    note = TextField(required=False)


class DummyFilterSet(BaseFilterSet):
    """One filter of each kind."""

    slug = TextFilter(field_name="slug")
    date_from = DateFromFilter(field_name="created_at")
    date_to = DateToFilter(field_name="created_at")
    recurring = BooleanFilter(field_name="recurring")
    currency = ChoiceFilter(field_name="currency", choices=("EUR", "JPY"))


class DummyViewSet(TenantViewSet):
    """Lists, creates, retrieves, deletes and fails."""

    permission_model = Program
    throttle_rate = {
        "list": RateLimit(3, minutes=1),
        "retrieve": RateLimit(3, minutes=1),
    }
    serializer_classes = {"create": DummySerializer}
    filterset_class = DummyFilterSet
    representation = ProgramRepresentation

    def list(self, request):
        return self.list_page(self.account.programs.newest_first())

    def create(self, request):
        return self.render_response(self.validate_body())

    def retrieve(self, request, name):
        if name in FAILURES:
            raise FAILURES[name]
        if name == "invalid-field":
            raise FieldError("At least {{ limit }}", limit=3)
        return self.render_response({"name": name})

    def destroy(self, request, name):
        return self.render_no_content()


class OtherDummyViewSet(DummyViewSet):
    """Another endpoint, with its own rate limit windows."""


class FeatureDummyViewSet(TenantViewSet):
    """Requires a feature of the enterprise plan."""

    permission_model = Program
    plan_features = {"list": "bonuses"}

    def list(self, request):
        return self.render_response([])


LIST_ACTIONS = {"get": "list", "post": "create"}
DETAIL_ACTIONS = {"get": "retrieve", "delete": "destroy"}

urlpatterns = [
    path("1.6/dummies/", DummyViewSet.as_view(LIST_ACTIONS)),
    path("1.6/dummies/<str:name>/", DummyViewSet.as_view(DETAIL_ACTIONS)),
    path("1.6/other-dummies/", OtherDummyViewSet.as_view(LIST_ACTIONS)),
    path("1.6/bonus-dummies/", FeatureDummyViewSet.as_view({"get": "list"})),
    path("1.6/writing-dummies/", DummyViewSet.as_view({"post": "create"})),
    *site.urlpatterns,
]
