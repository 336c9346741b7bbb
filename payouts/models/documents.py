"""Self-billing: tax data, tax rules, and the documents of payments."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.encryption import EncryptedJSONField
from accounts.models.accounts import TenantModel
from payouts.models.payments import Payment
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate

OTHER_EU = "EU"  # a country of tax rules: all of the EU but the payer's


class SupplierKind(models.TextChoices):
    """As what an affiliate sells its services."""

    BUSINESS = "business", "Business"
    SMALL_BUSINESS = "small_business", "Small business without VAT"
    PRIVATE = "private", "Private person"

    @property
    def columns(self) -> dict[str, Any]:
        """How tax rules and tax data store it."""
        return {
            "is_business": self != SupplierKind.PRIVATE,
            "is_small_business": self == SupplierKind.SMALL_BUSINESS,
        }


class RequiredNumber(models.TextChoices):
    """What a supplier must give before a document by a tax rule can be issued."""

    EITHER = "either", "A VAT ID or a tax number"
    VAT_ID = "vat_id", "A VAT ID"
    TAX_NUMBER = "tax_number", "A tax number"
    REVERSE_CHARGE = "reverse_charge", "A VAT ID of another country: reverse charge"

    __empty__ = "Nothing"


class OfSupplierKind(TenantModel):
    """What belongs to a kind of suppliers."""

    is_business = models.BooleanField()
    is_small_business = models.BooleanField(default=False, db_default=False)

    class Meta:
        abstract = True

    @property
    def supplier_kind(self) -> SupplierKind:
        """The kind that the columns say."""
        if self.is_small_business:
            return SupplierKind.SMALL_BUSINESS
        return SupplierKind.BUSINESS if self.is_business else SupplierKind.PRIVATE


class TaxRule(OfSupplierKind):
    """The VAT of a kind of suppliers in a country, as the account decides.

    `rate` is in percent, and part of what is paid. `country` may be `OTHER_EU`; an
    empty one means all others.
    """

    country = models.CharField(max_length=2, blank=True)
    rate = models.DecimalField(max_digits=5, decimal_places=2)
    sentence = models.CharField(max_length=500, blank=True)  # on the documents
    # In percent of the net amount: what payout runs withhold for the tax office.
    withholding_rate = models.DecimalField(max_digits=5, decimal_places=2, default=0, db_default=0)
    required_number = models.CharField(
        max_length=16, choices=RequiredNumber, blank=True, default="", db_default=""
    )

    class Meta:
        default_related_name = "tax_rules"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "is_business", "is_small_business", "country"],
                name="one_tax_rule_per_kind_and_country",
            ),
            models.CheckConstraint(
                condition=Q(rate__gte=0, rate__lt=100), name="tax_rule_rate_in_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.supplier_kind}/{self.country or 'other'}"


class TaxData(OfSupplierKind):
    """What an affiliate says about its taxes. The address is the affiliate's, the name,
    too, without a `legal_name`."""

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    country = models.CharField(max_length=2)
    vat_id = models.CharField("VAT ID", max_length=32, blank=True)
    tax_number = models.CharField(max_length=32, blank=True, default="", db_default="")
    legal_name = models.CharField(max_length=140, blank=True, default="", db_default="")
    consented_on = models.DateField(null=True)  # to self-billing
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "tax_data"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate"], name="one_tax_data_per_affiliate"
            )
        ]

    def __str__(self) -> str:
        return f"tax data of {self.affiliate_id}"


class DocumentSequence(TenantModel):
    """The last number that an account has given in a year."""

    year = models.PositiveSmallIntegerField()
    last_number = models.PositiveIntegerField(default=0)

    class Meta:
        default_related_name = "document_sequences"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "year"], name="one_document_sequence_per_year"
            )
        ]

    def __str__(self) -> str:
        return f"{self.year}"


class DocumentKind(models.TextChoices):
    """What a document is."""

    SELF_BILLING = "self_billing", "Self-billing document"
    CORRECTION = "correction", "Correction"


class Document(TenantModel):
    """A self-billing document for a payment, or the correction that cancels it.

    It never changes: `issuer` and `supplier`, the account and the affiliate, are as of
    its day. The amounts of a correction are negative.
    """

    kind = models.CharField(max_length=16, choices=DocumentKind)
    year = models.PositiveSmallIntegerField()
    number = models.PositiveIntegerField()
    label = models.CharField("number", max_length=48)  # as printed: `SB-2026-00042`
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    payment = models.ForeignKey(Payment, models.PROTECT, related_name="+", db_index=False)
    corrects = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    issued_on = models.DateField()
    # The days of the commissions that the payment covers; null without any.
    first_day = models.DateField(null=True)
    last_day = models.DateField(null=True)
    currency = models.CharField(max_length=3)
    net = AmountField()
    vat = AmountField("VAT")
    total = AmountField()
    # What of the total is withheld for the tax office; null: nothing.
    tax_withheld = AmountField(null=True)  # type: ignore[misc]
    # What of the total is an opening balance; null without one, negative if deducted.
    opening = AmountField(null=True)  # type: ignore[misc]
    vat_rate = models.DecimalField("VAT rate", max_digits=5, decimal_places=2)
    sentence = models.CharField(max_length=500, blank=True)
    issuer = EncryptedJSONField(default=dict)
    supplier = EncryptedJSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "documents"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "year", "number"], name="one_document_per_number"
            ),
            models.UniqueConstraint(fields=["account", "label"], name="one_document_per_label"),
            models.UniqueConstraint(
                fields=["account", "payment", "kind"],
                name="one_document_of_a_kind_per_payment",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "affiliate", "-id"], name="documents_by_affiliate")
        ]

    def __str__(self) -> str:
        return self.label
