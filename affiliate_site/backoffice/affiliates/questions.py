"""The pages of questions that affiliates ask in the portal."""

from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from affiliate_site.backoffice.affiliates.affiliate_detail import get_full_name
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.conversions.new_conversion_page import AddConversionPage
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import Label, build_labels, format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.lists.columns import AFFILIATE, build_status_column
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import AffiliateFilter
from affiliate_site.backoffice.lists.search import AffiliateSearchMixin
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    build_history,
    link_to,
)
from payouts.missing_sales import Answer
from payouts.services.missing_sales import ANSWER_TEXTS, explain_missing_sale
from tracking.models.questions import MAX_TEXT_LENGTH, Question, QuestionState
from tracking.services.portal_settings import build_portal_url
from tracking.services.questions import answer_question, close_question

STATUSES = build_labels(
    {QuestionState.OPEN: "info", QuestionState.ANSWERED: "success", QuestionState.CLOSED: ""}
)


def get_status(question) -> Label:
    return STATUSES[question.state]


def link_sale(user, question) -> str:
    """The sale; where there is none, a link to add it, if the user may."""
    sale = question.conversion
    if sale is not None:
        return link_to(sale, sale.external_id)
    since = question.order_id and explain_missing_sale(question.affiliate, question.order_id)
    if since and since.conversion:
        link = link_to(since.conversion, since.conversion.external_id)
        return format_html("{}, recorded since", link)
    if not AddConversionPage.is_allowed(user):
        return "none was found"
    query = {
        "affiliate": question.affiliate.slug,
        "external_id": question.order_id,
        "day": question.day,
    }
    return format_html(
        'none was found: <a class="details-link" href="{}?{}">Add this sale</a>',
        reverse("admin:tracking_conversion_add"),
        urlencode(query),
    )


def list_facts(user, question) -> list[tuple[str, object]]:
    """What was asked about, and what the portal had answered."""
    told = question.answer_given and ANSWER_TEXTS[Answer(question.answer_given)]
    return [
        ("Affiliate", link_to(question.affiliate, get_full_name(question.affiliate))),
        ("Order ID", question.order_id),
        ("Day of the order", f"{question.day}"),
        ("Conversion", link_sale(user, question)),
        ("The portal answered", told),
        ("Asked", format_datetime(question.created_at)),
        ("Question", question.text),
    ]


class QuestionPage(FormPage):
    model = Question
    subject = "{row.affiliate}, order {row.order_id}"
    row_argument = ("question_id", "public_id")

    @classmethod
    def is_offered(cls, question):
        return question.state == QuestionState.OPEN

    def list_sections(self):
        return [Section("Question", facts=list_facts(self.request.user, self.row))]


class AnswerQuestionPage(QuestionPage):
    name = "answer"
    title = "Answer"
    button = "Answer"
    done_message = "The answer was saved; the portal shows it."

    class Form(ServiceForm):
        answer = forms.CharField(
            max_length=MAX_TEXT_LENGTH,
            widget=MULTI_LINE({"rows": 6}),
            help_text="Shown in the portal, and mailed if the affiliate wants mail.",
        )

    def list_alerts(self):
        if self.row.affiliate.email:
            return []
        return ["The affiliate has no e-mail address: only the portal shows the answer."]

    def save(self, form, at):
        return answer_question(
            self.account,
            question_id=self.row.public_id,
            answer=form.cleaned_data["answer"],
            page_url=build_portal_url(self.account, "questions/"),
            at=at,
        )


class CloseQuestionPage(QuestionPage):
    name = "close"
    title = "Close"
    button = "Close without answer"
    explanation = "The affiliate sees that it is closed, and gets no mail."
    service = staticmethod(close_question)
    done_message = "The question was closed."


@admin.register(Question)
class QuestionAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (
        MenuEntry(
            "Affiliates",
            90,
            "help",
            query="state__exact=open",
            badge="open_questions",
            is_daily=True,
        ),
    )
    empty_state = (
        "No questions yet. Affiliates can ask in the portal why a sale is missing, or"
        " about a sale that they see."
    )
    row_pages = (AnswerQuestionPage, CloseQuestionPage)

    columns = (
        "public_id",
        AFFILIATE,
        "order_id",
        "day",
        "text",
        build_status_column(get_status, export="state"),
        "created_at",
        "answered_at",
    )
    list_select_related = ("affiliate", "conversion")
    list_filter = ("state", AffiliateFilter, DateFilter)
    search_fields = ("public_id__exact", "order_id__exact")
    search_help_text = "Search by order ID or affiliate"
    ordering = ("-created_at", "-id")
    title_field = "public_id"

    def get_details(self, request, question):
        return Details(
            headline=question.order_id or f"Sale of {question.day}",
            labels=[get_status(question)],
            sections=[
                Section("Question", facts=list_facts(request.user, question)),
                *(
                    [
                        Section(
                            "Answer",
                            notes=[question.answer],
                            facts=[("Answered", format_datetime(question.answered_at))],
                        )
                    ]
                    if question.answer
                    else []
                ),
                build_history(request, [question]),
            ],
        )
