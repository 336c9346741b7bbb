"""Answers of `POST /conversions/?dry_run=true` (docs/api-contract.md, section 2.2.3)."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from accounts.models.accounts import Account
from affiliate_site.api.representations.conversions import NewConversionRepresentation
from payouts.services.conversion_creation import create_conversion
from payouts.services.explanation import Explanation, explain_conversion


def preview_conversion(account: Account, **values: Any) -> dict[str, Any]:
    """Return the conversion that `create_conversion` would store, with `explanation`.

    It is stored and rolled back, so that the answer is the real one. The IDs of rows
    that would be new are None.
    """
    with transaction.atomic():
        with transaction.atomic():
            conversion = create_conversion(account, **values)
            answer = NewConversionRepresentation.represent_instance(conversion, account)
            explanation = explain_conversion(account, conversion_id=conversion.pk)
            transaction.set_rollback(True)
        # Within the outer transaction nobody else creates rows with these IDs on SQLite.
        clear_new_ids(account, answer, explanation)
    return answer | {
        "explanation": {
            "conversion": explanation.conversion,
            "attribution": explanation.attribution,
            "commissions": explanation.commissions,
        }
    }


def clear_new_ids(account: Account, answer: dict[str, Any], explanation: Explanation) -> None:
    """Set the IDs to None that no row has any more, after the rollback."""
    conversion, commissions = explanation.conversion, explanation.commissions
    shown = answer["commissions"]
    affiliates = [answer["affiliate"], *(row["affiliate"] for row in shown)]
    customers = [answer["customer"]] if answer["customer"] else []
    clear_unless_stored([answer, conversion], "id", account.conversions)
    clear_unless_stored([*shown, *commissions], "id", account.commissions)
    clear_unless_stored(commissions, "base_commission", account.commissions)
    clear_unless_stored(affiliates, "id", account.affiliates, column="slug")
    clear_unless_stored([conversion, *commissions], "affiliate", account.affiliates, column="slug")
    clear_unless_stored(customers, "id", account.customers, column="public_id")


def clear_unless_stored(
    objects: Sequence[dict[str, Any]], key: str, rows: Any, *, column: str = "pk"
) -> None:
    """Set the `key` of each object to None, unless it is the `column` of a row."""
    found = rows.filter(**{f"{column}__in": {each[key] for each in objects}})
    stored = set(found.values_list(column, flat=True))
    for each in objects:
        if each[key] not in stored:
            each[key] = None
