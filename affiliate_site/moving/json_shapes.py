"""What the JSON columns of an account's file hold: each has a type here.

Types are those of annotations: typed dictionaries, lists, texts and so on. What is
`Annotated` is called with the value, and raises `ValueError` for what no service
stores. Keys that a typed dictionary does not have are refused.
"""

from collections.abc import Callable, Mapping, Sized
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from accounts.audit_details import IDS
from affiliate_site.api.map_fields import (
    MAX_PAYOUT_DETAIL_KEY_LENGTH,
    MAX_PAYOUT_DETAIL_LENGTH,
    MAX_PAYOUT_DETAILS,
)
from payouts.services.watches import WatchSetting
from payouts.shop_facts import AmountText, CustomerFacts, OrderFacts
from tracking.meta_data import InvalidMetaData, validate_meta_data
from tracking.services.connections import MAX_PREFIX_LENGTH
from tracking.services.inbox import Effect

NAMES: dict[Any, str] = {
    str: "texts",
    bool: "true or false",
    int: "whole numbers",
    float: "numbers",
    NoneType: "null",
}


def _limit(length: int) -> Callable[[Sized], None]:
    def check(value: Sized) -> None:
        if len(value) > length:
            raise ValueError(f"at most {length} characters or items")

    return check


def _check_id(value: int) -> None:
    if value not in IDS:
        raise ValueError("no ID")


def _check_pair(value: list[str]) -> None:
    if len(value) != 2:
        raise ValueError("a label and a value")


def _check_meta_data(value: dict[str, object]) -> None:
    try:
        validate_meta_data(value)
    except InvalidMetaData as error:
        raise ValueError(error.errors[0].text) from None


Row = Annotated[int, _check_id]
Texts = dict[str, str]
MetaData = Annotated[Texts, _check_meta_data]
Scalar = str | bool | int | float | None
DetailName = Annotated[str, _limit(MAX_PAYOUT_DETAIL_KEY_LENGTH)]
Fact = Annotated[list[str], _check_pair]
Detail = Annotated[str, _limit(MAX_PAYOUT_DETAIL_LENGTH)]
Details = Annotated[dict[DetailName, Detail], _limit(MAX_PAYOUT_DETAILS)]


class Rule(TypedDict):
    """Which program a sale of a shop belongs to."""

    field: str
    value: str
    program: str


class Pricing(TypedDict, total=False):
    """What a sale of a shop is worth."""

    commission_types: Texts
    includes_tax: bool
    includes_shipping: bool
    includes_gift_cards: bool


class ConnectionSettings(Pricing, total=False):
    """The settings of a connection; their service checks `other` and `shop_url`."""

    coupons: Texts
    promotion_codes: Texts
    programs: list[Rule]
    referral_fields: list[str]
    reference_may_be_code: bool
    id_prefix: Annotated[str, _limit(MAX_PREFIX_LENGTH)]
    stores_email: bool
    takes_tests: bool
    shop_url: str
    other: Any
    ready_made: str


class ShopLine(TypedDict):
    """A commission of a sale of a shop."""

    commission: Row
    type: str
    gross: AmountText
    target: AmountText


class ClaimedItem(TypedDict):
    """A line item of a claim."""

    sub_amount: AmountText
    commission_type: str
    comment: str | None


class StoredAttribution(TypedDict):
    """An attribution record of a claim; both texts are JSON."""

    engine: str
    inputs: str
    outcome: str


class RefundedLine(TypedDict):
    commission: Row
    amount: AmountText


class RunBasis(TypedDict):
    """Which balances a payout run covers."""

    programs: list[str]
    groups: list[str]
    methods: list[str]
    currencies: list[str]
    minimums: dict[str, AmountText]


class Receiver(TypedDict, total=False):
    """How a line of a run was paid; empty once its affiliate is erased."""

    name: str
    kind: str
    details: Texts
    address: Texts


TextCondition = TypedDict("TextCondition", {"field": str, "is": str | list[str]})


class AmountCondition(TypedDict):
    """A condition of a rate: an amount above a number."""

    field: Literal["amount"]
    above: AmountText


# By table and column.
SHAPES: dict[str, Any] = {
    "accounts.Account.customer_email_keys": list[str],
    "accounts.AuditLogEntry.details": dict[str, Any],
    "accounts.WebhookEndpoint.events": list[str],
    **dict.fromkeys(
        (
            *("tracking.Affiliate.meta_data", "tracking.Prospect.meta_data"),
            *("tracking.Click.meta_data", "tracking.Customer.meta_data"),
            "tracking.Conversion.meta_data",
        ),
        MetaData,
    ),
    **dict.fromkeys(
        ("tracking.Affiliate.custom_fields", "tracking.Prospect.custom_fields"),
        dict[str, Scalar | list[Scalar]],
    ),
    "tracking.Affiliate.notices": dict[str, bool],
    "tracking.Connection.settings": ConnectionSettings,
    "tracking.ConversionClaim.attribution": StoredAttribution,
    "tracking.ConversionClaim.line_items": list[ClaimedItem],
    "accounts.Account.watches": dict[str, WatchSetting],
    "tracking.CustomField.options": list[str],
    **dict.fromkeys(("tracking.Conversion.warnings", "tracking.Customer.warnings"), list[str]),
    "tracking.PortalTerms.translations": Texts,
    "tracking.Program.link_parameters": list[str],
    "tracking.Program.shop_hosts": list[str],
    "tracking.ShopCustomer.facts": CustomerFacts,
    "tracking.ShopEvent.result": list[Effect],
    "tracking.ShopOrder.facts": OrderFacts,
    "tracking.ShopOrder.suspended": list[Row],
    "tracking.ShopOrder.lines": list[ShopLine],
    "tracking.ShopOrder.settings": Pricing,
    "tracking.TableImport.settings": dict[str, Texts],
    "payouts.Document.issuer": Texts,
    "payouts.Document.supplier": Texts,
    "payouts.Payment.payout_details": Details,
    "payouts.PayoutFile.payments": list[str],
    "payouts.PayoutLine.debits": dict[str, list[str]],
    "payouts.PayoutLine.receiver": Receiver,
    "payouts.PayoutMethod.details": Details,
    "payouts.PayoutRun.basis": RunBasis,
    "payouts.PayoutRun.payer": Texts,
    "payouts.Rate.conditions": list[TextCondition | AmountCondition],
    "payouts.Refund.lines": list[RefundedLine],
    "payouts.RiskFinding.facts": list[Fact],
}


def check_shape(value: Any, shape: Any) -> None:
    """Raise `ValueError` if a value is not of a type; the text says where."""
    if is_typeddict(shape):
        _check_keys(value, shape)
    elif check := CHECKS.get(get_origin(shape)):
        check(value, *get_args(shape))
    elif shape is not Any and type(value) is not shape:
        raise ValueError(f"{NAMES[shape]} expected")
    elif shape is str and "\x00" in value:
        raise ValueError("a text without zero bytes expected")


def _check_annotated(value: Any, shape: Any, *checks: Callable[[Any], object]) -> None:
    check_shape(value, shape)
    for check in checks:
        check(value)


def _check_alternatives(value: Any, *shapes: Any) -> None:
    for shape in shapes:
        try:
            return check_shape(value, shape)
        except ValueError as error:
            found = error
    raise found


def _check_literal(value: Any, *allowed: str) -> None:
    if value not in allowed:
        raise ValueError(f"one of {', '.join(allowed)} expected")


def _check_list(value: Any, shape: Any) -> None:
    _expect_json(value, list)
    for number, each in enumerate(value):
        _check_part(each, shape, number)


def _check_dict(value: Any, name_shape: Any, shape: Any) -> None:
    _expect_json(value, dict)
    for name, each in value.items():
        _check_part(name, name_shape, name)
        _check_part(each, shape, name)


def _check_keys(value: Any, shape: Any) -> None:
    _expect_json(value, dict)
    for name in sorted(shape.__required_keys__ - value.keys()):
        raise ValueError(f"{name} is missing")
    hints = get_hints(shape)
    for name, each in value.items():
        if name not in hints:
            raise ValueError(f"{name}: nothing has this name")
        _check_part(each, hints[name], name)


def _check_part(value: Any, shape: Any, name: object) -> None:
    try:
        check_shape(value, shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _expect_json(value: Any, kind: type) -> None:
    if type(value) is not kind:
        raise ValueError(f"a JSON {'object' if kind is dict else 'array'} expected")


@cache
def get_hints(shape: Any) -> Mapping[str, Any]:
    """Return the types of a typed dictionary by key."""
    return {
        name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
    }


CHECKS: dict[Any, Callable[..., None]] = {
    Annotated: _check_annotated,
    Union: _check_alternatives,
    UnionType: _check_alternatives,
    Literal: _check_literal,
    list: _check_list,
    dict: _check_dict,
}
