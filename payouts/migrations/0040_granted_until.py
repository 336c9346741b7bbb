from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0008_cancel_reason"),
        ("tracking", "0040_late_changes"),
    ]

    operations = [
        migrations.AddField(
            model_name="bonus",
            name="granted_until",
            field=models.DateField(null=True),
        ),
    ]
