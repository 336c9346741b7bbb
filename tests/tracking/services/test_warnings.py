"""Warnings about customers (docs/api-contract.md, section 7.11)."""

import pytest

from tests.factories.tracking import AffiliateFactory
from tracking.services.warnings import find_warnings

PAIRS = [
    ("odette@notes.example.org", "odette@notes.example.org", True),
    ("odette@notes.example.org", "ODETTE@Notes.Example.org", True),
    ("Odette@Notes.example.org", "odette@notes.example.org", True),
    ("odette@notes.example.org", " odette@notes.example.org", True),
    ("odette@notes.example.org", "odette@notes.example.org\u3000\n", True),
    ("odette@notes.example.org", "odette+1@notes.example.org", True),
    ("odette@notes.example.org", "Odette+a+b@Notes.example.org ", True),
    ("odette+affiliate@notes.example.org", "odette@notes.example.org", True),
    ("odette+a@notes.example.org", "odette+b@notes.example.org", True),
    ("odette@münchen.example", "odette+1@xn--mnchen-3ya.example", True),
    ("odette@notes.example.org", "mina@notes.example.org", False),
    ("odette@notes.example.org", "mina+odette@notes.example.org", False),
    ("odette@notes.example.org", "odette@notes+1.example.org", False),
    ("odette@notes.example.org", "odette+1", False),
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
    ("email", "customer_id", "is_warned"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS]
)
def test_warns_if_the_customer_is_the_affiliate(account, email, customer_id, is_warned):
    affiliate = AffiliateFactory(account=account, email=email)

    warnings = find_warnings(affiliate, buyer=["c-1", customer_id])

    assert warnings == (["customer_is_affiliate"] if is_warned else None)
