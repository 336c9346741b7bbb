"""Mark what pages reported as claims, and index the open ones.

A conversion or customer is a claim if the browser script reported it. A customer that
an API call, postback or approval has relied on since counts as confirmed.
"""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently

BROWSER_CONVERSION = '"order":["customer","coupon","tracking_id"]'
BROWSER_CUSTOMER = '"order":["coupon","tracking_id"]'
BATCH_SIZE = 500


def mark_claims(apps, schema_editor):
    """Set `claim_status` and `is_confirmed` of existing rows, in batches."""
    models_by_name = {
        name: apps.get_model(app, name)
        for app, name in (
            ("tracking", "AttributionRecord"),
            ("tracking", "Conversion"),
            ("tracking", "Customer"),
            ("payouts", "Commission"),
        )
    }
    records = models_by_name["AttributionRecord"].objects
    conversions = models_by_name["Conversion"].objects
    customers = models_by_name["Customer"].objects
    commissions = models_by_name["Commission"].objects
    decided = commissions.exclude(status="pending").values("conversion")
    for pks in _batches(records.filter(inputs__contains=BROWSER_CONVERSION), "conversion"):
        claims = conversions.filter(pk__in=pks)
        claims.filter(pk__in=decided).update(claim_status="reviewed")
        claims.filter(claim_status=None).update(claim_status="open")
    approved = commissions.filter(status="approved").values("conversion")
    is_fact = models.Q(conversions__claim_status=None) | models.Q(conversions__in=approved)
    with_fact = customers.filter(is_fact, conversions__isnull=False).values("pk")
    for pks in _batches(records.filter(inputs__contains=BROWSER_CUSTOMER), "customer"):
        unconfirmed = customers.filter(pk__in=pks).exclude(pk__in=with_fact)
        unconfirmed.update(is_confirmed=False)
    # Customers that were created together with a conversion have no record.
    created_by_claim = customers.filter(
        conversions__claim_status__isnull=False,
        conversions__created_at=models.F("created_at"),
    ).exclude(pk__in=with_fact)
    for pks in _batches(created_by_claim, "pk"):
        customers.filter(pk__in=pks).update(is_confirmed=False)


def _batches(rows, column):
    """Yield lists of a column's values."""
    pks = list(rows.values_list(column, flat=True))
    for start in range(0, len(pks), BATCH_SIZE):
        yield pks[start : start + BATCH_SIZE]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tracking", "0002_claims"),
        ("payouts", "0001_initial"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="attributionrecord",
            index=models.Index(fields=["account", "customer"], name="attribution_of_customer"),
        ),
        AddIndexConcurrently(
            model_name="attributionrecord",
            index=models.Index(fields=["account", "conversion"], name="attribution_of_conversion"),
        ),
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(
                condition=models.Q(("claim_status", "open"), ("deleted_at", None)),
                fields=["account", "affiliate"],
                name="open_claims_of_affiliate",
            ),
        ),
        AddIndexConcurrently(
            model_name="customer",
            index=models.Index(
                condition=models.Q(("is_confirmed", False)),
                fields=["account", "affiliate"],
                name="unconfirmed_customers",
            ),
        ),
        migrations.RunPython(mark_claims, migrations.RunPython.noop),
    ]
