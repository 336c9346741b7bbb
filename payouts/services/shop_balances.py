"""The balances that an event of a shop may change, locked before one is."""

from collections.abc import Sequence
from datetime import datetime

from payouts.models.commissions import BalanceKey
from payouts.services.calculation_input import list_ancestors
from payouts.services.ledger import open_ledger_session
from payouts.services.shop_referrals import add_prefix, find_parameters
from payouts.shop_facts import CustomerFacts, Sale, get_time
from tracking.attribution import REST_CONVERSION_ORDER
from tracking.models.conversions import Conversion
from tracking.models.shops import Connection, ShopOrder
from tracking.services.attribution import attribute


def lock_balances_of(
    connection: Connection,
    orders: Sequence[ShopOrder],
    customer: CustomerFacts,
    *,
    at: datetime,
) -> None:
    """Lock what several orders may change, in one order of rows.

    Each of them locks its own; one after the other, two events could wait for each
    other. Who earns a new sale is found as it will be found then.
    """
    account = connection.account
    sales: list[Sale] = [it.facts["sale"] for it in orders if "sale" in it.facts]
    if len(sales) < 2:
        return
    named = {add_prefix(connection, sale["customer"]) for sale in sales}
    customers = account.customers.filter(customer_id__in=named - {""}).order_by("id")
    list(customers.select_for_update(no_key=True).values_list("pk"))
    ids = [add_prefix(connection, sale["order_id"]) for sale in sales]
    known = account.conversions.filter(external_id__in=ids).order_by("id")
    pks = list(known.select_for_update(no_key=True).values_list("pk", flat=True))
    rows = account.commissions.filter(conversion__in=pks)
    keys: set[BalanceKey] = set(rows.values_list("affiliate", "currency"))
    for sale in sales:
        keys |= find_balances(connection, sale, customer, at=at)
    with open_ledger_session(account, keys, at=at, is_locked=True):
        pass


def find_balances(
    connection: Connection, sale: Sale, customer: CustomerFacts, *, at: datetime
) -> set[BalanceKey]:
    """Return the balances of who would earn a new sale, without a change."""
    parameters = find_parameters(connection, sale, customer)
    if parameters is None:
        return set()
    attribution = attribute(
        connection.account,
        parameters=parameters,
        order=REST_CONVERSION_ORDER,
        at=datetime.fromisoformat(get_time(sale)),
        ignore_cookie_age=False,
    )
    if attribution.result.rejection_reason or attribution.prospect:
        return set()
    conversion = Conversion(
        account=connection.account,
        program=attribution.program,
        affiliate=attribution.affiliate,
    )
    earners = {it.affiliate_id for it in list_ancestors(conversion)}
    return {(pk, sale["currency"]) for pk in earners | {attribution.affiliate.pk}}
