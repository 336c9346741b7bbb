"""Why balances differ from the source's after the switch: both sides go on."""

from typing import Any

from django.db.models import Q

from affiliate_site.moving.importing import AccountImport

KEPT_OURS, WORKED_HERE = "kept_ours", "worked_here"


def explain_differences(
    moving: AccountImport, differences: list[dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the differences of `compare_balances` with the reasons for each.

    In `reasons`: `kept_ours`: the source has changed or removed money of the affiliate
    that is ours; `worked_here`: money of the affiliate was posted here since. A
    difference without a reason is an error.
    """
    account, since = moving.account, moving.switched_at
    if since is None:
        return [each | {"reasons": []} for each in differences]
    pks = dict(
        account.affiliates.filter(slug__in=[each["affiliate"] for each in differences]).values_list(
            "slug", "pk"
        )
    )
    posted = account.transfers.filter(
        Q(debit__affiliate__in=pks.values()) | Q(credit__affiliate__in=pks.values()),
        created_at__gt=since,
    ).exclude(actor=moving.actor)
    columns = ("debit__affiliate", "credit__affiliate")
    worked = {pk for pair in posted.values_list(*columns).distinct() for pk in pair}
    explained = []
    for each in differences:
        pk = pks.get(each["affiliate"])
        reasons = [KEPT_OURS] if pk in moving.kept_money else []
        if pk is not None and pk in worked:
            reasons.append(WORKED_HERE)
        explained.append(each | {"reasons": reasons})
    return explained
