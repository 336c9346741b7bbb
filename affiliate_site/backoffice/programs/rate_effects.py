"""What a new rate would have cost in the last days, loaded beside its form."""

from typing import Any

from django.http import JsonResponse
from django.utils import timezone

from accounts.days import A_DAY
from accounts.errors import DomainError
from affiliate_site.backoffice.formatters import count_noun
from payouts.models.commission_types import CommissionType, GroupRate, Level
from payouts.services.scenarios import MAX_SALES_AT_ONCE, TooManySales, refuse_many
from payouts.services.what_if import calculate_what_if
from payouts.services.what_if_results import describe_difference
from payouts.statistics import Period

PARAMETER = "effect"  # of the address that answers it
DAYS = 30
TOO_MANY = (
    f"More than {MAX_SALES_AT_ONCE:,} sales in the last {DAYS} days: the page What if"
    " calculates what they would cost."
)


def build_changes(row: Any, rate: dict[str, Any] | None) -> dict[str, Any]:
    """A new rate, or none, for a row of rates, as the command `what_if` reads it."""
    match row:
        case Level():
            change: dict[str, Any] = {"levels": {str(row.level): rate}}
        case GroupRate():
            groups = {row.group.public_id: rate}
            change = {"rates": {row.commission_type.identifier: {"groups": groups}}}
        case CommissionType():
            change = {"rates": {row.identifier: rate}}
    program = getattr(row, "commission_type", row).program
    return {"programs": {program.slug: change}}


class EffectMixin:
    """A form page that answers what its rate would have changed.

    The script `rate_effect.js` asks for it, so that the form is shown and saved without.
    """

    has_effect = True
    request: Any
    account: Any

    def get_effect_row(self, form) -> Any:
        """The row of rates, or one that is not stored; None if no sale has it."""
        return self.row  # type: ignore[attr-defined]

    def get_rate(self, form) -> dict[str, Any] | None:
        """What the form has; None: the rate goes."""
        return {"kind": form.values["kind"], "value": str(form.values["value"])}

    def get(self, request, *args, **kwargs):
        """The page, or its effect as JSON."""
        if PARAMETER not in request.GET:
            return super().get(request, *args, **kwargs)  # type: ignore[misc]
        arguments = self.get_form_kwargs() | {"data": request.GET}  # type: ignore[attr-defined]
        form = self.get_form_class()(**arguments)  # type: ignore[attr-defined]
        is_valid = form.is_valid()
        return JsonResponse({"text": self.describe_effect(form) if is_valid else ""})

    def describe_effect(self, form) -> str:
        today = self.account.get_day(timezone.now())
        changes = build_changes(self.get_effect_row(form), self.get_rate(form))
        try:
            result = calculate_what_if(
                self.account,
                period=Period(today - DAYS * A_DAY, today - A_DAY),
                changes=changes,
                begin=refuse_many,
            )
        except TooManySales:
            return TOO_MANY
        except DomainError:
            return ""  # saving says what is wrong
        difference = describe_difference(result)
        if not difference:
            return f"The sales of the last {DAYS} days would have earned the same."
        number = count_noun(result.changed_affiliates, "affiliate")
        return f"In the last {DAYS} days: {difference}, for {number}."
