"""Forms of people: affiliates and prospects, with the account's custom fields."""

from typing import Any

from django import forms
from django.conf import settings

from accounts.countries import list_countries
from affiliate_site.api.person_serializers import (
    AffiliateUpdateSerializer,
    build_affiliate_changes,
)
from affiliate_site.backoffice.fields import MULTI_LINE, NO_CHOICE_TEXT, MetaDataField
from affiliate_site.backoffice.forms import PATH_SEPARATOR, FieldSets, ServiceForm
from tracking.models.affiliates import (
    ADDRESS_COLUMNS,
    ADDRESS_PARTS,
    PARTS_OF_ADDRESS,
    CustomField,
    FieldType,
)

NO_CHOICE = ("", NO_CHOICE_TEXT)
COMPANY_COLUMNS = ("name", "description")
CUSTOM_FIELD_PREFIX = f"custom_fields{PATH_SEPARATOR}"
ADDRESS_FIELDS = {name: f"address{PATH_SEPARATOR}{name}" for name in ADDRESS_COLUMNS}
CHECKED_VALUES = ("true", "1", "yes", "on")  # what clients send for a checkbox


class PersonForm(ServiceForm):
    """Name, e-mail address, company, address, custom fields and meta data.

    Only changed values are sent. A company and an address are sent whole, as the API
    replaces them whole.
    """

    firstname = forms.CharField(label="First name")
    lastname = forms.CharField(label="Last name")
    email = forms.CharField(label="E-mail", required=False)
    company__name = forms.CharField(label="Company", required=False)
    company__description = forms.CharField(
        label="About the company", required=False, widget=MULTI_LINE({"rows": 2})
    )
    meta_data = MetaDataField()

    first_fields: tuple = (("firstname", "lastname"), "email")

    def build_fields(self):
        """Those of the address, and one for each custom field of the account."""
        self.custom_fields = {
            f"{CUSTOM_FIELD_PREFIX}{definition.slug}": definition
            for definition in self.account.field_definitions.in_definition_order()
        }
        return build_address_fields() | {
            name: build_custom_field(definition, self.initial.get(name))
            for name, definition in self.custom_fields.items()
        }

    def get_fieldsets(self):
        names = tuple(ADDRESS_FIELDS.values())
        fieldsets: FieldSets = (
            (None, self.first_fields),
            ("Custom fields", tuple(self.custom_fields)),
            ("Company", ("company__name", "company__description")),
            ("Address", tuple(names[i : i + 2] for i in range(0, len(names), 2))),
            ("Your own data", ("meta_data",)),
        )
        return [(title, {"fields": fields}) for title, fields in fieldsets if fields]

    def build_body(self):
        changed, custom_fields = set(self.changed_data), {}
        body = {}
        for name, value in self.get_changed_values().items():
            if name in self.custom_fields:
                key = name.removeprefix(CUSTOM_FIELD_PREFIX)
                custom_fields[key] = format_custom_value(value)
            elif PATH_SEPARATOR not in name:
                body[name] = str(value) if hasattr(value, "pk") else value
        if custom_fields:
            body["custom_fields"] = custom_fields
        for part, columns in (
            ("company", COMPANY_COLUMNS),
            ("address", ADDRESS_COLUMNS),
        ):
            names = {f"{part}{PATH_SEPARATOR}{column}": column for column in columns}
            if changed & set(names):
                values = {
                    column: value
                    for name, column in names.items()
                    if (value := self.cleaned_data.get(name))
                }
                body[part] = values or None
        return body


class LanguageForm(PersonForm):
    language = forms.ChoiceField(
        required=False,
        choices=[("", "Not chosen yet"), *settings.LANGUAGES],
        help_text="Of the portal and of mails. Empty: that of the browser that signs in"
        " first; mails are in English until then.",
    )

    first_fields = (*PersonForm.first_fields, "language")

    def build_body(self):
        body = super().build_body()
        body.pop("language", None)
        return body


class AffiliateForm(LanguageForm):
    serializer_class = AffiliateUpdateSerializer

    def get_changes(self) -> dict[str, Any]:
        """The columns that change."""
        changes = build_affiliate_changes(self.values)
        if "language" in self.changed_data:
            changes["language"] = self.cleaned_data["language"] or None
        return changes


def get_person_values(person) -> dict:
    """The present values of the form of an affiliate."""
    values = {name: getattr(person, name) for name in ("firstname", "lastname")}
    values |= {"email": person.email or "", "meta_data": person.meta_data}
    values["language"] = person.language or ""
    for column in COMPANY_COLUMNS:
        values[f"company__{column}"] = getattr(person, f"company_{column}") or ""
    for column in ADDRESS_COLUMNS:
        values[f"address__{column}"] = getattr(person, column) or ""
    for definition in person.account.field_definitions.in_definition_order():
        value = person.custom_fields.get(definition.slug)
        values[f"{CUSTOM_FIELD_PREFIX}{definition.slug}"] = parse_custom_value(definition, value)
    return values


def build_address_fields() -> dict[str, forms.Field]:
    fields: dict[str, forms.Field] = {
        ADDRESS_FIELDS[name]: forms.CharField(label=part.label, required=False)
        for name, part in ADDRESS_PARTS.items()
    }
    fields[ADDRESS_FIELDS["address"]].help_text = PARTS_OF_ADDRESS
    fields[ADDRESS_FIELDS["country"]] = forms.ChoiceField(
        label=ADDRESS_PARTS["country"].label,
        required=False,
        choices=lambda: list_countries(NO_CHOICE_TEXT),
    )
    return fields


def parse_custom_value(definition: CustomField, value) -> str | list[str] | bool:
    """A stored value as the form field of the definition shows it."""
    values = value if isinstance(value, list) else [value] if value else []
    if definition.type == FieldType.MULTISELECT:
        return values
    text = ", ".join(map(str, values))
    if definition.type == FieldType.CHECKBOX:
        return text.casefold() in CHECKED_VALUES
    return text


def format_custom_value(value: str | list[str] | bool) -> str | list[str] | None:  # noqa: FBT001 - a form's value
    """A value of a form as the API takes it; None clears it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value or None


def build_custom_field(definition: CustomField, present) -> forms.Field:
    """The form field of a custom field; a present value stays among its choices."""
    options = [str(option) for option in definition.options or ()]
    known = present if isinstance(present, list) else [present] if present else []
    choices = [
        (option, option) for option in dict.fromkeys([*options, *known]) if isinstance(option, str)
    ]
    arguments: dict[str, Any] = {"label": definition.title, "required": False}
    if definition.type == FieldType.CHECKBOX:
        return forms.BooleanField(**arguments)
    if definition.type == FieldType.SELECT and options:
        return forms.ChoiceField(choices=[NO_CHOICE, *choices], **arguments)
    if definition.type == FieldType.MULTISELECT:
        return forms.MultipleChoiceField(choices=choices, **arguments)
    if definition.type == FieldType.TEXTAREA:
        return forms.CharField(widget=MULTI_LINE({"rows": 3}), **arguments)
    return forms.CharField(**arguments)
