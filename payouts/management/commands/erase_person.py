from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.db_compat import without_statement_timeout
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from payouts.services.erasure import erase_person


class Command(AccountCommand):
    help = (
        "Erase the personal data of an affiliate, prospect or customer, whose amounts"
        " stay; who is not removed yet is removed. It cannot be undone."
    )
    arguments = {"id": "an affiliate's ID, cu_…, ap_… or e-mail address"}

    def run_for_account(
        self, account: Account, *, at: datetime, **options: Any
    ) -> None:
        with without_statement_timeout():
            erasure = erase_person(account, identifier=options["id"], at=at)
        due = [
            f"Balance due to {person}: {format_decimal(amount)} {currency}. It stays"
            " payable, but there is no payout method any more."
            for person, totals in erasure.balances.items()
            for currency, amount in totals.items()
        ]
        self.write_result(
            "\n".join(
                [
                    *(f"Erased: {person}" for person in erasure.ids),
                    f"Rows: {erasure.row_count}",
                    *due,
                    "Keep the IDs: after restoring a backup, erase them again.",
                ]
            ),
            account=account.slug,
            ids=erasure.ids,
            rows=erasure.row_count,
            balances=erasure.balances,
        )
