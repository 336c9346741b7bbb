"""The customers of a shop: on trial, new, canceled, removed."""

from collections.abc import Collection
from datetime import datetime

from payouts.services.shop_referrals import REFUSALS, add_prefix, find_parameters
from payouts.shop_facts import CustomerFacts, is_claimed, merge_facts
from tracking.models.customers import Customer, CustomerStatus
from tracking.models.shops import Connection, ShopCustomer
from tracking.services.customers import (
    CustomerData,
    cancel_customer,
    create_customer,
    delete_customer,
    uncancel_customer,
    update_customer,
)


def merge_customer(connection: Connection, key: str, facts: CustomerFacts) -> CustomerFacts:
    """Store new facts of a customer; return all that are known.

    Of a removed customer nothing else is kept.
    """
    account = connection.account
    if not connection.settings.get("stores_email"):
        facts = {name: fact for name, fact in facts.items() if name != "email"}  # type: ignore[assignment]
    row = ShopCustomer(account=account, connection=connection, key=key, facts=facts)
    unique_fields = ("account", "connection", "key")
    if account.shop_customers.insert_or_ignore(row, unique_fields=unique_fields):
        return facts
    known = account.shop_customers.get(connection=connection, key=key)
    merged: CustomerFacts = merge_facts(known.facts, facts)
    if "removal" in merged:
        merged = {"removal": merged["removal"]}
    if merged != known.facts:
        known.update_row(facts=merged)
    return merged


def read_customer(connection: Connection, key: str) -> CustomerFacts:
    """Return what is known of a customer."""
    rows = connection.account.shop_customers.filter(connection=connection, key=key)
    row = rows.first()
    return row.facts if row else CustomerFacts()


def apply_customer(
    connection: Connection, key: str, facts: CustomerFacts, *, at: datetime
) -> list[str]:
    """Make the customer of the account agree with what the shop knows of it."""
    account = connection.account
    customer_id = add_prefix(connection, key)
    known = account.customers.not_deleted().filter(customer_id=customer_id)
    customer = known.first()
    if "removal" in facts:
        if customer is None:
            return []
        delete_customer(account, public_id=customer.public_id, at=at)
        return ["The customer was removed."]
    states = {each["state"] for each in facts.get("subscriptions", {}).values()}
    if not states:
        return []
    is_canceled = states == {"canceled"}
    if customer is None:
        return (
            []
            if is_canceled
            else create_referred_customer(connection, customer_id, facts, states, at=at)
        )
    if is_canceled == (customer.status == CustomerStatus.CANCELED):
        return []
    if is_canceled:
        cancel_customer(account, public_id=customer.public_id, at=at)
        return ["The customer was canceled."]
    uncancel_customer(account, public_id=customer.public_id, at=at)
    return ["The customer is active again."]


def create_referred_customer(
    connection: Connection,
    customer_id: str,
    facts: CustomerFacts,
    states: Collection[str],
    *,
    at: datetime,
) -> list[str]:
    """Create a customer on trial, or a new one, if somebody referred it."""
    parameters = find_parameters(connection, None, facts)
    if parameters is None:
        return []
    is_trial = "active" not in states
    status = CustomerStatus.TRIAL if is_trial else CustomerStatus.NEW
    data = CustomerData(
        customer_id=customer_id,
        parameters=parameters,
        status=status,
        meta_data=build_meta_data(connection, facts),
    )
    try:
        create_customer(connection.account, data=data, at=at)
    except REFUSALS as error:
        return [f"The customer earns nobody anything: {error.text}."]
    return [f"A customer was created: {status}."]


def build_meta_data(connection: Connection, facts: CustomerFacts) -> dict[str, str]:
    """Return the e-mail address, if the account wants it."""
    known = facts.get("email")
    email = known["email"] if known and not is_claimed(known) else ""
    wants_email = connection.settings.get("stores_email")
    return {"email": email} if wants_email and email else {}


def store_email(
    connection: Connection,
    customer: Customer | None,
    facts: CustomerFacts,
    *,
    is_claim: bool,
    at: datetime,
) -> None:
    """Add the e-mail address to the customer of a new sale, if the account wants it.

    What is only claimed changes no customer.
    """
    if customer is None or is_claim:
        return
    meta_data = customer.meta_data | build_meta_data(connection, facts)
    update_customer(
        connection.account,
        customer=customer,
        customer_id=None,
        meta_data=meta_data,
        at=at,
    )
