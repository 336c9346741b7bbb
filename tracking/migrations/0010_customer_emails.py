from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [
        ("accounts", "0007_customer_email_keys"),
        ("tracking", "0009_conversions_by_external_id"),
    ]

    operations = [
        migrations.AddField(
            model_name="customer",
            name="email_folded",
            field=models.CharField(max_length=765, null=True),
        ),
        AddIndexConcurrently(
            model_name="customer",
            index=models.Index(
                fields=["account", "email_folded"],
                condition=models.Q(("email_folded__isnull", False)),
                name="customers_by_email",
            ),
        ),
    ]
