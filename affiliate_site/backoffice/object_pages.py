"""Pages about one object, in place of the theme's read-only form."""

from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.template.response import TemplateResponse

from affiliate_site.backoffice.form_pages import FormPagesMixin, title_object

PAGE_SIZE = 25  # rows of a section


class ObjectPageMixin(FormPagesMixin):
    """Renders `object_template` for an object, with what `get_object_context` adds.

    `page_urls` of the context has the URLs of the form pages that the user may open
    now, by their names.
    """

    object_template = ""

    def get_object_context(self, request, row) -> dict:
        """What the template shows of the object."""
        raise NotImplementedError

    def change_view(self, request, object_id, form_url="", extra_context=None):
        row = self.get_object(request, unquote(object_id))
        if row is None:
            redirect = self._get_obj_does_not_exist_redirect  # type: ignore[attr-defined]  # missing in the stubs
            return redirect(request, self.opts, object_id)
        if request.method != "GET" or not self.has_view_permission(request, row):
            raise PermissionDenied
        request.current_app = self.admin_site.name
        context = {
            **self.admin_site.each_context(request),
            "title": self.get_object_title(row),
            "opts": self.opts,
            "original": title_object(self, row),
            "media": self.media,
            "page_urls": self.get_page_urls(request, row),
            **self.get_object_context(request, row),
        }
        return TemplateResponse(request, self.object_template, context)


def find_neighbors(row, rows, moment: str = "created_at") -> tuple:
    """The rows before and after this one by a moment, newest first, or None."""
    at = getattr(row, moment)
    newer = Q((f"{moment}__gt", at)) | Q(pk__gt=row.pk)
    older = Q((f"{moment}__lt", at)) | Q(pk__lt=row.pk)
    # The conditions with `gte` and `lte` say nothing new, but an index answers them.
    newer_rows = rows.filter(newer, (f"{moment}__gte", at)).order_by(moment, "id")
    older_rows = rows.filter(older, (f"{moment}__lte", at)).order_by(
        f"-{moment}", "-id"
    )
    return newer_rows.first(), older_rows.first()


class RowPage:
    """One page of rows, newest first, with the URLs of the pages beside it."""

    def __init__(self, request, rows) -> None:
        number = request.GET.get("page", "")
        self.number = int(number) if number.isdecimal() and len(number) < 6 else 1
        self.number = max(self.number, 1)
        offset = (self.number - 1) * PAGE_SIZE
        found = list(rows[offset : offset + PAGE_SIZE + 1])
        self.rows = found[:PAGE_SIZE]
        self.newer_url = self._build_url(request, -1) if self.number > 1 else ""
        self.older_url = self._build_url(request, 1) if len(found) > PAGE_SIZE else ""

    def _build_url(self, request, step: int) -> str:
        query = {"tab": request.GET.get("tab", ""), "page": self.number + step}
        return f"?{urlencode(query)}#sections"
