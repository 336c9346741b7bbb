"""operations.md, section 3: what a program pays, at the command line."""

import io
import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.utils import timezone

from payouts.models.commission_types import CommissionType, RateKind
from payouts.services.payments import Order, pay
from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.proof import books_agree
from tests.shop import Shop
from tests.world import World
from tracking.models.programs import Program

NEEDED = ["--title", "Harbor Lamps", "--currency", "EUR"]


def create(*options):
    return run("create_program", "harbor", "harbor-lamps", *(options or NEEDED))


def kept():
    """Programs, rates and events: what a refused command must not touch."""
    return [
        list(Program.objects.order_by("id").values()),
        list(CommissionType.objects.order_by("id").values()),
        [
            list(program.account.events.order_by("id").values())
            for program in Program.objects.select_related("account")
        ],
    ]


def test_prints_the_slug_of_a_new_program(account):
    assert create() == "harbor-lamps\n"


def test_makes_a_program_with_the_defaults(account):
    create()

    program = account.programs.get()
    assert (program.slug, program.title) == ("harbor-lamps", "Harbor Lamps")
    assert (program.currency, program.cookie_time) == ("EUR", 45)
    assert (program.landing_page, program.archived_at) == ("", None)
    assert not program.auto_approve_affiliates
    assert not program.auto_approve_commissions


def test_gives_a_program_its_type_standard(account):
    create()

    rate = account.commission_types.get()
    assert rate.program == account.programs.get()
    assert (rate.identifier, rate.title) == ("standard", "Standard")
    assert (rate.kind, rate.value) == (RateKind.PERCENTAGE, Decimal(10))
    assert rate.is_default


def test_makes_a_program_with_all_options(account):
    create(
        "--title",
        "Harbor & Søn",
        "--currency",
        "jpy",
        "--cookie-time",
        "365",
        "--commission-fixed",
        "500",
        "--landing-page",
        "https://shop.example.net/?a=b",
        "--auto-approve-affiliates",
        "--auto-approve-commissions",
    )

    program, rate = account.programs.get(), account.commission_types.get()
    assert (program.title, program.currency) == ("Harbor & Søn", "JPY")
    assert program.cookie_time == 365
    assert program.landing_page == "https://shop.example.net/?a=b"
    assert program.auto_approve_affiliates
    assert program.auto_approve_commissions
    assert (rate.kind, rate.value) == (RateKind.FIXED, Decimal(500))


def test_tells_a_new_program_as_json(account):
    assert run_json("create_program", "harbor", "harbor-lamps", *NEEDED) == {
        "program": "harbor-lamps",
        "title": "Harbor Lamps",
        "currency": "EUR",
        "cookie_time": 45,
    }


@pytest.mark.parametrize(
    ("option", "number", "kind", "value"),
    [
        ("--commission-percent", "0", "percentage", "0"),
        ("--commission-percent", "7.5", "percentage", "7.5"),
        ("--commission-percent", "33.3333", "percentage", "33.3333"),
        ("--commission-percent", "100", "percentage", "100"),
        ("--commission-fixed", "0", "fixed", "0"),
        ("--commission-fixed", "12.50", "fixed", "12.5"),
        ("--commission-fixed", "9999999999999.99", "fixed", "9999999999999.99"),
    ],
)
def test_takes_the_commission_exactly(account, option, number, kind, value):
    create(*NEEDED, option, number)

    rate = account.commission_types.get()
    assert (rate.kind, rate.value) == (kind, Decimal(value))


CANNOT_BE_DONE = {
    "an unknown currency": ["--title", "T", "--currency", "XXX"],
    "no currency": ["--title", "T", "--currency", ""],
    "no cookie time": [*NEEDED, "--cookie-time", "0"],
    "too long a cookie time": [*NEEDED, "--cookie-time", "366"],
    "a negative cookie time": [*NEEDED, "--cookie-time=-1"],
    "a negative percentage": [*NEEDED, "--commission-percent=-1"],
    "more than all": [*NEEDED, "--commission-percent", "100.01"],
    "five decimals": [*NEEDED, "--commission-percent", "7.12345"],
    "a negative amount": [*NEEDED, "--commission-fixed=-0.01"],
    "half a cent": [*NEEDED, "--commission-fixed", "0.005"],
    "a third of a yen": [
        "--title",
        "T",
        "--currency",
        "JPY",
        "--commission-fixed",
        "0.3",
    ],
    "an immense amount": [*NEEDED, "--commission-fixed", "1" + "0" * 30],
    "an immense share": [*NEEDED, "--commission-percent", "1" + "0" * 30],
    "an address that is none": [*NEEDED, "--landing-page", "shop.example.net"],
    "an address that runs": [*NEEDED, "--landing-page", "javascript:alert(1)"],
    "an address without end": [
        *NEEDED,
        "--landing-page",
        "https://e.net/" + "a" * 2048,
    ],
    "a title without end": ["--title", "t" * 256, "--currency", "EUR"],
    "an immense cookie time": [*NEEDED, "--cookie-time", "9" * 30],
}


@pytest.mark.parametrize("options", CANNOT_BE_DONE.values(), ids=CANNOT_BE_DONE)
def test_says_what_cannot_be_done(account, options):
    before = kept()

    refusal("create_program", "harbor", "harbor-lamps", *options)
    assert kept() == before


@pytest.mark.parametrize("slug", ["Harbor", "a b", "a" * 65, "ä", "a_b", "a/b"])
def test_makes_no_program_of_an_odd_slug(account, slug):
    refusal("create_program", "harbor", slug, *NEEDED)

    assert not account.programs.exists()


def test_says_that_a_program_exists(account):
    create()
    before = kept()

    assert "harbor-lamps" in refusal(
        "create_program", "harbor", "harbor-lamps", *NEEDED
    )
    assert kept() == before


def test_lets_another_account_have_the_same_slug(account, other_account):
    create()

    assert run("create_program", other_account.slug, "harbor-lamps", *NEEDED)


def test_does_not_know_an_account(account):
    assert "unknown" in refusal("create_program", "unknown", "harbor-lamps", *NEEDED)


WRONG = {
    "no title": ["harbor", "harbor-lamps", "--currency", "EUR"],
    "no currency": ["harbor", "harbor-lamps", "--title", "T"],
    "no program": ["harbor", *NEEDED],
    "two rates": [
        *["harbor", "harbor-lamps", *NEEDED],
        *["--commission-percent", "5", "--commission-fixed", "5"],
    ],
    **{
        f"the number {number!a}": [
            *["harbor", "harbor-lamps", *NEEDED, "--commission-percent", number]
        ]
        for number in (
            "",
            "ten",
            "1e1",
            "1_0",
            "NaN",
            "Infinity",
            "\uff15",
            "5%",
            "0x5",
        )
    },
    **{
        f"the days {days!a}": ["harbor", "harbor-lamps", *NEEDED, "--cookie-time", days]
        for days in ("", "month", "4.5", "1e1")
    },
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_stops_at_wrong_arguments(account, arguments):
    before = kept()

    assert is_refused_as_wrong("create_program", *arguments)
    assert kept() == before


@pytest.fixture
def sold(account, api):
    """An account with one sale of 200, 10 % of it pending."""
    world = World(api, account.slug, "harbor")
    assert world.commission
    return world


def checked_ledger(*options):
    """What the check writes, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("check_ledger", *options, stdout=out, stderr=err)
    except SystemExit as ended:
        return out.getvalue(), err.getvalue(), ended.code
    return out.getvalue(), err.getvalue(), 0


def bend(account, **values):
    """Write a wrong balance, past the service that should have made it."""
    account.ledger_accounts.filter(kind="pending").update(**values)


def test_finds_the_books_of_a_sale_in_order(sold):
    out, err, code = checked_ledger("--account", "harbor")

    assert (err, code) == ("", 0)
    assert "OK" in out


def test_tells_the_check_as_json(sold):
    told = run_json("check_ledger", "--account", "harbor")

    assert list(told) == ["ok", "checked", "failures", "closed_days"]
    assert (told["ok"], told["failures"]) == (True, [])
    assert told["closed_days"] == {"count": 0, "last_id": None, "sum": 0}


def test_finds_nothing_to_check_in_an_account_without_sales(account):
    assert run_json("check_ledger", "--account", "harbor")["ok"] is True


def test_sums_the_days_that_are_closed(sold, account, monkeypatch):
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)

    closed = run_json("check_ledger", "--account", "harbor")["closed_days"]

    last = account.transfers.order_by("-id").first()
    assert closed == {"count": 1, "last_id": last.pk, "sum": 20}


@pytest.mark.parametrize("wrong", [Decimal("19.9999"), Decimal(0), Decimal(-20)])
def test_names_every_row_that_differs(sold, account, wrong):
    bend(account, balance=wrong)

    out, err, code = checked_ledger("--account", "harbor")

    assert code == 1
    assert len(err.splitlines()) == 1
    assert {line.split()[0] for line in out.splitlines()} >= {"E2", "E4"}
    for line in out.splitlines():
        assert "harbor" in line


def test_tells_as_json_what_differs(sold, account):
    bend(account, balance=Decimal("19.9999"))
    out, _, code = checked_ledger("--account", "harbor", "--json")

    told = json.loads(out)
    assert code == 1
    assert told["ok"] is False
    assert {failure["equation"] for failure in told["failures"]} >= {"E1", "E2", "E4"}
    for failure in told["failures"]:
        assert set(failure) >= {"equation", "account", "row", "stored", "computed"}


def test_finds_a_commission_whose_amount_was_changed_past_the_ledger(sold, account):
    account.commissions.update(amount=Decimal(21))

    out, _, code = checked_ledger("--account", "harbor")

    assert code == 1
    assert {line.split()[0] for line in out.splitlines()} >= {"E4", "E5", "E6"}


def test_checks_one_account_alone_when_told(sold, account, other_account):
    bend(account, balance=Decimal(1))

    assert checked_ledger("--account", other_account.slug)[2] == 0
    assert checked_ledger()[2] == 1


def test_changes_nothing_by_checking(sold, account):
    bend(account, balance=Decimal(1))
    before = list(account.ledger_accounts.order_by("id").values())

    checked_ledger("--account", "harbor")

    assert list(account.ledger_accounts.order_by("id").values()) == before


def test_notes_what_came_of_it_where_that_is_asked(sold, account, other_account):
    checked_ledger()
    account.refresh_from_db()
    assert account.proved_at is None

    bend(account, balance=Decimal(1))
    assert checked_ledger("--note")[2] == 1

    account.refresh_from_db()
    other_account.refresh_from_db()
    assert account.differing_rows > 0
    assert (account.proved_at, other_account.differing_rows) == (
        other_account.proved_at,
        0,
    )


def test_checks_no_account_that_does_not_exist(account):
    assert "unknown" in refusal("check_ledger", "--account", "unknown")


# The payout balance.


def funds(account):
    """Transfers, balances and events: what a refused command must not touch."""
    return [
        list(getattr(account, name).order_by("id").values())
        for name in ("transfers", "ledger_accounts", "events")
    ]


def test_adds_to_the_payout_balance_each_time(account):
    sums = [("1250.50", "EUR"), ("0.01", "eur"), ("7", "JPY"), ("0.5", "KWD")]

    told = [run("fund_payouts", "harbor", *words) for words in sums]

    assert told == ["1250.50 EUR\n", "1250.51 EUR\n", "7 JPY\n", "0.500 KWD\n"]
    books_agree(account)


def test_tells_the_payout_balance_as_json(account):
    run("fund_payouts", "harbor", "1250.50", "EUR")

    told = run("fund_payouts", "harbor", "0.05", "eur", "--json")

    assert told == '{"currency":"EUR","balance":1250.55}\n'


def test_tells_a_payout_balance_below_nought(account):
    """More was paid than there was."""
    account.uses_payouts = True
    account.save()
    shop = Shop(account)
    order = Order(shop.mina.slug, Decimal(20), "EUR")
    pay(account, orders=[order], at=timezone.now())

    assert run("fund_payouts", "harbor", "0.5", "EUR") == "-19.50 EUR\n"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["harbor", "0", "EUR"], "above 0"),
        (["harbor", "0.00", "EUR"], "above 0"),
        (["harbor", "-5", "EUR"], "above 0"),
        (["harbor", "0.001", "EUR"], "EUR"),
        (["harbor", "1.5", "JPY"], "JPY"),
        (["harbor", "1" + "0" * 30, "EUR"], "amount"),
        (["harbor", "5", "XXX"], "currency"),
        (["harbor", "5", ""], "currency"),
        (["unknown", "5", "EUR"], "unknown"),
    ],
)
def test_says_what_cannot_be_added(account, words, part):
    before = funds(account)

    assert part in refusal("fund_payouts", *words)
    assert funds(account) == before


@pytest.mark.parametrize(
    "words",
    [
        ["harbor"],
        ["harbor", "5"],
        ["harbor", "five", "EUR"],
        ["harbor", "1e3", "EUR"],
        ["harbor", "1,5", "EUR"],
        ["harbor", "", "EUR"],
        ["harbor", "NaN", "EUR"],
        ["harbor", "\uff15", "EUR"],
        ["harbor", "5", "EUR", "6"],
    ],
    ids=ascii,
)
def test_adds_nothing_by_wrong_arguments(account, words):
    before = funds(account)

    assert is_refused_as_wrong("fund_payouts", *words)
    assert funds(account) == before
