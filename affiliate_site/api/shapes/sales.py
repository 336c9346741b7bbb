"""What goes out about conversions, commissions and payments."""

from collections import defaultdict

from rest_framework import serializers

from affiliate_site.api.fields import Amount
from affiliate_site.api.shapes.refs import (
    AffiliateRefShape,
    ClickRefShape,
    ProgramRefShape,
    affiliate_ref_shape,
    click_ref_shape,
    program_ref_shape,
)


class CustomerRefShape(serializers.Serializer):
    """A customer, in short."""

    id = serializers.CharField()
    customer_id = serializers.CharField()
    status = serializers.CharField()


def customer_ref_shape(row) -> dict | None:
    """From columns `customer__…`; None without a customer, or after its removal."""
    if row["customer__public_id"] is None or row["customer__removed_at"]:
        return None
    return {
        "id": row["customer__public_id"],
        "customer_id": row["customer__customer_id"],
        "status": row["customer__status"],
    }


class PayoutShape(serializers.Serializer):
    """The payment that covers a commission."""

    id = serializers.CharField()


def payout_shape(row) -> dict | None:
    """From columns `payment__…`; None while nothing covers it."""
    if row["payment__public_id"] is None:
        return None
    return {"id": row["payment__public_id"]}


class NestedCommissionShape(serializers.Serializer):
    """A commission inside its conversion: the spec's thirteen keys."""

    id = serializers.IntegerField()
    conversion_sub_amount = Amount(allow_null=True)
    amount = Amount()
    commission_type = serializers.CharField()
    approved = serializers.BooleanField(allow_null=True)
    affiliate = AffiliateRefShape()
    kind = serializers.CharField()
    currency = serializers.CharField()
    created_at = serializers.DateTimeField()
    payout = PayoutShape(allow_null=True)
    comment = serializers.CharField(allow_null=True)
    final = serializers.BooleanField(allow_null=True)
    commission_name = serializers.CharField()


def nested_commission_shape(row, account) -> dict:
    """A row of `CommissionQuerySet.as_shown`, inside its conversion."""
    waits = row["status"] == "pending" and account.pending_as_null
    return {
        "id": row["id"],
        "conversion_sub_amount": row["sub_amount"],
        "amount": row["amount"],
        "commission_type": row["commission_type"],
        "approved": None if waits else row["status"] == "approved",
        "affiliate": affiliate_ref_shape(row),
        "kind": row["kind"],
        "currency": row["currency"],
        "created_at": row["created_at"],
        "payout": payout_shape(row),
        "comment": row["comment"],
        "final": True if is_final(row, account) else None,
        "commission_name": row["name"],
    }


class ConversionIdShape(serializers.Serializer):
    """The conversion that a commission belongs to."""

    id = serializers.IntegerField()


def conversion_id_shape(row) -> dict | None:
    """From a commission's columns; None for a bonus."""
    if row["conversion_id"] is None:
        return None
    return {"id": row["conversion_id"]}


class CommissionShape(NestedCommissionShape):
    """A commission, standing alone."""

    status = serializers.CharField()
    conversion = ConversionIdShape(allow_null=True)
    finalization_date = serializers.DateTimeField(allow_null=True)


def is_final(row, account) -> bool:
    """Can the decision change no more?"""
    return row["status"] == "approved" and account.uses_payouts


def commission_shape(row, account) -> dict:
    """A row of `CommissionQuerySet.as_shown`, standing alone."""
    return nested_commission_shape(row, account) | {
        "status": row["status"],
        "conversion": conversion_id_shape(row),
        "finalization_date": row["finalized_at"] if is_final(row, account) else None,
    }


class ConversionShape(serializers.Serializer):
    """A conversion."""

    id = serializers.IntegerField()
    external_id = serializers.CharField(allow_null=True)
    amount = Amount()
    click = ClickRefShape(allow_null=True)
    commissions = NestedCommissionShape(many=True)
    program = ProgramRefShape()
    affiliate = AffiliateRefShape()
    customer = CustomerRefShape(allow_null=True)
    meta_data = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    warnings = serializers.ListField(child=serializers.CharField(), allow_null=True)
    affiliate_meta_data = serializers.DictField(
        child=serializers.CharField(), allow_null=True
    )
    tracking_source = serializers.CharField(allow_null=True)


def conversion_shape(row, commissions: list[dict]) -> dict:
    """A row of `ConversionQuerySet.as_shown`, with its commissions as shown."""
    own_click = row["click__affiliate_id"] == row["affiliate_id"]
    return {
        "id": row["id"],
        "external_id": row["external_id"],
        "amount": row["amount"],
        "click": click_ref_shape(row),
        "commissions": commissions,
        "program": program_ref_shape(row),
        "affiliate": affiliate_ref_shape(row),
        "customer": customer_ref_shape(row),
        "meta_data": row["meta_data"],
        "created_at": row["created_at"],
        "warnings": row["warnings"],
        "affiliate_meta_data": row["click__meta_data"] if own_click else None,
        "tracking_source": row["tracking_source"],
    }


def conversion_shapes(rows, account) -> list[dict]:
    """Such rows with all their commissions, by one more statement."""
    nested = defaultdict(list)
    numbers = [row["id"] for row in rows]
    commissions = account.commissions.present().filter(conversion__in=numbers)
    for row in commissions.order_by("id").as_shown():
        nested[row["conversion_id"]].append(nested_commission_shape(row, account))
    return [conversion_shape(row, nested[row["id"]]) for row in rows]


class PaymentShape(serializers.Serializer):
    """A payment."""

    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    affiliate = AffiliateRefShape()
    amount = Amount()
    currency = serializers.CharField()


def payment_shape(row) -> dict:
    """A row of `PaymentQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["public_id"],
        "created_at": row["created_at"],
        "affiliate": affiliate_ref_shape(row),
        "amount": row["amount"],
        "currency": row["currency"],
    }
