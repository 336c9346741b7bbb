"""Whether an affiliate has not opened the answer to a question yet."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0039_portal_access_of_affiliates")]

    operations = [
        migrations.AddField(
            model_name="question",
            name="is_answer_new",
            field=models.BooleanField(null=True),
        )
    ]
