"""*What if*: the sales of a period by other rules, beside what is stored."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib import admin
from django.http import Http404
from django.utils.html import format_html, format_html_join

from accounts.models.accounts import Account
from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.form_pages import AddPage, FormPage, RemovePage
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    Label,
    count_noun,
    format_affiliate,
    format_datetime,
    format_money,
    format_person,
)
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.lists.exports import CHUNK_SIZE, send_or_go_back
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    ObjectPageMixin,
    Section,
    link_to,
)
from affiliate_site.backoffice.programs.rule_texts import RuleTexts
from affiliate_site.backoffice.programs.scenario_form import ScenarioForm
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.columns import Column, list_places
from affiliate_site.reports import FORMATS
from payouts.models.scenarios import Scenario
from payouts.services.scenario_rules import apply_scenario
from payouts.services.scenarios import (
    calculate_now,
    create_scenario,
    delete_scenario,
    read_result,
    read_rules,
)
from payouts.services.what_if_results import get_difference
from payouts.statistics import Period
from tracking.models.affiliates import Affiliate

MAX_SHOWN = 100  # affiliates
FILES = [(f"?format={it}", it.upper()) for it in FORMATS]
FILE_COLUMNS = list_places(
    *("Affiliate: ID", "Affiliate", "Currency", "As it was", "By these rules", "Difference")
)
WAITING, READY, FAILED = Label("calculating"), Label("ready", "success"), Label("failed", "danger")
WAITS = "It begins as soon as the worker (`deliver_webhooks`) is free."
LOOK_AGAIN = "Show the present state"
LOOKED_UP_TODAY = (
    "Sales count with what was stored with them, and with the amounts and decisions of today."
)


def get_label(scenario: Scenario) -> Label:
    if scenario.due_at is not None:
        return WAITING
    return FAILED if scenario.error else READY


def name_actors(request, rows) -> dict[int, str]:
    names = find_names(request.user, (), [row.created_by for row in rows])
    return {row.pk: describe_actor(row.created_by, names) for row in rows}


def describe_result(scenario: Scenario, result: Mapping[str, Any]) -> str:
    """`+1,204.50 EUR: 37 affiliates …, 12 sales would go to another affiliate`."""
    changes = [f"{count_noun(result['affiliates_changed'], 'affiliate')} would earn more or less"]
    for name, text in (("moved", "would go to another affiliate"), ("refused", "would be refused")):
        if number := result[f"conversions_{name}"]:
            changes.append(f"{count_noun(number, 'sale')} {text}")
    return f"{scenario.outcome or 'No difference'}: {', '.join(changes)}"


def format_difference(row: Mapping[str, Any]) -> str:
    difference = get_difference(row)
    return format_html("{}{}", "+" * (difference > 0), format_money(difference, row["currency"]))


def build_sum_columns(*first: Column) -> list[Column]:
    def show(name: str, row: Mapping[str, Any]) -> str:
        return format_money(Decimal(row[name]), row["currency"])

    return [
        *first,
        Column("As it was", partial(show, "before"), is_amount=True),
        Column("By these rules", partial(show, "after"), is_amount=True),
        Column("Difference", format_difference, is_amount=True),
    ]


def explain_side(side: Mapping[str, Any], currency: str, texts: RuleTexts) -> Iterator[str]:
    """Why somebody earns what, for each commission."""
    if side["refusal"]:
        yield f"Refused: {side['refusal'].replace('_', ' ')}"
    for it in side["commissions"]:
        value, rate = Decimal(it["rate"]["value"]).normalize(), it["rate"]
        worth = f"{value:f} %" if rate["kind"] == "percentage" else format_money(value, currency)
        amount = format_money(Decimal(it["amount"]), currency)
        earned = "" if it["is_earned"] else ", not earned"
        yield f"{it['affiliate']}: {amount}{earned} ({worth} by {texts.name_source(rate['from'])})"
    if side["commissions"] and side["tracking_source"]:
        yield f"Found by {side['tracking_source'].replace('_', ' ')}"


def list_explained(scenario: Scenario, result: Mapping[str, Any], texts: RuleTexts) -> Section:
    """The sales that change most, each explained twice."""
    explained = result["explained"]
    sales = scenario.account.conversions.in_bulk([it["conversion"] for it in explained])

    def show(name: str, row: Mapping[str, Any]) -> str:
        return "; ".join(explain_side(row[name], row["currency"], texts)) or EMPTY_VALUE

    def show_sale(row: Mapping[str, Any]) -> str:
        sale = sales.get(row["conversion"])
        return link_to(sale, sale.external_id) if sale else f"{row['conversion']}"

    more = result["sales_changed"] - len(explained)
    return Section(
        "Sales that change",
        notes=[f"The {len(explained)} that change most; {more:,} more."] if more else [],
        columns=[
            Column("Sale", show_sale),
            Column("As it was", partial(show, "before")),
            Column("By these rules", partial(show, "after")),
        ],
        rows=explained,
    )


def list_affiliates(scenario: Scenario, result: Mapping[str, Any]) -> Section:
    rows = result["affiliates"][:MAX_SHOWN]
    people = find_people(scenario, rows)

    def show(row: Mapping[str, Any]) -> str:
        found = people.get(row["affiliate"])
        return link_to(found, format_affiliate(found)) if found else row["affiliate"]

    number = result["affiliates_changed"]
    notes = [f"The {len(rows)} with the largest difference; the file has more."]
    return Section(
        "By affiliate",
        notes=notes if number > len(rows) else [],
        columns=build_sum_columns(Column("Affiliate", show)),
        rows=rows,
        lines=format_html("<p>Download: {}</p>", format_html_join(", ", LINK_TEMPLATE, FILES))
        if rows
        else "",
    )


def find_people(scenario: Scenario, rows: Iterable[Mapping[str, Any]]) -> dict[str, Affiliate]:
    slugs = {row["affiliate"] for row in rows}
    return {it.slug: it for it in scenario.account.affiliates.filter(slug__in=slugs)}


def iterate_lines(
    scenario: Scenario, rows: Sequence[Mapping[str, Any]]
) -> Iterator[list[list[Any]]]:
    """The lines of the file, in chunks."""

    def get_name(slug: str) -> str:
        return format_person(people[slug]) if slug in people else ""

    for start in range(0, len(rows), CHUNK_SIZE):
        chunk = rows[start : start + CHUNK_SIZE]
        people = find_people(scenario, chunk)
        yield [
            [
                *(it["affiliate"], get_name(it["affiliate"]), it["currency"]),
                *(Decimal(it[name]) for name in ("before", "after")),
                get_difference(it),
            ]
            for it in chunk
        ]


def list_changes(scenario: Scenario, texts: RuleTexts) -> Section:
    """The rules that change, as they were when it was calculated."""
    result = read_result(scenario)
    return Section(
        "What changes",
        columns=list_places("Rule", "Now", "Then"),
        rows=[
            (texts.name(it), texts.show(it, it.before), texts.show(it, it.after))
            for it in (read_rules(result) if result else ())
        ],
    )


def list_sections(scenario: Scenario, result: Mapping[str, Any]) -> Iterator[Section]:
    """What the page of a scenario with a result shows."""
    texts = RuleTexts(scenario.account)
    yield Section(
        "Together",
        notes=[LOOKED_UP_TODAY],
        columns=build_sum_columns(Column("Currency", lambda row: row["currency"])),
        rows=result["totals"],
        facts=[
            ("Days", f"{scenario.first_day} to {scenario.last_day}"),
            ("Sales", f"{result['sales']:,}, of which {result['sales_changed']:,} change"),
            ("Calculated", format_datetime(scenario.created_at)),
        ],
    )
    yield list_changes(scenario, texts)
    if result["unknown"]:
        yield Section(
            "What cannot be known",
            columns=list_places("Sales", "Why"),
            rows=[(f"{it['count']:,}", it["text"]) for it in result["unknown"]],
        )
    yield list_affiliates(scenario, result)
    program = Column("Program", lambda it: texts.programs.get(it["program"], [it["program"]])[0])
    month = Column("Month", lambda row: row["month"])
    for title, name, column in (
        ("By program", "programs", program),
        ("By month of the sale", "months", month),
        ("By month in which it is due", "due_months", month),
    ):
        yield Section(title, columns=build_sum_columns(column), rows=result[name])
    yield list_explained(scenario, result, texts)


def calculate(account: Account, period: Period, changes: Any, *, at: datetime) -> Scenario:
    """Create a scenario, and calculate it unless the worker has to."""
    describe = RuleTexts(account).describe
    scenario = create_scenario(account, period=period, changes=changes, describe=describe, at=at)
    calculate_now(scenario, at=at)
    return scenario


class AddScenarioPage(AddPage):
    model = Scenario
    form_class = ScenarioForm
    title = "New calculation"
    button = "Calculate"
    explanation = (
        "Calculates the sales of a period again with other rules, beside what is stored."
        " Nothing else changes."
    )
    is_atomic = False  # it reads a snapshot
    done_message = "{result.title}"

    def save(self, form, at):
        period = form.get_period(self.account.get_day(at))
        return calculate(self.account, period, form.build_changes(), at=at)


class CalculateAgainPage(FormPage):
    model = Scenario
    name = "again"
    title = button = "Calculate again"
    action = "add"
    explanation = (
        "Calculates the same days and changes by the rules, sales and decisions of today."
        " The present result stays."
    )
    is_sent_by_button = True
    is_atomic = False  # it reads a snapshot
    done_message = AddScenarioPage.done_message

    @classmethod
    def is_offered(cls, scenario):
        return scenario.due_at is None

    def save(self, form, at):
        period = Period(self.row.first_day, self.row.last_day)
        return calculate(self.account, period, json.loads(self.row.changes), at=at)

    def get_done_url(self, result):
        return get_object_url(result)


class ApplyScenarioPage(FormPage):
    model = Scenario
    name = "apply"
    title = button = "Make this the rule"
    permission = "tracking.change_program"
    explanation = (
        "Sales from now on earn by these rules. Commissions that exist keep the rates and"
        " days that they were created with."
    )
    service = staticmethod(apply_scenario)
    done_message = "This is the rule from now on: {row.title}."

    @classmethod
    def is_offered(cls, scenario):
        return bool(scenario.result)

    def list_sections(self):
        return [list_changes(self.row, RuleTexts(self.account))]


class RemoveScenarioPage(RemovePage):
    model = Scenario
    service = staticmethod(delete_scenario)
    leads_to_list = True


@admin.register(Scenario)
class ScenarioAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (
        MenuEntry("Affiliates", 15, "calculate", synonyms="simulate scenario what-if forecast"),
    )
    list_title = "What if"
    empty_state = (
        f"Nothing was calculated yet. Choose “{AddScenarioPage.title}” to see what last quarter"
        " would have cost by other rates, and who would have earned it."
    )
    columns = (
        Column("What changes", lambda row: row.title, name="title"),
        "first_day",
        "last_day",
        "outcome",
        build_status_column(get_label),
        Column(
            "By", lambda row, name: name, name="created_by", load=name_actors, export="created_by"
        ),
        "created_at",
    )
    ordering = ("-created_at", "-id")
    exclude = ("changes", "result")
    add_page = AddScenarioPage
    add_title = AddScenarioPage.title
    row_pages = (ApplyScenarioPage, CalculateAgainPage, RemoveScenarioPage)
    title_field = "title"
    name_row = ObjectPageMixin.get_object_title

    def get_queryset(self, request):
        """Results are large."""
        return super().get_queryset(request).defer("changes", "result")

    def get_details(self, request, scenario):
        result = read_result(scenario)
        if result is not None:
            return Details(
                describe_result(scenario, result),
                labels=[READY],
                sections=list(list_sections(scenario, result)),
            )
        if scenario.error:
            return Details(scenario.title, labels=[FAILED], alerts=[scenario.error])
        done = f"{scenario.done:,} of {count_noun(scenario.total, 'sale')}"
        return Details(
            scenario.title,
            labels=[WAITING],
            sections=[
                Section(
                    "Being calculated",
                    facts=[("Done", done if scenario.total else WAITS)],
                    lines=format_html(LINK_TEMPLATE, "", LOOK_AGAIN),
                )
            ],
        )

    def change_view(self, request, object_id, form_url="", extra_context=None):
        """Show a scenario, or download its affiliates."""
        file_format = request.GET.get("format")
        if file_format not in FORMATS:
            return super().change_view(request, object_id, form_url, extra_context)
        scenario = self.get_object(request, object_id)
        result = scenario and read_result(scenario)
        if scenario is None or not result:
            raise Http404
        lines = iterate_lines(scenario, result["affiliates"])
        name = f"what-if-{scenario}.{file_format}"
        return send_or_go_back(request, request.path, "What if", FILE_COLUMNS, lines, name)
