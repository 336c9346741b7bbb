"""Contract 7.1 and 7.2: a program, and what it pays unless told otherwise."""

from decimal import Decimal

import pytest

from accounts.errors import OddSetting, OddSlug
from payouts.models.commission_types import RateKind
from payouts.services.programs import Rules, open_program
from tests.conftest import NOW
from tests.proof import everything, failing_at
from tracking.errors import ProgramExists, UnknownCurrency


def opened(account, slug="harbor-lamps", **rules):
    """A program with these rules."""
    told = Rules(**{"title": "Harbor Lamps", "currency": "EUR"} | rules)
    return open_program(account, slug=slug, rules=told, at=NOW)


def test_opens_a_program_with_the_contracts_defaults(account):
    program = opened(account)

    kept = account.programs.get()
    assert kept == program
    assert {
        name: getattr(kept, name)
        for name in (
            *("slug", "title", "currency", "cookie_time", "landing_page"),
            *("auto_approve_affiliates", "auto_approve_commissions"),
            *("recurring", "recurring_cap", "recurring_period_days"),
            *("archived_at", "created_at"),
        )
    } == {
        "slug": "harbor-lamps",
        "title": "Harbor Lamps",
        "currency": "EUR",
        "cookie_time": 45,
        "landing_page": "",
        "auto_approve_affiliates": False,
        "auto_approve_commissions": False,
        "recurring": True,
        "recurring_cap": None,
        "recurring_period_days": None,
        "archived_at": None,
        "created_at": NOW,
    }


def test_gives_it_one_type_and_one_generic_asset(account):
    program = opened(account)

    kind = account.commission_types.get(program=program)
    assert (kind.identifier, kind.title) == ("standard", "Standard")
    assert (kind.kind, kind.value) == (RateKind.PERCENTAGE, Decimal(10))
    assert kind.is_default
    assert account.assets.filter(program=program).count() == 1


def test_notes_the_rate_in_the_diary(account):
    opened(account, rate=Decimal("7.5"))

    event = account.events.get()
    assert (event.kind, event.subject) == ("program.opened", "program:harbor-lamps")
    assert event.facts == {"rate": "7.5"}


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({"cookie_time": 1}, id="cookie-1-day"),
        pytest.param({"cookie_time": 365}, id="cookie-365-days"),
        pytest.param({"rate": Decimal(0)}, id="pays-nothing"),
        pytest.param({"rate": Decimal(100)}, id="pays-all"),
        pytest.param({"rate": Decimal("0.0001")}, id="finest-rate"),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("0.01")}, id="fixed-cent"
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(500)}, id="fixed-over-100"
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("1.005"), "currency": "KWD"},
            id="fixed-fils",
        ),
        pytest.param({"landing_page": "http://shop.example.net/a?b=c"}, id="page"),
    ],
)
def test_takes_settings_up_to_their_limits(account, rules):
    program = opened(account, **rules)

    kind = account.commission_types.get(program=program)
    for name, value in rules.items():
        source = kind if name in ("rate", "rate_kind") else program
        kept = {"rate": "value", "rate_kind": "kind"}.get(name, name)
        assert getattr(source, kept) == value


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [
        pytest.param({"cookie_time": 0}, OddSetting, id="cookie-0"),
        pytest.param({"cookie_time": 366}, OddSetting, id="cookie-366"),
        pytest.param({"rate": Decimal("100.0001")}, OddSetting, id="more-than-all"),
        pytest.param({"rate": Decimal("-0.0001")}, OddSetting, id="below-nought"),
        pytest.param({"rate": Decimal("0.00001")}, OddSetting, id="too-fine"),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("0.005")},
            OddSetting,
            id="half-a-cent",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("0.5"), "currency": "JPY"},
            OddSetting,
            id="half-a-yen",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(-5)},
            OddSetting,
            id="fixed-below-nought",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(10**15)},
            OddSetting,
            id="fixed-over-the-ledger",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(10**40)},
            OddSetting,
            id="fixed-over-everything",
        ),
        pytest.param({"landing_page": "shop.example.net"}, OddSetting, id="no-scheme"),
        pytest.param({"landing_page": "javascript:a"}, OddSetting, id="script"),
        pytest.param({"landing_page": "http://[::1"}, OddSetting, id="no-address"),
        pytest.param({"currency": "XXX"}, UnknownCurrency, id="no-money"),
        pytest.param({"currency": ""}, UnknownCurrency, id="no-currency"),
        pytest.param({"slug": "Harbor"}, OddSlug, id="upper-case"),
        pytest.param({"slug": "-harbor"}, OddSlug, id="dash-first"),
        pytest.param({"slug": "h" * 65}, OddSlug, id="65-letters"),
        pytest.param({"slug": ""}, OddSlug, id="no-slug"),
    ],
)
def test_refuses_odd_settings_and_keeps_nothing(account, rules, refusal):
    before = everything(account)

    with pytest.raises(refusal):
        opened(account, **rules)

    assert everything(account) == before


def test_keeps_the_currency_in_upper_case(account):
    assert opened(account, currency=" eur ").currency == "EUR"


def test_refuses_a_taken_slug_and_keeps_nothing(account):
    opened(account, title="The first")
    before = everything(account)

    with pytest.raises(ProgramExists) as refused:
        opened(account, title="The second")

    assert str(refused.value) == "The account has a program 'harbor-lamps' already"
    assert everything(account) == before


def test_lets_another_account_use_the_slug(account, other_account):
    opened(account)

    assert opened(other_account).account == other_account


def test_keeps_nothing_when_any_statement_fails(account):
    before = everything(account)

    for number in range(100):
        try:
            with failing_at(number) as asked:
                opened(account)
        except Exception:
            assert everything(account) == before
        else:
            break

    assert len(asked) == number > 4
    assert account.programs.count() == account.commission_types.count() == 1
