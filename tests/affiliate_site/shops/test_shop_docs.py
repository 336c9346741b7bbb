"""The example of a mapping in the documentation does what it says."""

import json
import re

import pytest

from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.paddle import PaddleShop
from tests.architecture.syntax_trees import ROOT
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.models.shops import Connection
from tracking.services.shop_mappings import validate_mapping

DOCUMENT = (ROOT / "docs" / "shops.md").read_text()


def test_the_example_of_a_mapping_reads_its_body():
    body, mapping = map(json.loads, re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL))
    validate_mapping(mapping)
    connection = Connection(kind="other", settings={"other": mapping})
    facts = SHOPS["other"].read("", body, connection, at=CONVERSION_CREATED_AT)
    sale = facts.order["sale"]
    assert (sale["order_id"], sale["paid"], sale["customer"]) == (
        "1001",
        "119.00",
        "c-7",
    )
    assert [line["amount"] for line in sale["lines"]] == ["80.00", "20.00"]
    assert sale["referral"]["values"] == [body["data"]["fields"]["click"]]
    assert sale["referral"]["coupons"] == ["SPRING"]


@pytest.mark.parametrize("kind", [*PaddleShop.readers, *PaddleShop.ignored])
def test_each_event_of_paddle_is_in_a_table(kind):
    group, name = kind.split(".")
    rows = [row for row in DOCUMENT.splitlines() if row.startswith(f"| `{group}.")]
    names = [row.split("|")[1] for row in rows]
    assert any(f".{name}`" in row or f"`{group}.*`" in row for row in names)
