"""Double-entry ledger: ledger accounts, and append-only transfers between them."""

from itertools import permutations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models.accounts import TenantModel
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate

MAX_BALANCE = 900_000_000_000_000  # in major units: BIGINT holds a little more


class LedgerAccountType(models.TextChoices):
    """The type of a ledger account.

    `funding` is the payout balance of an account that uses payouts, `external` the bank
    account that it is topped up from. A top-up debits `funding`, so its stored balance
    is negative while money is left. `withholding_tax` is what the account owes to tax
    offices for affiliates.
    """

    EXPENSE = "expense"
    PENDING = "pending"
    PAYABLE = "payable"
    PAID = "paid"
    FUNDING = "funding"
    EXTERNAL = "external"
    WITHHOLDING_TAX = "withholding_tax", "Withholding tax"


STORED_BALANCE_TYPES = (
    LedgerAccountType.PENDING,
    LedgerAccountType.PAYABLE,
    LedgerAccountType.FUNDING,
)
AFFILIATE_ACCOUNT_TYPES = (LedgerAccountType.PENDING, LedgerAccountType.PAYABLE)


class LedgerAccount(TenantModel):
    """A ledger account in one currency, of the whole account or of one affiliate.

    Its balance is credits minus debits. It is stored for `STORED_BALANCE_TYPES` only:
    a stored balance of another type would be one row that all conversions, payments or
    top-ups have to lock.
    """

    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, choices=LedgerAccountType)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    balance = AmountField(null=True)  # type: ignore[misc]

    class Meta:
        verbose_name = "balance"
        verbose_name_plural = "balances"
        default_related_name = "ledger_accounts"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "currency", "kind", "affiliate"],
                condition=Q(affiliate__isnull=False),
                name="unique_affiliate_ledger_account",
            ),
            models.UniqueConstraint(
                fields=["account", "currency", "kind"],
                condition=Q(affiliate=None),
                name="unique_tenant_ledger_account",
            ),
            models.CheckConstraint(
                condition=Q(balance=None)
                | Q(balance__gt=-MAX_BALANCE) & Q(balance__lt=MAX_BALANCE),
                name="ledger_account_balance_in_range",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "affiliate"], name="ledger_accounts_by_affiliate")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.currency} {self.affiliate_id or ''}".strip()


class TransferType(models.TextChoices):
    """The type of a transfer; `VALID_TRANSFERS` has the ledger accounts of each."""

    EARNED = "earned"
    APPROVED = "approved"
    REOPENED = "reopened"
    WITHDRAWN = "withdrawn"
    PAID = "paid"
    PAYMENT_CANCELED = "payment_canceled", "Payment canceled"
    FUNDED = "funded"
    OPENING_BALANCE = "opening_balance", "Opening balance"
    TAX_WITHHELD = "tax_withheld", "Tax withheld"
    TAX_RETURNED = "tax_returned", "Withheld tax taken back"


TRANSFER_SIDES = {
    TransferType.EARNED: (LedgerAccountType.EXPENSE, LedgerAccountType.PENDING),
    TransferType.APPROVED: (LedgerAccountType.PENDING, LedgerAccountType.PAYABLE),
    TransferType.REOPENED: (LedgerAccountType.PAYABLE, LedgerAccountType.PENDING),
    TransferType.WITHDRAWN: (LedgerAccountType.PENDING, LedgerAccountType.EXPENSE),
    TransferType.FUNDED: (LedgerAccountType.FUNDING, LedgerAccountType.EXTERNAL),
    TransferType.TAX_WITHHELD: (LedgerAccountType.PAYABLE, LedgerAccountType.WITHHOLDING_TAX),
    TransferType.TAX_RETURNED: (LedgerAccountType.WITHHOLDING_TAX, LedgerAccountType.PAYABLE),
}
# What takes back each transfer of a payment that is canceled.
PAYMENT_REVERSALS: dict[str, TransferType] = {
    TransferType.PAID: TransferType.PAYMENT_CANCELED,
    TransferType.TAX_WITHHELD: TransferType.TAX_RETURNED,
}
# A payment is paid by the account itself, or out of its payout balance.
PAYOUT_SOURCES = (LedgerAccountType.PAID, LedgerAccountType.FUNDING)
VALID_TRANSFERS = (
    {(TransferType.PAID, LedgerAccountType.PAYABLE, credit_type) for credit_type in PAYOUT_SOURCES}
    | {
        (TransferType.PAYMENT_CANCELED, debit_type, LedgerAccountType.PAYABLE)
        for debit_type in PAYOUT_SOURCES
    }
    | {(kind, *sides) for kind, sides in TRANSFER_SIDES.items()}
    # What an affiliate was owed, or owed, elsewhere on the day that it moved in.
    | {
        (TransferType.OPENING_BALANCE, *sides)
        for sides in permutations((LedgerAccountType.EXPENSE, LedgerAccountType.PAYABLE))
    }
)


class Transfer(TenantModel):
    """An amount moved from one ledger account to another.

    Debit and credit are one row, so that no unbalanced entry exists. Triggers reject
    updates and deletes; a correction is another transfer.
    """

    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, choices=TransferType)
    debit = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="+", db_index=False)
    credit = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="+", db_index=False)
    amount = AmountField()
    commission = models.ForeignKey(
        Commission, models.PROTECT, null=True, related_name="+", db_index=False
    )
    sequence_number = models.PositiveIntegerField(null=True)
    payment = models.ForeignKey(
        Payment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    reversal_of = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False, verbose_name="reverses"
    )
    # Who caused it, as in the audit log; null in rows from before the column.
    actor = models.CharField(max_length=255, null=True)  # noqa: DJ001
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "ledger entry"
        verbose_name_plural = "ledger entries"
        default_related_name = "transfers"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission", "sequence_number"],
                name="unique_transfer_sequence_number",
            ),
            models.UniqueConstraint(
                fields=["account", "payment"],
                condition=Q(kind=TransferType.PAID),
                name="unique_paid_transfer",
            ),
            models.UniqueConstraint(
                fields=["account", "reversal_of"], name="unique_transfer_reversal"
            ),
            models.CheckConstraint(
                condition=Q(
                    commission__isnull=False,
                    sequence_number__isnull=False,
                    payment=None,
                )
                | Q(commission=None, sequence_number=None),
                name="transfer_has_single_source",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_amount_positive"),
            models.CheckConstraint(condition=~Q(debit=F("credit")), name="transfer_sides_differ"),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="transfers_by_time"),
            models.Index(fields=["account", "debit"], name="transfers_by_debit"),
            models.Index(fields=["account", "credit"], name="transfers_by_credit"),
            # Opening balances and top-ups are few among the transfers of a balance.
            *(
                models.Index(
                    fields=["account", side],
                    condition=Q(commission=None, payment=None),
                    name=f"other_transfers_by_{side}",
                )
                for side in ("debit", "credit")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} {self.currency}"


class LedgerDigest(models.Model):
    """The digest of the rows that were created before `sealed_until`, of all accounts.

    `segments` maps each covered table to its rows since the previous digest: their last
    id, number and SHA-256. `digest` is the SHA-256 over `previous`, `sealed_until` and
    `segments`; `previous` is the digest before, or empty. Triggers reject updates and
    deletes.
    """

    previous = models.CharField(max_length=64, blank=True)
    sealed_until = models.DateTimeField()
    segments = models.JSONField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["previous"], name="one_ledger_digest_per_predecessor")
        ]

    def __str__(self) -> str:
        return self.digest
