"""Files to download."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header


def send_file(content: bytes, name: str, content_type: str) -> HttpResponse:
    """A file to download; its name may have any characters but control characters."""
    printable = "".join(each for each in name if each.isprintable())
    disposition = content_disposition_header(as_attachment=True, filename=printable)
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": disposition or "attachment"},
    )
