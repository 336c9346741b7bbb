"""What a what-if changes, in the words of the screens."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from accounts.models.accounts import Account
from affiliate_site.backoffice.formatters import format_money
from payouts.models.commission_types import RateKind
from payouts.services.what_if_changes import SETTINGS
from payouts.what_if import RuleChange

GROUP_ID = re.compile(r"(?<=^group )\S+")


class RuleTexts:
    """Names the rules of an account, whose titles it looks up once."""

    def __init__(self, account: Account) -> None:
        programs = account.programs.values_list("slug", "title", "currency")
        self.programs = {slug: (title, currency) for slug, title, currency in programs}
        self.types = {
            (program, identifier): title
            for program, identifier, title in account.commission_types.values_list(
                "program__slug", "identifier", "title"
            )
        }
        self.groups = dict(account.affiliate_groups.values_list("public_id", "title"))

    def name(self, change: RuleChange) -> str:
        """`Harbor: Standard for Gold`."""
        if change.rule == "order":
            return "Order of attribution"
        if change.rule == "group":
            return f"Group of {change.of[0]}"
        program, _ = self.programs.get(change.program, (change.program, ""))
        return f"{program}: {self._name_rule(change)}"

    def _name_rule(self, change: RuleChange) -> str:
        if change.rule == "level":
            return f"level {change.of[0]}"
        if change.rule in SETTINGS:
            return SETTINGS[change.rule].title
        identifier, *groups = change.of
        title = self.types.get((change.program, identifier), identifier)
        return " for ".join([title, *(self.groups.get(it, it) for it in groups)])

    def show(self, change: RuleChange, value: Any) -> str:
        """`12 %`, `12.00 EUR`, or another value of a rule."""
        if isinstance(value, dict):
            currency = self.programs.get(change.program, ("", ""))[1]
            is_fixed = value["kind"] == RateKind.FIXED
            return (
                format_money(Decimal(value["value"]), currency)
                if is_fixed
                else f"{value['value']} %"
            )
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(value) or "as usual"
        if value is None or value == "":
            return "no limit" if change.rule in SETTINGS else "none"
        return self.groups.get(value, str(value)) if change.rule == "group" else str(value)

    def describe(self, changes: Iterable[RuleChange]) -> str:
        """`Harbor: Standard for Gold 10 % → 12 %`, of all changes."""
        return "; ".join(
            f"{self.name(it)} {self.show(it, it.before)} → {self.show(it, it.after)}"
            for it in changes
        )

    def name_source(self, source: str) -> str:
        """Where a rate is from, with the title of the group: `group Gold for type standard`."""
        return GROUP_ID.sub(lambda found: self.groups.get(found[0], found[0]), source)
