"""Forms of payout runs: draft, confirm, make again, note, discard; take lines out."""

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.days import A_DAY
from affiliate_site.backoffice.fields import MULTI_LINE, DecimalField
from affiliate_site.backoffice.form_pages import EditPage, FormPage
from affiliate_site.backoffice.formatters import count_noun, format_money, format_totals
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.payouts.payment_pages import NO_TRANSFER
from affiliate_site.backoffice.payouts.run_parts import (
    ALERT_LINK,
    build_totals_section,
    warn_of_changed_methods,
    warn_of_missing_documents,
    warn_of_unfit_lines,
)
from affiliate_site.backoffice.risk.cases import OPEN_CASES
from affiliate_site.backoffice.theme import get_object_url
from payouts.errors import Unprintable
from payouts.fonts import PACKAGES
from payouts.models.payments import PayoutMethodKind
from payouts.models.risk import RiskCaseState
from payouts.models.runs import MAX_NOTE_LENGTH, PayoutLineState, PayoutRunState
from payouts.services.documents import describe_unprintable
from payouts.services.payables import list_payable_currencies
from payouts.services.payout_methods import list_shared_methods
from payouts.services.payout_runs import (
    count_shared_balances,
    create_draft,
    discard_run,
    list_totals,
    list_withheld_taxes,
    put_back,
    remake_draft,
    set_note,
    take_out,
)
from payouts.services.risk_cases import evaluate_rules
from payouts.services.run_confirmation import (
    confirm_run,
    describe_changes,
    lock_with_affiliates,
    needs_second_person,
)
from payouts.services.run_selection import METHODS

PERMISSION = "payouts.add_payment"
METHOD_CHOICES = [(name, PayoutMethodKind(name).label) for name in METHODS]


class PayoutRunForm(ServiceForm):
    due_until = forms.DateField(
        label="Due until",
        help_text="Pays what is due until the end of this day; the rest stays owed. A day"
        " that is not over changes with each sale.",
    )
    minimum = DecimalField(
        required=False,
        min_value=0,
        max_digits=19,
        decimal_places=4,
        help_text="In each currency. Empty: the minimums of the account.",
    )
    note = forms.CharField(required=False, max_length=MAX_NOTE_LENGTH, help_text="For staff.")

    def build_fields(self):
        account = self.account
        programs = account.programs.order_by("title").values_list("slug", "title")
        groups = account.affiliate_groups.order_by("title")
        choices = {
            "currencies": [(code, code) for code in list_payable_currencies(account)],
            "methods": METHOD_CHOICES,
            "programs": list(programs),
            "groups": list(groups.values_list("public_id", "title")),
        }
        return {
            name: forms.MultipleChoiceField(
                choices=values, required=False, help_text="Select none for all."
            )
            for name, values in choices.items()
            if len(values) > 1
        }

    @property
    def values(self):
        values = dict(self.cleaned_data)
        minimum = values.pop("minimum")
        if minimum is not None:
            currencies = values.get("currencies") or list_payable_currencies(self.account)
            values["minimums"] = dict.fromkeys(currencies, minimum)
        return values


class AddPayoutRunPage(FormPage):
    title = "Add payout run"
    button = "Make draft"
    permission = PERMISSION
    form_class = PayoutRunForm
    service = staticmethod(create_draft)
    is_atomic = False
    explanation = (
        "The draft lists who is paid, and everybody who is left out and why. Nothing is"
        " paid until you confirm it."
    )
    done_message = "The draft {result} was made."

    def get_initial(self):
        return super().get_initial() | {"due_until": timezone.localdate() - A_DAY}


class DraftPage(FormPage):
    permission = PERMISSION
    subject = "{row}"

    @classmethod
    def is_offered(cls, run):
        return run.state == PayoutRunState.DRAFT


def describe_totals(run) -> str:
    """`3 payments to 2 affiliates: 40.00 EUR and 20.00 USD; 1 withheld`."""
    rows = run.account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
    numbers = rows.aggregate(Count("pk"), Count("affiliate", distinct=True))
    payments, affiliates = (
        count_noun(number, noun)
        for number, noun in zip(numbers.values(), ("payment", "affiliate"), strict=True)
    )
    totals = [format_money(total, code) for code, total in list_totals(run).items()]
    lines = run.account.payout_lines.filter(run=run, state=PayoutLineState.TAKEN_OUT)
    withheld = f"; {number:,} withheld" if (number := lines.count()) else ""
    return f"{payments} to {affiliates}: {' and '.join(totals) or 'none'}{withheld}"


def warn_of_risk_cases(account) -> list[str]:
    """How many cases are undecided, what they are about is on hold."""
    count = account.risk_cases.filter(state=RiskCaseState.OPEN).count()
    if not count:
        return []
    url = reverse("admin:payouts_riskcase_changelist")
    link = format_html(ALERT_LINK, f"{url}?{OPEN_CASES}", count_noun(count, "risk case"))
    text = "Undecided: {}. This run pays nothing of what is on hold by them."
    return [format_html(text, link)]


class ConfirmRunPage(DraftPage):
    """Create the payments of a draft, all or none."""

    name = "confirm"
    title = button = "Confirm"
    service = staticmethod(confirm_run)
    done_message = "Payout run {row} was confirmed."

    def get_unlocked_initial(self, run):
        return {"payments": describe_totals(run)}

    def form_valid(self, form):
        """Let the risk rules look at all sales first: they lock what a run locks, too."""
        evaluate_rules(self.account, at=timezone.now(), is_complete=True)
        return super().form_valid(form)

    def lock_row(self, at):
        return lock_with_affiliates(self.account, self.row.pk)[0]

    def get_explanation(self):
        return (
            f"{describe_totals(self.row)}. Each covers its commissions; all are"
            f" recorded, or none if something changed since the draft.\n{NO_TRANSFER}"
        )

    def list_sections(self):
        return [build_totals_section(self.row)]

    def list_alerts(self):
        alerts: list[str] = []
        if changes := describe_changes(self.row, at=timezone.now()):
            link = format_html(
                ALERT_LINK,
                reverse("admin:payouts_payoutrun_remake", args=[self.row.pk]),
                "re-make it",
            )
            text = "Changed since the draft, so {} first: {}."
            alerts.append(format_html(text, link, changes))
        if texts := describe_unprintable(self.row):
            error = Unprintable(texts=texts, packages=PACKAGES)
            alerts.append(f"{error}, or take them out of this run.")
        for other, count in count_shared_balances(self.row).items():
            alerts.append(
                f"{other} is a draft, too, and pays {count} of these balances: only one"
                " of both can be confirmed."
            )
        if self.row.due_before - A_DAY > timezone.now():
            alerts.append("The day is yet to come: some of it is not due until then.")
        if shared := list_shared_methods(self.row):
            names = ", ".join(str(method.affiliate) for method in shared)
            alerts.append(f"These affiliates have payout accounts in common: {names}.")
        alerts += [*warn_of_changed_methods(self.row), *warn_of_unfit_lines(self.row)]
        alerts += warn_of_missing_documents(self.row)
        if taxes := list_withheld_taxes(self.row):
            text = f"{format_totals(taxes)} of it are withheld for the tax office."
            alerts.append(text)
        alerts += warn_of_risk_cases(self.account)
        if needs_second_person(self.row):
            alerts.append("You made this draft, so somebody else has to confirm it.")
        return alerts

    def report_not_offered(self):
        """A second click, or a colleague: nothing was paid twice."""
        if self.row.confirmed_at is None:
            super().report_not_offered()
        else:
            text = f"{self.row} was confirmed before; nothing was paid a second time."
            messages.info(self.request, text)


class RemakeRunPage(DraftPage):
    """Select again what a draft pays."""

    name = "remake"
    title = "Re-make"
    button = "Re-make draft"
    service = staticmethod(remake_draft)
    is_atomic = False
    explanation = (
        "Selects again, by the commissions, balances and payout methods of now. What"
        " is withheld stays out."
    )
    done_message = "The draft was made again."


class NoteForm(ServiceForm):
    """The note of a run."""

    note = forms.CharField(
        required=False, max_length=MAX_NOTE_LENGTH, widget=MULTI_LINE({"rows": 3})
    )


class RunNotePage(EditPage):
    name = "note"
    title = "Note"
    permission = PERMISSION
    form_class = NoteForm
    service = staticmethod(set_note)
    done_message = "The note was saved."


class DiscardRunPage(DraftPage):
    name = "discard"
    title = "Discard"
    button = "Discard draft"
    is_dangerous = True
    service = staticmethod(discard_run)
    explanation = "Nothing is paid. What is due stays due, and is in the next draft."
    done_message = "The draft {row} was discarded."


class LinePage(FormPage):
    permission = PERMISSION
    state = PayoutLineState.INCLUDED

    @classmethod
    def is_offered(cls, line):
        return line.state == cls.state and line.run.state == PayoutRunState.DRAFT

    def get_subject(self):
        amount = format_money(self.row.amount, self.row.currency)
        return f"{self.row.affiliate}, {amount}"

    def get_back_url(self):
        return get_object_url(self.row.run)


class TakeOutPage(LinePage):
    """Withhold the balance of an affiliate."""

    name = "take_out"
    title = button = "Take out"
    service = staticmethod(take_out)
    explanation = (
        "The balance is withheld: it stays due, and no payout run pays it until"
        " somebody puts it back here, or lifts that on the page of the affiliate."
    )
    done_message = "{row.affiliate} was taken out; {row.currency} is withheld."

    class Form(ServiceForm):
        reason = forms.CharField(
            max_length=MAX_NOTE_LENGTH,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Such as: asked to wait. For staff: kept with the run, and shown"
            " while it is withheld.",
        )


class PutBackPage(LinePage):
    """Include an affiliate again, and lift the withholding."""

    name = "put_back"
    title = button = "Put back"
    explanation = "This run pays the balance, and it is no longer withheld."
    state = PayoutLineState.TAKEN_OUT
    service = staticmethod(put_back)
    done_message = "{row.affiliate} was put back."


LINE_PAGES = (TakeOutPage, PutBackPage)


def build_line_url(page: type[LinePage], line) -> str:
    """The page that changes a line."""
    return reverse(f"admin:payouts_payoutline_{page.name}", args=[line.pk])
