"""Edits of one payout method at the same time, beside `rotate_encryption`.

Commits are real: each test creates its own account and does not delete it.
"""

import pytest
from django.db import connection

from payouts.services.payout_methods import calculate_method_index

pytestmark = pytest.mark.integration

ROUNDS = 5


def test_one_of_two_edits_stays_whole(workers, scenario):
    account, slug = scenario.account, scenario.mina.affiliate.slug
    edit = {"task": "set_payout_method", "account": account.slug, "affiliate_id": slug}
    for number in range(ROUNDS):
        texts = [f"{name}{number}@notes.example" for name in "ab"]

        results = workers.run(
            *(edit | {"text": text} for text in texts),
            *[{"task": "rotate_encryption", "account": account.slug}] * 2,
        )

        assert results == ["done"] * 4
        method = account.payout_methods.get()
        assert method.is_primary
        assert method.details["account"] in texts
        assert method.blind_index == calculate_method_index("paypal", method.details)
        with connection.cursor() as cursor:  # as before the encryption
            cursor.execute(
                "UPDATE payouts_payoutmethod SET details = %s, blind_index = NULL WHERE id = %s",
                ['{"account": "old@notes.example"}', method.pk],
            )
