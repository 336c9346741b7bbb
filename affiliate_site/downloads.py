"""Files to download: each says by the ending of its name what it is."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from affiliate_site.cells import iterate_csv
from affiliate_site.workbooks import limit_rows, render_workbook

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "zip": "application/zip",
}


def send_file(content: bytes | str, name: str, *, as_attachment: bool = True) -> HttpResponse:
    """A file to download, or to show; its name may have any characters."""
    return HttpResponse(content, **_describe(name, as_attachment=as_attachment))


def stream_file(parts: Iterable[bytes | str], name: str) -> StreamingHttpResponse:
    """A file to download that is made while it is sent."""
    return StreamingHttpResponse(parts, **_describe(name, as_attachment=True))


def send_table(
    title: str, columns: Sequence[Any], chunks: Iterable[Iterable[Sequence[Any]]], name: str
) -> HttpResponseBase:
    """Chunks of lines as a CSV file, which is made while it is sent, or as a workbook, as
    the ending of the name says. Raises `ExportTooLarge`."""
    if name.endswith(".csv"):
        titles = [it.title for it in columns]
        return stream_file(iterate_csv(chain([[titles]], chunks)), name)
    lines = limit_rows(chain.from_iterable(chunks))
    return send_file(render_workbook(title, columns, lines), name)


def _describe(name: str, *, as_attachment: bool) -> dict[str, Any]:
    printable = "".join(each for each in name if each.isprintable())
    return {
        "content_type": CONTENT_TYPES[name.rpartition(".")[2]],
        "headers": {"Content-Disposition": content_disposition_header(as_attachment, printable)},
    }
