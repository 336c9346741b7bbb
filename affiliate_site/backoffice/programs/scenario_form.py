"""The form of a what-if: a period, and rules that are different."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.text import capfirst

from affiliate_site.backoffice.fields import DecimalField, RowChoiceField, RowsChoiceField
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.programs.program_pages import RATE_CHOICES
from affiliate_site.backoffice.programs.rate_pages import format_commission_rate, format_rate
from payouts.errors import NothingChanges
from payouts.models.commission_types import RateKind, not_ended
from payouts.services.what_if_changes import SETTINGS, Setting
from payouts.statistics import NAMED_PERIODS, Period
from tracking.attribution import REST_CONVERSION_ORDER
from tracking.models.affiliates import Affiliate

SEPARATOR = "|"  # no slug has it
LEVEL, TYPE = "levels", "rates"
MAX_GROUPS = 5  # whose rates are shown beside that of a commission type
SAME = "Empty: as it is."
LEVEL_OF_GROUP = "Levels are the same for all groups."
BOTH_DAYS = "Enter both days, or none of them."
NO_GROUP = "Choose the group that they would be in."
NOT_BOTH = "Enter a new rate, or remove it."
NOT_REMOVABLE = "Only group rates and levels can be removed: choose a group or a level."


class ScenarioForm(ServiceForm):
    days = forms.ChoiceField(
        label="Period",
        initial="last_quarter",
        choices=[(name, name.replace("_", " ").capitalize()) for name in NAMED_PERIODS],
    )
    start = forms.DateField(label="Or from", required=False)
    end = forms.DateField(label="To", required=False)
    rate = forms.ChoiceField(label="Program and rate")
    group = RowChoiceField(
        "affiliate_groups",
        label="Only for group",
        required=False,
        help_text="Empty: for all that have no group rate.",
    )
    kind = forms.ChoiceField(label="Commission", choices=RATE_CHOICES)
    value = DecimalField(label="New rate", required=False, help_text=SAME)
    removed = forms.BooleanField(
        label="Remove this rate",
        required=False,
        help_text="The group earns what all others do; the level and those above it end.",
    )
    affiliates = RowsChoiceField(
        "affiliates",
        required=False,
        search_field=Affiliate._meta.get_field("parent"),
        help_text="Who would be in another group.",
    )
    to_group = RowChoiceField("affiliate_groups", label="In group", required=False)
    order = forms.ChoiceField(
        label="Goes before all others",
        required=False,
        choices=[
            ("", "As it is"),
            *((name, name.replace("_", " ").capitalize()) for name in REST_CONVERSION_ORDER),
        ],
        help_text="If a sale names several affiliates.",
    )

    error_fields = {NothingChanges: "value"}
    fieldsets: FieldSets = (
        (None, ("days", "start", "end")),
        ("Rate", ("rate", "group", "kind", "value", "removed")),
        ("Rules of the program", tuple(SETTINGS)),
        ("Affiliates and attribution", ("affiliates", "to_group", "order")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        rate: Any = self.fields["rate"]
        rate.choices = list(list_rates(self.account))
        value: Any = self.fields["value"]
        value.unit = "%" if self.data.get("kind") == RateKind.PERCENTAGE else ""

    def find_field(self, path):
        """The field of a place in the changes, such as `programs.harbor.cookie_time`."""
        path = (path or "").rpartition(".")[2]
        return super().find_field({"date_to": "end", "groups": "to_group"}.get(path, path))

    def clean(self):
        values = super().clean()
        for name, other in (("start", "end"), ("end", "start")):
            if values.get(name) and not values.get(other) and other not in self.errors:
                self.add_error(other, BOTH_DAYS)
        if values.get("group") and self.get_rate()[1:2] == [LEVEL]:
            self.add_error("group", LEVEL_OF_GROUP)
        if values.get("removed") and values.get("value") is not None:
            self.add_error("removed", NOT_BOTH)
        elif values.get("removed") and not values.get("group") and self.get_rate()[1:2] == [TYPE]:
            self.add_error("removed", NOT_REMOVABLE)
        if values.get("affiliates") and not values.get("to_group"):
            self.add_error("to_group", NO_GROUP)
        return values

    def get_rate(self) -> list[str]:
        """The program, what kind of rate it is, and which one."""
        return str(self.cleaned_data.get("rate", "")).split(SEPARATOR)

    def get_period(self, today: date) -> Period:
        values = self.cleaned_data
        if values["start"]:
            return Period(values["start"], values["end"])
        return NAMED_PERIODS[values["days"]](today)

    def build_changes(self) -> dict[str, Any]:
        """What the command `what_if` reads from its file."""
        values = self.cleaned_data
        changes: dict[str, Any] = {}
        if rules := {**self._build_rate(), **self._build_rules()}:
            changes["programs"] = {self.get_rate()[0]: rules}
        if values["affiliates"]:
            group = values["to_group"].public_id
            changes["groups"] = {row.slug: group for row in values["affiliates"]}
        if values["order"]:
            changes["order"] = [values["order"]]
        return changes

    def _build_rate(self) -> dict[str, Any]:
        values, (program, kind, name) = self.cleaned_data, self.get_rate()
        if values["removed"] and kind == LEVEL:
            levels = self.account.levels.filter(program__slug=program, level__gte=int(name))
            return {kind: {str(it): None for it in levels.values_list("level", flat=True)}}
        if values["value"] is None and not values["removed"]:
            return {}
        rate: dict[str, Any] | None = None
        if not values["removed"]:
            rate = {"kind": values["kind"], "value": str(values["value"])}
        if values["group"]:
            rate = {"groups": {values["group"].public_id: rate}}
        return {kind: {name: rate}}

    def _build_rules(self) -> dict[str, Any]:
        values = self.cleaned_data
        return {
            name: (values[name] or None) if setting.is_limit else values[name]
            for name, setting in SETTINGS.items()
            if values[name] is not None
        }


def build_field(setting: Setting) -> forms.Field:
    """The field of a setting, which is empty as long as it does not change."""
    label = capfirst(setting.title)
    if setting.limits is None:
        return forms.TypedChoiceField(
            label=label,
            required=False,
            choices=[("", "As it is"), ("yes", "Yes"), ("no", "No")],
            coerce="yes".__eq__,
            empty_value=None,
        )
    help_text = f"0: no limit. {SAME}" if setting.is_limit else SAME
    return forms.IntegerField(label=label, required=False, help_text=help_text)


ScenarioForm.base_fields |= {name: build_field(setting) for name, setting in SETTINGS.items()}


def list_rates(account) -> Iterator[tuple[str, str]]:
    """The commission types and levels of all programs that are not archived, with what they
    and the groups are now."""
    by_group = defaultdict(list)
    now = timezone.now()
    rows = account.group_rates.filter(not_ended(now)).order_by("group__title", "pk")
    for row in rows.select_related("group", "commission_type__program"):
        by_group[row.commission_type_id].append(f"{row.group.title} {format_rate(row)}")
    types = account.commission_types.filter(not_ended(now)).in_definition_order()
    types = types.select_related("program")
    levels = account.levels.order_by("level").select_related("program")
    rates = [(TYPE, it, it.identifier, it.title) for it in types]
    rates += [(LEVEL, it, str(it.level), f"level {it.level}") for it in levels]
    for kind, row, name, title in sorted(rates, key=lambda rate: rate[1].program.title):
        program = row.program
        if program.archived_at is None:
            value = SEPARATOR.join((program.slug, kind, name))
            groups = by_group[row.pk] if kind == TYPE else []
            present = [format_commission_rate(row, program.currency), *groups[:MAX_GROUPS]]
            if len(groups) > MAX_GROUPS:
                present.append(f"{len(groups) - MAX_GROUPS} more")
            yield value, f"{program.title}: {title}, now {', '.join(present)}"
