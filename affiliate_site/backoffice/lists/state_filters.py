"""Filters by a state of a row: removed, paid, decided."""

from django.db.models import Exists, OuterRef
from django.utils import timezone

from affiliate_site.backoffice.lists.filters import SelectFilter
from payouts.services.payables import filter_on_hold
from tracking.models.applications import PortalTerms, TermsAcceptance


class StateFilter(SelectFilter):
    """Rows of which a time is set or not; subclasses name the states."""

    title = "state"
    texts = {"True": "", "False": ""}  # by whether the time is missing

    def list_options(self):
        return list(self.texts.items())

    def filter_rows(self, queryset):
        return queryset.filter(**{str(self.parameter_name): self.get_column_value()})

    def get_column_value(self) -> bool | None:
        """What the column of the parameter is compared with."""
        return self.value() == "True"


class DeletedFilter(StateFilter):
    """Rows that were removed or not."""

    parameter_name = "deleted_at__isnull"
    texts = {"True": "Not removed", "False": "Removed"}


class CanceledFilter(StateFilter):
    parameter_name = "canceled_at__isnull"
    texts = {"True": "Not canceled", "False": "Canceled or returned"}


class PaidFilter(StateFilter):
    """Commissions that a payment covers or not."""

    title = "payment"
    parameter_name = "payment__isnull"
    texts = {"True": "Not paid", "False": "Paid or sent"}


class WithheldFilter(StateFilter):
    """Balances that staff withhold, with those of zero."""

    title = "withheld"
    parameter_name = "is_withheld"
    texts = {"True": "Withheld"}


class OnHoldFilter(StateFilter):
    """Commissions that are approved, unpaid and not due yet."""

    title = "hold"
    parameter_name = "on_hold"
    texts = {"True": "On hold"}

    def filter_rows(self, queryset):
        return filter_on_hold(queryset, at=timezone.now())


class ReturnedFilter(StateFilter):
    """Payout methods that wait until somebody has looked at them."""

    title = "to check"
    parameter_name = "to_check"
    texts = {"True": "A payment came back"}

    def filter_rows(self, queryset):
        return queryset.exclude(on_hold_reason="")


class GoalFilter(StateFilter):
    """Commissions of bonuses whose goal is no longer met."""

    title = "bonus goal"
    parameter_name = "goal_missed_at__isnull"
    texts = {"False": "No longer met"}


class ArchivedFilter(StateFilter):
    parameter_name = "archived_at__isnull"
    texts = {"True": "Active", "False": "Archived"}


class PromotedFilter(StateFilter):
    """Prospects that became affiliates or not."""

    parameter_name = "promoted_at__isnull"
    texts = {"True": "Not promoted", "False": "Promoted"}


class AcceptedTermsFilter(StateFilter):
    title = "accepted terms"
    parameter_name = "accepted_terms"
    texts = {"current": "Current version", "older": "Older version", "none": "None"}

    def filter_rows(self, queryset):
        newer = PortalTerms.objects.filter(
            account=OuterRef("account"), version__gt=OuterRef("terms__version")
        )
        rows = TermsAcceptance.objects.filter(account=OuterRef("account"), affiliate=OuterRef("pk"))
        has_current = Exists(rows.filter(~Exists(newer)))
        if self.value() == "current":
            return queryset.filter(has_current)
        if self.value() == "older":
            return queryset.filter(Exists(rows), ~has_current)
        return queryset.filter(~Exists(rows))


class DecidedFilter(StateFilter):
    """Claims that staff decided or not."""

    parameter_name = "decided_at__isnull"
    texts = {"True": "To decide", "False": "Decided"}


class ApprovalFilter(StateFilter):
    """Program affiliates by their status."""

    title = "status"
    parameter_name = "approved"
    texts = {
        "pending": "Pending",
        "approved": "Approved",
        "disapproved": "Disapproved",
        "removed": "Removed",
    }

    def filter_rows(self, queryset):
        """As the column of the status: removed affiliates have no other one."""
        if self.value() == "removed":
            return queryset.exclude(affiliate__deleted_at=None)
        return super().filter_rows(queryset.not_deleted())

    def get_column_value(self):
        return {"approved": True, "disapproved": False}.get(str(self.value()))
