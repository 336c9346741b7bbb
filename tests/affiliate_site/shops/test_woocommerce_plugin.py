"""The plugin for WooCommerce and the snippets of the guide agree with the script."""

import re

import pytest
from django.urls import resolve

from affiliate_site.shops.base import list_referral_values
from affiliate_site.shops.woocommerce import REFUNDED_LINE, REFUNDED_LINES
from tests.architecture.syntax_trees import ROOT
from tracking.models.shops import Connection

FOLDER = ROOT / "integrations" / "woocommerce" / "tap-affiliates"
PLUGIN = (FOLDER / "tap-affiliates.php").read_text()
SCRIPT = (ROOT / "affiliate_site" / "browser" / "tap.js").read_text()
SCRIPT_GUIDE = (ROOT / "docs" / "browser-script.md").read_text()
SHOP_GUIDE = (ROOT / "docs" / "shops.md").read_text()
QUEUE = re.compile(r"\(function \(w, n\) \{.*?\}\)\(window, \"tap\"\);", re.DOTALL)


def squeeze(text):
    return " ".join(text.split())


def find_queue(text):
    """The lines that queue the calls until the script has loaded."""
    return squeeze(QUEUE.search(text)[0])


def test_wordpress_finds_the_plugin_by_the_name_of_its_folder():
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {f"{FOLDER.name}.php", "uninstall.php", "LICENSE"}
    assert f"`{FOLDER.relative_to(ROOT)}`" in SHOP_GUIDE
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_reads_the_cookie_that_the_script_sets():
    (cookie,) = re.findall(r'COOKIE = "(\w+)"', SCRIPT)
    assert set(re.findall(r"\$_COOKIE\['(\w+)'\]", PLUGIN)) == {cookie}


def test_writes_the_meta_data_in_which_a_referral_is_looked_for():
    (name,) = re.findall(r"update_meta_data\( '(\w+)'", PLUGIN)
    assert list_referral_values(Connection(), {name: "1a"}) == ["1a"]


def test_gives_refunds_the_lines_that_are_read():
    assert "'woocommerce_rest_prepare_shop_order_object'" in PLUGIN
    names = re.findall(r"'(\w+_(?:items|lines))' => '\w+'", PLUGIN)
    assert tuple(names) == REFUNDED_LINES
    assert f"$key      = '{REFUNDED_LINE}'" in PLUGIN


def test_loads_the_script_as_its_guide_says():
    assert "/tap.js" in PLUGIN
    assert resolve("/tap.js")
    assert find_queue(PLUGIN) == find_queue(SCRIPT_GUIDE)
    assert 'tap("detect");' in PLUGIN


def test_removes_its_settings():
    uninstall = (FOLDER / "uninstall.php").read_text()
    options = set(re.findall(r"get_option\( '(\w+)'", PLUGIN))
    assert options == set(re.findall(r"delete_option\( '(\w+)'", uninstall))


@pytest.mark.parametrize(
    "name",
    [
        "woocommerce_checkout_create_order",
        "woocommerce_store_api_checkout_update_order_from_request",
        "custom_order_tables",
        "cart_checkout_blocks",
    ],
)
def test_works_with_both_checkouts_and_both_storages(name):
    assert f"'{name}'" in PLUGIN


def test_brackets_are_balanced():
    """No PHP is needed to run the tests; this finds the plainest mistakes."""
    code = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"|/\*.*?\*/", "", PLUGIN, flags=re.DOTALL)
    for opening, closing in ("()", "{}", "[]"):
        assert code.count(opening) == code.count(closing)
