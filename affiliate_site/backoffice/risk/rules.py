"""The pages of risk rules: add one, see whom it would have caught, switch it on."""

from collections import defaultdict

from django import forms
from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html_join

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import AddPage, EditPage, FormPage
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    Label,
    count_noun,
    format_affiliate,
    format_datetime,
    format_person,
)
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    build_history,
    link_to,
)
from affiliate_site.columns import Column, list_places
from payouts.models.risk import RiskRule
from payouts.services.risk_cases import (
    MAX_DRY_RUN_SALES,
    create_rule,
    list_dry_run,
    switch_off,
    switch_on,
    update_rule,
)
from payouts.services.risk_rules import OTHER_AFFILIATES, RISK_RULES, WINDOW

MAX_THRESHOLD = 100_000
MAX_PATTERNS_LENGTH = 10_000
MAX_SHOWN = 100  # affiliates of a dry run
ON, OFF = Label("on", "success"), Label("off")


def get_rule_title(rule: str) -> str:
    """What staff call a rule; its name if another version had it."""
    return RISK_RULES[rule].title if rule in RISK_RULES else rule


def describe_threshold(row) -> str:
    kind = RISK_RULES.get(row.rule)
    return f"{row.threshold:,} {kind.unit}" if kind and kind.unit else EMPTY_VALUE


def name_facts(account, lists) -> list[dict[str, str]]:
    """Facts by label, for each list of them, with links to the affiliates in them."""
    found = [dict(map(tuple, facts)) for facts in lists]
    log_ids = {name for each in found for name in each.get(OTHER_AFFILIATES, "").split()}
    rows = account.affiliates.filter(log_id__in=log_ids)
    links = {row.log_id: [link_to(row, format_person(row))] for row in rows}
    for each in found:
        if names := each.get(OTHER_AFFILIATES):
            shown = [links[name] for name in names.split() if name in links]
            each[OTHER_AFFILIATES] = format_html_join(", ", "{}", shown)
    return found


def list_caught(rule: RiskRule) -> Section:
    """Whom a rule would have caught in the last 90 days, those with the most first."""
    by_affiliate = defaultdict(list)
    for fact in list_dry_run(rule, at=timezone.now()):
        by_affiliate[fact.affiliate_id].append(fact)
    most = sorted(by_affiliate.items(), key=lambda item: (-len(item[1]), item[0]))[:MAX_SHOWN]
    affiliates = rule.account.affiliates.in_bulk([pk for pk, _ in most])
    is_about_sales = RISK_RULES[rule.rule].is_about_sales
    if is_about_sales:
        texts = [f"{len(facts):,}" for _, facts in most]
    else:
        named = name_facts(rule.account, [facts[0].facts for _, facts in most])
        texts = [format_html_join("; ", "{}: {}", each.items()) for each in named]
    number = len(by_affiliate)
    notes = [f"{count_noun(number, 'affiliate')} of the last {WINDOW.days} days."]
    if number > MAX_SHOWN:
        notes.append(f"The {MAX_SHOWN} with the most are shown.")
    if is_about_sales:
        notes.append(f"Of more than {MAX_DRY_RUN_SALES:,} sales, the newest were looked at.")
    return Section(
        "Whom it would have caught",
        columns=list_places("Affiliate", "Sales" if is_about_sales else "Facts"),
        rows=[
            (link_to(affiliates[pk], format_affiliate(affiliates[pk])), text)
            for (pk, _), text in zip(most, texts, strict=True)
        ],
        notes=notes,
    )


class RuleForm(ServiceForm):
    """The settings that a rule has; `rule` is None before it is chosen."""

    def build_fields(self):
        kind = self.row and RISK_RULES.get(self.row.rule)
        fields: dict[str, forms.Field] = {}
        if kind and kind.unit:
            fields["threshold"] = forms.IntegerField(
                min_value=1, max_value=MAX_THRESHOLD, help_text=f"In {kind.unit}."
            )
        if kind and kind.patterns:
            fields["patterns"] = forms.CharField(
                max_length=MAX_PATTERNS_LENGTH,
                widget=MULTI_LINE({"rows": 6}),
                help_text=kind.patterns,
            )
        return fields


class AddRulePage(AddPage):
    model = RiskRule
    explanation = "It is off at first: its page says whom it would have caught, and switches it on."
    service = staticmethod(create_rule)
    done_message = "The rule was added; it is off."

    class Form(ServiceForm):
        def build_fields(self):
            used = set(self.account.risk_rules.values_list("rule", flat=True))
            left = {name: kind for name, kind in RISK_RULES.items() if name not in used}
            texts = [f"{kind.title}: {kind.explanation}" for kind in left.values()]
            choices = [(name, kind.title) for name, kind in left.items()]
            return {"rule": forms.ChoiceField(choices=choices, help_text="\n".join(texts))}


class EditRulePage(EditPage):
    model = RiskRule
    form_class = RuleForm
    service = staticmethod(update_rule)
    explanation = "Counts for what the rule finds from now on."

    @classmethod
    def is_offered(cls, rule):
        kind = RISK_RULES.get(rule.rule)
        return kind is not None and bool(kind.unit or kind.patterns)

    def get_unlocked_initial(self, rule):
        kind = RISK_RULES[rule.rule]
        return {
            **({"threshold": rule.threshold} if kind.unit else {}),
            **({"patterns": rule.patterns} if kind.patterns else {}),
        }


class SwitchRuleOnPage(FormPage):
    model = RiskRule
    name = "switch_on"
    title = button = "Switch on"
    service = staticmethod(switch_on)
    explanation = (
        "From now on it looks at new sales, or each hour at all affiliates, and opens a case"
        " for each affiliate of whom it finds something."
    )
    done_message = "The rule is on."

    @classmethod
    def is_offered(cls, rule):
        return rule.enabled_at is None and rule.rule in RISK_RULES

    def list_sections(self):
        return [list_caught(self.row)]


class SwitchRuleOffPage(FormPage):
    model = RiskRule
    name = "switch_off"
    title = button = "Switch off"
    service = staticmethod(switch_off)
    explanation = "It opens no further cases. Those that are open stay until they are decided."
    done_message = "The rule is off."

    @classmethod
    def is_offered(cls, rule):
        return rule.enabled_at is not None


@admin.register(RiskRule)
class RiskRuleAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Tracking", 80, "policy", synonyms="fraud"),)
    empty_state = (
        "No rules yet: nothing is looked at. Choose “Add risk rule” to see whom a rule would"
        " have caught, and to switch it on."
    )
    columns = (
        Column("Rule", lambda row: get_rule_title(row.rule), name="rule_title", export="rule"),
        Column("Threshold", describe_threshold, export=describe_threshold),
        build_status_column(lambda row: ON if row.enabled_at else OFF),
        "enabled_at",
    )
    ordering = ("rule",)
    add_page = AddRulePage
    row_pages = (SwitchRuleOnPage, EditRulePage, SwitchRuleOffPage)  # the first one stands out
    has_neighbors = False  # rules have no order in time

    def get_object_title(self, row):
        return get_rule_title(row.rule)

    def get_details(self, request, rule):
        kind = RISK_RULES.get(rule.rule)
        facts = [
            ("Opens a case for", kind.explanation if kind else ""),
            ("Threshold", describe_threshold(rule)),
            ("Compares with", ", ".join(rule.patterns.splitlines())),
            ("On since", rule.enabled_at and format_datetime(rule.enabled_at)),
        ]
        sections = [Section("Risk rule", facts=facts)]
        if kind and rule.enabled_at is None:
            sections.append(list_caught(rule))
        return Details(
            headline=get_rule_title(rule.rule),
            labels=[ON if rule.enabled_at else OFF],
            sections=[*sections, build_history(request, [rule])],
        )
