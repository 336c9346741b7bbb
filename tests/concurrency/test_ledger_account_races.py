"""The first sales of an account in a currency insert the same rows of the ledger."""

import pytest
from django.db import transaction

from payouts.models.ledger import AFFILIATE_ACCOUNT_TYPES, LedgerAccountType
from payouts.services.ledger import open_ledger_session
from tests.concurrency.test_order_id_races import wait_for_waiting
from tests.concurrency.worker import AT
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.another_transaction]


@pytest.mark.parametrize("has_balances", [True, False])
def test_who_has_locked_balances_waits_for_no_row_of_the_account(
    workers, scenario: ProgramScenario, has_balances
):
    """Another sale has the account's `expense`, or waits for it, without any lock."""
    account, mina = scenario.account, scenario.mina
    if has_balances:
        for kind in AFFILIATE_ACCOUNT_TYPES:
            account.ledger_accounts.create(
                affiliate=mina.affiliate, currency="EUR", kind=kind, balance=0
            )
    task = {"task": "create_conversion", "account": account.slug, "amount": "20"}
    with transaction.atomic():
        keys = [(mina.affiliate.pk, "EUR")]
        with open_ledger_session(account, keys, is_locked=True, at=AT):
            pass
        others = [task | {"coupon": mina.coupon, "external_id": str(n)} for n in "1234"]
        workers.start(*others)
        wait_for_waiting(len(others))
        scenario.create_conversion("20")

    assert workers.collect() == ["done"] * len(others)
    rows = account.ledger_accounts.filter(currency="EUR")
    assert rows.filter(kind=LedgerAccountType.EXPENSE).count() == 1
    assert account.conversions.count() == 5
