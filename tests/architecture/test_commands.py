"""operations.md, section 3: the commands and their arguments are promises."""

import re

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

from tests.architecture.tree import PACKAGES, ROOT

# As operations.md spells them. `--json` is an option of every command.
PROMISED = {
    # Accounts and rights
    "create_account": (
        "ACCOUNT --name NAME [--plan PLAN] [--use-payouts] [--pending-as-null]"
    ),
    "set_plan": "ACCOUNT PLAN",
    "lock_account": "ACCOUNT",
    "unlock_account": "ACCOUNT",
    "create_api_key": "ACCOUNT [--name LABEL] [--role ROLE | --read-only]",
    "list_api_keys": "ACCOUNT",
    "revoke_api_key": "ACCOUNT PREFIX",
    "create_webhook": "ACCOUNT URL [--event NAME]",
    "create_postback": ("ACCOUNT AFFILIATE URL [--method METHOD] [--event NAME]"),
    "list_webhooks": "ACCOUNT",
    "disable_webhook": "ACCOUNT WEBHOOK",
    "enable_webhook": "ACCOUNT WEBHOOK",
    "rotate_webhook_secret": "ACCOUNT WEBHOOK",
    "list_deliveries": "ACCOUNT WEBHOOK [--failed]",
    "resend_delivery": "ACCOUNT DELIVERY",
    "create_staff": "EMAIL --account ACCOUNT [--role ROLE] [--password-stdin]",
    # Programs and money
    "create_program": (
        "ACCOUNT PROGRAM --title T --currency EUR [--cookie-time DAYS]"
        " [--commission-percent P | --commission-fixed A] [--landing-page URL]"
        " [--auto-approve-affiliates] [--auto-approve-commissions]"
    ),
    "list_programs": "ACCOUNT",
    "archive_program": "ACCOUNT PROGRAM",
    "unarchive_program": "ACCOUNT PROGRAM",
    "fund_payouts": "ACCOUNT AMOUNT CURRENCY",
    "grant_bonuses": "[--account ACCOUNT]",
    "check_ledger": "[--account ACCOUNT] [--note]",  # without --note it reads only
    "explain": "ACCOUNT CONVERSION_ID [--verify]",
    # Data and upkeep
    "load_demo": "[--scale N]",
    "import_account": "ACCOUNT --from BASE_URL [--dry-run] [--mirror]",
    "deliver_webhooks": "[--once]",
    "prune": "[--dry-run]",
    "export_openapi": "[FILE]",
    "export_person": "ACCOUNT ID",
    "erase_person": "ACCOUNT ID",
    "doctor": "",
    "backup": "[FILE]",
    "restore": "FILE [--noinput]",
}

# Promised, and not made yet; made, a name goes.
NOT_YET = {
    "import_account",
    "export_person",
    "erase_person",
    "doctor",
    "backup",
    "restore",
}

MADE = {
    path.stem: package
    for package in PACKAGES
    for path in (ROOT / package / "management" / "commands").glob("*.py")
    if path.stem != "__init__"
}
GIVEN = set()  # what every command of Django's has
for action in BaseCommand().create_parser("manage.py", "nothing")._actions:
    GIVEN.update(action.option_strings)


def parser_of(name):
    return load_command_class(MADE[name], name).create_parser("manage.py", name)


def own_actions(name):
    """The positional arguments and the options that a command adds itself."""
    return [
        action
        for action in parser_of(name)._actions
        if not set(action.option_strings) & (GIVEN | {"--json"})
        or action.option_strings == ["--noinput"]
    ]


def promised_positionals(usage):
    """`ACCOUNT [FILE] --name NAME` → [("ACCOUNT", True), ("FILE", False)]."""
    bare = re.sub(r"\[?--[a-z-]+( [A-Z_]+)?\]?( \| --[a-z-]+( [A-Z_]+)?\])?", "", usage)
    return [
        (word.strip("[]"), not word.startswith("[")) for word in bare.split() if word
    ]


def promised_options(usage):
    """`--name NAME [--once]` → {"--name": (needed, takes a value), …}."""
    return {
        option: (not before, bool(value))
        for before, option, value in re.findall(
            r"(\[|\| )?(--[a-z-]+)(?: ([A-Z_]+))?", usage
        )
    }


def test_makes_every_command_that_is_promised_and_no_other():
    assert set(MADE) == set(PROMISED) - NOT_YET


def test_names_nothing_as_missing_that_is_not_promised():
    assert set(PROMISED) >= NOT_YET


@pytest.mark.parametrize("name", MADE)
def test_takes_the_arguments_that_are_promised(name):
    found = [
        (str(action.metavar or action.dest).upper(), action.required)
        for action in own_actions(name)
        if not action.option_strings
    ]

    assert found == promised_positionals(PROMISED[name])


@pytest.mark.parametrize("name", MADE)
def test_takes_the_options_that_are_promised(name):
    found = {
        option: (action.required, action.nargs != 0)
        for action in own_actions(name)
        for option in action.option_strings
    }

    assert found == promised_options(PROMISED[name])


@pytest.mark.parametrize("name", MADE)
def test_takes_one_of_two_options_where_that_is_promised(name):
    pairs = {
        frozenset(re.findall(r"--[a-z-]+", choice))
        for choice in re.findall(r"\[[^\]]*\|[^\]]*\]", PROMISED[name])
    }

    found = {
        frozenset(
            option
            for action in group._group_actions
            for option in action.option_strings
        )
        for group in parser_of(name)._mutually_exclusive_groups
    }
    assert found == pairs


@pytest.mark.parametrize("name", MADE)
def test_can_answer_as_json(name):
    options = {
        option
        for action in parser_of(name)._actions
        for option in action.option_strings
    }

    assert "--json" in options


@pytest.mark.parametrize("name", MADE)
def test_says_what_it_does(name):
    told = load_command_class(MADE[name], name).help

    assert told.endswith(".")


@pytest.mark.parametrize("name", MADE)
def test_takes_no_secret_as_an_argument(name):
    """Other users of the machine see arguments."""
    dests = {action.dest for action in own_actions(name)}

    assert dests.isdisjoint({"password", "key", "secret", "token"})


@pytest.mark.parametrize(
    ("usage", "positionals", "options"),
    [
        ("", [], {}),
        ("ACCOUNT [FILE]", [("ACCOUNT", True), ("FILE", False)], {}),
        ("A --name NAME", [("A", True)], {"--name": (True, True)}),
        (
            "[--role ROLE | --read-only]",
            [],
            {"--role": (False, True), "--read-only": (False, False)},
        ),
    ],
    ids=["nothing", "positionals", "needed", "one of two"],
)
def test_reads_a_usage_line_itself(usage, positionals, options):
    assert promised_positionals(usage) == positionals
    assert promised_options(usage) == options
