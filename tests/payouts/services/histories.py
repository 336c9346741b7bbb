"""Random histories of an account, and its balances after each change."""

from datetime import timedelta
from decimal import Decimal

from hypothesis import strategies as st

from payouts.errors import DuplicateOpeningBalance
from payouts.services.conversion_updates import update_commission
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payments import cancel_payment
from payouts.services.refunds import refund_conversion
from tests.factories.accounts import AccountFactory
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

STATUSES = ["approved", "pending", "disapproved"]

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("sale", "status", "status", "amount", "refund", "remove", "pay"),
                *("cancel", "open"),
            ]
        ),
        st.integers(0, 10**6),
        st.integers(1, 5000),
        st.integers(0, 30),  # hours until the next one
    ),
    max_size=25,
)


class History:
    """Random operations on an account with two affiliates, and the balances after
    each of them."""

    def __init__(self):
        self.account = AccountFactory(time_zone="America/New_York")
        self.scenario = ProgramScenario(self.account, rate=Decimal("7.5"), email=None)
        self.affiliates = [
            self.scenario.mina,
            self.scenario.create_enrolled_affiliate("Odette", "Varga"),
        ]
        self.at = CONVERSION_CREATED_AT
        self.balances = []  # the time, and the balances by affiliate and type

    def perform(self, name, pick, units, hours):
        self.at += timedelta(hours=hours, minutes=1)
        amount = Decimal(units) / 100
        conversions, commissions, payments = (
            list(rows.order_by("id"))
            for rows in (
                self.account.conversions.filter(deleted_at=None),
                self.account.commissions.filter(deleted_at=None),
                self.account.payments.filter(canceled_at=None),
            )
        )
        if name == "sale":
            affiliate = self.affiliates[pick % 2]
            self.scenario.create_conversion(amount, affiliate=affiliate, at=self.at)
        elif name in ("pay", "open"):
            change = self.pay if name == "pay" else self.post_or_reverse
            change(self.affiliates[pick % 2].slug, amount if pick % 3 else -amount)
        elif name == "cancel" and payments:
            payment = payments[pick % len(payments)]
            cancel_payment(self.account, payment_id=payment.public_id, at=self.at)
        elif name in ("status", "amount") and commissions:
            changes = {"status": STATUSES[pick % 3], "amount": amount}
            row = commissions[pick % len(commissions)]
            names = [name] if units % 3 else list(changes)
            update_commission(
                self.account,
                commission_id=row.pk,
                changes={name: changes[name] for name in names},
                at=self.at,
            )
        elif conversions and name in ("refund", "remove"):
            conversion = conversions[pick % len(conversions)]
            if name == "remove":
                self.scenario.delete(conversion, at=self.at)
            elif conversion.amount:
                refund_conversion(
                    self.account,
                    conversion_id=conversion.pk,
                    amount=min(amount, conversion.amount),
                    reason="",
                    at=self.at,
                )
        rows = self.account.ledger_accounts.filter(affiliate__isnull=False)
        balances = rows.values_list("affiliate", "kind", "balance")
        self.balances.append((self.at, list(balances)))

    def pay(self, slug, amount):
        self.scenario.pay(abs(amount), to=slug, at=self.at)

    def post_or_reverse(self, slug, amount):
        """Post an opening balance, or take back the one that there is."""
        key = {"affiliate_id": slug, "currency": "EUR", "at": self.at}
        try:
            post_opening_balance(self.account, amount=amount, **key)
        except DuplicateOpeningBalance:
            reverse_opening_balance(self.account, **key)

    def get_balances(self, end, affiliates):
        """What was payable and pending when this day ended."""
        known = []
        for at, balances in self.balances:
            if self.account.get_day(at) <= end:
                known = balances
        pks = [affiliate.pk for affiliate in affiliates]
        return [
            sum(it for pk, name, it in known if pk in pks and name == kind)
            for kind in ("payable", "pending")
        ]
