"""Exchange rates of an account: list, page and forms."""

from django import forms
from django.contrib import admin

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.fields import DecimalField
from affiliate_site.backoffice.form_pages import AddPage, EditPage, FormPage, RemovePage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import Details, ObjectPageMixin, Section
from affiliate_site.columns import Column
from payouts.models.exchange_rates import ExchangeRate
from payouts.services.exchange_rates import remove_rate, set_rate
from tracking.money import list_currencies

EXPLANATION = (
    "Reports convert at this rate, whatever the day of a sale, in columns that say so."
    " Balances, payments and all other numbers stay in their currency."
)


class ExchangeRatePage(FormPage):
    model = ExchangeRate
    leads_to_list = True
    row_argument = ("currency", "currency")
    explanation = EXPLANATION
    done_message = "The rate was saved: {result}."

    class Form(ServiceForm):
        rate = DecimalField(help_text="What one unit is worth in the currency of the account.")


class AddExchangeRatePage(ExchangeRatePage, AddPage):
    service = staticmethod(set_rate)

    def get_explanation(self):
        into = self.account.default_currency
        return EXPLANATION if into else f"{EXPLANATION}\nFirst set Currency under Account settings."

    class Form(ExchangeRatePage.Form):
        currency = forms.ChoiceField(
            choices=lambda: [(code, code) for code in sorted(list_currencies())]
        )
        field_order = ("currency", "rate")


class EditExchangeRatePage(ExchangeRatePage, EditPage):
    locks_account = True
    service = staticmethod(set_rate)

    def get_unlocked_initial(self, row):
        return {"rate": row.rate.normalize()}


class RemoveExchangeRatePage(ExchangeRatePage, RemovePage):
    form_class = ServiceForm
    explanation = "Converted columns of reports have no numbers in this currency then."
    service = staticmethod(remove_rate)
    done_message = "The rate was removed: {row}."


@admin.register(ExchangeRate)
class ExchangeRateAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Account", 30, "currency_exchange"),)
    empty_state = (
        "No exchange rates yet: reports add up each currency alone. Choose “Add exchange"
        " rate” for a total in the currency of the account."
    )
    columns = ("currency", Column("Rate", str), "set_on")
    ordering = ("currency",)
    add_page = AddExchangeRatePage
    row_pages = (EditExchangeRatePage, RemoveExchangeRatePage)
    has_neighbors = False

    def get_details(self, request, row):
        facts = [("Rate", f"{row}"), ("Set on", f"{row.set_on}")]
        is_used = row.into_currency == row.account.default_currency
        unused = "It counts no more: the account has another currency now."
        return Details(
            headline=f"{row}",
            sections=[Section("Exchange rate", facts=facts, notes=[] if is_used else [unused])],
        )
