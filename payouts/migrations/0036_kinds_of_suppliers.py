"""Kinds of suppliers, and the numbers that tax rules ask for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0020_key_role_proxy"),
        ("payouts", "0035_delete_transfers_with_account"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="taxrule",
            name="one_tax_rule_per_country",
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="requires_documents",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="taxdata",
            name="is_small_business",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="taxdata",
            name="legal_name",
            field=models.CharField(blank=True, db_default="", default="", max_length=140),
        ),
        migrations.AddField(
            model_name="taxdata",
            name="tax_number",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
        migrations.AddField(
            model_name="taxrule",
            name="is_small_business",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="taxrule",
            name="required_number",
            field=models.CharField(
                blank=True,
                choices=[
                    (None, "Nothing"),
                    ("either", "A VAT ID or a tax number"),
                    ("vat_id", "A VAT ID"),
                    ("tax_number", "A tax number"),
                    ("reverse_charge", "A VAT ID of another country: reverse charge"),
                ],
                db_default="",
                default="",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="payoutline",
            name="reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("below_minimum", "below the minimum"),
                    ("on_hold", "on hold"),
                    ("no_method", "no payout method"),
                    ("method_incomplete", "payout method incomplete"),
                    ("method_on_hold", "payout method to check"),
                    ("negative_balance", "negative balance"),
                    ("withheld", "withheld by staff"),
                    ("document_incomplete", "document incomplete"),
                ],
                max_length=32,
            ),
        ),
        migrations.AddConstraint(
            model_name="taxrule",
            constraint=models.UniqueConstraint(
                fields=("account", "is_business", "is_small_business", "country"),
                name="one_tax_rule_per_kind_and_country",
            ),
        ),
    ]
