"""What moves in the end."""

from decimal import Decimal

import pytest

from affiliate_site.backoffice.effect_tables import net_transfers
from payouts.services.previews import TransferEffect

pytestmark = pytest.mark.engine_independent  # texts


def build_transfer(debit, credit, amount, affiliate="mina", currency="EUR"):
    return TransferEffect("any", debit, credit, affiliate, Decimal(amount), currency)


@pytest.mark.parametrize(
    ("transfers", "expected"),
    [
        pytest.param(
            [("payable", "pending", 45), ("pending", "expense", 45)],
            [("payable", "expense", 45)],
            id="without the stop on the way",
        ),
        pytest.param(
            [
                ("payable", "pending", 45),
                ("pending", "expense", 45),
                ("expense", "pending", 60),
                ("pending", "payable", 60),
            ],
            [("expense", "payable", 15)],
            id="the difference of a correction",
        ),
        pytest.param([("pending", "payable", 5), ("payable", "pending", 5)], [], id="nothing"),
        pytest.param(
            [("expense", "pending", 5), ("expense", "payable", 3)],
            [("expense", "pending", 5), ("expense", "payable", 3)],
            id="to two accounts",
        ),
        pytest.param(
            [
                ("payable", "expense", 5),
                ("expense", "payable", 5, "odette"),
                ("expense", "payable", 5, "mina", "USD"),
            ],
            [
                ("payable", "expense", 5),
                ("expense", "payable", 5, "odette"),
                ("expense", "payable", 5, "mina", "USD"),
            ],
            id="affiliates and currencies apart",
        ),
    ],
)
def test_adds_up_what_moves(transfers, expected):
    netted = net_transfers(build_transfer(*each) for each in transfers)

    assert list(netted) == [build_transfer(*each) for each in expected]
