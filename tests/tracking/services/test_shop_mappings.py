"""Mappings of any other shop: what can be saved, and what the refusal names."""

from copy import deepcopy

import pytest

from accounts.errors import ErrorList
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import InvalidMapping
from tracking.services.connections import create_connection, update_connection
from tracking.services.shop_mappings import validate_mapping

MAPPING = {
    "signature": {
        "kind": "hmac",
        "header": "X-Signature",
        "encoding": "hex",
        "prefix": "sha256=",
    },
    "event": {"id": "id", "kind": "type", "time": "created"},
    "sale": {
        "when": [{"path": "type", "equals": "sale"}, {"path": "live", "equals": True}],
        "order_id": "data.id",
        "amount": "data.net",
        "paid": "data.gross",
        "currency": "data.currency",
        "customer": "data.customer.id",
        "email": "data.customer.email",
        "referral": ["data.ref"],
        "coupons": ["data.coupons.*.code"],
        "lines": {"items": "data.items", "amount": "net", "product": "sku"},
        "unit": "minor",
    },
    "refund": {
        "when": [{"path": "type", "equals": "refund"}],
        "order_id": "data.order",
        "refund_id": "data.id",
        "amount": "data.amount",
        "is_canceled": {"path": "data.status", "equals": "failed"},
    },
}
MISSING = object()


def build_mapping(path, value):
    """The mapping with one field changed or removed."""
    mapping = deepcopy(MAPPING)
    *parents, name = path.split(".")
    target = mapping
    for parent in parents:
        target = target[parent]
    if value is MISSING:
        del target[name]
    else:
        target[name] = value
    return mapping


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("event", {}),
        ("refund", MISSING),
        ("signature", {"kind": "standard_webhooks"}),
        ("signature", {"kind": "header", "header": "X-Secret"}),
        ("signature", {"kind": "basic"}),
        ("signature", {"kind": "address"}),
        ("signature", {"kind": "sorted_parameters", "parameter": "sha_sign"}),
        ("answer", "OK"),
        ("sale.when", []),
        ("sale.lines", MISSING),
        ("refund.refund_id", MISSING),
        ("refund.refund_id", 'data.id + "-all"'),
        ("sale.amount", "data.total - data.tax + data.fee"),
        ("sale.lines.amount", "price - tax"),
        ("sale.currency", '"EUR"'),
        ("sale.referral", ["data.page?ref", "data.page?*"]),
        ("sale.when", [{"any": [{"path": "a", "differs": 1}] * 10}]),
        (
            "refund.is_canceled",
            {"any": [{"path": "a", "equals": 1}, {"path": "b", "equals": 2}]},
        ),
    ],
)
def test_it_takes_a_mapping(path, value):
    validate_mapping(build_mapping(path, value))


def test_it_takes_a_signature_alone_until_an_event_has_been_looked_at():
    validate_mapping({"signature": MAPPING["signature"]})


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("signature", MISSING, "Enter signature."),
        ("signature", "hmac", "Make signature an object."),
        ("signature.kind", MISSING, "Enter signature.kind."),
        (
            "signature.kind",
            "md5",
            "Make signature.kind one of: standard_webhooks, hmac, header, basic,",
        ),
        ("signature.kind", [], "Make signature.kind one of: "),
        ("signature.header", MISSING, "Enter signature.header."),
        (
            "signature",
            {"kind": "sorted_parameters"},
            "Enter signature.parameter.",
        ),
        ("signature.parameter", "sha sign", "Make signature.parameter the name of a"),
        ("answer", "", "Make answer a text of at most 64 characters"),
        ("answer", "Gr\u00fc\u00df", "Make answer a text of at most 64 characters"),
        ("answer", "OK\n", "Make answer a text of at most 64 characters"),
        ("signature.header", "X Signature", "Make signature.header the name"),
        ("signature.encoding", "rot13", "Make signature.encoding one of: hex, base64."),
        ("signature.prefix", "x" * 33, "Make signature.prefix a text of at most 32"),
        ("event.id", "", "Make event.id a path such as data.id, "),
        ("event.time", "a + b.", "Make event.time a path such as data.items.0.sku, "),
        ("sale.order_id", "a - b", "Make sale.order_id a path such as data.id, "),
        ("sale.currency", '"EUR', "Make sale.currency a path such as data.id, "),
        ("sale.amount", '"5"', "Make sale.amount a path such as data.total, "),
        ("sale.amount", "a - ", "Make sale.amount a path such as data.total, "),
        ("sale.amount", " + ".join("a" * 11), "Make sale.amount a path such as"),
        ("sale.amount", "a" * 201, "Make sale.amount a path such as"),
        ("sale.amount", " - ".join(["a" * 99] * 6), "Make sale.amount a path such as"),
        ("sale.referral", ["page?"], "Make sale.referral.0 a path"),
        ("sale.when", [{"any": []}], "Make sale.when.0.any a list of at most 10"),
        (
            "sale.when",
            [{"any": [{"any": []}]}],
            "Remove sale.when.0.any.0.any; the fields of sale.when.0.any.0 are: path,",
        ),
        (
            "sale.when",
            [{"path": "a", "equals": 1, "differs": 2}],
            "Remove sale.when.0.equals; the fields of sale.when.0 are: path, differs.",
        ),
        (
            "event.code",
            "x",
            "Remove event.code; the fields of event are: id, kind, time.",
        ),
        ("more", {}, "Remove more; the fields of mapping are: signature, event, "),
        ("sale", MISSING, "Enter a sale, whose order the refund names."),
        ("sale", [], "Make sale an object."),
        ("sale.order_id", MISSING, "Enter sale.order_id."),
        ("sale.amount", MISSING, "Enter sale.amount."),
        ("sale.currency", MISSING, "Enter sale.currency."),
        ("sale.amount", "a..b", "Make sale.amount a path"),
        ("sale.amount", 5, "Make sale.amount a path"),
        ("sale.unit", "euro", "Make sale.unit one of: major, minor."),
        ("sale.referral", "data.ref", "Make sale.referral a list of at most 20 paths."),
        ("sale.referral", ["a"] * 21, "Make sale.referral a list of at most 20 paths."),
        ("sale.coupons", ["a", ""], "Make sale.coupons.1 a path"),
        ("sale.lines.product", MISSING, "Enter sale.lines.product."),
        ("sale.when", [{"path": "a"}], "Enter sale.when.0.equals."),
        ("sale.when", [{}] * 11, "Make sale.when a list of at most 10 conditions."),
        (
            "sale.when",
            [{"path": "a", "equals": []}],
            "Make sale.when.0.equals a text, a whole number, true or false,",
        ),
        (
            "sale.when",
            [{"path": "a", "equals": "x" * 256}],
            "Make sale.when.0.equals a text, a whole number, true or false,",
        ),
        (
            "sale.when",
            [{"path": "a", "equals": 10**5000}],
            "Make sale.when.0.equals a text, a whole number, true or false,",
        ),
        ("refund.when", [], "Enter a condition in refund.when."),
        ("refund.when", MISSING, "Enter refund.when."),
        ("refund.order_id", MISSING, "Enter refund.order_id."),
        ("refund.amount", MISSING, "Enter refund.amount."),
        ("refund.is_canceled", {"path": "a"}, "Enter refund.is_canceled.equals."),
    ],
)
def test_it_names_the_field_of_a_mapping_that_cannot_be_used(path, value, sentence):
    with pytest.raises(InvalidMapping) as caught:
        validate_mapping(build_mapping(path, value))
    assert caught.value.text.startswith(sentence)
    assert caught.value.path in sentence


def test_it_names_all_fields_that_cannot_be_used():
    mapping = build_mapping("sale", {"amount": "a..b", "unit": "euro"})
    with pytest.raises(ErrorList) as caught:
        validate_mapping(mapping | {"refund": {"when": []}})
    assert [error.path for error in caught.value.errors] == [
        "sale.amount",
        "sale.unit",
        "sale.order_id",
        "sale.currency",
        "refund.order_id",
        "refund.amount",
    ]


@pytest.mark.parametrize("mapping", [None, [], "text"])
def test_it_refuses_what_is_no_object(mapping):
    with pytest.raises(InvalidMapping, match="Make mapping an object"):
        validate_mapping(mapping)


def test_connections_are_saved_with_a_valid_mapping_only(account):
    broken = {"other": build_mapping("sale.amount", MISSING)}
    at = CONVERSION_CREATED_AT
    with pytest.raises(InvalidMapping):
        create_connection(account, kind="other", settings=broken, at=at)
    connection = create_connection(account, kind="other", settings={"other": MAPPING}, at=at)
    with pytest.raises(InvalidMapping):
        update_connection(
            account,
            connection_id=connection.public_id,
            changes={"settings": broken},
            at=at,
        )
    assert connection.reload().settings == {"other": MAPPING}
