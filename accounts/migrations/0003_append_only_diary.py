from django.db import migrations

from accounts.engines import AppendOnly


class Migration(migrations.Migration):
    """The diary only grows; both engines see to it."""

    dependencies = [("accounts", "0002_plans")]
    operations = [AppendOnly("event")]
