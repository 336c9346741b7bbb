"""What goes out about programs."""

from rest_framework import serializers

from tracking.money import symbol


class ProgramCategoryShape(serializers.Serializer):
    """A kind of program; always null in this version."""

    id = serializers.IntegerField()
    identifier = serializers.CharField()
    title = serializers.CharField()


class ProgramShape(serializers.Serializer):
    """A program."""

    id = serializers.CharField()
    title = serializers.CharField()
    currency = serializers.CharField()
    currency_symbol = serializers.CharField()
    cookie_time = serializers.IntegerField(help_text="days")
    default_landing_page_url = serializers.CharField(allow_null=True)
    recurring = serializers.BooleanField()
    recurring_cap = serializers.IntegerField(allow_null=True)
    recurring_period_days = serializers.IntegerField(allow_null=True)
    program_category = ProgramCategoryShape(allow_null=True)


def program_shape(row) -> dict:
    """A row of `ProgramQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["slug"],
        "title": row["title"],
        "currency": row["currency"],
        "currency_symbol": symbol(row["currency"]),
        "cookie_time": row["cookie_time"],
        "default_landing_page_url": row["landing_page"] or None,
        "recurring": row["recurring"],
        "recurring_cap": row["recurring_cap"],
        "recurring_period_days": row["recurring_period_days"],
        "program_category": None,  # contract 2.7.1: always null in this version
    }
