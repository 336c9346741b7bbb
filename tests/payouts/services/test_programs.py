"""Creation of programs (docs/api-contract.md, sections 7.1 and 7.2)."""

from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting, InvalidSlug
from payouts.models.commission_types import RateKind
from payouts.services.programs import ProgramSettings, create_program
from tests.conftest import NOW
from tests.ledger_checks import assert_atomic, assert_unchanged
from tracking.errors import DuplicateProgram, UnknownCurrency


def make_program(account, slug="harbor-lamps", **settings):
    """Create a program with these settings."""
    output = ProgramSettings(**{"title": "Harbor Lamps", "currency": "EUR"} | settings)
    return create_program(account, slug=slug, settings=output, at=NOW)


def test_creates_a_program_with_defaults(account):
    program = make_program(account)

    stored = account.programs.get()
    assert stored == program
    assert {
        name: getattr(stored, name)
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


def test_creates_one_commission_type_and_one_generic_asset(account):
    program = make_program(account)

    kind = account.commission_types.get(program=program)
    assert (kind.identifier, kind.title) == ("standard", "Standard")
    assert (kind.kind, kind.value) == (RateKind.PERCENTAGE, Decimal(10))
    assert kind.is_default
    assert account.assets.filter(program=program).count() == 1


def test_logs_the_rate(account):
    make_program(account, rate=Decimal("7.5"))

    event = account.audit_log.get()
    assert (event.kind, event.subject) == ("program.created", "program:harbor-lamps")
    assert event.details == {"rate": "7.5"}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"cookie_time": 1}, id="cookie-1-day"),
        pytest.param({"cookie_time": 365}, id="cookie-365-days"),
        pytest.param({"rate": Decimal(0)}, id="pays-nothing"),
        pytest.param({"rate": Decimal(100)}, id="pays-all"),
        pytest.param({"rate": Decimal("0.0001")}, id="finest-rate"),
        pytest.param({"rate_kind": RateKind.FIXED, "rate": Decimal("0.01")}, id="fixed-cent"),
        pytest.param({"rate_kind": RateKind.FIXED, "rate": Decimal(500)}, id="fixed-over-100"),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("1.005"), "currency": "KWD"},
            id="fixed-fils",
        ),
        pytest.param({"landing_page": "http://shop.example.net/a?b=c"}, id="page"),
    ],
)
def test_accepts_settings_up_to_their_limits(account, settings):
    program = make_program(account, **settings)

    kind = account.commission_types.get(program=program)
    for name, value in settings.items():
        source = kind if name in ("rate", "rate_kind") else program
        stored = {"rate": "value", "rate_kind": "kind"}.get(name, name)
        assert getattr(source, stored) == value


@pytest.mark.parametrize(
    ("settings", "error_class"),
    [
        pytest.param({"cookie_time": 0}, InvalidSetting, id="cookie-0"),
        pytest.param({"cookie_time": 366}, InvalidSetting, id="cookie-366"),
        pytest.param({"rate": Decimal("100.0001")}, InvalidSetting, id="more-than-all"),
        pytest.param({"rate": Decimal("-0.0001")}, InvalidSetting, id="negative"),
        pytest.param({"rate": Decimal("0.00001")}, InvalidSetting, id="too-fine"),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("0.005")},
            InvalidSetting,
            id="half-a-cent",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal("0.5"), "currency": "JPY"},
            InvalidSetting,
            id="half-a-yen",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(-5)},
            InvalidSetting,
            id="fixed-negative",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(10**15)},
            InvalidSetting,
            id="fixed-over-the-ledger",
        ),
        pytest.param(
            {"rate_kind": RateKind.FIXED, "rate": Decimal(10**40)},
            InvalidSetting,
            id="fixed-over-everything",
        ),
        pytest.param({"landing_page": "shop.example.net"}, InvalidSetting, id="no-scheme"),
        pytest.param({"landing_page": "javascript:a"}, InvalidSetting, id="script"),
        pytest.param({"landing_page": "http://[::1"}, InvalidSetting, id="no-address"),
        pytest.param({"landing_page": f"https://e/{'a' * 2048}"}, InvalidSetting),
        pytest.param({"title": "t" * 256}, InvalidSetting, id="long-title"),
        pytest.param({"currency": "XXX"}, UnknownCurrency, id="no-money"),
        pytest.param({"currency": ""}, UnknownCurrency, id="no-currency"),
        pytest.param({"slug": "Harbor"}, InvalidSlug, id="upper-case"),
        pytest.param({"slug": "-harbor"}, InvalidSlug, id="dash-first"),
        *(({"slug": slug}, InvalidSlug) for slug in ("a b", "ä", "a_b", "a/b")),
        pytest.param({"slug": "h" * 65}, InvalidSlug, id="65-letters"),
        pytest.param({"slug": ""}, InvalidSlug, id="no-slug"),
    ],
)
def test_rejects_invalid_settings_and_stores_nothing(account, settings, error_class):
    with assert_unchanged(account), pytest.raises(error_class):
        make_program(account, **settings)


def test_keeps_the_currency_in_upper_case(account):
    assert make_program(account, currency=" eur ").currency == "EUR"


def test_rejects_a_duplicate_slug_and_stores_nothing(account):
    make_program(account, title="The first")

    with assert_unchanged(account), pytest.raises(DuplicateProgram) as raised:
        make_program(account, title="The second")

    assert str(raised.value) == "Program 'harbor-lamps' already exists"


def test_allows_the_slug_in_another_account(account, other_account):
    make_program(account)

    assert make_program(other_account).account == other_account


def test_stores_nothing_when_any_statement_fails(account):
    assert_atomic(account, lambda: make_program(account), least=5)

    assert account.programs.count() == account.commission_types.count() == 1
