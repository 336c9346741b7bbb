"""Tasks about conversions, customers and bonuses."""

from datetime import UTC, datetime
from decimal import Decimal

from django.test import Client

from accounts.db_compat import use_snapshot
from accounts.services.row_counts import CLOSING_DELAY, CountedList, select_rows
from payouts.models.commissions import Commission
from payouts.services.bonus_rules import end_bonus
from payouts.services.bonuses import grant_bonuses
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import (
    delete_conversion,
    get_conversion_by_external_id,
    update_commission,
    update_conversion,
)
from payouts.services.corrections import reattribute_conversion
from payouts.services.refunds import refund_conversion
from tests.program_scenario import build_line_items
from tracking.attribution import TrackingParameters
from tracking.models.conversions import Conversion
from tracking.services.customers import delete_customer, get_customer_by_customer_id

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)


def update_by_external_id_task(account, *, external_id, status=None, recalculate=True, **changes):
    """Update a conversion as a postback does."""
    update_conversion(
        account,
        conversion_id=get_conversion_by_external_id(account, external_id).pk,
        changes=parse_amounts(changes),
        should_recalculate=recalculate,
        status=status,
        at=AT,
    )


def update_conversion_task(account, *, conversion_id, **changes):
    """Update a conversion as PATCH with recalculation does."""
    update_conversion(
        account,
        conversion_id=conversion_id,
        changes=parse_amounts(changes),
        should_recalculate=True,
        at=AT,
    )


def update_sub_amount_task(account, *, commission_id, sub_amount):
    """Change the sub-amount of a commission; its conversion follows."""
    changes = {"sub_amount": Decimal(sub_amount)}
    update_commission(account, commission_id=commission_id, changes=changes, at=AT)


def delete_conversion_task(account, *, conversion_id):
    delete_conversion(account, conversion_id=conversion_id, at=AT)


def delete_conversions_task(account, *, conversion_ids):
    """Delete conversions, one after the other."""
    for conversion_id in conversion_ids:
        delete_conversion(account, conversion_id=conversion_id, at=AT)


def count_rows_task(account, *, day, times):
    """Store row counts, and compare them with the rows in the same snapshot."""
    day_end = datetime.fromisoformat(day).replace(tzinfo=UTC)
    counted_lists = [
        CountedList(account, Conversion),
        CountedList(account, Conversion, "program", account.programs.get().pk),
        CountedList(account, Commission),
    ]
    for _ in range(times):
        for counted_list in counted_lists:
            counted_list.store_days(None, at=day_end + CLOSING_DELAY)
            with use_snapshot():
                count = counted_list.count(day_end)
                rows = select_rows(
                    counted_list.model,
                    account,
                    counted_list.lookup,
                    counted_list.value,
                ).count()
            if (count.stored, count.later) != (rows, 0):
                return f"{count} of {rows} rows"
    return None


def delete_customer_task(account, *, customer_id):
    """Delete a customer."""
    customer = get_customer_by_customer_id(account, customer_id)
    delete_customer(account, public_id=customer.public_id, at=AT)


def sign_up_task(account, **body):
    """Send what a page says of a new customer."""
    body |= {"account": account.slug}
    client = Client(SERVER_NAME="localhost")
    response = client.post("/track/customer/", body, content_type="application/json")
    return None if response.status_code == 204 else response.status_code


def create_conversion_with_ip_task(account, *, amount, ip, **parameters):
    """Create a conversion with an IP address."""
    data = ConversionData(
        parameters=TrackingParameters(**parameters),
        line_items=build_line_items(amount),
        ip=ip,
    )
    create_conversion(account, data=data, at=AT)


def create_conversions_task(account, *, times, amount, **parameters):
    """Create conversions, one after the other."""
    items = build_line_items(amount)
    for _ in range(times):
        data = ConversionData(parameters=TrackingParameters(**parameters), line_items=items)
        create_conversion(account, data=data, at=AT)


def grant_bonuses_task(account):
    """Grant the bonuses of March; return the names of the commissions."""
    return [commission.name for commission in grant_bonuses(account, at=APRIL).granted]


def end_bonus_task(account, *, bonus_id):
    """End a bonus."""
    end_bonus(account, pk=bonus_id, at=APRIL)


def parse_amounts(changes):
    """Convert amounts from text: JSON has no decimals."""
    if "amount" in changes:
        changes["amount"] = Decimal(changes["amount"])
    return changes


def refund_task(account, *, conversion_id, amount=None, lines=None, external_id=None):
    """Refund all of a conversion, an amount, or amounts by commission."""
    refund_conversion(
        account,
        conversion_id=conversion_id,
        amount=None if amount is None else Decimal(amount),
        line_amounts=lines and {int(pk): Decimal(it) for pk, it in lines.items()},
        external_id=external_id,
        reason="Returned.",
        at=AT,
    )


def reattribute_task(account, *, conversion_id, affiliate_id):
    reattribute_conversion(
        account,
        conversion_id=conversion_id,
        affiliate_id=affiliate_id,
        reason="A newsletter.",
        at=AT,
    )


CONVERSION_TASKS = {
    "update_by_external_id": update_by_external_id_task,
    "update_conversion": update_conversion_task,
    "update_sub_amount": update_sub_amount_task,
    "refund": refund_task,
    "reattribute": reattribute_task,
    "delete_conversion": delete_conversion_task,
    "delete_conversions": delete_conversions_task,
    "count_rows": count_rows_task,
    "delete_customer": delete_customer_task,
    "sign_up": sign_up_task,
    "create_conversions": create_conversions_task,
    "create_conversion_with_ip": create_conversion_with_ip_task,
    "grant_bonuses": grant_bonuses_task,
    "end_bonus": end_bonus_task,
}
