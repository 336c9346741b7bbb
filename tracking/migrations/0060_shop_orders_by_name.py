from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [
        ("accounts", "0019_click_days"),
        ("tracking", "0059_names_of_shop_orders"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="shoporder",
            index=models.Index(
                fields=["account", "name"],
                opclasses=["int8_ops", "varchar_pattern_ops"],
                condition=~models.Q(name=""),
                name="shop_orders_by_name",
            ),
        ),
    ]
