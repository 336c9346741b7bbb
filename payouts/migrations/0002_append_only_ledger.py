from django.db import migrations

from accounts.engines import AppendOnly


class Migration(migrations.Migration):
    """The ledger only grows; both engines see to it."""

    dependencies = [("payouts", "0001_initial")]
    operations = [AppendOnly("transfer")]
