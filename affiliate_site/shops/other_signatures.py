"""How events of any other shop are signed: a function for each kind of signature.

`tracking.services.shop_mappings` describes the settings of each. Everything that the
sender chose is compared with what a secret gives in constant time.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from affiliate_site.shops.base import (
    Body,
    Headers,
    WrongSignature,
    ensure_recent,
    ensure_signed,
)
from tracking.errors import UnreadableEvent
from tracking.services.shop_mappings import ADDRESS

FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 1000
NO_FORM = f"The body is no form of at most {MAX_FORM_FIELDS} fields in UTF-8."
NO_SIGNATURE = "This connection does not say yet how its events are signed."
WRONG_SIGNATURE = "The signature does not match the secret of this connection."
WRONG_ADDRESS = "The address does not end with ?secret= and the secret of this connection."
SECRET_PARAMETER = "secret"  # noqa: S105 - the name of a parameter of the address
SECRET_PREFIXES = ("v1,", "whsec_")  # of Base64, as vendors show it
BASIC = "basic "
STANDARD_PREFIXES = ("webhook-", "svix-")
STANDARD_HEADERS = ("id", "timestamp", "signature")

ENCODERS: Mapping[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "base64": lambda digest: b64encode(digest).decode(),
}


@dataclass(frozen=True)
class SignedRequest:
    """What a shop has sent; `parameters` are those of the address."""

    headers: Headers
    parameters: Mapping[str, str]
    raw: bytes
    at: datetime


def verify_signature(
    signature: Mapping[str, Any] | None,
    secrets: Sequence[str],
    request: SignedRequest,
) -> None:
    """Raise `WrongSignature` unless a request is signed with one of the secrets."""
    if not signature:
        raise WrongSignature(NO_SIGNATURE)
    VERIFIERS[signature["kind"]](signature, secrets, request)


def verify_hmac(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """A header has the HMAC of the body."""
    prefix = signature.get("prefix", "")
    sent = request.headers.get(signature["header"], "")
    encoding = signature.get("encoding", "hex")
    if encoding == "hex" and sent.startswith(prefix):
        sent = prefix + sent.removeprefix(prefix).lower()
    encode = ENCODERS[encoding]
    ensure_signed(
        [key for secret in secrets for key in list_keys(secret)],
        [sent],
        lambda key: prefix + encode(hmac.digest(key, request.raw, hashlib.sha256)),
    )


def verify_header(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """A header has the secret itself."""
    sent = request.headers.get(signature["header"], "")
    prefix = signature.get("prefix", "")
    ensure_signed(secrets, [sent], lambda secret: prefix + secret)


def verify_basic(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """The header `Authorization` has user and password, which are the secret."""
    sent = request.headers.get("Authorization", "")
    if sent[: len(BASIC)].lower() == BASIC:
        sent = BASIC + sent[len(BASIC) :].strip()
    ensure_signed(secrets, [sent], lambda secret: BASIC + b64encode(secret.encode()).decode())


def verify_sorted_parameters(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """A field of the form has the SHA-512 of the others, sorted, with the secret.

    Empty fields are not signed, so a body that is read as JSON could hide in them.
    """
    if is_json(request.raw):
        raise WrongSignature(WRONG_SIGNATURE)
    fields = parse_form(request.raw)
    sent = fields.pop(signature["parameter"], "").lower()
    pairs = [(name, value) for name, value in sorted(fields.items()) if value]

    def encode(secret: str, *, decode: Callable[[str], str] = str) -> str:
        signed = "".join(f"{name}={decode(value)}{secret}" for name, value in pairs)
        return hashlib.sha512(signed.encode()).hexdigest()

    try:
        ensure_signed(secrets, [sent], encode)
    except WrongSignature:  # some senders sign what entities of HTML stand for
        ensure_signed(secrets, [sent], lambda secret: encode(secret, decode=unescape))


def verify_address(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """The address has the secret; what it reports is a claim."""
    try:
        sent = request.parameters.get(SECRET_PARAMETER, "")
        ensure_signed(secrets, [sent], str)
    except WrongSignature:
        raise WrongSignature(WRONG_ADDRESS) from None


def verify_standard_webhook(
    signature: Mapping[str, Any], secrets: Sequence[str], request: SignedRequest
) -> None:
    """ID, time and body are signed as Standard Webhooks has it."""
    headers = read_standard_headers(request.headers)
    ensure_recent(headers["webhook-timestamp"], at=request.at)
    for key in [key for secret in secrets for key in list_keys(secret)]:
        try:
            Webhook(key).verify(request.raw, headers, json_parse=False)
        except (
            WebhookVerificationError,
            TypeError,  # characters outside ASCII
            ValueError,
        ):
            continue
        return
    raise WrongSignature(WRONG_SIGNATURE)


VERIFIERS: Mapping[str, Callable[[Mapping[str, Any], Sequence[str], SignedRequest], None]] = {
    "standard_webhooks": verify_standard_webhook,
    "hmac": verify_hmac,
    "header": verify_header,
    "basic": verify_basic,
    "sorted_parameters": verify_sorted_parameters,
    ADDRESS: verify_address,
}


def list_keys(secret: str) -> list[bytes]:
    """Return the keys that a secret may be: its text, or what Base64 or hex it is."""
    keys = [secret.encode()]
    text = secret
    for prefix in SECRET_PREFIXES:
        text = text.removeprefix(prefix)
    for decode in (decode_base64, bytes.fromhex):
        try:
            keys.append(decode(text))
        except ValueError:
            continue
    return [key for key in keys if key]


def decode_base64(text: str) -> bytes:
    """Return what a text is in Base64, also for addresses, with or without padding."""
    standard = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    return b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def read_standard_headers(headers: Headers) -> dict[str, str]:
    """Return the headers of Standard Webhooks, which may begin with `svix-`."""
    found = [prefix for prefix in STANDARD_PREFIXES if headers.get(f"{prefix}id")]
    prefix = [*found, *STANDARD_PREFIXES][0]
    names = STANDARD_HEADERS
    return {f"webhook-{name}": headers.get(f"{prefix}{name}", "") for name in names}


def is_json(raw: bytes) -> bool:
    """Whether a body is meant as JSON; some shops send it with the type of a form."""
    return raw.lstrip().startswith(b"{")


def parse_form(raw: bytes) -> Body:
    """Parse the fields of a form, of repeated ones the last.

    Raises `UnreadableEvent`.
    """
    try:
        pairs = parse_qsl(
            raw.decode(),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MAX_FORM_FIELDS,
        )
    except ValueError:
        pairs = []
    if not pairs:
        raise UnreadableEvent(what=NO_FORM)
    return dict(pairs)
