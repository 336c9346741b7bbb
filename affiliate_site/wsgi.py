"""WSGI application; it reads chunked bodies, up to the size limit.

Behind gunicorn, Django sees an empty body for `Transfer-Encoding: chunked`.
"""

import io
import os
from contextlib import suppress

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")

ANSWER_DELAY_SECONDS = 2  # for the way of an answer

django_application = get_wsgi_application()


def limit_statements() -> None:
    """Limit the statements of requests on PostgreSQL, for connections opened later.

    Management commands have no limit: `migrate` and `prune` can take minutes on large
    tables. PgBouncer does not support session settings: there it is the role's limit.
    The client waits a little longer, in case that the server does not answer at all.
    """
    seconds = settings.TIME_LIMITS["statement_timeout"]
    for database in settings.DATABASES.values():
        if database["ENGINE"] != "affiliate_site.postgresql":
            continue
        database["ANSWER_SECONDS"] = seconds + ANSWER_DELAY_SECONDS
        if "options" in database["OPTIONS"]:
            database["OPTIONS"]["options"] += f" -c statement_timeout={seconds}s"


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
