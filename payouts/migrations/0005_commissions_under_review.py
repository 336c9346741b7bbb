from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0004_refunds_of_days"),
    ]

    operations = [
        migrations.AddField(
            model_name="commission",
            name="under_review_since",
            field=models.DateTimeField(null=True),
        ),
    ]
