"""A column that says which commissions were added to a conversion later."""

from django.db import migrations, models

from accounts.migration_operations import AddCheckConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddCheckConcurrently

    dependencies = [("payouts", "0008_cancel_reason")]

    operations = [
        migrations.AddField(
            model_name="commission",
            name="is_extra",
            field=models.BooleanField(db_default=False, default=False),
        ),
        AddCheckConcurrently(
            model_name="commission",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_extra", False)) | models.Q(("conversion__isnull", False)),
                name="extra_commission_has_conversion",
            ),
        ),
    ]
