"""Conversions, commissions, payments and alerts."""

from datetime import datetime
from typing import Any

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from affiliate_site.api.representations.base import (
    ACCOUNT,
    Amount,
    Boolean,
    Choice,
    Integer,
    List,
    Nested,
    NestedList,
    Representation,
    Text,
    TextMap,
    Time,
)
from affiliate_site.api.representations.nested import (
    AffiliateSummaryRepresentation,
    ClickSummaryRepresentation,
    ProgramSummaryRepresentation,
)
from payouts.models.alerts import Alert
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
    is_finalized,
)
from payouts.models.payments import Payment
from payouts.services.alerts import get_watch_title
from payouts.services.watches import USUAL_DAYS, WATCHES
from tracking.models.conversions import Conversion
from tracking.models.customers import CustomerStatus


class CustomerSummaryRepresentation(Representation):
    """A summary of a customer."""

    id = Text("public_id", example="cu_Tq4mR8sLx2Vb7NcD")
    customer_id = Text(example="member-2041")
    status = Choice(choices=CustomerStatus.values, example="paying")


class PayoutReferenceRepresentation(Representation):
    """The payment of a commission."""

    id = Text("public_id", example="pa_Hd5kW9zQe3Yt6MrA")


def get_approval(status: str, account: Account) -> bool | None:
    """Return whether a commission is approved; pending ones may be shown as null."""
    if status == CommissionStatus.PENDING and account.pending_as_null:
        return None
    return status == CommissionStatus.APPROVED


def get_finality(status: str, account: Account) -> bool | None:
    """Return whether a commission is final; None if not."""
    return is_finalized(status, account) or None


def get_finalization_date(
    status: str, finalized_at: datetime | None, account: Account
) -> datetime | None:
    """Return when a commission became final; None if it is not."""
    return finalized_at if is_finalized(status, account) else None


class NestedCommissionRepresentation(Representation):
    """A commission inside its conversion."""

    model = Commission

    id = Integer(example=391)
    conversion_sub_amount = Amount("sub_amount", null=True, example=64.5)
    amount = Amount(example=6.45)
    commission_type = Text(example="standard")
    approved = Boolean("status", ACCOUNT, function=get_approval, null=True, example=True)
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate")
    kind = Choice(choices=CommissionKind.values, example="regular")
    currency = Text(example="EUR")
    created_at = Time(example="2026-05-07T10:02:45+00:00")
    payout = Nested(PayoutReferenceRepresentation, "payment", null=True)
    comment = Text(null=True)
    final = Boolean("status", ACCOUNT, function=get_finality, null=True)
    commission_name = Text("name", example="Standard")


class ConversionReferenceRepresentation(Representation):
    """The conversion that a commission belongs to."""

    id = Integer(example=207)


class CommissionRepresentation(NestedCommissionRepresentation):
    """A commission."""

    status = Choice(choices=CommissionStatus.values, example="approved")
    conversion = Nested(ConversionReferenceRepresentation, "conversion", null=True)
    finalization_date = Time(
        "status", "finalized_at", ACCOUNT, function=get_finalization_date, null=True
    )


@compiled
def commission_by_id(account: Account, pk: int) -> Any:
    """The commission with this id, unless its conversion is deleted."""
    rows = Commission.objects.of(account).not_deleted()
    return CommissionRepresentation.select(rows.filter(pk=pk))


@compiled
def commissions_of_conversions(account: Account, parents: list[int]) -> Any:
    """The commissions of conversions, in the order of their creation."""
    rows = Commission.objects.of(account).not_deleted()
    return NestedCommissionRepresentation.select(
        rows.filter(conversion__pk__in=parents).order_by("id"), "conversion_id"
    )


def get_own_meta_data(
    meta_data: dict | None, click_affiliate: int | None, affiliate: int
) -> dict | None:
    """Return the meta data of a click, if the affiliate is that of the conversion."""
    return meta_data if click_affiliate == affiliate else None


class ConversionRepresentation(Representation):
    """A conversion."""

    model = Conversion

    id = Integer(example=207)
    external_id = Text(null=True, example="basket-8821")
    amount = Amount(example=64.5)
    click = Nested(ClickSummaryRepresentation, "click", null=True)
    commissions = NestedList(
        NestedCommissionRepresentation,
        commissions_of_conversions,
        stored_in="created_commissions",
    )
    program = Nested(ProgramSummaryRepresentation, "program")
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate")
    customer = Nested(CustomerSummaryRepresentation, "customer", null=True, hidden_by="deleted_at")
    meta_data = TextMap(example={"channel": "web"})
    created_at = Time(example="2026-05-07T10:02:45+00:00")
    warnings = List(null=True)
    affiliate_meta_data = TextMap(
        "click__meta_data",
        "click__affiliate_id",
        "affiliate_id",
        function=get_own_meta_data,
        null=True,
        example={"subid1": "may-letter"},
    )
    tracking_source = Text(null=True, example="click")


class NewAffiliateSummaryRepresentation(AffiliateSummaryRepresentation):
    """A summary of an affiliate; a dry run may promote a prospect, without an id."""

    id = Text("slug", null=True, example="noraweld")


class NewCustomerSummaryRepresentation(CustomerSummaryRepresentation):
    """A summary of a customer; that of a dry run may have no id."""

    id = Text("public_id", null=True, example="cu_Tq4mR8sLx2Vb7NcD")


class NewCommissionRepresentation(NestedCommissionRepresentation):
    """A commission inside a new conversion; that of a dry run has no id."""

    id = Integer(null=True, example=391)
    affiliate = Nested(NewAffiliateSummaryRepresentation, "affiliate")


class NewConversionRepresentation(ConversionRepresentation):
    """A new conversion; that of a dry run has no id."""

    id = Integer(null=True, example=207)
    commissions = NestedList(
        NewCommissionRepresentation, commissions_of_conversions, stored_in="created_commissions"
    )
    affiliate = Nested(NewAffiliateSummaryRepresentation, "affiliate")
    customer = Nested(
        NewCustomerSummaryRepresentation, "customer", null=True, hidden_by="deleted_at"
    )


@compiled
def conversion_by_id(account: Account, pk: int) -> Any:
    """The conversion with this id, unless it is deleted."""
    rows = Conversion.objects.of(account).not_deleted()
    return ConversionRepresentation.select(rows.filter(pk=pk))


class PaymentRepresentation(Representation):
    """A payment."""

    model = Payment

    id = Text("public_id", example="pa_Hd5kW9zQe3Yt6MrA")
    created_at = Time(example="2026-06-01T06:00:00+00:00")
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate")
    amount = Amount(example=6.45)
    currency = Text(example="EUR")


@compiled
def payment_by_public_id(account: Account, public_id: str) -> Any:
    """The payment with this id, unless it is canceled."""
    rows = Payment.objects.of(account).not_canceled()
    return PaymentRepresentation.select(rows.filter(public_id=public_id))


class AlertRepresentation(Representation):
    """An alert: what a watch found."""

    model = Alert

    id = Integer(example=12)
    watch = Choice(choices=list(WATCHES), example="no_clicks")
    title = Text("watch", function=get_watch_title, example="No clicks")
    text = Text(
        example=f"No click in Lamps on 2026-05-29 or later; 412 in the {USUAL_DAYS} days before."
    )
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate", null=True)
    created_at = Time(example="2026-06-01T06:00:00+00:00")
