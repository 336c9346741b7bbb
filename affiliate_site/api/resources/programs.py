"""Programs: `/programs/`."""

from accounts.services.usage import Rate
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.shapes.programs import ProgramShape, program_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ProgramNotFound
from tracking.models.programs import Program


class ProgramViewSet(TenantViewSet):
    """Spec: Programs."""

    thing = Program
    rates = Rate(1500, minutes=5)
    filters = {"list": ListFilter}
    answers = {"list": ProgramShape(many=True), "retrieve": ProgramShape}

    def list(self, request):
        """The account's programs, newest first, archived ones included."""
        return self.page(program_shape, self.account.programs.newest_first())

    def retrieve(self, request, program_id):
        """One program."""
        rows = self.account.programs.filter(slug=program_id)
        return self.answer(program_shape(self.found(rows, ProgramNotFound)))
