"""The customers of a shop: who referred them and its sales, their state, their erasure."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from accounts.db_compat import BATCH_SIZE
from accounts.errors import DomainError
from accounts.models.accounts import Account
from accounts.services.erasure import rewrite_columns
from payouts.services.erasure import erase_person
from payouts.shop_facts import (
    CustomerFacts,
    Referral,
    Sale,
    ShopErasure,
    format_time,
    get_time,
    is_claimed,
    merge_facts,
)
from tracking.attribution import TrackingParameters
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    CookieExpired,
    ProgramArchived,
)
from tracking.models.conversions import ConversionOrigin
from tracking.models.customers import Customer, CustomerStatus
from tracking.models.programs import Program
from tracking.models.shops import Connection, ShopCustomer, ShopEvent, ShopOrderReason
from tracking.services.attempts import record_failed_attempt
from tracking.services.candidates import resolve_candidates
from tracking.services.customers import (
    CustomerData,
    cancel_customer,
    create_customer,
    delete_customer,
    uncancel_customer,
    update_customer,
)
from tracking.services.inbox import Effect, list_unknown_codes
from tracking.services.programs import get_program
from tracking.services.shop_erasure import forget_unknown_codes
from tracking.services.visitors import find_first_coupon

# Who referred the customer is known, but earns nothing: no error of the shop.
REFUSALS = (AffiliateDeleted, AffiliateNotApproved, CookieExpired, ProgramArchived)
ID_NAMES = ("click_id", "tracking_id")
VALUE_NAMES = ("referral_code", *ID_NAMES)
# Events of one checkout have different times; the referral may come last.
CHECKOUT_DURATION = timedelta(hours=1)
MAX_VALUES = 20  # of one event that are looked up


def find_parameters(
    connection: Connection, sale: Sale | None, customer: CustomerFacts
) -> TrackingParameters | None:
    """Return the tracking parameters that name somebody of the connection's program.

    Those of the sale come before those of the customer, which count for sales that are
    not older; the order of the contract decides between several. None without any.
    """
    account, program = connection.account, choose_program(connection, sale)
    key = add_prefix(connection, sale["customer"] if sale else "")
    referrals = list_referrals(sale, customer)
    values = [value for referral in referrals for value in referral["values"]]
    ids = [value for referral in referrals for value in referral.get("tracking_ids", [])]
    sent = [code for referral in referrals for code in referral["coupons"]]
    coupons = map_codes(connection, sent)
    coupon = find_first_coupon(account, coupons) if coupons else None
    candidates = [{"customer_id": key}, {"coupon": coupon or ""}]
    for value in values[:MAX_VALUES]:
        asset, _, source = value.partition(" ")
        candidates += (
            [{"asset_id": asset, "source_id": source}]
            if source
            else [{name: value} for name in VALUE_NAMES]
        )
    candidates += [{name: value} for value in ids[:MAX_VALUES] for name in ID_NAMES]
    found: dict[str, str] = {}
    for candidate in candidates:
        if not all(candidate.values()):
            continue
        (resolved,) = resolve_candidates(account, TrackingParameters(**candidate))
        owner, known = resolved.program, resolved.customer
        is_late = known and not is_referred_in_time(format_time(known.created_at), sale)
        if owner is not None and program in (None, owner) and not is_late:
            found = candidate | found
    if not found:
        return None
    return TrackingParameters(**({"customer_id": key or None} | found))


def list_referrals(sale: Sale | None, customer: CustomerFacts) -> list[Referral]:
    """Return what counts of who referred a sale, the sale's own first."""
    referrals = [sale["referral"]] if sale else []
    known = customer.get("referral")
    if known and is_referred_in_time(known["at"], sale) and can_count(known, sale):
        referrals.append(known)
    return referrals


def can_count(referral: Referral, sale: Sale | None) -> bool:
    """Whether a referral counts: a claimed one does for claimed sales only."""
    return not is_claimed(referral) or (sale is not None and is_claimed(sale))


def explain_no_referral(connection: Connection, sale: Sale, customer: CustomerFacts) -> Effect:
    """Return that nobody referred a sale, with the codes that named nobody."""
    referrals = list_referrals(sale, customer)
    codes = [code for each in referrals for code in each["coupons"]]
    for referral in referrals:
        codes += [*referral["values"], *referral.get("tracking_ids", [])]
    if not (texts := list(dict.fromkeys(codes))):
        return ShopOrderReason.NO_REFERRAL.label
    program = choose_program(connection, sale)
    return list_unknown_codes(texts, program=program.title if program else "")


def map_codes(connection: Connection, codes: Sequence[str]) -> list[str]:
    """Return the coupons of affiliates that codes of the shop stand for.

    Case and outer white space do not matter, as for coupons. Promotion codes of Stripe
    stand for their texts.
    """
    texts: dict[str, str] = connection.settings.get("promotion_codes", {})
    known: dict[str, str] = connection.settings.get("coupons", {})
    same = {code.strip().casefold(): coupon for code, coupon in known.items()}
    names = [texts.get(code, code).strip() for code in codes]
    return [known.get(name) or same.get(name.casefold(), name) for name in names]


def is_referred_in_time(referred_at: str, sale: Sale | None) -> bool:
    """Whether a customer was referred before a sale, or during the same checkout.

    A later referral must not earn what the customer had bought without it.
    """
    if sale is None:
        return True
    until = datetime.fromisoformat(get_time(sale)) + CHECKOUT_DURATION
    return referred_at <= format_time(until)


def choose_program(connection: Connection, sale: Sale | None) -> Program | None:
    """Return the program whose sales the connection reports; None: any.

    Its rules compare the currency, a product or an attribute of the sale.
    """
    rules = connection.settings.get("programs", [])
    if sale is not None and rules:
        products = {name for line in sale["lines"] for name in line["products"]}
        for rule in rules:
            name, value = rule["field"], rule["value"]
            is_met = (
                (name == "currency" and value == sale["currency"])
                or (name == "product" and value in products)
                or sale["attributes"].get(name) == value
            )
            if is_met:
                return get_program(connection.account, rule["program"])
    return connection.program


def add_prefix(connection: Connection, key: str) -> str:
    """Return a shop's ID of an order or customer as the account's.

    Small numbers, as WooCommerce has, are those of several shops of an account: a
    connection can have a prefix. Without an ID there is none.
    """
    return f"{connection.settings.get('id_prefix', '')}{key}" if key else ""


def record_refusal(account: Account, external_id: str, error: DomainError) -> None:
    """Record why a sale earns nobody anything, for an affiliate who misses it."""
    record_failed_attempt(
        account,
        origin=ConversionOrigin.SHOP,
        external_id=external_id,
        error=error,
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


def erase_customer_of_shop(connection: Connection, erasure: ShopErasure, *, at: datetime) -> None:
    """Erase the bodies of a customer's events, its e-mail address, and the customer.

    Sales and their amounts stay. The caller erases the event that asks for it.
    """
    account, key = connection.account, erasure.customer_key
    references = account.shop_references.filter(
        connection=connection, reference__in=erasure.references
    )
    which = Q(order__in=references.values("order"))
    if key:
        which |= Q(customer_key=key)
    _erase_bodies(account.shop_events.filter(which, connection=connection))
    if key:
        _forget_addresses(account.shop_customers.filter(connection=connection, key=key))
        _erase_people(connection, key, at=at)


def erase_next_of_shop(event: ShopEvent, *, at: datetime) -> bool:
    """Erase a part of what a shop sent of its customers, except this event.

    Sales and their amounts stay. Returns whether there was something to erase. A part
    is as small as one transaction should be: some events, some addresses, or one
    customer, whose locks come before those of the next (docs/architecture.md, 3).
    """
    connection, account = event.connection, event.account
    events = account.shop_events.filter(connection=connection).exclude(pk=event.pk)
    pks = list(events.exclude(body="").values_list("pk", flat=True)[:BATCH_SIZE])
    if pks:
        _erase_bodies(account.shop_events.filter(pk__in=pks))
        return True
    customers = account.shop_customers.filter(connection=connection)
    with_address = customers.filter(facts__has_key="email")
    pks = list(with_address.values_list("pk", flat=True)[:BATCH_SIZE])
    if pks:
        _forget_addresses(account.shop_customers.filter(pk__in=pks))
        return True
    prefix = connection.settings.get("id_prefix", "")
    customer_id = Concat(Value(prefix), OuterRef("key"))
    known = Exists(account.customers.filter(customer_id=customer_id))
    customer = customers.filter(known).order_by("pk").first()
    if customer is None:
        return False
    _erase_people(connection, customer.key, at=at)
    return True


def _erase_bodies(events: QuerySet[ShopEvent]) -> None:
    events.update(body="")
    forget_unknown_codes(events)


def _forget_addresses(customers: QuerySet[ShopCustomer]) -> None:
    def forget(customer: ShopCustomer) -> None:
        customer.facts.pop("email", None)

    rewrite_columns(customers, forget, ["facts"])


def _erase_people(connection: Connection, key: str, *, at: datetime) -> None:
    """Erase the customer with this ID, and those who had it and were removed."""
    account = connection.account
    people = account.customers.filter(customer_id=add_prefix(connection, key))
    for public_id in list(people.order_by("pk").values_list("public_id", flat=True)):
        erase_person(account, identifier=public_id, at=at)
