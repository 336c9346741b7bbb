"""25 a page, newest first; the `Link` header tells the way."""

from urllib.parse import quote, unquote_plus

PAGE_SIZE = 25
HARMLESS = "!#$%&'()*+,-./:;=?@[\\]^_`{|}~"


def count_rows(rows) -> int:
    """How many rows a list has in all."""
    return rows.count()


def link_header(request, number: int, total: int) -> str:
    """`next`, `last`, `first`, `prev`, in the order that existing clients rely on."""
    last = max(1, -(-total // PAGE_SIZE))
    entries = [("last", last), ("first", 1)]
    if number < last:
        entries.insert(0, ("next", number + 1))
    if number > 1:
        entries.append(("prev", min(number - 1, last)))
    return ", ".join(
        f'<{address_of(request, page)}>; rel="{rel}"' for rel, page in entries
    )


def address_of(request, page: int) -> str:
    """The request's own address with another page: other parameters as sent."""
    query = request.META.get("QUERY_STRING", "")
    kept = [
        part
        for part in query.split("&")
        if part and unquote_plus(part.partition("=")[0]) != "page"
    ]
    kept.append(f"page={page}")
    # As sent, but for what would end the address inside the header.
    kept = [quote(part, safe=HARMLESS) for part in kept]
    return f"{request.scheme}://{request.get_host()}{request.path}?{'&'.join(kept)}"
