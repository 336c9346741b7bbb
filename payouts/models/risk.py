"""RiskRule: a rule that an account uses; RiskCase: what rules found; RiskFinding: one fact."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel
from payouts.models.refunds import MAX_REASON_LENGTH
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion

MAX_RULE_LENGTH = 32


class RiskRule(TenantModel):
    """The settings of a rule of `payouts/risk_rules.py`, and how far it has looked.

    It looks at sales by ID, twice: sales up to `evaluated_to` were seen once. A sale may
    be committed after one with a later ID; those up to `settled_to` are older than any
    transaction, and seen again since. `pass_to` is what `settled_to` will be, half of
    `CLOSING_DELAY` after `pass_at`.
    """

    rule = models.CharField(max_length=MAX_RULE_LENGTH)
    threshold = models.PositiveIntegerField()
    # Lines that the rule compares with, such as hosts; empty if it has none.
    patterns = models.TextField(blank=True, default="", db_default="")
    enabled_at = models.DateTimeField("on since", null=True)
    evaluated_to = models.BigIntegerField(default=0)
    settled_to = models.BigIntegerField(default=0)
    pass_to = models.BigIntegerField(default=0)
    pass_at = models.DateTimeField(null=True)

    # An account that moves gets other IDs.
    not_exported: ClassVar[dict[str, str]] = dict.fromkeys(
        ("enabled_at", "evaluated_to", "settled_to", "pass_to", "pass_at"),
        "rules are switched on where the sales are new",
    )

    class Meta:
        default_related_name = "risk_rules"
        constraints = [
            models.UniqueConstraint(fields=["account", "rule"], name="one_risk_rule_per_account")
        ]

    def __str__(self) -> str:
        return self.rule


class RiskCaseState(models.TextChoices):
    """Whether staff have decided about a case, and how."""

    OPEN = "open"
    CLEARED = "cleared"
    DISAPPROVED = "disapproved"
    EXCLUDED = "excluded", "Affiliate excluded"


class RiskCase(TenantModel):
    """What one rule found of one affiliate; at most one such case is open."""

    rule = models.CharField(max_length=MAX_RULE_LENGTH)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    state = models.CharField(max_length=16, choices=RiskCaseState, default=RiskCaseState.OPEN)
    note = models.CharField(max_length=MAX_REASON_LENGTH, blank=True)
    decided_by = models.CharField(max_length=255, blank=True)
    decided_at = models.DateTimeField("decided", null=True)
    created_at = models.DateTimeField("opened", default=timezone.now)

    class Meta:
        default_related_name = "risk_cases"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "rule"],
                condition=Q(state=RiskCaseState.OPEN),
                name="one_open_risk_case_per_rule",
            )
        ]
        indexes = [
            models.Index(fields=["account", "created_at", "id"], name="risk_cases_by_age"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class RiskFinding(TenantModel):
    """What a rule found: of a sale, or of the affiliate of the case.

    A sale, or the facts about an affiliate that `key` names, are found once, whatever was
    decided. `facts` are pairs of a label and a value, without personal data.
    """

    case = models.ForeignKey(RiskCase, models.PROTECT, related_name="findings", db_index=False)
    rule = models.CharField(max_length=MAX_RULE_LENGTH)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    key = models.CharField(max_length=64, blank=True)
    facts = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "risk_findings"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "rule", "affiliate", "key"],
                condition=Q(conversion=None),
                name="one_risk_finding_per_fact",
            ),
            models.UniqueConstraint(
                fields=["account", "rule", "affiliate", "conversion"],
                condition=Q(conversion__isnull=False),
                name="one_risk_finding_per_sale",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "case"], name="risk_findings_of_case"),
            models.Index(
                fields=["account", "conversion"],
                condition=Q(conversion__isnull=False),
                name="risk_findings_of_conversion",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.key}".strip()
