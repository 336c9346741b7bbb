"""What a worker can do to a sale that is there, to its customer, and with bonuses."""

from datetime import UTC, datetime
from decimal import Decimal

from payouts.services.bonuses import grant_bonuses
from payouts.services.recording import Sale, record_conversion
from payouts.services.revising import (
    change_commission,
    change_conversion,
    conversion_known_as,
    remove_conversion,
)
from tests.shop import items_of
from tracking.attribution import Clues
from tracking.services.customers import customer_known_as, remove

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)


def follow_up(account, *, external_id, status=None, recalculate=True, **changes):
    """As the postback does it."""
    change_conversion(
        account,
        conversion_id=conversion_known_as(account, external_id).pk,
        changes=exact(changes),
        recalculate=recalculate,
        status=status,
        at=AT,
    )


def change(account, *, conversion_id, **changes):
    """As PATCH with recalculation does it."""
    change_conversion(
        account,
        conversion_id=conversion_id,
        changes=exact(changes),
        recalculate=True,
        at=AT,
    )


def resize(account, *, commission_id, sub_amount):
    """Another part of a sale; the sale goes along."""
    changes = {"sub_amount": Decimal(sub_amount)}
    change_commission(account, commission_id=commission_id, changes=changes, at=AT)


def take_back(account, *, conversion_id):
    remove_conversion(account, conversion_id=conversion_id, at=AT)


def forget(account, *, customer_id):
    """A customer gone."""
    customer = customer_known_as(account, customer_id)
    remove(account, public_id=customer.public_id, at=AT)


def buy(account, *, amount, ip, **clues):
    """A sale with its visitor's address."""
    told = Sale(clues=Clues(**clues), items=items_of(amount), ip=ip)
    record_conversion(account, sale=told, at=AT)


def reward(account):
    """The bonuses of March."""
    return [it.name for it in grant_bonuses(account, at=APRIL)]


def exact(changes):
    """Amounts come as text: JSON has no decimals."""
    if "amount" in changes:
        changes["amount"] = Decimal(changes["amount"])
    return changes


SALE_ACTS = {
    "follow up": follow_up,
    "change": change,
    "resize": resize,
    "take back": take_back,
    "forget": forget,
    "buy": buy,
    "reward": reward,
}
