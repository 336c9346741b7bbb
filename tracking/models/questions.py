"""Question: what an affiliate asks the company about a sale."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion

MAX_TEXT_LENGTH = 2000


class QuestionState(models.TextChoices):
    """What became of a question."""

    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    CLOSED = "closed", "Closed"


class QuestionQuerySet(TenantQuerySet["Question"]):
    """Questions of one account."""

    def open(self) -> Self:
        """Those that wait for staff."""
        return self.filter(state=QuestionState.OPEN)

    def newly_answered(self) -> Self:
        """Those whose answer the affiliate has not opened."""
        return self.filter(is_answer_new=True)


class Question(TenantModel):
    """A question with the facts that the affiliate gave and saw.

    `answer_given` is the code of what the portal answered; empty without one. Staff see
    the `conversion`; affiliates may not know of it.
    """

    public_id = models.CharField("ID", max_length=32)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    order_id = models.CharField("order ID", max_length=255, blank=True)
    day = models.DateField()
    answer_given = models.CharField(max_length=32, blank=True)
    text = models.CharField(max_length=MAX_TEXT_LENGTH, blank=True)
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    state = models.CharField(max_length=16, choices=QuestionState, default=QuestionState.OPEN)
    created_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)  # or closed
    answered_by = models.CharField(max_length=255, blank=True)  # an actor
    answer = models.CharField(max_length=MAX_TEXT_LENGTH, blank=True)

    is_answer_new = models.BooleanField(null=True)  # until the affiliate opens it

    objects: ClassVar = QuestionQuerySet.as_manager()

    class Meta:
        default_related_name = "questions"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_question_per_id")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="questions_newest_first"),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="questions_of_affiliate",
            ),
            models.Index(fields=["account", "order_id"], name="questions_by_order"),
            models.Index(
                fields=["account"],
                condition=models.Q(state=QuestionState.OPEN.value),
                name="open_questions",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id
