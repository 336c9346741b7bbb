"""Pages of 25, with links to the other pages in the `Link` header.

Rules: docs/api-contract.md, section 1.6.
"""

from urllib.parse import quote, unquote_plus

from rest_framework.pagination import BasePagination
from rest_framework.response import Response

from accounts.services.row_counts import find_counted_list
from affiliate_site.api.representations.pages import count_list

PAGE_SIZE = 25
URL_SAFE_CHARACTERS = "!#$%&'()*+,-./:;=?@[\\]^_`{|}~"


class LinkHeaderPagination(BasePagination):
    """Returns a page as a bare array; a page beyond the last one is empty.

    `paginate_queryset` returns a queryset, and the offset in it of the page.
    `BaseFilterSet` validates `page`, so that one response reports all invalid
    parameters.
    """

    def paginate_queryset(self, queryset, request, view=None):
        self.request = request
        self.page = int(request.query_params.get("page") or 1)
        offset = (self.page - 1) * PAGE_SIZE
        counted_list = find_counted_list(view.account, queryset)
        if counted_list is None:
            self.total = count_list(queryset)
        else:
            count = counted_list.count(view.at, using=queryset.db)
            self.total = count.stored + count.later
        if offset >= self.total:
            return queryset.none(), 0
        if counted_list is not None and offset >= count.later:
            day_end, offset = counted_list.find_day(count, offset)
            queryset = queryset.filter(created_at__lt=day_end)
        return queryset, offset

    def get_paginated_response(self, data):
        link = render_link_header(self.request, self.page, self.total)
        return Response(data, headers={"Link": link})


def render_link_header(request, page: int, total: int, *, page_size: int = PAGE_SIZE) -> str:
    """Return `next`, `last`, `first`, `prev`: existing clients rely on this order."""
    last = max(1, -(-total // page_size))
    entries = [("last", last), ("first", 1)]
    if page < last:
        entries.insert(0, ("next", page + 1))
    if page > 1:
        entries.append(("prev", min(page - 1, last)))
    return ", ".join(f'<{build_page_url(request, page)}>; rel="{rel}"' for rel, page in entries)


def build_page_url(request, page: int) -> str:
    """Return the URL of the request with another `page`."""
    query = request.META.get("QUERY_STRING", "")
    kept = [
        part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != "page"
    ]
    kept.append(f"page={page}")
    # Unchanged, except for characters that would end the URL inside the header.
    kept = [quote(part, safe=URL_SAFE_CHARACTERS) for part in kept]
    return f"{request.scheme}://{request.get_host()}{request.path}?{'&'.join(kept)}"
