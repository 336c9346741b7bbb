"""The pages of risk cases: what rules found, side by side, and the decision."""

from django import forms
from django.contrib import admin

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.conversions.admin import get_conversion_text
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    build_labels,
    format_affiliate,
    format_datetime,
    format_money,
    format_person,
)
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.lists.columns import PERSON, build_status_column
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import AffiliateFilter
from affiliate_site.backoffice.lists.search import AFFILIATE_SEARCH_HELP, AffiliateSearchMixin
from affiliate_site.backoffice.navigation import ListAction, MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    build_history,
    link_to,
    link_to_sale,
)
from affiliate_site.backoffice.risk.rules import get_rule_title, name_facts
from affiliate_site.columns import Column
from payouts.models.commissions import CommissionStatus
from payouts.models.refunds import MAX_REASON_LENGTH
from payouts.models.risk import RiskCase, RiskCaseState
from payouts.services.risk_cases import (
    clear_case,
    disapprove_case,
    exclude_affiliate,
    list_commissions,
)
from payouts.services.risk_rules import RISK_RULES

CASE_STATES = build_labels(
    {
        RiskCaseState.OPEN: "warning",
        RiskCaseState.CLEARED: "success",
        RiskCaseState.DISAPPROVED: "danger",
        RiskCaseState.EXCLUDED: "danger",
    }
)
OPEN_CASES = "state__exact=open"
MAX_FINDINGS = 200  # on a page, the newest


class DecisionPage(FormPage):
    """A decision about a case, with a note for staff."""

    model = RiskCase
    done_message = "The case was decided."

    class Form(ServiceForm):
        note = forms.CharField(
            max_length=MAX_REASON_LENGTH,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Why, for staff. Affiliates see neither the note nor the rule.",
        )

    form_class = Form

    @classmethod
    def is_offered(cls, case):
        return case.state == RiskCaseState.OPEN

    def list_sections(self):
        return [list_findings(self.row), list_held(self.row)]


class ClearCasePage(DecisionPage):
    name = "clear"
    title = button = "Clear"
    service = staticmethod(clear_case)
    explanation = (
        "Nothing is wrong. What was found opens no case again; other sales or facts do."
        " Commissions that are pending stay so until they are approved."
    )


class DisapproveCasePage(DecisionPage):
    name = "disapprove"
    title = button = "Disapprove these"
    service = staticmethod(disapprove_case)
    is_atomic = False
    is_dangerous = True
    explanation = (
        "Disapproves the commissions of these sales or, if the rule is about the affiliate,"
        " all its unpaid ones. What is paid or final stays."
    )


class ExcludeAffiliatePage(DecisionPage):
    name = "exclude"
    title = button = "Exclude the affiliate"
    service = staticmethod(exclude_affiliate)
    is_atomic = False
    is_dangerous = True
    explanation = (
        "Disapproves the affiliate in all programs that are not archived, so that it earns"
        " nothing more, and the commissions that the case is about. What is paid or final"
        " stays."
    )


def list_held(case: RiskCase) -> Section:
    """The commissions that the case is about, the newest first, and what would become of
    them."""
    rows = list_commissions(case).select_related("conversion", "affiliate").order_by("-id")
    held = list(rows[:MAX_FINDINGS])
    for row in held:
        row.account = case.account
    return Section(
        "Commissions",
        columns=(
            Column("ID", link_to),
            Column("Sale", link_to_sale),
            Column("Affiliate", lambda row: format_affiliate(row.affiliate)),
            Column("Amount", format_amount, is_amount=True),
            Column("If they are disapproved", describe_outcome),
        ),
        rows=held,
        lines="" if held else "None: the affiliate has no commission yet.",
        notes=[f"The newest {MAX_FINDINGS} are shown."] if len(held) == MAX_FINDINGS else (),
    )


def describe_outcome(commission) -> str:
    """What happens to a commission if those of the case are disapproved."""
    if commission.is_settled:
        return "Paid or final, stays"
    status = CommissionStatus(commission.status)
    if status == CommissionStatus.DISAPPROVED:
        return "Is disapproved already"
    return f"{status.label}, becomes disapproved"


def list_findings(case: RiskCase) -> Section:
    """What was found, a line for each sale, with the facts side by side."""
    rows = case.account.risk_findings.filter(case=case).select_related("conversion")
    findings = list(rows.order_by("-id")[:MAX_FINDINGS])
    for row, named in zip(
        findings, name_facts(case.account, [row.facts for row in findings]), strict=True
    ):
        row.facts = named
    labels = dict.fromkeys(label for row in findings for label in row.facts)
    about_sale = (
        Column("Sale", link_finding),
        Column("Sold", lambda row: format_datetime(row.conversion.created_at)),
        Column("Amount", format_sale, is_amount=True),
    )
    kind = RISK_RULES.get(case.rule)
    is_about_sales = kind is None or kind.is_about_sales
    return Section(
        "What was found",
        columns=(
            *(about_sale if is_about_sales else ()),
            *(Column(label, build_fact(label)) for label in labels),
            Column("Found", lambda row: format_datetime(row.created_at)),
        ),
        rows=findings,
    )


def build_fact(label: str):
    return lambda row: row.facts.get(label, EMPTY_VALUE)


def link_finding(finding) -> str:
    sale = finding.conversion
    return link_to(sale, get_conversion_text(sale.external_id, sale.pk))


def format_sale(finding) -> str:
    return format_amount(finding.conversion)


def format_amount(row) -> str:
    return format_money(row.amount, row.currency)


@admin.register(RiskCase)
class RiskCaseAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (
        MenuEntry(
            "Tracking",
            70,
            "shield",
            query=OPEN_CASES,
            badge="open_cases",
            synonyms="fraud",
            is_daily=True,
        ),
    )
    tabs = {"Undecided": OPEN_CASES, "All": ""}
    list_actions = (ListAction(60, "Decide risk cases", OPEN_CASES),)
    empty_state = "No cases. One is opened when a risk rule that is switched on finds something."
    columns = (
        Column("ID", lambda row: row.pk, name="case_id", export="pk"),
        PERSON,
        Column("Rule", lambda row: get_rule_title(row.rule), name="rule_title", export="rule"),
        build_status_column(lambda row: CASE_STATES[row.state], export="state"),
        "created_at",
        "decided_at",
        Column(name="note", is_listed=False),
    )
    list_filter = ("state", AffiliateFilter, DateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("created_at", "id")  # what waits longest comes first
    row_pages = (ClearCasePage, DisapproveCasePage, ExcludeAffiliatePage)

    def get_object_title(self, row):
        return f"{get_rule_title(row.rule)}: {row.affiliate}"

    def get_details(self, request, case):
        names = find_names(request.user, (), [case.decided_by])
        facts = [
            ("Affiliate", link_to(case.affiliate, format_person(case.affiliate))),
            ("Rule", get_rule_title(case.rule)),
            ("Opened", format_datetime(case.created_at)),
            ("Decided", case.decided_at and format_datetime(case.decided_at)),
            ("Decided by", describe_actor(case.decided_by, names)),
            ("Note", case.note),
        ]
        return Details(
            headline=get_rule_title(case.rule),
            labels=[CASE_STATES[case.state]],
            sections=[
                Section("Risk case", facts=facts),
                list_findings(case),
                *([list_held(case)] if case.state == RiskCaseState.OPEN else ()),
                build_history(request, [case]),
            ],
        )
