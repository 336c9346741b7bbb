"""docs/shops.md has each event of a kind of shop that does something."""

import pytest

from affiliate_site.shops.kinds import SHOPS
from tests.architecture.syntax_trees import ROOT

HEADINGS = {"woocommerce": "## WooCommerce", "shopify": "## Shopify"}


@pytest.mark.parametrize("kind", HEADINGS)
def test_the_guide_names_every_event(kind):
    guide = (ROOT / "docs/shops.md").read_text()
    section = guide.split(f"{HEADINGS[kind]}\n")[1].split("\n## ")[0]
    assert [name for name in SHOPS[kind].readers if f"`{name}`" not in section] == []
