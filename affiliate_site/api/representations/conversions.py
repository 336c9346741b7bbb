"""Representations of conversions, commissions and payments."""

from collections import defaultdict

from rest_framework import serializers

from affiliate_site.api.fields import ExactAmountField
from affiliate_site.api.representations.nested import (
    AffiliateSummarySerializer,
    ClickSummarySerializer,
    ProgramSummarySerializer,
    represent_affiliate_summary,
    represent_click_summary,
    represent_program_summary,
)
from payouts.models.commissions import is_final


class CustomerSummarySerializer(serializers.Serializer):
    """A summary of a customer."""

    id = serializers.CharField()
    customer_id = serializers.CharField()
    status = serializers.CharField()


def represent_customer_summary(row) -> dict | None:
    """Represent the columns `customer__…`; None without a customer or if deleted."""
    if row["customer__public_id"] is None or row["customer__deleted_at"]:
        return None
    return {
        "id": row["customer__public_id"],
        "customer_id": row["customer__customer_id"],
        "status": row["customer__status"],
    }


class PayoutReferenceSerializer(serializers.Serializer):
    """The payment of a commission."""

    id = serializers.CharField()


def represent_payout_reference(row) -> dict | None:
    """Represent the columns `payment__…`; None while unpaid."""
    if row["payment__public_id"] is None:
        return None
    return {"id": row["payment__public_id"]}


class NestedCommissionSerializer(serializers.Serializer):
    """A commission inside its conversion."""

    id = serializers.IntegerField()
    conversion_sub_amount = ExactAmountField(allow_null=True)
    amount = ExactAmountField()
    commission_type = serializers.CharField()
    approved = serializers.BooleanField(allow_null=True)
    affiliate = AffiliateSummarySerializer()
    kind = serializers.CharField()
    currency = serializers.CharField()
    created_at = serializers.DateTimeField()
    payout = PayoutReferenceSerializer(allow_null=True)
    comment = serializers.CharField(allow_null=True)
    final = serializers.BooleanField(allow_null=True)
    commission_name = serializers.CharField()


def represent_nested_commission(row, account) -> dict:
    """Represent a commission inside its conversion."""
    is_null = row["status"] == "pending" and account.pending_as_null
    return {
        "id": row["id"],
        "conversion_sub_amount": row["sub_amount"],
        "amount": row["amount"],
        "commission_type": row["commission_type"],
        "approved": None if is_null else row["status"] == "approved",
        "affiliate": represent_affiliate_summary(row),
        "kind": row["kind"],
        "currency": row["currency"],
        "created_at": row["created_at"],
        "payout": represent_payout_reference(row),
        "comment": row["comment"],
        "final": True if is_final(row["status"], account) else None,
        "commission_name": row["name"],
    }


class ConversionReferenceSerializer(serializers.Serializer):
    """The conversion that a commission belongs to."""

    id = serializers.IntegerField()


def represent_conversion_reference(row) -> dict | None:
    """Represent the conversion of a commission; None for a bonus."""
    if row["conversion_id"] is None:
        return None
    return {"id": row["conversion_id"]}


class CommissionSerializer(NestedCommissionSerializer):
    """A commission."""

    status = serializers.CharField()
    conversion = ConversionReferenceSerializer(allow_null=True)
    finalization_date = serializers.DateTimeField(allow_null=True)


def represent_commission(row, account) -> dict:
    """Represent a commission."""
    has_date = is_final(row["status"], account)
    return represent_nested_commission(row, account) | {
        "status": row["status"],
        "conversion": represent_conversion_reference(row),
        "finalization_date": row["finalized_at"] if has_date else None,
    }


class ConversionSerializer(serializers.Serializer):
    """A conversion."""

    id = serializers.IntegerField()
    external_id = serializers.CharField(allow_null=True)
    amount = ExactAmountField()
    click = ClickSummarySerializer(allow_null=True)
    commissions = NestedCommissionSerializer(many=True)
    program = ProgramSummarySerializer()
    affiliate = AffiliateSummarySerializer()
    customer = CustomerSummarySerializer(allow_null=True)
    meta_data = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    warnings = serializers.ListField(child=serializers.CharField(), allow_null=True)
    affiliate_meta_data = serializers.DictField(
        child=serializers.CharField(), allow_null=True
    )
    tracking_source = serializers.CharField(allow_null=True)


def represent_conversion(row, commissions: list[dict]) -> dict:
    """Represent a conversion with its represented commissions."""
    is_own_click = row["click__affiliate_id"] == row["affiliate_id"]
    return {
        "id": row["id"],
        "external_id": row["external_id"],
        "amount": row["amount"],
        "click": represent_click_summary(row),
        "commissions": commissions,
        "program": represent_program_summary(row),
        "affiliate": represent_affiliate_summary(row),
        "customer": represent_customer_summary(row),
        "meta_data": row["meta_data"],
        "created_at": row["created_at"],
        "warnings": row["warnings"],
        "affiliate_meta_data": row["click__meta_data"] if is_own_click else None,
        "tracking_source": row["tracking_source"],
    }


def represent_conversions(rows, account) -> list[dict]:
    """Represent conversions; one more query loads all their commissions."""
    nested = defaultdict(list)
    ids = [row["id"] for row in rows]
    commissions = account.commissions.not_deleted().filter(conversion__in=ids)
    for row in commissions.order_by("id").for_representation():
        nested[row["conversion_id"]].append(represent_nested_commission(row, account))
    return [represent_conversion(row, nested[row["id"]]) for row in rows]


class PaymentSerializer(serializers.Serializer):
    """A payment."""

    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    affiliate = AffiliateSummarySerializer()
    amount = ExactAmountField()
    currency = serializers.CharField()


def represent_payment(row) -> dict:
    """Represent a payment."""
    return {
        "id": row["public_id"],
        "created_at": row["created_at"],
        "affiliate": represent_affiliate_summary(row),
        "amount": row["amount"],
        "currency": row["currency"],
    }
