"""PayoutRun: affiliates paid together; PayoutLine: one affiliate and currency of it."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.encryption import EncryptedJSONField, EncryptedTextField
from accounts.models.accounts import TenantModel
from payouts.models.payments import Payment, PayoutMethodKind
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.money import format_amount

MAX_NOTE_LENGTH = 500


class PayoutSettings(TenantModel):
    """Who pays, of an account, and by which rules."""

    payer_name = models.CharField(max_length=70, blank=True)
    payer_iban = EncryptedTextField("payer IBAN", blank=True)
    payer_bic = models.CharField("payer BIC", max_length=11, blank=True)
    payer_street = models.CharField(max_length=70, blank=True)
    payer_building = models.CharField(max_length=16, blank=True)
    payer_postal_code = models.CharField(max_length=16, blank=True)
    payer_city = models.CharField(max_length=35, blank=True)
    payer_country = models.CharField(max_length=2, blank=True)
    # A run is confirmed by somebody else than who drafted it.
    requires_second_person = models.BooleanField(default=False)
    # Payments from this day of the account on have self-billing documents; null: none.
    documents_from = models.DateField(null=True)
    document_prefix = models.CharField(max_length=16, default="SB-", db_default="SB-")
    payer_vat_id = models.CharField(
        "payer VAT ID", max_length=32, blank=True, default="", db_default=""
    )
    # Payout runs leave out whose document would lack something.
    requires_documents = models.BooleanField(default=False, db_default=False)
    # Mail to affiliates about settled payments; empty texts: the usual ones.
    mails_payments = models.BooleanField(default=False, db_default=False)
    mail_subject = models.CharField(max_length=200, blank=True, default="", db_default="")
    mail_text = models.TextField(blank=True, default="", db_default="")

    class Meta:
        default_related_name = "payout_settings"
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_payout_settings_per_account")
        ]

    def __str__(self) -> str:
        return "payout settings"


class PayoutMinimum(TenantModel):
    """What a payout run pays at least, of all affiliates or of one."""

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    amount = AmountField()

    class Meta:
        default_related_name = "payout_minimums"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "currency"],
                name="one_payout_minimum_per_affiliate",
            ),
            models.UniqueConstraint(
                fields=["account", "currency"],
                condition=Q(affiliate=None),
                name="one_payout_minimum_per_currency",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payout_minimum_positive"),
        ]

    def __str__(self) -> str:
        return format_amount(self.amount, self.currency)


class WithheldBalance(TenantModel):
    """A balance that no payout run pays until staff lift it."""

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True)
    created_by = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "withheld_balances"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "currency"],
                name="one_withheld_balance_per_balance",
            )
        ]

    def __str__(self) -> str:
        return f"{self.affiliate_id}/{self.currency}"


class PayoutRunState(models.TextChoices):
    """How far a payout run is."""

    DRAFT = "draft"
    CONFIRMED = "confirmed"
    EXPORTED = "exported"
    SETTLED = "settled"
    PARTLY_FAILED = "partly_failed", "Partly failed"  # also if all of it came back
    DISCARDED = "discarded"


class PayoutRun(TenantModel):
    """Affiliates paid together. Its basis says who is in the draft.

    `basis` is JSON: `programs`, `groups`, `methods` and `currencies`, empty lists for
    all, and `minimums` by currency over those of the account. `due_before` is the end
    of the day up to which commissions are due.
    """

    public_id = models.CharField("ID", max_length=32)
    state = models.CharField(max_length=16, choices=PayoutRunState, default=PayoutRunState.DRAFT)
    due_before = models.DateTimeField()
    basis = models.JSONField(default=dict)
    note = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True)
    created_by = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)
    confirmed_by = models.CharField(max_length=255, blank=True)
    confirmed_at = models.DateTimeField("confirmed", null=True)
    exported_at = models.DateTimeField(null=True)
    # The payer of the confirmation, so that files are the same each time.
    payer = EncryptedJSONField(default=dict)

    class Meta:
        default_related_name = "payout_runs"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_payout_run_per_id")
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="payout_runs_newest_first",
            )
        ]

    def __str__(self) -> str:
        return self.public_id


class PayoutFile(TenantModel):
    """A file of a run as it was when it was first made. Answers about all of it are
    matched with this.

    `payments` are their IDs. `message_id` is what banks call the file; null: nothing.
    """

    run = models.ForeignKey(PayoutRun, models.PROTECT, related_name="+", db_index=False)
    format = models.CharField(max_length=16)
    message_id = models.CharField(max_length=35, null=True)  # noqa: DJ001 - unique
    currency = models.CharField(max_length=3)
    payments = models.JSONField(default=list)
    control_sum = AmountField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "payout_files"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "message_id"], name="one_payout_file_per_message_id"
            )
        ]
        indexes = [
            models.Index(fields=["account", "run"], name="payout_files_by_run"),
        ]

    def __str__(self) -> str:
        return self.message_id or f"{self.run_id}/{self.format}"


class PayoutLineState(models.TextChoices):
    """What happens, or has happened, to a line."""

    INCLUDED = "included"
    LEFT_OUT = "left_out", "Left out"  # by a rule: `reason`
    TAKEN_OUT = "taken_out", "Taken out"  # withheld by staff: `note`
    UNKNOWN = "unknown", "no answer yet"  # confirmed; no answer says that it arrived
    SETTLED = "settled"
    RETURNED = "returned", "refused or returned"
    CANCELED = "canceled"


# Of lines that a run does not pay; it pays those in all other states.
LEFT_OUT_STATES = (PayoutLineState.LEFT_OUT, PayoutLineState.TAKEN_OUT)


class LeftOutReason(models.TextChoices):
    """Why a payout run leaves an affiliate out. The values are public: `payout_run`."""

    BELOW_MINIMUM = "below_minimum", "below the minimum"
    ON_HOLD = "on_hold", "on hold"
    NO_METHOD = "no_method", "no payout method"
    METHOD_INCOMPLETE = "method_incomplete", "payout method incomplete"
    METHOD_ON_HOLD = "method_on_hold", "payout method to check"
    NEGATIVE_BALANCE = "negative_balance", "negative balance"
    WITHHELD = "withheld", "withheld by staff"
    DOCUMENT_INCOMPLETE = "document_incomplete", "document incomplete"


class PayoutLine(TenantModel):
    """One affiliate and currency of a payout run, paid or left out.

    `fingerprint` is a digest of the commissions in the draft: it differs when they have
    changed since. `receiver` is the name, the address and the payout method of the
    confirmation.
    """

    run = models.ForeignKey(PayoutRun, models.PROTECT, related_name="+", db_index=False)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    amount = AmountField()
    # What of the amount is withheld for the tax office; null: nothing.
    tax_withheld = AmountField(null=True)  # type: ignore[misc]
    method = models.CharField(max_length=16, choices=PayoutMethodKind, blank=True, default="")
    commission_count = models.PositiveIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, choices=PayoutLineState)
    reason = models.CharField(max_length=32, choices=LeftOutReason, blank=True)
    note = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True)
    receiver = EncryptedJSONField(default=dict)
    payment = models.ForeignKey(
        Payment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    # The answer of the bank.
    bank_reference = models.CharField(max_length=255, blank=True)
    bank_reason = models.CharField(max_length=500, blank=True)
    answered_on = models.DateField(null=True)
    settled_on = models.DateField(null=True)  # kept if it is returned later
    # Digests of the references of booked debits, two of each kind at most, by kind.
    debits = models.JSONField(null=True)

    class Meta:
        default_related_name = "payout_lines"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "run", "affiliate", "currency"],
                name="one_payout_line_per_balance",
            ),
            models.UniqueConstraint(
                fields=["account", "payment"], name="one_payout_line_per_payment"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "affiliate", "-id"], name="payout_lines_by_affiliate")
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.affiliate_id}/{self.currency}"

    @property
    def net_amount(self) -> Decimal:
        """What is transferred: the amount without the tax that is withheld."""
        return self.amount - (self.tax_withheld or 0)
