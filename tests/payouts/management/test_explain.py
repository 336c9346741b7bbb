"""operations.md, section 3: one sale explained at the command line."""

import io
import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.proof import everything
from tests.shop import Shop


@pytest.fixture
def sale(shop):
    return shop.sell("33.33", external_id="order-1")


def explained(sale, *options):
    """What the command writes, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(
            "explain", "harbor", str(sale.pk), *options, stdout=out, stderr=err
        )
    except CommandError as refusal:  # as manage.py ends: one line, exit 1
        err.write(f"{refusal}\n")
        code = refusal.returncode
    return out.getvalue(), err.getvalue(), code


def test_tells_the_story(sale):
    story = run("explain", "harbor", str(sale.pk))

    for word in ("order-1", "33.33 EUR", "minakessler", "coupon", "3.333", "3.33 EUR"):
        assert word in story
    assert "again" not in story


def test_says_that_all_agrees(sale):
    out, err, code = explained(sale, "--verify")

    assert (err, code) == ("", 0)
    assert "the same" in out


@pytest.mark.parametrize(
    ("options", "verified"),
    [([], None), (["--verify"], True)],
    ids=["told", "verified"],
)
def test_tells_the_story_as_json(sale, options, verified):
    before = everything(sale.account)

    told = run_json("explain", "harbor", str(sale.pk), *options)

    assert list(told) == ["conversion", "attribution", "commissions", "verified"]
    assert told["verified"] is verified
    assert told["conversion"]["amount"] == 33.33
    assert told["attribution"]["winner"]["affiliate"] == "minakessler"
    assert [it["amount"] for it in told["commissions"]] == [3.33]
    assert everything(sale.account) == before


BENT = [{"amount": Decimal(4)}, {"rate": Decimal(11)}, {"sub_amount": Decimal(34)}]


@pytest.mark.parametrize("values", BENT, ids=["amount", "rate", "part"])
def test_ends_with_1_when_a_commission_was_bent(sale, values):
    sale.account.commissions.update(**values)

    out, err, code = explained(sale, "--verify")

    assert code == 1
    assert "NOT the same" in out
    assert err.count("\n") == 1


def test_ends_with_1_when_the_decision_was_bent(sale):
    decision = sale.account.decisions.filter(conversion=sale)
    outcome = decision.get().outcome.replace('"coupon"', '"click_id"')
    decision.update(outcome=outcome)

    assert explained(sale, "--verify")[2] == 1


def test_gives_the_reason_in_one_line_however_much_differs(sale):
    sale.account.commissions.update(amount=Decimal(4), rate=Decimal(11))

    _, err, code = explained(sale, "--verify")

    assert code == 1
    assert len(err.splitlines()) == 1


def test_tells_as_json_that_something_differs(sale):
    sale.account.commissions.update(amount=Decimal(4))

    out, err, code = explained(sale, "--verify", "--json")

    assert code == 1
    assert err
    assert json.loads(out)["verified"] is False
    assert out.count("\n") == 1


def test_only_tells_what_differs_without_verify(sale):
    sale.account.commissions.update(amount=Decimal(4))

    assert explained(sale)[1:] == ("", 0)


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40])
def test_does_not_know_a_sale(shop, number):
    assert refusal("explain", "harbor", number) == "Conversion not found"


def test_does_not_know_the_sale_of_another_account(shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-").sell("200")

    assert refusal("explain", "harbor", str(theirs.pk)) == "Conversion not found"


def test_does_not_know_an_account(sale):
    assert "unknown" in refusal("explain", "unknown", str(sale.pk))


@pytest.mark.parametrize("number", ["", "order-1", "1.0", "1_0", "\uff11"], ids=ascii)
def test_stops_at_a_malformed_number(shop, number):
    assert is_refused_as_wrong("explain", "harbor", number)
