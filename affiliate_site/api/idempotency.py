"""A POST happens once: its answer is kept beside its effect (contract 1.9)."""

import hashlib
import re

from django.db import OperationalError, transaction
from django.http import HttpResponse
from rest_framework.exceptions import ValidationError

from accounts.engines import waited_too_long
from accounts.errors import IdempotencyInProgress
from accounts.exact_json import exact_json
from accounts.services.idempotency import answer_kept, claim, keep
from affiliate_site.api.errors import Flaw
from affiliate_site.api.parsing import raw_body

HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x20-\x7e]{1,255}")
ODD_KEY = "Idempotency-Key must be 1 to 255 printable ASCII characters"


class Once:
    """Does a request's work, or tells its kept answer again.

    `take_in` reads what was sent, and does what must not happen inside a transaction;
    `perform` does the work.
    """

    def dispatch(self, request, *args, **kwargs):
        """DRF's own steps, but that the work may happen once."""
        self.args, self.kwargs, self.headers = args, kwargs, {}
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            self.initial(self.request, *args, **kwargs)
            response = self.once()
        except Exception as failure:
            response = self.handle_exception(failure)
        self.response = self.finalize_response(self.request, response, *args, **kwargs)
        return self.response

    def once(self):
        request = self.plain_request
        key = key_sent(request)
        if key is None:
            self.take_in()
            return self.perform()
        which = {"key": key, "fingerprint": fingerprint(request), "at": self.at}
        kept = answer_kept(self.account, **which)
        if kept is not None:
            return replayed(kept)
        self.take_in()
        claimed = False
        try:
            with transaction.atomic(durable=True):
                row, first = claim(self.account, **which)
                claimed = True
                if not first:
                    return replayed(row)
                response = self.perform()
                body = exact_json(self.to_keep(response.data))
                keep(row, status=response.status_code, body=body)
                return response
        except OperationalError as error:
            if claimed or not waited_too_long(error):
                raise
            raise IdempotencyInProgress from error

    def to_keep(self, data):
        """What a replay may show of an answer: all of it, unless it holds a secret."""
        return data


def key_sent(request) -> str | None:
    """The key of a POST; None without one. An odd one is refused."""
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return None
    if not KEY.fullmatch(key):
        raise ValidationError({HEADER: Flaw(ODD_KEY).detail})
    return key


def fingerprint(request) -> str:
    """SHA-256 of method, path, sorted query and raw body."""
    query = "&".join(sorted(request.META.get("QUERY_STRING", "").split("&")))
    told = "\n".join([request.method, request.path, query])
    said = told.encode("utf-8", "surrogatepass") + b"\n" + raw_body(request)
    return hashlib.sha256(said).hexdigest()


def replayed(kept) -> HttpResponse:
    """The kept answer, byte for byte."""
    response = HttpResponse(
        bytes(kept.body), status=kept.status, content_type="application/json"
    )
    response["Idempotent-Replayed"] = "true"
    return response
