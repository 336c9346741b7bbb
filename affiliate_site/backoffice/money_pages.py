"""Pages that move money: first they show what moves, then a second button does it."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.shortcuts import redirect

from affiliate_site.backoffice.actions import (
    SUBMITTED_ALREADY,
    create_token,
    is_sent_again,
)
from affiliate_site.backoffice.effect_tables import build_effect_tables
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import ServiceForm
from payouts.services.previews import (
    MoneyEffects,
    PreviewedOutcome,
    perform_if_confirmed,
)
from tracking.money import MAX_INTEGER_DIGITS, get_exponent, round_amount

NEXT_STEP = "The next page shows what moves. Nothing is stored until you confirm it."


class MoneyFormPage(FormPage):
    """A `FormPage` whose service moves money.

    The first answer to the form says what would move; its button sends the entries
    again with a digest of that. If the effects are others by then, nothing is stored
    and they are shown. If no money moves, a form with fields is saved without a second
    page. The token of a page that shows effects is accepted once: a double click, or
    the back button, moves nothing again. Only a POST runs the service: a GET reads.
    """

    template_name = "admin/conversions/money_form_page.html"
    button = "Continue"
    confirm_button = ""  # the text of the second button, by default the title

    @property
    def is_sent_by_button(self) -> bool:
        """Whether there is nothing to enter: buttons that lead here send the form."""
        return not self.form_class.base_fields

    def get_explanation(self) -> str:
        """What to know; who comes by a link to a page without fields, what is next."""
        is_first = self.request.method == "GET" and self.is_sent_by_button
        parts = [super().get_explanation(), NEXT_STEP if is_first else ""]
        return " ".join(filter(None, parts))

    def perform(self, form, at: datetime) -> PreviewedOutcome | None:
        """Run `save`, and keep it if its effects were confirmed; None if they were
        confirmed on the same page before."""
        if is_sent_again(self.account, form.data, at=at):
            return None
        confirmed = form.data.get("effects")
        if confirmed is None and self.must_be_confirmed(form):
            confirmed = ""

        def save_and_list_facts():
            result = self.save(form, at)
            return result, self.list_facts(form, result)

        return perform_if_confirmed(self.account, save_and_list_facts, confirmed=confirmed)

    def must_be_confirmed(self, form) -> bool:
        """Whether the effects are shown even if no money moves."""
        return not form.fields

    def respond(self, form, outcome: PreviewedOutcome | None):
        """Show the effects until they are confirmed."""
        if outcome is None:
            text = SUBMITTED_ALREADY.format(title=self.title)
            messages.warning(self.request, text)
            return redirect(self.get_back_url())
        result, facts = outcome.result
        if outcome.is_done:
            return super().respond(form, result)
        context = self.get_context_data(form=form, **self.describe(outcome.effects))
        context["effect_facts"] = [*form.list_readings(), *facts]
        context["has_other_effects"] = "effects" in form.data
        return self.render_to_response(context)

    def post(self, request, *args, **kwargs):
        """Save, or show the form again to change the entries."""
        if "_change_entries" in request.POST:
            version = request.POST.get("version", "")
            return self.render_to_response(self.get_context_data() | {"version": version})
        return super().post(request, *args, **kwargs)

    def describe(self, effects: MoneyEffects) -> dict[str, Any]:
        """The context that shows what an operation would change."""
        return {
            "effects": effects,
            "token": create_token(),
            **build_effect_tables(effects),
        }

    def list_facts(self, form, result) -> list[tuple[str, str]]:
        """What to know beside the money: names and values.

        It is called after `save`, with its result and before a preview is rolled back.
        """
        return []


class AmountsForm(ServiceForm):
    """A form with amounts of 0 or more in `get_currency`."""

    amount_fields: tuple[str, ...] = ("amount",)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for name in self.amount_fields if self.row else ():
            field: Any = self.fields[name]
            field.unit = self.row.currency

    def get_currency(self) -> str | None:
        """The currency of the amounts; None if it is not known yet."""
        return self.row.currency if self.row else None

    def get_serializer_context(self):
        return super().get_serializer_context() | {"currency": self.get_currency()}

    def clean(self):
        """Refuse what would be rounded: staff type what they mean."""
        for name in self.amount_fields:
            self.check_amount(name, self.cleaned_data.get(name))
        return super().clean()

    def check_amount(self, name: str, amount: Decimal | None) -> None:
        """Add an error if an amount is negative or has too many decimals."""
        currency = self.get_currency()
        if amount is None:
            return
        if amount < 0:
            self.add_error(name, "An amount cannot be negative.")
        elif (
            currency
            and amount.adjusted() < MAX_INTEGER_DIGITS
            and amount != round_amount(amount, currency)
        ):
            decimals = get_exponent(currency)
            self.add_error(name, f"{currency} has at most {decimals} decimals.")


def get_amount_initial(amount: Decimal | None, currency: str) -> Decimal | None:
    """The value that a form starts with: as many decimals as the currency has."""
    return None if amount is None else round_amount(amount, currency)
