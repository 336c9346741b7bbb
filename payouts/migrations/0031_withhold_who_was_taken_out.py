"""Withhold the balances that staff have taken out of drafts.

By the audit log, or by the draft: who took them out, and when. The newest draft decides.
"""

from django.db import migrations


def withhold_balances(apps, schema_editor):
    log = apps.get_model("accounts", "AuditLogEntry").objects
    withheld = apps.get_model("payouts", "WithheldBalance").objects
    lines = apps.get_model("payouts", "PayoutLine").objects
    # Lines that a rule leaves out, too, keep the decision in their notes.
    noted = lines.filter(run__state="draft", state__in=["taken_out", "left_out"])
    for line in noted.exclude(note="").select_related("run").order_by("-run", "pk"):
        entries = log.filter(
            account=line.account_id,
            subject=f"payoutrun:{line.run.public_id}",
            kind="payout_run.taken_out",
            details__affiliate_id=line.affiliate_id,
        )
        entry = entries.order_by("-id").first()
        withheld.get_or_create(
            account_id=line.account_id,
            affiliate_id=line.affiliate_id,
            currency=line.currency,
            defaults={
                "reason": line.note,
                "created_by": entry.actor if entry else line.run.created_by,
                "created_at": entry.created_at if entry else line.run.created_at,
            },
        )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("payouts", "0030_withheld_balances"),
    ]

    operations = [migrations.RunPython(withhold_balances, migrations.RunPython.noop)]
