"""Questions of affiliates about sales: ask, answer and close."""

from dataclasses import dataclass
from datetime import date, datetime

from django.db import transaction
from django.db.models import OuterRef
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from accounts.actor import get_actor
from accounts.ids import generate_public_id
from accounts.lookups import count_rows, get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from tracking.errors import QuestionNotFound, QuestionNotOpen, TooManyQuestions
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.portal import Notice
from tracking.models.questions import Question, QuestionState
from tracking.services.affiliates import get_affiliate
from tracking.services.mails import queue_mail, use_language_of
from tracking.services.portal_profiles import wants_notice

MAX_OPEN_QUESTIONS = 10  # of one affiliate
QUESTION_ANSWER_MAIL = "question_answer"


@dataclass(frozen=True)
class QuestionData:
    """What is asked about, and what the portal had answered."""

    order_id: str
    day: date
    answer_given: str = ""
    text: str = ""
    conversion: Conversion | None = None


def ask_question(affiliate: Affiliate, *, data: QuestionData, at: datetime) -> Question:
    """Store a question. An open one about the same order and day is not repeated.

    Raises `TooManyQuestions`, and `AffiliateNotFound` if the affiliate was removed.
    """
    account = affiliate.account
    with transaction.atomic():
        locked = get_affiliate(account, affiliate.slug, lock=True)
        waiting = account.questions.open().filter(affiliate=locked)
        same = waiting.filter(
            order_id=data.order_id, day=data.day, conversion=data.conversion
        ).first()
        if same is not None:
            return same
        if waiting.count() >= MAX_OPEN_QUESTIONS:
            raise TooManyQuestions(limit=MAX_OPEN_QUESTIONS)
        question: Question = account.questions.create(
            public_id=generate_public_id("qu"),
            affiliate=locked,
            order_id=data.order_id,
            day=data.day,
            answer_given=data.answer_given,
            text=data.text,
            conversion=data.conversion,
            created_at=at,
        )
        log_event(account, "question.asked", question, at=at)
    return question


def answer_question(
    account: Account,
    *,
    question_id: str,
    answer: str,
    page_url: str = "",
    at: datetime,
) -> Question:
    """Answer a question, and mail the answer; `page_url` is where it can be read.

    Raises `QuestionNotFound` and `QuestionNotOpen`.
    """
    with transaction.atomic():
        question = _end_question(
            account, question_id, state=QuestionState.ANSWERED, answer=answer, at=at
        )
        log_event(account, "question.answered", question, at=at)
        affiliate = question.affiliate
        if affiliate.email and wants_notice(affiliate, Notice.ANSWER):
            _queue_answer(question, page_url, at=at)
    return question


def close_question(account: Account, *, question_id: str, at: datetime) -> Question:
    """Close a question without an answer; raise as `answer_question` does."""
    with transaction.atomic():
        question = _end_question(account, question_id, state=QuestionState.CLOSED, answer="", at=at)
        log_event(account, "question.closed", question, at=at)
    return question


def count_new_answers(affiliate: Affiliate) -> int:
    """Count the answers that the affiliate has not opened."""
    rows = affiliate.account.questions.newly_answered()
    number: int = rows.filter(affiliate=affiliate).count()
    return number


def mark_answers_opened(affiliate: Affiliate) -> None:
    """The affiliate has seen all answers."""
    rows = affiliate.account.questions.newly_answered()
    rows.filter(affiliate=affiliate).update(is_answer_new=False)


def count_open_questions() -> Coalesce:
    """The number of open questions, as a part of a query of rows with an account."""
    rows = Question.objects.of(OuterRef("account")).open()  # type: ignore[arg-type]
    return count_rows(rows)


def _end_question(
    account: Account, question_id: str, *, state: str, answer: str, at: datetime
) -> Question:
    rows = account.questions.select_related("affiliate")
    question: Question = get_or_raise(rows, QuestionNotFound, public_id=question_id)
    # The lock keeps a concurrent erasure from leaving a mail behind.
    get_affiliate_lock(account, question.affiliate)
    was_open = question.update_row(
        expected={"state": QuestionState.OPEN},
        state=state,
        answer=answer,
        is_answer_new=bool(answer),
        answered_at=at,
        answered_by=get_actor().name,
    )
    if not was_open:
        present = account.questions.filter(pk=question.pk).first()
        if present is None:
            raise QuestionNotFound
        raise QuestionNotOpen(state=present.get_state_display().lower())
    question.affiliate.account = account
    return question


def get_affiliate_lock(account: Account, affiliate: Affiliate) -> None:
    """Lock the affiliate, removed or not."""
    rows = account.affiliates.filter(pk=affiliate.pk)
    rows.select_for_update(no_key=True).values_list("pk").first()


def _queue_answer(question: Question, page_url: str, *, at: datetime) -> None:
    affiliate = question.affiliate
    account = affiliate.account
    with use_language_of(affiliate):
        hello = _("Hello {name},").format(name=affiliate.firstname)
        about = (
            _("{account} answers your question about order {order}:").format(
                account=account.name, order=question.order_id
            )
            if question.order_id
            else _("{account} answers your question:").format(account=account.name)
        )
        read = _("You can read it again here:") + f"\n{page_url}\n" if page_url else ""
        subject = _("Answer of {account}").format(account=account.name)
    queue_mail(
        affiliate,
        kind=QUESTION_ANSWER_MAIL,
        about=question.public_id,
        subject=subject,
        text=f"{hello}\n\n{about}\n\n{question.answer}\n\n{read}",
        at=at,
    )
