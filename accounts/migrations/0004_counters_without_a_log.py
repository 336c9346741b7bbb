from django.db import migrations

from accounts.engines import Unlogged


class Migration(migrations.Migration):
    """Counters may be lost in a crash, so PostgreSQL need not log them."""

    dependencies = [("accounts", "0003_append_only_diary")]
    operations = [Unlogged("ratewindow")]
