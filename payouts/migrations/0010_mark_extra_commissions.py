"""Mark the commissions that were added later, in batches.

All others were created with their conversion, or when a claim became a fact.
"""

from django.db import migrations
from django.db.models import F

BATCH_SIZE = 500


def mark_extra_commissions(apps, schema_editor):
    commissions = apps.get_model("payouts", "Commission").objects
    log = apps.get_model("accounts", "AuditLogEntry").objects
    later = commissions.exclude(conversion=None).exclude(created_at=F("conversion__created_at"))
    rows = later.order_by("pk").values_list("pk", "account", "conversion", "created_at")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH_SIZE]):
        last = batch[-1][0]
        confirmed = log.filter(
            account__in={account for _, account, _, _ in batch},
            subject__in={f"conversion:{conversion}" for _, _, conversion, _ in batch},
            kind="conversion.confirmed",
        )
        moments = set(confirmed.values_list("subject", "created_at"))
        extra = [
            pk for pk, _, conversion, at in batch if (f"conversion:{conversion}", at) not in moments
        ]
        commissions.filter(pk__in=extra).update(is_extra=True)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0015_logo_and_link_color"),
        ("payouts", "0009_extra_commissions"),
    ]

    operations = [migrations.RunPython(mark_extra_commissions, migrations.RunPython.noop)]
