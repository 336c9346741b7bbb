"""Programs: `/programs/`."""

from accounts.ids import numbered
from accounts.services.usage import Rate
from affiliate_site.api.filters import ListFilter, Words
from affiliate_site.api.shapes.programs import ProgramShape, program_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ProgramNotFound
from tracking.models.programs import Program


class ProgramFilter(ListFilter):
    """The program of one asset."""

    asset_id = Words(method="by_asset")

    def by_asset(self, rows, name, value):
        number, hex_digits = numbered(value) or (0, "")
        return rows.filter(assets__pk=number, assets__hex=hex_digits)


class ProgramViewSet(TenantViewSet):
    """Spec: Programs."""

    thing = Program
    rates = Rate(1500, minutes=5)
    filters = {"list": ProgramFilter}
    answers = {"list": ProgramShape(many=True), "retrieve": ProgramShape}

    def list(self, request):
        """The account's programs, newest first, archived ones included."""
        return self.page(program_shape, self.account.programs.newest_first())

    def retrieve(self, request, program_id):
        """One program."""
        rows = self.account.programs.filter(slug=program_id)
        return self.answer(program_shape(self.found(rows, ProgramNotFound)))
