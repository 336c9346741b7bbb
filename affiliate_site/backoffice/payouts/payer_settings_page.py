"""Who pays: the settings of an account for bank files and payout runs."""

from django import forms

from accounts.countries import list_countries
from accounts.models.api_keys import Role
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from payouts.services.payout_settings import (
    get_payout_settings,
    update_payout_settings,
)


class PayerSettingsForm(ServiceForm):
    """The account that money leaves, and who confirms."""

    payer_name = forms.CharField(label="Name", max_length=70, help_text="As your bank knows it.")
    payer_iban = forms.CharField(label="IBAN", max_length=42)
    payer_bic = forms.CharField(
        label="BIC",
        max_length=11,
        required=False,
        help_text="Some banks outside the euro area ask for it.",
    )
    payer_street = forms.CharField(label="Street", max_length=70, required=False)
    payer_building = forms.CharField(label="Number", max_length=16, required=False)
    payer_postal_code = forms.CharField(label="Postal code", max_length=16, required=False)
    payer_city = forms.CharField(label="City", max_length=35, required=False)
    payer_country = forms.ChoiceField(
        label="Country", required=False, choices=lambda: list_countries("—")
    )
    requires_second_person = forms.BooleanField(
        label="Somebody else confirms",
        required=False,
        help_text="A payout run is confirmed by somebody else than who drafted it.",
    )

    fieldsets: FieldSets = (
        ("Bank account", ("payer_name", "payer_iban", "payer_bic")),
        (
            "Address",
            (
                *("payer_street", "payer_building", "payer_postal_code"),
                *("payer_city", "payer_country"),
            ),
        ),
        ("Payout runs", ("requires_second_person",)),
    )


class PayerSettingsPage(SettingsPage):
    """Change who pays."""

    title = "Payer settings"
    url_name = "payer_settings"
    menu = MenuEntry("Payouts", 80, "account_balance_wallet")
    permission = "payouts.change_payoutsettings"
    form_class: type[ServiceForm] = PayerSettingsForm

    def get_form(self, *args, **kwargs):
        """Only owners decide who confirms: finance is who it watches."""
        form = super().get_form(*args, **kwargs)
        field = form.fields.get("requires_second_person")
        if field and getattr(self.request.user, "role", "") != Role.OWNER:
            field.disabled = True
            field.help_text += " Only an owner changes this."
        return form

    def get_unlocked_initial(self, account):
        settings = get_payout_settings(account)
        return {name: getattr(settings, name) for name in self.form_class.base_fields}

    def save(self, form, at):
        return update_payout_settings(self.account, changes=form.values, at=at)
