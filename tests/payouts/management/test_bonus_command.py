"""operations.md, section 3: the bonuses of closed periods, at the command line."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.proof import books_agree, everything
from tests.shop import Shop


@pytest.fixture
def shop(account, time_machine):
    """Mina has earned 50 EUR in March; it is April."""
    time_machine.move_to("2026-04-01T00:00:00+00:00", tick=False)
    return earning(Shop(account), "50")


@pytest.fixture
def yen(account):
    """Another program of the account, where 7 JPY were earned."""
    other = Shop(
        account,
        "yen-lamps",
        mark="y-",
        email="yen@notes.example.org",
        currency="JPY",
    )
    return earning(other, "7")


def earning(shop, value):
    shop.program.change(auto_approve_commissions=True)
    shop.bonus(goal="1", value=value)
    shop.sell("200")
    return shop


def test_prints_how_many_and_how_much_per_currency(shop, yen, account):
    assert run("grant_bonuses") == "2 bonuses\n50.00 EUR\n7 JPY\n"

    assert account.commissions.filter(kind="bonus", status="approved").count() == 2
    books_agree(account)


def test_tells_them_as_json(shop, yen):
    assert run_json("grant_bonuses") == {
        "granted": 2,
        "totals": {"EUR": 50, "JPY": 7},
    }


def test_grants_none_in_a_second_run(shop, account):
    run("grant_bonuses")
    before = everything(account)

    assert run("grant_bonuses") == "0 bonuses\n"
    assert run_json("grant_bonuses") == {"granted": 0, "totals": {}}
    assert everything(account) == before


def test_adds_up_what_all_accounts_granted(shop, other_account):
    theirs = earning(Shop(other_account, mark="zz-marker-"), "2.50")

    assert run("grant_bonuses") == "2 bonuses\n52.50 EUR\n"

    books_agree(shop.account, theirs.account)


def test_grants_those_of_one_account_alone(shop, other_account):
    earning(Shop(other_account, mark="zz-marker-"), "2.50")
    before = everything(other_account)

    told = run_json("grant_bonuses", "--account", "harbor")

    assert told == {"granted": 1, "totals": {"EUR": 50}}
    assert everything(other_account) == before


def test_grants_those_of_others_where_one_account_has_too_much(
    shop, account, other_account
):
    rival = earning(Shop(other_account, email="m@notes.example.org"), "5")
    account.bonuses.update(value=Decimal(900000000000000))
    out = StringIO()

    with pytest.raises(CommandError) as refused:
        call_command("grant_bonuses", stdout=out)

    assert out.getvalue() == "1 bonuses\n5.00 EUR\n"
    assert str(refused.value) == (
        "Not every bonus was granted: harbor: This value has too many digits."
    )
    assert rival.account.commissions.filter(kind="bonus").count() == 1
    books_agree(account, other_account)


def test_refuses_an_unknown_account(shop, account):
    before = everything(account)

    reason = refusal("grant_bonuses", "--account", "nobody")

    assert reason == "There is no account 'nobody'"
    assert everything(account) == before


@pytest.mark.parametrize("arguments", [["harbor"], ["--account"], ["--goal", "1"]])
def test_refuses_wrong_arguments(shop, arguments):
    assert is_refused_as_wrong("grant_bonuses", *arguments)
