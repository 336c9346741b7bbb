"""Endpoints for the tests of the door: they need no resource, and misbehave on demand.

Used as `@pytest.mark.urls("tests.probes")`; the site's own paths are beside them.
"""

from django.db import InterfaceError, OperationalError
from django.urls import path

from accounts.errors import Conflict, Missing, Rejected
from accounts.services.usage import Rate
from affiliate_site import urls as site
from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import Lookup, Text
from affiliate_site.api.filters import Choice, From, ListFilter, Switch, Until, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.programs import program_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.models.programs import Program

handler400 = site.handler400
handler404 = site.handler404
handler500 = site.handler500

CRASH = "the very words of the crash"


class Refused(Rejected):
    """A refusal that speaks of no field."""

    message = "Refused for {reason}"


class RefusedField(Rejected):
    """A refusal that names its field."""

    message = "At most {limit}"
    message_raw = "At most {{ limit }}"
    property_path = "amount"


class ProbeNotFound(Missing):
    """There is no such probe."""

    message = "Probe not found"


class ProbeIsShut(Conflict):
    """A probe in the wrong state."""

    message = "The probe is shut."
    code = "probe_shut"


FAILURES = {
    "crash": RuntimeError(CRASH),
    "recursion": RecursionError(CRASH),
    "away": OperationalError(CRASH),
    "cut-off": InterfaceError(CRASH),
    "refused": Refused(reason="a reason"),
    "refused-field": RefusedField(limit=7),
    "missing": ProbeNotFound(),
    "conflict": ProbeIsShut(),
}


class ProbeInput(Input):
    """One field that must be sent, and one that need not be."""

    name = Lookup()
    note = Text(required=False)


class ProbeFilter(ListFilter):
    """One filter of each kind."""

    slug = Words(field_name="slug")
    date_from = From(field_name="created_at")
    date_to = Until(field_name="created_at")
    recurring = Switch(field_name="recurring")
    currency = Choice(field_name="currency", choices=("EUR", "JPY"))


class ProbeViewSet(TenantViewSet):
    """Reads, lists, fails."""

    thing = Program
    rates = {"list": Rate(3, minutes=1), "retrieve": Rate(3, minutes=1)}
    reads = {"create": ProbeInput}
    filters = {"list": ProbeFilter}

    def list(self, request):
        return self.page(program_shape, self.account.programs.newest_first())

    def create(self, request):
        return self.answer(self.read())

    def retrieve(self, request, name):
        if name in FAILURES:
            raise FAILURES[name]
        if name == "flaw":
            raise Flaw("At least {{ limit }}", limit=3)
        return self.answer({"name": name})

    def destroy(self, request, name):
        return self.nothing()


class RivalProbeViewSet(ProbeViewSet):
    """Another endpoint, with windows of its own."""


class BonusProbeViewSet(TenantViewSet):
    """Needs a feature that only the largest plan has."""

    thing = Program
    features = {"list": "bonuses"}

    def list(self, request):
        return self.answer([])


COLLECTION = {"get": "list", "post": "create"}
ITEM = {"get": "retrieve", "delete": "destroy"}

urlpatterns = [
    path("1.6/probes/", ProbeViewSet.as_view(COLLECTION)),
    path("1.6/probes/<str:name>/", ProbeViewSet.as_view(ITEM)),
    path("1.6/rival-probes/", RivalProbeViewSet.as_view(COLLECTION)),
    path("1.6/bonus-probes/", BonusProbeViewSet.as_view({"get": "list"})),
    path("1.6/writing-probes/", ProbeViewSet.as_view({"post": "create"})),
    *site.urlpatterns,
]
