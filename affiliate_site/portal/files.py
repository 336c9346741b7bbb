"""Files to download."""

from django.http import HttpResponse


def send_file(content: bytes, name: str, content_type: str) -> HttpResponse:
    """A file to download."""
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
