"""Links that confirm another e-mail address of an affiliate."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0029_payout_day")]

    operations = [
        migrations.AddField(
            model_name="portallink",
            name="new_email",
            field=models.CharField(max_length=254, null=True),
        ),
        migrations.AlterField(
            model_name="portallink",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("sign_in", "Sign In"),
                    ("set_password", "Set Password"),
                    ("view", "View"),
                    ("second_factor", "Second Factor"),
                    ("leave_email", "Leave Email"),
                    ("enter_email", "Enter Email"),
                ],
                max_length=16,
            ),
        ),
    ]
