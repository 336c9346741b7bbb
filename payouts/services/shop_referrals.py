"""Who referred a sale or a customer of a shop, by what its events say."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from accounts.errors import DomainError
from accounts.models.accounts import Account
from payouts.shop_facts import (
    CustomerFacts,
    Referral,
    Sale,
    format_time,
    get_time,
    is_claimed,
)
from tracking.attribution import TrackingParameters
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    CookieExpired,
    ProgramArchived,
)
from tracking.models.conversions import ConversionOrigin
from tracking.models.programs import Program
from tracking.models.shops import Connection, ShopOrderReason
from tracking.services.attempts import record_failed_attempt
from tracking.services.candidates import resolve_candidates
from tracking.services.programs import get_program
from tracking.services.shop_effects import Effect, list_unknown_codes
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
        is_late = known and not is_in_time(format_time(known.created_at), sale)
        if owner is not None and program in (None, owner) and not is_late:
            found = candidate | found
    if not found:
        return None
    return TrackingParameters(**({"customer_id": key or None} | found))


def list_referrals(sale: Sale | None, customer: CustomerFacts) -> list[Referral]:
    """Return what counts of who referred a sale, the sale's own first."""
    referrals = [sale["referral"]] if sale else []
    known = customer.get("referral")
    if known and is_in_time(known["at"], sale) and can_count(known, sale):
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


def is_in_time(referred_at: str, sale: Sale | None) -> bool:
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
