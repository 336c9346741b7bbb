"""A sale is missing: why, and questions to the company about sales."""

from datetime import timedelta

from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    translate_error,
)
from affiliate_site.portal.earnings import find_order_id
from affiliate_site.portal.forms import MissingSaleForm, QuestionForm
from affiliate_site.portal.tables import MAX_ID, PAGE_SIZE, take_page
from affiliate_site.portal.throttling import (
    TOO_MANY_MISSING_SALES,
    is_missing_sale_throttled,
)
from payouts.missing_sales import Answer
from payouts.services.missing_sales import ANSWER_TEXTS, explain_missing_sale
from payouts.services.statements import hide_undone_commissions
from tracking.errors import TooManyQuestions
from tracking.services.questions import (
    QuestionData,
    ask_question,
    mark_answers_opened,
)
from tracking.services.retention import ATTEMPT_RETENTION


@portal_page()
def missing(request):
    """Why a sale is not among the affiliate's, in one or two sentences.

    The address has what was entered, so that *Back* from the sale leads here again.
    """
    affiliate, status = request.affiliate, 200
    today = request.account.get_day(timezone.now())
    is_asked = "order_id" in request.GET
    form = MissingSaleForm(request.GET if is_asked else None, today=today)
    context = {"title": _("A sale is missing"), "form": form}
    if is_asked and form.is_valid():
        if not request.viewed_by and is_missing_sale_throttled(affiliate):
            form.add_error(None, TOO_MANY_MISSING_SALES)
            status = 429
        else:
            context |= describe_answer(affiliate, **form.cleaned_data, today=today)
    return show(request, "missing", context, status=status)


def describe_answer(affiliate, *, order_id, day, today):
    """The answer as sentences, and a link to a sale of the affiliate."""
    found = explain_missing_sale(affiliate, order_id)
    sentences = [str(ANSWER_TEXTS[found.answer])]
    is_old = day < today - ATTEMPT_RETENTION
    if found.answer is Answer.NOTHING and is_old:
        sentences.append(
            _("What the shop reported wrongly is known for {days} days only.").format(
                days=ATTEMPT_RETENTION // timedelta(days=1)
            )
        )
    sale_url = ""
    if found.is_own and found.conversion:
        account = affiliate.account
        sale_url = build_url(account, "sale", sale=found.conversion.pk)
    asked = {"order_id": order_id, "day": day}
    return {"sentences": sentences, "sale_url": sale_url, "asked": asked}


@portal_page("GET", "HEAD", "POST")
def ask(request):
    """Ask the company about a sale of the affiliate, or about a missing one."""
    affiliate, at, status = request.affiliate, timezone.now(), 200
    account = request.account
    values = request.POST if request.method == "POST" else request.GET
    form = QuestionForm(request.POST or None)
    facts = find_facts(affiliate, values, request.portal.order_ids, at=at)
    if facts is None:
        raise Http404
    if request.method == "POST" and form.is_valid():
        is_missing = "conversion" not in facts
        if is_missing and is_missing_sale_throttled(affiliate):
            form.add_error(None, TOO_MANY_MISSING_SALES)
            status = 429
        else:
            if is_missing:
                facts |= look_up(affiliate, facts["order_id"])
            data = QuestionData(**facts, text=form.cleaned_data["text"])
            try:
                ask_question(affiliate, data=data, at=at)
            except TooManyQuestions as error:
                form.add_error(None, translate_error(error))
            else:
                return redirect(f"{build_url(account, 'questions')}?sent=1")
    context = {
        "title": _("Ask about a sale"),
        "form": form,
        "order_id": facts["order_id"],
        "day": facts["day"],
        "hidden": [(name, values[name]) for name in ("sale", "order_id", "day") if name in values],
    }
    return show(request, "ask", context, status=status)


def find_facts(affiliate, values, order_ids, *, at):
    """The facts of a question, by a sale or by what was entered; None: not asked for.

    Those of a missing sale lack what `look_up` finds.
    """
    account = affiliate.account
    if sale := values.get("sale", ""):
        if not (sale.isascii() and sale.isdigit()):
            return None
        rows = account.commissions.filter(
            affiliate=affiliate, conversion=min(int(sale[:20]), MAX_ID)
        )
        rows = hide_undone_commissions(account, rows)
        commission = rows.select_related("conversion").order_by("id").first()
        if commission is None:
            return None
        conversion = commission.conversion
        return {
            "order_id": find_order_id(commission, order_ids),
            "day": account.get_day(conversion.created_at),
            "conversion": conversion,
        }
    form = MissingSaleForm(values, today=account.get_day(at))
    return form.cleaned_data if form.is_valid() else None


def look_up(affiliate, order_id):
    """The answer about a missing sale, found again, so that nobody can invent one."""
    found = explain_missing_sale(affiliate, order_id)
    return {"answer_given": str(found.answer), "conversion": found.conversion}


@portal_page()
def questions(request):
    """What the affiliate asked, and the answers."""
    account = request.account
    rows = account.questions.filter(affiliate=request.affiliate)
    found, older = take_page(rows.newest_first(), PAGE_SIZE)
    is_read = request.method == "GET" and not request.viewed_by
    if is_read and any(row.is_answer_new for row in found):
        mark_answers_opened(request.affiliate)
    context = {
        "title": _("Questions"),
        "is_sent": "sent" in request.GET,
        "more_than": PAGE_SIZE if older else 0,
        "questions": [
            {
                "row": row,
                "asked_on": account.get_day(row.created_at),
                "answered_on": row.answered_at and account.get_day(row.answered_at),
                "given": ANSWER_TEXTS[Answer(row.answer_given)] if row.answer_given else "",
            }
            for row in found
        ],
        "missing_url": build_url(account, "missing"),
    }
    return show(request, "questions", context)
