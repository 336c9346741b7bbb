"""Forms of the profile of an affiliate."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ValidationError

from accounts.countries import list_countries
from affiliate_site.api.errors import MISSING_PARAMETER, flatten_errors
from affiliate_site.api.person_serializers import (
    AffiliateUpdateSerializer,
    build_affiliate_changes,
)
from affiliate_site.portal.confirmations import ConfirmedForm
from affiliate_site.portal.forms import EmailField, LineField
from tracking.models.affiliates import ADDRESS_COLUMNS, ADDRESS_PARTS, PARTS_OF_ADDRESS


class TextField(LineField):
    """A text that can be left empty."""

    def __init__(self, *, autocomplete: str, **kwargs):
        widget = forms.TextInput({"autocomplete": autocomplete})
        kwargs.setdefault("required", False)
        super().__init__(max_length=255, widget=widget, **kwargs)


class ProfileForm(forms.Form):
    firstname = TextField(label=_("First name"), required=True, autocomplete="given-name")
    lastname = TextField(label=_("Last name"), required=True, autocomplete="family-name")
    company_name = TextField(label=_("Company"), autocomplete="organization")

    def __init__(self, *args, affiliate, **kwargs):
        self.affiliate = affiliate
        names = (*self.base_fields, *ADDRESS_COLUMNS)
        present = {name: getattr(affiliate, name) or "" for name in names}
        super().__init__(*args, **kwargs | {"initial": present})
        self.fields |= build_address_fields()

    def clean(self) -> dict[str, Any]:
        """Validate what changed as the API does; `changes` are the columns."""
        values = super().clean() or {}
        body: dict[str, Any] = {
            name: values.get(name, "")
            for name in ("firstname", "lastname")
            if name in self.changed_data
        }
        if "company_name" in self.changed_data:
            description = self.affiliate.company_description
            company = {"name": values.get("company_name"), "description": description}
            body["company"] = {k: v for k, v in company.items() if v} or None
        if not {*ADDRESS_COLUMNS}.isdisjoint(self.changed_data):
            address = {name: values.get(name) for name in ADDRESS_COLUMNS}
            body["address"] = {k: v for k, v in address.items() if v} or None
        if self.errors:
            return values
        try:
            validated = AffiliateUpdateSerializer().run_validation(body)
        except ValidationError as error:
            for entry in flatten_errors(error.detail):
                self._show_error(**entry)
        else:
            self.changes = build_affiliate_changes(validated)
        return values

    def _show_error(self, property_path: str, message: str, **kwargs: str) -> None:
        """Show an error of the API next to its field."""
        if message == MISSING_PARAMETER:  # in the words of forms
            message = str(
                _(PARTS_OF_ADDRESS)  # of fields that can be empty without an address
                if property_path.startswith("address.")
                else forms.Field.default_error_messages["required"]
            )
        path = property_path.removesuffix(".code").replace("company.", "company_")
        name = path.removeprefix("address.") if "." in path else path
        self.add_error(name if name in self.fields else None, message)


def build_address_fields() -> dict[str, forms.Field]:
    fields: dict[str, forms.Field] = {
        name: TextField(label=_(part.label), autocomplete=part.autocomplete)
        for name, part in ADDRESS_PARTS.items()
    }
    fields["address"].help_text = _(PARTS_OF_ADDRESS)
    country = ADDRESS_PARTS["country"]
    fields["country"] = forms.ChoiceField(
        label=_(country.label),
        required=False,
        choices=list_countries,
        widget=forms.Select({"autocomplete": country.autocomplete}),
    )
    return fields


class EmailChangeForm(ConfirmedForm):
    """A new e-mail address."""

    email = EmailField(
        label=_("New e-mail address"),
        max_length=254,
        widget=forms.EmailInput({"autocomplete": "email"}),
    )
