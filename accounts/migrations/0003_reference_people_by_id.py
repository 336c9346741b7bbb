"""Replace e-mail addresses and affiliate IDs made of names in the audit log by row IDs.

The entries cannot be deleted later, so they must not name people. Backwards nothing
changes: the code before shows the row IDs as they are.
"""

from django.db import migrations

from accounts.append_only import MakeAppendOnly

TABLE = "accounts_auditlogentry"
ACTORS_SQL = f"""
UPDATE {TABLE} SET actor = COALESCE(
    (SELECT CASE WHEN account_id IS NULL THEN 'operator ' ELSE 'staff ' END || id
     FROM accounts_user WHERE email = substr({TABLE}.actor, 7)),
    'staff')
WHERE actor LIKE 'staff %@%'
"""  # noqa: S608 - a constant
SUBJECTS_SQL = f"""
UPDATE {TABLE} SET subject = COALESCE(
    (SELECT 'affiliate:' || id FROM tracking_affiliate
     WHERE account_id = {TABLE}.account_id AND slug = substr({TABLE}.subject, 11)),
    subject)
WHERE subject LIKE 'affiliate:%'
"""  # noqa: S608 - a constant


def replace_names_by_ids(apps, schema_editor):
    triggers, vendor = MakeAppendOnly("auditlogentry"), schema_editor.connection.vendor
    with schema_editor.connection.cursor() as cursor:
        for statement in triggers.get_backward_sql(TABLE, vendor):
            cursor.execute(statement)
        cursor.execute(ACTORS_SQL)
        cursor.execute(SUBJECTS_SQL)
        replace_parents(apps)
        for statement in triggers.get_forward_sql(TABLE, vendor):
            cursor.execute(statement)


def replace_parents(apps):
    """Replace the ID of the parent in the details of `affiliate.updated`."""
    entries = apps.get_model("accounts", "AuditLogEntry").objects
    affiliates = apps.get_model("tracking", "Affiliate").objects
    rows = entries.filter(kind="affiliate.updated", details__has_key="parent")
    for pk, account, details in list(rows.values_list("pk", "account", "details")):
        if isinstance(details["parent"], str):
            parents = affiliates.filter(account=account, slug=details["parent"])
            parent = parents.values_list("pk", flat=True).first()
            entries.filter(pk=pk).update(details=details | {"parent": parent})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_claims"),
        ("tracking", "0001_initial"),
    ]

    operations = [migrations.RunPython(replace_names_by_ids, migrations.RunPython.noop)]
