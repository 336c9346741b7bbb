"""Store what existing affiliates are found by."""

from collections import defaultdict

from django.db import migrations, transaction

from tracking.search import list_suffixes

BATCH_SIZE = 200  # affiliates of a transaction
SEARCHED_FIELDS = ("slug", "firstname", "lastname", "email", "company_name")


def store_suffixes(apps, schema_editor):
    """Store the suffixes of affiliates that have none, in batches."""
    affiliates = apps.get_model("tracking", "Affiliate").objects
    for account in apps.get_model("accounts", "Account").objects.order_by("pk"):
        last_pk = 0
        while batch := list(
            affiliates.filter(account=account, pk__gt=last_pk).order_by("pk")[:BATCH_SIZE]
        ):
            with transaction.atomic():
                store_batch(apps, account, batch)
            last_pk = batch[-1].pk


def store_batch(apps, account, batch):
    """Store the suffixes of these affiliates; leave out those that have some."""
    suffixes = apps.get_model("tracking", "SearchSuffix").objects
    pks = [affiliate.pk for affiliate in batch]
    existing = suffixes.filter(account=account, affiliate__in=pks)
    done = set(existing.values_list("affiliate", flat=True).distinct())
    codes = defaultdict(list)
    for model in ("ReferralCode", "Coupon"):
        rows = apps.get_model("tracking", model).objects.filter(
            account=account,
            enrollment__account=account,
            enrollment__affiliate__in=pks,
        )
        for pk, code in rows.values_list("enrollment__affiliate", "code"):
            codes[pk].append(code)
    suffixes.bulk_create(
        suffixes.model(account=account, affiliate=affiliate, suffix=suffix)
        for affiliate in batch
        if affiliate.pk not in done
        for suffix in list_suffixes(
            [
                *(getattr(affiliate, name) for name in SEARCHED_FIELDS),
                *codes[affiliate.pk],
            ]
        )
    )


class Migration(migrations.Migration):
    atomic = False  # a transaction per batch

    dependencies = [("tracking", "0007_search_suffixes")]

    operations = [migrations.RunPython(store_suffixes, migrations.RunPython.noop)]
