"""Who pays: named in bank files."""

import pytest
from django.db.models import TextField
from django.db.models.functions import Cast

from accounts.encryption import TOKEN_PREFIX
from accounts.errors import ErrorList
from payouts.errors import InvalidPayer
from payouts.services.payout_settings import (
    build_payer,
    get_payer,
    get_payout_settings,
    update_payout_settings,
)
from tests.conftest import NOW
from tests.payout_scenario import PAYER, build_run

CHANGES = {f"payer_{name}": text for name, text in PAYER.items()}


def update(account, **changes):
    return update_payout_settings(account, changes=changes, at=NOW)


def test_stores_normalized_numbers(account, other_account):
    spaced = {"payer_iban": "nl91 abna 0417 1643 00", "payer_bic": "abnanl2a"}
    update(account, **CHANGES | spaced, requires_second_person=True)
    settings = get_payout_settings(account)
    assert build_payer(settings) == PAYER
    stored = account.payout_settings.annotate(stored=Cast("payer_iban", TextField()))
    assert stored.get().stored.startswith(TOKEN_PREFIX)
    assert settings.requires_second_person
    assert build_payer(get_payout_settings(other_account)) == dict.fromkeys(PAYER, "")


def test_logs_the_names_of_what_changed(account):
    update(account, **CHANGES)
    update(account, **CHANGES)
    update(account, payer_city="Utrecht", payer_country="NL", payer_name="Hafen")
    first, second = account.audit_log.order_by("id")
    assert first.details["fields"] == sorted(CHANGES)
    assert second.details == {"fields": ["payer_city", "payer_name"]}
    assert account.payout_settings.count() == 1


@pytest.mark.parametrize(
    ("changes", "path", "text"),
    [
        ({"payer_iban": "NL92ABNA0417164300"}, "payer_iban", "not an IBAN"),
        ({"payer_iban": "hello"}, "payer_iban", "not an IBAN"),
        ({"payer_bic": "ABNA"}, "payer_bic", "not a BIC"),
        ({"payer_street": "Kade"}, "payer_city", "city and country"),
        ({"payer_city": "Amsterdam"}, "payer_country", "city and country"),
    ],
)
def test_refuses_what_no_bank_takes(account, changes, path, text):
    with pytest.raises(InvalidPayer, match=text) as error:
        update(account, **changes)
    assert error.value.path == path
    assert not account.payout_settings.exists()


def test_names_all_problems_at_once(account):
    with pytest.raises(ErrorList):
        update(account, payer_iban="x", payer_bic="y")


def test_keeps_the_payer_of_the_confirmation(account):
    update(account, payer_name="Later GmbH", payer_iban="NL91ABNA0417164300")
    run, _ = build_run(account=account)
    assert get_payer(run) == PAYER
    run.payer = {}
    assert get_payer(run)["name"] == "Later GmbH"
