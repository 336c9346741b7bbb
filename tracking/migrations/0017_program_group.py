"""Call the program group as the API does; the column keeps its name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0016_reason_codes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("program", "group_label", "program_group"),
                migrations.AlterField(
                    "program",
                    "program_group",
                    models.CharField(blank=True, db_column="group_label", max_length=255),
                ),
            ]
        )
    ]
