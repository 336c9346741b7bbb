"""What is read about a sale, spelled once for the API, postbacks and pages."""

from contextlib import suppress

from rest_framework.exceptions import ValidationError

from affiliate_site.api.clues import ALIASES, Clue, Hearsay, UserAgent, clues_of
from affiliate_site.api.fields import Amount, Currency, Lookup, Text, admitted, is_blank
from affiliate_site.api.inputs import Input, Items
from affiliate_site.api.maps import MetaData
from payouts.services.rates import Item
from payouts.services.recording import Sale
from tracking.attribution import REST, Order
from tracking.money import NOUGHT

MOST_PARTS = 100


class SaleAmount(Amount):
    """An amount of a sale, checked in the sale's currency, where one was sent."""

    def to_internal_value(self, data):
        exact = super().to_internal_value(data)
        admitted(exact, self.root.currency_sent)
        return exact


class PartInput(Input):
    """A part of a sale."""

    aliases = {"conversion_sub_amount": "sub_amount"}

    sub_amount = SaleAmount()
    commission_type = Lookup(required=False)
    comment = Text(required=False, max_length=1000)


class InCurrency(Input):
    """A sale whose amounts are in the currency that is sent beside them."""

    @property
    def currency_sent(self) -> str | None:
        """The currency that amounts are checked in; None: known only later."""
        with suppress(ValidationError):
            return Currency().to_internal_value(self.initial_data.get("currency"))
        return None


class SaleInput(InCurrency):
    """A sale, and who brought it. `commissions` takes the place of `amount`."""

    aliases = ALIASES

    customer_id = Text(required=False)
    coupon = Clue()
    referral_code = Clue()
    click_id = Clue()
    tracking_id = Clue()
    asset_id = Clue()
    source_id = Clue()
    external_id = Text(required=False)
    amount = SaleAmount(required=False)
    currency = Currency(required=False)
    commission_type = Lookup(required=False)
    commissions = Items(child=PartInput(), most=MOST_PARTS, required=False)
    meta_data = MetaData(required=False)
    program_group = Clue()
    user_agent = UserAgent()
    ip = Hearsay()


def sale_of(
    said: dict, asked: dict, external_id: str | None, order: Order = REST
) -> Sale:
    """What was read, as the service takes it; a blank customer counts as not sent."""
    customer_id = said.get("customer_id")
    return Sale(
        clues=clues_of(said, None if is_blank(customer_id) else customer_id),
        items=items_of(said),
        external_id=external_id,
        currency=said.get("currency"),
        meta_data=said.get("meta_data", {}),
        user_agent=said.get("user_agent"),
        ip=said.get("ip"),
        ignore_cookie_age=asked.get("override_max_cookie_time", False),
        order=order,
    )


def items_of(said: dict) -> list[Item]:
    """The parts of a sale: those sent, else the whole as one."""
    parts = said.get("commissions")
    if not parts:
        return [Item(said.get("amount", NOUGHT), said.get("commission_type"))]
    return [
        Item(
            part["sub_amount"],
            part.get("commission_type"),
            part.get("comment"),
            amount_path=f"commissions[{number}].sub_amount",
            type_path=f"commissions[{number}].commission_type",
        )
        for number, part in enumerate(parts)
    ]
