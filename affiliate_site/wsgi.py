"""WSGI application; it reads chunked bodies, up to the size limit.

Behind gunicorn, Django sees an empty body for `Transfer-Encoding: chunked`.
"""

import io
import os
from contextlib import suppress

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")

django_application = get_wsgi_application()


def limit_statements() -> None:
    """Limit the statements of requests to ten seconds on PostgreSQL.

    The limit applies to connections opened after this call. Management commands have
    none: `migrate` and `prune` can take minutes on large tables. PgBouncer does not
    support session settings.
    """
    options = settings.DATABASES["default"]["OPTIONS"]
    if "options" in options:
        options["options"] += " -c statement_timeout=10s"


limit_statements()


def application(environ, start_response):
    """Set `CONTENT_LENGTH` of a chunked body, then call Django."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = read_chunked_body(environ["wsgi.input"])
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
    return django_application(environ, start_response)


def read_chunked_body(stream) -> bytes:
    """Read a chunked body; a broken one counts as empty, which is invalid JSON."""
    with suppress(Exception):
        # One byte above the limit is enough for Django to reject the body.
        return stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    return b""
