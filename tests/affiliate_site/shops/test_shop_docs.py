"""docs/shops.md has each event of Paddle that does something."""

import pytest

from affiliate_site.shops.paddle import PaddleShop
from tests.architecture.syntax_trees import ROOT

DOCUMENT = (ROOT / "docs" / "shops.md").read_text()


@pytest.mark.parametrize("kind", PaddleShop.readers)
def test_each_event_of_paddle_is_in_a_table(kind):
    group, name = kind.split(".")
    rows = [row for row in DOCUMENT.splitlines() if row.startswith(f"| `{group}.")]
    names = [row.split("|")[1] for row in rows]
    assert any(f".{name}`" in row or f"`{group}.*`" in row for row in names)
