"""The ledger: accounts between which money moves, and the moves, which only grow."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate

MOST = 900_000_000_000_000  # of a currency's major unit: BIGINT holds a little more


class Place(models.TextChoices):
    """A kind of ledger account; `funding` is the payout balance of an account that
    pays through the service, `external` the bank that it was topped up from."""

    EXPENSE = "expense"
    PENDING = "pending"
    PAYABLE = "payable"
    PAID = "paid"
    FUNDING = "funding"
    EXTERNAL = "external"


STORED = (Place.PENDING, Place.PAYABLE, Place.FUNDING)
OF_AFFILIATES = (Place.PENDING, Place.PAYABLE)


class LedgerAccount(Owned):
    """One place for money of one currency: of the whole account, or of an affiliate.

    A balance is credits less debits. It is stored only where an answer or a decision
    needs it; `expense`, `paid` and `external` have none, so that no row is shared by
    all sales.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="ledger_accounts", db_index=False
    )
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, choices=Place)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    balance = AmountField(null=True)  # type: ignore[misc]

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "currency", "kind", "affiliate"],
                condition=Q(affiliate__isnull=False),
                name="one_ledger_account_per_affiliate",
            ),
            models.UniqueConstraint(
                fields=["account", "currency", "kind"],
                condition=Q(affiliate=None),
                name="one_ledger_account_of_the_whole",
            ),
            models.CheckConstraint(
                condition=Q(balance=None) | Q(balance__gt=-MOST) & Q(balance__lt=MOST),
                name="a_balance_fits_its_column",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.currency} {self.affiliate_id or ''}".strip()


class Move(models.TextChoices):
    """A kind of transfer; each is always between the same kinds of places."""

    EARNED = "earned"
    APPROVED = "approved"
    REOPENED = "reopened"
    WITHDRAWN = "withdrawn"
    PAID = "paid"
    PAYMENT_CANCELED = "payment_canceled"
    FUNDED = "funded"


BETWEEN = {
    Move.EARNED: (Place.EXPENSE, Place.PENDING),
    Move.APPROVED: (Place.PENDING, Place.PAYABLE),
    Move.REOPENED: (Place.PAYABLE, Place.PENDING),
    Move.WITHDRAWN: (Place.PENDING, Place.EXPENSE),
    Move.FUNDED: (Place.FUNDING, Place.EXTERNAL),
}
# A payment goes out of the account's own pocket, or out of what it has funded.
POCKETS = (Place.PAID, Place.FUNDING)
PAIRS = (
    {(Move.PAID, Place.PAYABLE, pocket) for pocket in POCKETS}
    | {(Move.PAYMENT_CANCELED, pocket, Place.PAYABLE) for pocket in POCKETS}
    | {(move, *places) for move, places in BETWEEN.items()}
)


class Transfer(Owned):
    """One amount from one ledger account to another: an unbalanced entry cannot be
    written. The database refuses to change or delete it; a correction is one more."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="transfers", db_index=False
    )
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, choices=Move)
    debit = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="+", db_index=False
    )
    credit = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="+", db_index=False
    )
    amount = AmountField()
    commission = models.ForeignKey(
        Commission, models.PROTECT, null=True, related_name="+", db_index=False
    )
    step = models.PositiveIntegerField(null=True)
    payment = models.ForeignKey(
        Payment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    reverses = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission", "step"],
                name="one_transfer_per_step",
            ),
            models.UniqueConstraint(
                fields=["account", "payment"],
                condition=Q(kind=Move.PAID),
                name="one_transfer_per_payment",
            ),
            models.UniqueConstraint(
                fields=["account", "reverses"], name="one_reversal_per_transfer"
            ),
            models.CheckConstraint(
                condition=Q(commission__isnull=False, step__isnull=False, payment=None)
                | Q(commission=None, step=None),
                name="a_transfer_has_one_cause",
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0), name="a_transfer_moves_something"
            ),
            models.CheckConstraint(
                condition=~Q(debit=F("credit")), name="a_transfer_has_two_sides"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "debit"], name="transfers_out_of"),
            models.Index(fields=["account", "credit"], name="transfers_into"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} {self.currency}"
