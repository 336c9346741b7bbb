"""For gunicorn: gives a body without a length its length, within the limit.

Behind gunicorn Django sees an empty body for `Transfer-Encoding: chunked`.
"""

import io
import os
from contextlib import suppress

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")

django = get_wsgi_application()


def application(environ, start_response):
    """The site as WSGI sees it."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = whole_body(environ["wsgi.input"])
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
    return django(environ, start_response)


def whole_body(stream) -> bytes:
    """A chunked body; broken, it is empty, and refused where a body is read."""
    with suppress(Exception):
        # One byte more than allowed is enough to be refused as too large.
        return stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    return b""
