"""Keep the references of what had settled payments before debits were kept.

It may have been a debit or a report: another reference is for staff to look at.
"""

from hashlib import sha256

from django.db import migrations


def keep_references(apps, schema_editor):
    PayoutLine = apps.get_model("payouts", "PayoutLine")
    rows = PayoutLine.objects.filter(state="settled", debits__isnull=True)
    found = rows.exclude(bank_reference="").values_list("pk", "bank_reference")
    for pk, reference in found.order_by("pk").iterator():
        digest = sha256(reference.encode()).hexdigest()[:16]
        own = PayoutLine.objects.filter(pk=pk, debits__isnull=True)
        own.update(debits={"earlier": [digest]})


def forget_references(apps, schema_editor):
    PayoutLine = apps.get_model("payouts", "PayoutLine")
    PayoutLine.objects.filter(debits__has_key="earlier").update(debits=None)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0033_labels_of_choices")]

    operations = [migrations.RunPython(keep_references, forget_references)]
