from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0011_transfer_actors"),
        ("tracking", "0015_late_changes"),
    ]

    operations = [
        migrations.AddField(
            model_name="bonus",
            name="granted_until",
            field=models.DateField(null=True),
        ),
    ]
