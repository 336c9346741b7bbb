"""The key that reads from a shop, and the address that is called with it."""

import pytest

from tests.fake_shops import KEYS
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import InvalidShopAddress, InvalidSourceKey
from tracking.services.connections import create_connection, set_source_key

NOW = CONVERSION_CREATED_AT
ADDRESSES = {
    "woocommerce": "https://lamps.example",
    "shopify": "https://lamps.myshopify.com",
}


@pytest.fixture
def connect(account):
    def create(kind):
        connection = create_connection(account, kind=kind, at=NOW)
        return set_source_key(
            account,
            connection_id=connection.public_id,
            key=KEYS[kind],
            shop_url=ADDRESSES.get(kind, ""),
            at=NOW,
        )

    return create


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("stripe", "short"),
        ("stripe", "rk_live_1 234"),
        ("stripe", "rk_live_\u00e4234"),
        ("stripe", "x" * 256),
        ("stripe", "rk_live\r\nHost: other"),
        ("woocommerce", "ck_12345678"),
        ("woocommerce", "ck_12345678:"),
    ],
)
def test_refuses_what_is_no_key(connect, kind, key):
    connection = connect(kind)
    with pytest.raises(InvalidSourceKey):
        set_source_key(connection.account, connection_id=connection.public_id, key=key, at=NOW)
    assert connection.reload().source_key == KEYS[connection.kind]


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("woocommerce", "http://shop.example.com"),
        ("woocommerce", "https://localhost"),
        ("woocommerce", "https://10.0.0.1/"),
        ("woocommerce", "https://user:word@shop.example.com"),
        ("woocommerce", "https://shop.example.com/?a=1"),
        ("woocommerce", "https://shop.example.com:444"),
        ("woocommerce", "x" * 300),
        ("shopify", "https://shop.example.com"),
        ("shopify", "https://a.b.myshopify.com"),
        ("shopify", "https://a.myshopify.com.example.com"),
        ("shopify", "https://a.myshopify.com/admin"),
    ],
)
def test_refuses_what_is_no_address_of_a_shop(connect, kind, url):
    connection = connect(kind)
    with pytest.raises(InvalidShopAddress):
        set_source_key(
            connection.account,
            connection_id=connection.public_id,
            key=KEYS[connection.kind],
            shop_url=url,
            at=NOW,
        )


@pytest.mark.parametrize(
    ("kind", "url", "stored"),
    [
        ("woocommerce", "shop.example.com/de/", "https://shop.example.com/de"),
        ("shopify", " lamps.myshopify.com/ ", "https://lamps.myshopify.com"),
    ],
)
def test_completes_an_address(connect, kind, url, stored):
    connection = connect(kind)
    changed = set_source_key(
        connection.account,
        connection_id=connection.public_id,
        key="ck_another:cs_one",
        shop_url=url,
        at=NOW,
    )
    assert changed.settings["shop_url"] == stored
    assert changed.source_key == "ck_another:cs_one"


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_another_address_needs_the_key_again(connect, kind):
    connection = connect(kind)
    shop = {"connection_id": connection.public_id, "at": NOW}
    same = connection.settings["shop_url"]
    set_source_key(connection.account, **shop, shop_url=f"{same}/")
    url = "https://other.myshopify.com"
    with pytest.raises(InvalidSourceKey):
        set_source_key(connection.account, **shop, shop_url=url)
    assert connection.reload().settings["shop_url"] == same


def test_the_audit_log_names_no_key(connect):
    connection = connect("woocommerce")
    entries = str(list(connection.account.audit_log.values()))
    assert "source_key" in entries
    assert KEYS["woocommerce"] not in entries
