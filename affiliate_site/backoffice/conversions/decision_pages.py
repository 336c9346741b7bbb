"""Decide about commissions, one by one or many: approve, disapprove, reopen, release."""

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.actions import MAX_ROWS
from affiliate_site.backoffice.bulk_pages import BulkColumns, BulkPage
from affiliate_site.backoffice.conversions.admin import add_answers
from affiliate_site.backoffice.conversions.commission_details import GOAL_MISSED
from affiliate_site.backoffice.conversions.commission_pages import CommissionFormPage
from affiliate_site.backoffice.conversions.conversion_details import (
    build_claims_url,
    format_warnings,
)
from affiliate_site.backoffice.conversions.new_conversion_page import (
    TRACKING_SOURCE_TEXTS,
)
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.formatters import (
    Label,
    format_labels,
    format_money,
    keep_amounts_together,
)
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.payouts.due_texts import describe_due
from affiliate_site.backoffice.payouts.payout_texts import get_commission_status
from payouts.errors import DisputedSale
from payouts.explanation import explain_initial_status
from payouts.models.commissions import CommissionStatus, is_finalized
from payouts.models.refunds import MAX_REASON_LENGTH
from payouts.models.runs import PayoutLineState
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.corrections import release_commission
from payouts.services.payables import is_early
from payouts.services.previews import preview_status


def get_answered_status(row) -> Label:
    """The status of a row of `add_answers`."""
    is_unanswered = row.payment_id is not None and row.is_unanswered
    return get_commission_status(row, PayoutLineState.UNKNOWN if is_unanswered else None)


def describe_contest(conversion) -> str:
    """Why nobody can approve what a sale earns; empty if everybody can."""
    if conversion is not None and conversion.is_contested:
        return "two visitors claim its conversion: confirm a claim first"
    if conversion is not None and conversion.disputed_at is not None:
        return "its sale is disputed: wait until the dispute ends"
    return ""


def describe_sale(commission) -> str:
    """Order ID and amount."""
    conversion = commission.conversion
    if conversion is None:
        return "Bonus"
    amount = format_money(conversion.amount, conversion.currency)
    return keep_amounts_together(f"{conversion.external_id or conversion}: {amount}")


def describe_reason(commission) -> str:
    """Why it began as it did, how the sale was attributed, and what looks odd."""
    conversion = commission.conversion
    parts = [explain_initial_status(commission)]
    if conversion is not None:
        source = conversion.tracking_source
        parts.append(f"by {TRACKING_SOURCE_TEXTS.get(source, source)}")
        parts.append(format_warnings(conversion.warnings))
    if commission.goal_missed_at is not None:
        parts.append(GOAL_MISSED)
    return "; ".join(filter(None, parts))


def describe_pending_base(commission) -> str:
    """That the commission which this one follows is not decided; empty if it is."""
    base = commission.base_commission
    if base is None or base.status != CommissionStatus.PENDING:
        return ""
    return f"commission {base} of {base.affiliate}, which it follows, is still pending"


class BulkCommissionPage(BulkPage, CommissionFormPage):
    amount_field = "amount"
    get_status = staticmethod(get_answered_status)
    bulk_columns: BulkColumns = (
        ("Affiliate", lambda row: row.affiliate),
        ("Sale", describe_sale),
        ("Why", lambda row: capfirst(describe_reason(row))),
        ("Status", lambda row: format_labels([get_answered_status(row)])),
    )
    bulk_relations: tuple[str, ...] = ("conversion", "affiliate")

    def select(self, rows):
        return add_answers(super().select(rows))


class DecisionPage(BulkCommissionPage):
    """Sets the status of a commission; the state table says when."""

    target_status = ""
    bulk_relations = ("conversion", "affiliate", "base_commission__affiliate")
    undo_action = "reopen_selected"
    undo_title = "Undo: put back to pending"

    @classmethod
    def find_obstacle(cls, commission):
        if commission.deleted_at:
            return "its conversion was removed"
        if commission.status == cls.target_status:
            return f"already {cls.target_status}"
        if is_finalized(commission.status, commission.account):
            return "an approved commission is final"
        return ""

    @classmethod
    def can_undo(cls, commission):
        return not is_finalized(commission.status, commission.account)

    def list_balances(self, rows):
        return [
            effect
            for account in {row.account for row in rows}
            for effect in preview_status(
                account, [row for row in rows if row.account == account], self.target_status
            )
        ]

    def change_row(self, at):
        return self.call_service(self.form, at, confirmed=self.row)

    def get_done_message(self, commission):
        amount = format_money(self.row.amount, self.row.currency)
        return f"Commission {self.row} of {amount} is {self.target_status} now."


class ApproveCommissionPage(DecisionPage):
    name = "approve"
    title = "Approve"
    confirm_button = "Approve commission"
    bulk_title = "Approve commissions"
    service = staticmethod(approve_commission)
    target_status = CommissionStatus.APPROVED

    def get_skip_reason(self, commission):
        """Also what the page has an alert about."""
        contested = "" if commission.deleted_at else describe_contest(commission.conversion)
        return contested or super().get_skip_reason(commission)

    def list_columns(self):
        """Add what to check: the commissions that follow others which stay pending."""
        selected = set(self.rows.values_list("pk", flat=True)[:MAX_ROWS])

        def get_check(row):
            is_base_selected = row.base_commission_id in selected
            return "" if is_base_selected else describe_pending_base(row)

        return (*self.bulk_columns, ("To check", get_check))

    def list_alerts(self):
        """That visitors or the buyer contest the sale, which the service refuses."""
        conversion = self.row.conversion
        if conversion is not None and conversion.disputed_at is not None:
            return [str(DisputedSale()), *super().list_alerts()]
        if conversion is None or not conversion.is_contested:
            return super().list_alerts()
        text = (
            'Two visitors claim this sale: <a class="underline" href="{}">compare the'
            " claims</a> and confirm one of them first."
        )
        return [format_html(text, build_claims_url(conversion)), *super().list_alerts()]

    def get_explanation(self):
        final = "An approved commission cannot be changed any more."
        parts = [final if self.account.uses_payouts else "", super().get_explanation()]
        return " ".join(filter(None, parts))

    def list_facts(self, form, result):
        return [
            *super().list_facts(form, result),
            ("To check", describe_pending_base(self.row)),
            ("Not approved with it", self.list_pending_followers()),
        ]

    def list_pending_followers(self) -> str:
        """The commissions of parents that follow this one and stay pending."""
        rows = self.account.commissions.not_deleted().filter(
            conversion=self.row.conversion_id,
            base_commission=self.row,
            status=CommissionStatus.PENDING,
        )
        return ", ".join(
            f"commission {each} of {each.affiliate}"
            for each in rows.select_related("affiliate").order_by("id")
        )


class DisapproveCommissionPage(DecisionPage):
    name = "disapprove"
    title = "Disapprove"
    confirm_button = "Disapprove commission"
    bulk_title = "Disapprove commissions"
    is_dangerous = True
    service = staticmethod(disapprove_commission)
    target_status = CommissionStatus.DISAPPROVED

    class Form(ServiceForm):
        reason = forms.CharField(
            max_length=500,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Kept in the comment of the commission, which the API shows, too, and the"
            " portal if its settings say so.",
        )


class ReopenCommissionPage(DecisionPage):
    """Set a commission back to pending."""

    name = "reopen"
    title = bulk_title = "Put back to pending"
    service = staticmethod(reopen_commission)
    target_status = CommissionStatus.PENDING
    undo_action = ""


class ReleaseCommissionPage(BulkCommissionPage):
    """Make a commission due that is on hold, with a reason."""

    name = "release"
    title = button = "Release now"
    bulk_title = "Release commissions"
    explanation = bulk_explanation = "The commission is due now, not at the end of its hold."
    bulk_columns = (
        *BulkCommissionPage.bulk_columns,
        ("Due", lambda row: describe_due(row, at=timezone.now())),
    )
    service = staticmethod(release_commission)
    done_message = "Commission {row} is due now."

    class Form(ServiceForm):
        reason = forms.CharField(
            max_length=MAX_REASON_LENGTH,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Kept with the sale and shown on its page, for staff.",
        )

    @classmethod
    def find_obstacle(cls, commission):
        return "" if is_early(commission, at=timezone.now()) else "not on hold"
