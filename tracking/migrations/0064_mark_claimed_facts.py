"""Mark what shops have said without a signature, so that it stays a claim.

Old code does not read the marks.
"""

from django.db import migrations

BATCH_SIZE = 1000


def mark_claimed(facts):
    if isinstance(facts.get("at"), str):
        return facts | {"claimed": True}
    return {name: mark_claimed(each) for name, each in facts.items()}


def mark_facts(apps, schema_editor):
    Connection = apps.get_model("tracking", "Connection")
    ShopEvent = apps.get_model("tracking", "ShopEvent")
    for connection in Connection.objects.filter(kind="other"):
        signature = connection.settings.get("other", {}).get("signature", {})
        if signature.get("kind") == "address":
            events = ShopEvent.objects.filter(connection=connection)
            events.update(is_claim=True)
            for name in ("ShopOrder", "ShopCustomer"):
                mark_rows(apps.get_model("tracking", name), connection)


def mark_rows(model, connection):
    last = 0
    rows = model.objects.filter(connection=connection).order_by("pk")
    while batch := list(rows.filter(pk__gt=last)[:BATCH_SIZE]):
        last = batch[-1].pk
        for row in batch:
            row.facts = mark_claimed(row.facts)
        model.objects.bulk_update(batch, ["facts"])


class Migration(migrations.Migration):
    dependencies = [("tracking", "0063_claimed_shop_events")]

    operations = [migrations.RunPython(mark_facts, migrations.RunPython.noop)]
