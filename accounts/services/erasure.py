"""Erase personal data that deliveries and stored responses contain.

Each function returns how many rows it changed or deleted, and is called within the
transaction of `payouts.services.erasure`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.database_functions import BytesPosition
from accounts.db_compat import BATCH_SIZE, split_into_batches
from accounts.models.accounts import Account, TenantModel
from accounts.models.audit_log import AuditLogEntry
from accounts.models.webhooks import Delivery
from accounts.services.outbox import render_payloads, serialize_content

ERASED_RESPONSE = b"{}"

FindRow = Callable[[AuditLogEntry], models.Model | None]


def update_other_values(rows: models.QuerySet[Any], **values: Any) -> int:
    """Set columns where one of them has another value; return the number of rows."""
    has_other_value = Q()
    for name, value in values.items():
        has_other_value |= ~Q(**{name: value})
    return rows.filter(has_other_value).update(**values)


def rewrite_columns(
    rows: models.QuerySet[Any],
    change: Callable[[Any], None],
    columns: Sequence[str],
) -> int:
    """Change the given columns of rows in Python; return how many rows changed."""
    count, last_pk = 0, 0
    while True:
        batch = list(rows.filter(pk__gt=last_pk).order_by("pk")[:BATCH_SIZE])
        changed = []
        for row in batch:
            before = deepcopy([getattr(row, name) for name in columns])
            change(row)
            if [getattr(row, name) for name in columns] != before:
                changed.append(row)
        rows.bulk_update(changed, columns)
        count += len(changed)
        if len(batch) < BATCH_SIZE:
            return count
        last_pk = batch[-1].pk


def erase_deliveries(
    account: Account,
    *,
    ids: Collection[str],
    texts: Collection[str],
    subjects: Collection[str],
    find_payload_row: FindRow,
) -> int:
    """Erase a person from the deliveries of all endpoints.

    A delivery concerns the person if its event is about one of the `subjects` of the
    audit log, its body has one of the `ids` as a value, or its response or error has
    one of the `texts`. Finished deliveries are deleted. Pending ones get a new body:
    the present state of their object, which `find_payload_row` returns.
    """
    about = Q(pk=None)
    for text in texts:
        about |= Q(response_body__icontains=text) | Q(error__icontains=text)
    pks = set(account.deliveries.filter(about).values_list("pk", flat=True))
    for names in split_into_batches(sorted(subjects)):
        named = account.deliveries.filter(event__account=account, event__subject__in=names)
        pks.update(named.values_list("pk", flat=True))
    for searched in map(_get_json_value, ids):
        rows = account.deliveries.alias(at=BytesPosition("body", searched))
        pks.update(rows.filter(at__gt=0).values_list("pk", flat=True))
    count = 0
    for batch in split_into_batches(sorted(pks)):
        found = account.deliveries.filter(pk__in=batch)
        count += found.filter(due_at=None).delete()[0]
        for delivery in found.select_related("event", "endpoint").order_by("pk"):
            count += _render_again(account, delivery, find_payload_row(delivery.event))
    return count


def _render_again(account: Account, delivery: Delivery, payload_row: models.Model | None) -> int:
    if payload_row is None:
        return account.deliveries.filter(pk=delivery.pk).delete()[0]
    (payload,) = render_payloads(account, [payload_row])
    values: dict[str, Any] = {
        "url": "",
        "body": serialize_content(delivery.endpoint, payload),
        "response_body": "",
        "error": "",
    }
    if all(_read(delivery, name) == value for name, value in values.items()):
        return 0
    delivery.update_row(**values)
    return 1


def _read(row: TenantModel, name: str) -> Any:
    value = getattr(row, name)
    return bytes(value) if isinstance(value, memoryview) else value


def delete_postbacks_of(account: Account, affiliate_id: str) -> int:
    """Delete the postbacks of an affiliate with their deliveries."""
    postbacks = account.webhook_endpoints.filter(affiliate=affiliate_id)
    deleted_deliveries, _ = account.deliveries.filter(endpoint__in=postbacks).delete()
    deleted_postbacks, _ = postbacks.delete()
    return deleted_deliveries + deleted_postbacks


def erase_stored_responses(
    account: Account, *, ids: Collection[str], beginnings: Iterable[bytes]
) -> int:
    """Replace the stored responses that have one of the `ids` as a value by `{}`.

    `beginnings` are parts of a body that name an object by a number. The idempotency
    keys stay used: a repeated request gets the empty object.
    """
    rows, count = account.idempotency_keys.exclude(body=ERASED_RESPONSE), 0
    for searched in [*map(_get_json_value, ids), *beginnings]:
        found = rows.alias(at=BytesPosition("body", searched)).filter(at__gt=0)
        count += found.update(body=ERASED_RESPONSE)
    return count


def _get_json_value(text: str) -> bytes:
    """Return the text as it appears as a value in a JSON object."""
    return f':"{text}"'.encode()
