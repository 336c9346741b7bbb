"""Connections of shops: create, change, switch, rotate the secret.

`Connection.settings` has, each optional:

- `commission_types`: commission type by product ID or SKU
- `coupons`: coupon of an affiliate by the code of the shop, where they differ
- `promotion_codes`: texts of Stripe's promotion codes by ID, of those that are known
- `programs`: rules `{field, value, program}`, the first that fits decides; `field` is
  `currency`, `product` or the name of an attribute of the sale
- `referral_fields`: names of the metadata and attributes that hold a referral
- `includes_tax`, `includes_shipping`: whether they earn commissions
- `includes_gift_cards`: whether a gift card earns when it is bought, and what it pays
  does not; otherwise the reverse
- `reference_may_be_code`: whether Stripe's `client_reference_id` may be a referral
  code; older connections do not say so, and there it may
- `id_prefix`: before the IDs of orders and customers, where two shops of an account
  have the same ones
- `stores_email`: whether customers get their e-mail address as meta data
- `shop_url`: the address of the shop, from which what was missed is read
- `other`: how events of any other shop are read, see `tracking.services.shop_mappings`
- `ready_made`: the name of the ready-made mapping that `other` began with
"""

import re
from collections.abc import Mapping
from copy import copy
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings as site_settings
from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from accounts.errors import InvalidUrl
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_name
from accounts.services.changes import log_event
from accounts.services.retention import delete_in_batches
from accounts.url_safety import parse_url, split_url
from tracking.errors import (
    ConnectionNotFound,
    InvalidConnectionSecret,
    InvalidShopAddress,
    InvalidSourceKey,
    SecretOfAnotherKind,
    UnknownConnectionKind,
)
from tracking.models.programs import Program
from tracking.models.shops import (
    Connection,
    ConnectionKind,
    ConnectionMode,
    RefusalReason,
    RefusedRequest,
)
from tracking.services.shop_mappings import validate_mapping

SECRET_LENGTHS = (8, 255)
# How signing secrets of a kind of shop begin, where all of them do.
SECRET_PREFIXES: Mapping[str, str] = {
    ConnectionKind.STRIPE: "whsec_",
    ConnectionKind.PADDLE: "pdl_ntfset_",
}
# How keys begin that a shop shows beside its signing secret.
KEY_PREFIXES: Mapping[str, tuple[str, ...]] = {
    ConnectionKind.WOOCOMMERCE: ("ck_", "cs_"),
    ConnectionKind.SHOPIFY: ("shpat_", "shpca_", "shppa_", "shpua_"),
}
WRONG_PREFIX = (
    "The signing secret of a webhook of {shop} begins with {prefix}. Keys for its API"
    " are none: copy the secret from the page of the webhook."
)
IS_KEY = (
    "What begins with {prefix} is a key for the API of {shop}. Enter the secret of the webhook."
)
# Of each reason and day, so that strangers cause no more writes.
MAX_REFUSED_COUNT = 100
REFUSAL_RETENTION = timedelta(days=30)
# Reasons that mean that no secret of the connection signed a request.
UNSIGNED = (RefusalReason.NO_SECRET, RefusalReason.SIGNATURE, RefusalReason.TIME)
MAX_ADDRESS_LENGTH = 255
MAX_PREFIX_LENGTH = 32  # of `id_prefix`
PRICING_SETTINGS = (
    "commission_types",
    "includes_tax",
    "includes_shipping",
    "includes_gift_cards",
)
KEY_EXAMPLES: Mapping[str, str] = {
    ConnectionKind.STRIPE: "rk_live_…",
    ConnectionKind.WOOCOMMERCE: "ck_…:cs_…",
    ConnectionKind.SHOPIFY: "shpat_…",
}
REFERENCE_MAY_BE_CODE = "reference_may_be_code"
SHOPIFY_HOST_PATTERN = re.compile(r"[a-z0-9-]+\.myshopify\.com")
SHOPIFY_ADDRESS = "Enter the address that ends with .myshopify.com."
# The names under which shops hand through what a link has; others can be added.
DEFAULT_REFERRAL_FIELDS = (
    "tap_vid",
    "tracking_id",
    "click_id",
    "referral_code",
    "ref",
    "affiliate",
)


def create_connection(
    account: Account,
    *,
    kind: str,
    name: str = "",
    program: Program | None = None,
    secret: str = "",
    mode: str = ConnectionMode.LISTEN,
    settings: Mapping[str, Any] | None = None,
    at: datetime,
) -> Connection:
    """Connect a shop. Without a `secret` it answers 400 until one is set.

    Raises `UnknownConnectionKind`, `InvalidConnectionSecret`, `SecretOfAnotherKind`
    and `InvalidMapping`.
    """
    if kind not in ConnectionKind.values:
        kinds = ", ".join(ConnectionKind.values)
        raise UnknownConnectionKind(kind=kind, kinds=kinds)
    defaults = {REFERENCE_MAY_BE_CODE: False} if kind == ConnectionKind.STRIPE else {}
    title = name or str(ConnectionKind(kind).label)
    validate_name("name", title, path="name")
    validate_settings(settings or {})
    with transaction.atomic():
        connection = account.connections.create(
            public_id=generate_public_id("cn"),
            kind=kind,
            name=title,
            program=program,
            mode=ConnectionMode(mode),
            secrets=[validate_secret(kind, secret)] if secret else [],
            settings={**defaults, **(settings or {})},
            created_at=at,
        )
        log_event(account, "connection.created", connection, at=at, kind=kind)
    return connection


def update_connection(
    account: Account, *, connection_id: str, changes: Mapping[str, Any], at: datetime
) -> Connection:
    """Change `name`, `program`, `mode`, `settings` or `source_key`.

    Raises `InvalidMapping`.
    """
    if "name" in changes:
        validate_name("name", changes["name"], path="name")
    validate_settings(changes.get("settings", {}))
    with transaction.atomic():
        connection = get_connection(account, connection_id, lock=True)
        changed = {
            name: value for name, value in changes.items() if getattr(connection, name) != value
        }
        if changed:
            details: dict[str, Any] = {"fields": sorted(changed)}
            if "mode" in changed:
                details["mode"] = [connection.mode, str(changed["mode"])]
            connection.update_row(**changed)
            log_event(account, "connection.updated", connection, at=at, **details)
    return connection


def validate_settings(settings: Mapping[str, Any]) -> None:
    """Raise `InvalidMapping` if the mapping for any other shop cannot be used."""
    if "other" in settings:
        validate_mapping(settings["other"])


def set_connection_secret(
    account: Account, *, connection_id: str, secret: str, at: datetime
) -> Connection:
    """Set the secret that the shop signs with; the one before stays valid, too.

    Raises `InvalidConnectionSecret` and `SecretOfAnotherKind`.
    """
    with transaction.atomic():
        connection = get_connection(account, connection_id, lock=True)
        new = validate_secret(connection.kind, secret)
        if new in connection.secrets[:1]:
            return connection
        earlier = [each for each in connection.secrets if each != new]
        connection.update_row(secrets=[new, *earlier[:1]], refused_count=0, refused_since=None)
        log_event(account, "connection.updated", connection, at=at, fields=["secret"])
    return connection


def forget_earlier_secret(account: Account, *, connection_id: str, at: datetime) -> Connection:
    """Accept the newest secret only: the rotation is over."""
    with transaction.atomic():
        connection = get_connection(account, connection_id, lock=True)
        if len(connection.secrets) > 1:
            connection.update_row(secrets=connection.secrets[:1])
            log_event(account, "connection.updated", connection, at=at, fields=["secret"])
    return connection


def set_source_key(
    account: Account,
    *,
    connection_id: str,
    key: str = "",
    shop_url: str = "",
    at: datetime,
) -> Connection:
    """Set the key that reads what was missed, and the address of the shop.

    An empty text leaves what is set; but another address needs the key again, so that
    nobody sends it elsewhere who does not know it. Raises `InvalidSourceKey` and
    `InvalidShopAddress`.
    """
    with transaction.atomic():
        connection = get_connection(account, connection_id, lock=True)
        changes: dict[str, Any] = {}
        if key:
            changes["source_key"] = validate_source_key(connection.kind, key)
        if shop_url:
            address = validate_shop_url(connection.kind, shop_url)
            if not key and connection.settings.get("shop_url") != address:
                raise InvalidSourceKey(example=get_key_example(connection.kind))
            changes["settings"] = {**connection.settings, "shop_url": address}
        return update_connection(account, connection_id=connection_id, changes=changes, at=at)


def validate_source_key(kind: str, key: str) -> str:
    """Return the key; the two of WooCommerce are joined by a colon."""
    text = key.strip()
    is_pair = kind == ConnectionKind.WOOCOMMERCE
    shortest, longest = SECRET_LENGTHS
    is_word = text.isascii() and text.isprintable() and " " not in text
    if (
        not is_word
        or not shortest <= len(text) <= longest
        or (is_pair and not all(text.partition(":")))
    ):
        raise InvalidSourceKey(example=get_key_example(kind))
    return text


def get_key_example(kind: str) -> str:
    """Return how a key of a kind of shop looks."""
    return KEY_EXAMPLES.get(kind, "key_…")


def validate_shop_url(kind: str, url: str) -> str:
    """Return the address of a shop, to which orders are added as a path."""
    text = url.strip().rstrip("/")
    text = text if "://" in text else f"https://{text}"
    allowed_hosts = site_settings.WEBHOOK_ALLOWED_HOSTS
    try:
        target = parse_url(text, allowed_hosts=allowed_hosts)
    except InvalidUrl as error:
        raise InvalidShopAddress(reason=error.text) from error
    parts = split_url(text)
    is_shopify = kind == ConnectionKind.SHOPIFY and not target.is_allowed
    if is_shopify and (not SHOPIFY_HOST_PATTERN.fullmatch(target.host) or parts.path):
        raise InvalidShopAddress(reason=SHOPIFY_ADDRESS)
    if parts.query or len(text) > MAX_ADDRESS_LENGTH:
        raise InvalidShopAddress(reason="Enter the address of the first page only.")
    return text


def validate_secret(kind: str, secret: str) -> str:
    """Return the secret without surrounding space.

    Raises `InvalidConnectionSecret`, and `SecretOfAnotherKind` for what is none of this
    kind of shop.
    """
    text = secret.strip()
    shortest, longest = SECRET_LENGTHS
    if not shortest <= len(text) <= longest or not text.isprintable():
        raise InvalidConnectionSecret
    shop = ConnectionKind(kind).label
    prefix = SECRET_PREFIXES.get(kind, "")
    if not text.startswith(prefix):
        raise SecretOfAnotherKind(what=WRONG_PREFIX.format(shop=shop, prefix=prefix))
    for prefix in KEY_PREFIXES.get(kind, ()):
        if text.startswith(prefix):
            raise SecretOfAnotherKind(what=IS_KEY.format(shop=shop, prefix=prefix))
    return text


def get_connection(account: Account, connection_id: str, *, lock: bool = False) -> Connection:
    """Get a connection of the account; raise `ConnectionNotFound`."""
    error = ConnectionNotFound(connection=connection_id)
    return get_or_raise(account.connections, error, lock=lock, public_id=connection_id)


def find_connection(connection_id: str) -> Connection | None:
    """Find a connection that is not off, of any account, by the ID in its address."""
    rows = Connection.objects.across_accounts().exclude(mode=ConnectionMode.OFF)
    return rows.select_related("account").filter(public_id=connection_id).first()


def count_refusal(connection: Connection, reason: RefusalReason, *, at: datetime) -> None:
    """Count a request that was refused; nothing of its content is stored."""
    account = connection.account
    day = account.get_day(at)
    counts = account.refused_requests.filter(connection=connection, day=day, reason=reason)
    known = counts.values_list("count", flat=True).first()
    if known is None:
        row = RefusedRequest(
            account=account, connection=connection, day=day, reason=reason, last_at=at
        )
        unique_fields = ("account", "connection", "day", "reason")
        with transaction.atomic():
            account.refused_requests.insert_or_ignore(row, unique_fields=unique_fields)
    elif known < MAX_REFUSED_COUNT:
        below = counts.filter(count__lt=MAX_REFUSED_COUNT)
        below.update(count=F("count") + 1, last_at=at)
    if reason not in UNSIGNED or connection.refused_count >= MAX_REFUSED_COUNT:
        return
    rows = connection.account.connections.filter(
        pk=connection.pk, refused_count__lt=MAX_REFUSED_COUNT
    )
    rows.update(
        refused_count=F("refused_count") + 1,
        refused_since=Coalesce("refused_since", at),
    )


def forget_refusals(connection: Connection) -> None:
    """Begin to count again, because a request had a valid signature."""
    if connection.refused_count:
        connection.update_row(refused_count=0, refused_since=None)


def list_refused_requests(connection: Connection) -> list[RefusedRequest]:
    """List what was refused of a connection by day and reason, the newest first."""
    rows = connection.account.refused_requests.filter(connection=connection)
    return list(rows.order_by("-day", "-last_at", "-id"))


def count_refused_requests(account: Account, *, since: date) -> int:
    """Count the requests to connections that were refused since a day."""
    rows = account.refused_requests.filter(day__gte=since)
    return rows.aggregate(total=Sum("count"))["total"] or 0


def delete_expired_refusals(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete the counts that are older than `REFUSAL_RETENTION`."""
    until = account.get_day(at - REFUSAL_RETENTION)
    expired = account.refused_requests.filter(day__lt=until)
    return delete_in_batches(expired, dry_run=dry_run)


def pick_pricing(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that say what a sale is worth; an order keeps them."""
    return {name: settings[name] for name in PRICING_SETTINGS if settings.get(name)}


def with_pricing(connection: Connection, pricing: Mapping[str, Any]) -> Connection:
    """Return a copy of a connection with other settings of `pick_pricing`."""
    others = connection.settings.items()
    changed = copy(connection)
    changed.settings = {
        name: value for name, value in others if name not in PRICING_SETTINGS
    } | dict(pricing)
    return changed


def list_connections(account: Account) -> list[Connection]:
    """Return the connections of an account, the oldest first."""
    return list(account.connections.select_related("program").order_by("id"))
