"""Contract 7.11: what looks odd about a sale."""

import pytest

from tests.factories.tracking import AffiliateFactory
from tracking.services.warnings import warnings_about

PAIRS = [
    ("odette@notes.example.org", "odette@notes.example.org", True),
    ("odette@notes.example.org", "ODETTE@Notes.Example.org", True),
    ("Odette@Notes.example.org", "odette@notes.example.org", True),
    ("odette@notes.example.org", "mina@notes.example.org", False),
    ("odette@notes.example.org", "odette@notes.example.org.uk", False),
    ("odette@notes.example.org", "odette", False),
    ("odette@notes.example.org", "", False),
    ("odette@notes.example.org", None, False),
    (None, "acct-1", False),
    (None, None, False),
    (None, "", False),
    (None, "None", False),
]


@pytest.mark.parametrize(
    ("email", "customer_id", "odd"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS]
)
def test_warns_when_a_customer_is_the_affiliate(account, email, customer_id, odd):
    affiliate = AffiliateFactory(account=account, email=email)

    warnings = warnings_about(affiliate, customer_id=customer_id)

    assert warnings == (["customer_is_affiliate"] if odd else None)
