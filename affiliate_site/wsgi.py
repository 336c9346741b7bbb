"""WSGI application; it receives the body of a request before Django handles it."""

import errno
import io
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")

ANSWER_DELAY_SECONDS = 2  # for the way of an answer
DATA_MAX_SIZE = settings.DATA_UPLOAD_MAX_MEMORY_SIZE


UNKNOWN_TYPE = "application/octet-stream; charset=unknown"  # is refused

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
    """Receive the body, then call Django.

    So no answer leaves a part of the body on the connection, and nothing is done for a
    body that ends early: a form would be valid without its end.
    """
    stream = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH", "")
    size = int(length) if length.isdecimal() else 0
    if "HTTP_TRANSFER_ENCODING" in environ:
        # A proxy buffers requests. Without one, chunks can be so small that reading
        # them holds a worker: Django answers 411.
        if settings.TRUSTED_PROXY_COUNT:
            del environ["HTTP_TRANSFER_ENCODING"]
            # One byte above the limit is enough for Django to reject the body.
            body = stream.read(DATA_MAX_SIZE + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
    elif size <= settings.RECEIVED_BODY_MAX_SIZE:
        is_form = environ.get("PATH_INFO", "").startswith("/admin/")
        most = settings.FORM_MAX_SIZE if is_form else DATA_MAX_SIZE
        environ["wsgi.input"] = io.BytesIO(receive_body(stream, size, most))
    if not is_content_type(environ.get("CONTENT_TYPE", "")):
        environ["CONTENT_TYPE"] = UNKNOWN_TYPE
    return django_application(environ, start_response)


def is_content_type(text: str) -> bool:
    """Whether Django can read a `Content-Type`: it raises before any middleware for a
    parameter in a character set that Python does not know."""
    try:
        parse_header_parameters(text)
    except (ValueError, LookupError):
        return False
    return True


def receive_body(stream, size: int, most: int) -> bytes:
    """Read the body; keep nothing of one above `most`: its length is refused."""
    parts = []
    missing = size
    while missing:
        part = stream.read(min(missing, DATA_MAX_SIZE))
        if not part:
            # gunicorn closes the connection without an answer.
            raise ConnectionResetError(errno.ECONNRESET, "the body ended early")
        missing -= len(part)
        if size <= most:
            parts.append(part)
    return b"".join(parts)
