"""Command names, arguments and exit codes are public; docs/operations.md lists them."""

import re

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

from tests.architecture.syntax_trees import PACKAGES, ROOT

# The documented usage of each command; every command also has `--json`.
DOCUMENTED = {
    # Accounts and rights
    "list_accounts": "",
    "create_account": ("ACCOUNT --name NAME [--plan PLAN] [--use-payouts] [--pending-as-null]"),
    "set_plan": "ACCOUNT PLAN",
    "lock_account": "ACCOUNT",
    "unlock_account": "ACCOUNT",
    "delete_account": "ACCOUNT [--dry-run | --yes] [--accept-unpaid]",
    "create_api_key": "ACCOUNT [--name LABEL] [--role ROLE | --read-only]",
    "list_api_keys": "ACCOUNT",
    "revoke_api_key": "ACCOUNT PREFIX",
    "create_signing_secret": "ACCOUNT",
    "list_signing_secrets": "ACCOUNT",
    "revoke_signing_secret": "ACCOUNT PREFIX",
    "create_webhook": "ACCOUNT URL [--event NAME]",
    "create_postback": ("ACCOUNT AFFILIATE URL [--method METHOD] [--event NAME]"),
    "list_webhooks": "ACCOUNT",
    "disable_webhook": "ACCOUNT WEBHOOK",
    "enable_webhook": "ACCOUNT WEBHOOK",
    "rotate_webhook_secret": "ACCOUNT WEBHOOK",
    "list_deliveries": "ACCOUNT WEBHOOK [--failed]",
    "resend_delivery": "ACCOUNT DELIVERY",
    "create_connection": (
        "ACCOUNT --kind KIND [--mapping MAPPING] [--program PROGRAM]"
        " [--secret-file FILE] [--mode MODE]"
    ),
    "set_connection_secret": ("ACCOUNT CONNECTION [--secret-file FILE | --forget-earlier]"),
    "catch_up_connection": ("ACCOUNT CONNECTION [--since DAY] [--key-file FILE] [--shop-url URL]"),
    "list_connections": "ACCOUNT",
    "set_connection": "ACCOUNT CONNECTION --mode MODE",
    "list_inbox": "ACCOUNT [--connection ID] [--state STATE] [--limit N]",
    "process_inbox": "[--once]",
    "create_staff": "ACCOUNT EMAIL --role ROLE [--password-stdin]",
    "set_staff": (
        "ACCOUNT EMAIL [--role ROLE | --email EMAIL | --deactivate | --activate"
        " | --remove-second-factor]"
    ),
    "list_staff": "ACCOUNT",
    "list_audit_log": "ACCOUNT [--kind KIND] [--limit N]",
    "changepassword": "EMAIL [--account ACCOUNT] [--password-stdin]",
    # Programs and money
    "create_program": (
        "ACCOUNT PROGRAM --title T --currency EUR [--cookie-time DAYS]"
        " [--commission-percent P | --commission-fixed A] [--landing-page URL]"
        " [--visibility V] [--auto-approve-affiliates] [--auto-approve-commissions]"
    ),
    "list_programs": "ACCOUNT",
    "set_page_tracking": (
        "ACCOUNT [--require-signatures] [--no-require-signatures]"
        " [--max-browser-amount UNITS] [--program PROGRAM]"
        " [--auto-approve-browser-sales] [--no-auto-approve-browser-sales]"
        " [--trust-browser-customers] [--no-trust-browser-customers]"
    ),
    "enable_portal": "ACCOUNT [--open | --off]",
    "set_portal_host": "ACCOUNT [HOST | --none]",
    "invite_affiliate": "ACCOUNT AFFILIATE",
    "set_customer_email_keys": "ACCOUNT [--meta-data-key KEY | --none]",
    "archive_program": "ACCOUNT PROGRAM",
    "unarchive_program": "ACCOUNT PROGRAM",
    "fund_payouts": "ACCOUNT AMOUNT CURRENCY",
    "grant_bonuses": "[ACCOUNT]",
    "list_payout_runs": "ACCOUNT [--limit N]",
    "list_table_imports": "ACCOUNT [--limit N]",
    "payout_run": (
        "ACCOUNT [--until DAY | --run RUN] [--minimum EUR] [--program P]"
        " [--method METHOD] [--dry-run] [--confirm | --discard] [--export FORMAT]"
        " [--again] [--output DIR]"
    ),
    "rates": "ACCOUNT PROGRAM",
    "set_rates": "ACCOUNT PROGRAM --file FILE [--from DAY] [--dry-run]",
    "withheld_balances": "ACCOUNT [--lift BALANCE]",
    "payout_minimums": "ACCOUNT [--affiliate ID] [--set EUR | --remove EUR]",
    "payer": "ACCOUNT [--set NAME]",
    "import_payout_results": ("ACCOUNT FILE [--run RUN] [--format FORMAT] [--dry-run]"),
    # read-only without --note
    "check_ledger": "[ACCOUNT | --expect DIGEST] [--note]",
    "explain": "ACCOUNT CONVERSION [--verify]",
    "report": (
        "ACCOUNT --rows FIELDS --columns NAMES --from DAY --to DAY [--filter PAIR]"
        " [--compare PERIOD] [--sort NAME] [--format FORMAT] [--output FILE]"
    ),
    "what_if": "ACCOUNT --from DAY --to DAY --changes FILE",
    "statement": ("ACCOUNT AFFILIATE --from DAY --to DAY [--format FORMAT] [--output FILE]"),
    # Data and maintenance
    "load_demo": "[--scale N]",
    "export_account": "ACCOUNT FILE",
    "import_account": (
        "ACCOUNT [--from BASE_URL | --file FILE] [--dry-run] [--mirror] [--final]"
        " [--accept-problems]"
    ),
    "import_table": (
        "ACCOUNT TABLE [FILE] [--template] [--system SYSTEM] [--column PAIR]"
        " [--default PAIR] [--program PROGRAM] [--currency CODE] [--dates STYLE]"
        " [--decimal MARK] [--answer PAIR] [--dry-run] [--only-good]"
    ),
    "undo_table_import": "ACCOUNT ID",
    "deliver_webhooks": "[--once]",
    "prune": "[--dry-run]",
    "rotate_encryption": "[--dry-run]",
    "export_openapi": "[FILE]",
    "export_person": "ACCOUNT ID",
    "erase_person": "ACCOUNT ID [--dry-run | --yes]",
    "backup": "[FILE] [--force] [--keep DAYS]",
    "restore": "FILE [--force]",
    "doctor": "[--probe URL] [--startup]",
}

# Documented commands that are not implemented yet.
NOT_IMPLEMENTED: set[str] = set()

IMPLEMENTED = {
    path.stem: package
    for package in PACKAGES
    for path in (ROOT / package / "management" / "commands").glob("*.py")
    if path.stem not in ("__init__", "collectstatic", "sendtestemail")  # Django's
}
BASE_OPTIONS = set()  # options of every Django command
for action in BaseCommand().create_parser("manage.py", "nothing")._actions:
    BASE_OPTIONS.update(action.option_strings)


def get_parser(name):
    return load_command_class(IMPLEMENTED[name], name).create_parser("manage.py", name)


def list_own_actions(name):
    """Return the arguments and options that a command defines itself."""
    return [
        action
        for action in get_parser(name)._actions
        if not set(action.option_strings) & (BASE_OPTIONS | {"--json"})
        or action.option_strings == ["--noinput"]
    ]


def parse_documented_positionals(usage):
    """Parse `ACCOUNT [FILE]` into `[("ACCOUNT", True), ("FILE", False)]`."""
    bare = re.sub(r"\[?--[a-z-]+( [A-Z_]+)?\]?( \| --[a-z-]+( [A-Z_]+)?\])?", "", usage)
    return [
        (word.strip("[]"), not word.startswith("[")) for word in bare.split() if word.strip("[]|")
    ]


def parse_documented_options(usage):
    """Parse `--name NAME [--once]` into `{"--name": (required, has a value), …}`."""
    return {
        option: (not before, bool(value))
        for before, option, value in re.findall(r"(\[|\| )?(--[a-z-]+)(?: ([A-Z_]+))?", usage)
    }


def test_has_exactly_the_documented_commands():
    assert set(IMPLEMENTED) == set(DOCUMENTED) - NOT_IMPLEMENTED


def test_the_guide_for_operators_lists_every_command():
    guide = (ROOT / "docs/operations.md").read_text()
    listed = re.search(r"(?ms)^## 6\. Commands$.*?^## ", guide)[0]

    assert {name for name in IMPLEMENTED if not re.search(rf"`{name}[` ]", listed)} == set()


def test_lists_only_documented_commands_as_not_implemented():
    assert set(DOCUMENTED) >= NOT_IMPLEMENTED


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_takes_the_documented_arguments(name):
    found = [
        (str(action.metavar or action.dest).upper(), action.required)
        for action in list_own_actions(name)
        if not action.option_strings
    ]

    assert found == parse_documented_positionals(DOCUMENTED[name])


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_takes_the_documented_options(name):
    found = {
        option: (action.required, action.nargs != 0)
        for action in list_own_actions(name)
        for option in action.option_strings
    }

    assert found == parse_documented_options(DOCUMENTED[name])


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_takes_one_of_two_options_where_documented(name):
    pairs = {
        frozenset(re.findall(r"--[a-z-]+", choice))
        for choice in re.findall(r"\[[^\]]*\|[^\]]*\]", DOCUMENTED[name])
    }

    found = {
        frozenset(option for action in group._group_actions for option in action.option_strings)
        for group in get_parser(name)._mutually_exclusive_groups
    }
    assert found == pairs


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_has_a_json_option(name):
    options = {option for action in get_parser(name)._actions for option in action.option_strings}

    assert "--json" in options


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_has_a_help_text(name):
    help_text = load_command_class(IMPLEMENTED[name], name).help

    assert help_text.endswith(".")


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_takes_no_secret_as_an_argument(name):
    """Other users of the machine can see command arguments."""
    dests = {action.dest for action in list_own_actions(name)}

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
    ids=["nothing", "positionals", "required", "one of two"],
)
def test_parses_a_usage_line(usage, positionals, options):
    assert parse_documented_positionals(usage) == positionals
    assert parse_documented_options(usage) == options
