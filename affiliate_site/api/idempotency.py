"""Executes a POST with an `Idempotency-Key` once and replays its stored response.

The response is stored in the transaction of the effect. Rules: docs/api-contract.md,
section 1.9.
"""

import hashlib
import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from django.db import OperationalError, transaction
from django.http import HttpResponse
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.db_compat import is_lock_timeout
from accounts.errors import IdempotencyInProgress
from accounts.exact_json import serialize_exact_json
from accounts.models.accounts import Account
from accounts.services.idempotency import (
    claim_key,
    find_stored_response,
    store_response,
)
from affiliate_site.api.errors import FieldError
from affiliate_site.api.parsing import get_raw_body

IDEMPOTENCY_HEADER = "Idempotency-Key"
IDEMPOTENCY_KEY_PATTERN = re.compile(r"[\x20-\x7e]{1,255}")
INVALID_KEY = "Idempotency-Key must be 1 to 255 printable ASCII characters"


class IdempotencyMixin(APIView):
    """Runs the handler of a POST once per `Idempotency-Key`, or replays its response.

    `prepare_request` does what must not happen inside a transaction. `run_action` runs
    the handler; with a key, inside the transaction that stores the response. The
    `atomic_actions` are atomic even without a key: if reading the answer
    fails, nothing is stored.
    """

    atomic_actions: tuple[str, ...] = ()

    account: Account
    action: str
    at: datetime
    prepare_request: Callable[[], None]
    run_action: Callable[[Callable], Response]

    @property
    def is_dry_run(self) -> bool:
        """Whether the request stores nothing, so that its key is not kept."""
        return False

    def dispatch(self, request, *args, **kwargs):
        """Dispatch as DRF does, with `run_once` around the handler."""
        if request.method in self.allowed_methods:
            name = request.method.lower()
            handler = getattr(self, name)
            setattr(self, name, lambda *_args, **_kwargs: self.run_once(handler))
        return super().dispatch(request, *args, **kwargs)

    def run_once(self, handler):
        key = get_idempotency_key(self.request)
        if key is None or self.is_dry_run:
            self.prepare_request()
            is_atomic = self.action in self.atomic_actions
            with transaction.atomic() if is_atomic else nullcontext():
                return self.run_action(handler)
        lookup: dict[str, Any] = {
            "key": key,
            "fingerprint": calculate_fingerprint(self.request),
            "at": self.at,
        }
        stored = find_stored_response(self.account, **lookup)
        if stored is not None:
            return render_replay(stored)
        self.prepare_request()
        has_claimed = False
        try:
            with transaction.atomic(durable=True):
                row, is_new = claim_key(self.account, **lookup)
                has_claimed = True
                if not is_new:
                    return render_replay(row)
                response = self.run_action(handler)
                body = serialize_exact_json(self.get_replay_data(response.data))
                store_response(row, status=response.status_code, body=body)
                return response
        except OperationalError as error:
            if has_claimed or not is_lock_timeout(error):
                raise
            raise IdempotencyInProgress from error

    def get_replay_data(self, data):
        """Return the data that a replay shows; override it to leave out secrets."""
        return data


def get_idempotency_key(request) -> str | None:
    """Return the key of a POST, or None; raise ValidationError if it is invalid."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None or request.method != "POST":
        return None
    if not IDEMPOTENCY_KEY_PATTERN.fullmatch(key):
        raise ValidationError({IDEMPOTENCY_HEADER: FieldError(INVALID_KEY).detail})
    return key


def calculate_fingerprint(request) -> str:
    """Return the SHA-256 digest of method, path, sorted query and raw body."""
    query = "&".join(sorted(request.META.get("QUERY_STRING", "").split("&")))
    head = "\n".join([request.method, request.path, query])
    content = head.encode("utf-8", "surrogatepass") + b"\n" + get_raw_body(request)
    return hashlib.sha256(content).hexdigest()


def render_replay(record) -> HttpResponse:
    """Render the stored response, unchanged to the byte."""
    response = HttpResponse(
        bytes(record.body), status=record.status, content_type="application/json"
    )
    response["Idempotent-Replayed"] = "true"
    return response
