"""Fill the columns of claims from warnings and from the audit log, in batches."""

from django.db import migrations

BATCH_SIZE = 500


def fill_columns(apps, schema_editor):
    """Mark contested rows, and claims whose amount no key and no staff has changed."""
    conversions = apps.get_model("tracking", "Conversion").objects
    customers = apps.get_model("tracking", "Customer").objects
    log = apps.get_model("accounts", "AuditLogEntry").objects
    for rows, warning in (
        (conversions, "contested_claim"),
        (customers, "contested_customer"),
    ):
        for batch in _read_batches(rows.exclude(warnings__isnull=True), "warnings"):
            contested = [pk for pk, _, warnings in batch if warning in warnings]
            rows.filter(pk__in=contested).update(is_contested=True)
    for batch in _read_batches(conversions.exclude(claim_status=None), "pk"):
        subjects = {f"conversion:{pk}": pk for pk, *_ in batch}
        changed = log.filter(
            account__in={account for _, account, _ in batch},
            subject__in=subjects,
            kind="conversion.updated",
            details__has_key="amount",
        )
        stated = {subjects[name] for name in changed.values_list("subject", flat=True)}
        claimed = conversions.filter(pk__in=set(subjects.values()) - stated)
        claimed.update(is_amount_claimed=True)


def _read_batches(rows, column):
    """Yield lists of primary key, account and a column, in the order of the keys."""
    last, rows = 0, rows.order_by("pk").values_list("pk", "account", column)
    while batch := list(rows.filter(pk__gt=last)[:BATCH_SIZE]):
        last = batch[-1][0]
        yield batch


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0015_logo_and_link_color"),
        ("tracking", "0013_claim_columns"),
    ]

    operations = [migrations.RunPython(fill_columns, migrations.RunPython.noop)]
