"""The form of applications, with the account's own questions."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.countries import list_countries
from affiliate_site.portal.forms import EmailField, LineField
from tracking.models.affiliates import CustomField, FieldType
from tracking.models.applications import PortalTerms
from tracking.services.portal_applications import ApplicationData

PREFIX = "field-"  # of the account's questions
MAX_TEXT_LENGTH = 5000  # as in the API
NO_CHOICE = ("", "---")


class TermsForm(forms.Form):
    """The acceptance of a version of the terms, if there are any."""

    def __init__(
        self, *args: Any, terms: PortalTerms | None, terms_url: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.terms = terms
        if terms is not None:
            text = gettext("I accept the {link}terms{end} of the company.")
            start, middle, end = split_link(text)
            self.fields["terms"] = forms.IntegerField(
                label=format_html(
                    '{}<a href="{}" target="_blank">{}</a>{}',
                    *(start, terms_url, middle, end),
                ),
                widget=TermsCheckbox(str(terms.version)),
            )

    @property
    def terms_version(self) -> int | None:
        """The version that was accepted."""
        version: int | None = self.cleaned_data.get("terms")
        return version


def split_link(text: str) -> tuple[str, str, str]:
    """The parts before, in and after the link of a text."""
    start, _found, rest = text.partition("{link}")
    middle, _found, end = rest.partition("{end}")
    return start, middle, end


class TermsCheckbox(forms.CheckboxInput):
    """A box that sends the version of the terms; a change of them unchecks it."""

    def __init__(self, version: str) -> None:
        super().__init__(check_test=lambda value: value == version)
        self.version = version

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return data.get(name)

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data

    def format_value(self, value: Any) -> str:
        return self.version


class ApplicationForm(TermsForm):
    """Who applies, and answers to the account's questions."""

    firstname = LineField(
        label=_("First name"),
        max_length=255,
        widget=forms.TextInput({"autocomplete": "given-name"}),
    )
    lastname = LineField(
        label=_("Last name"),
        max_length=255,
        widget=forms.TextInput({"autocomplete": "family-name"}),
    )
    email = EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput({"autocomplete": "email"}),
    )
    company = LineField(
        label=_("Company"),
        max_length=255,
        required=False,
        widget=forms.TextInput({"autocomplete": "organization"}),
    )
    country = forms.ChoiceField(
        label=_("Country"),
        choices=list_countries,
        required=False,
        widget=forms.Select({"autocomplete": "country"}),
    )

    def __init__(self, *args: Any, questions: Iterable[CustomField], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = list(questions)
        for question in self.questions:
            self.fields[f"{PREFIX}{question.slug}"] = build_question(question)
        self.order_fields([name for name in self.fields if name != "terms"])

    def get_data(self, *, recruiter: str) -> ApplicationData:
        """What the service stores."""
        names = ("email", "firstname", "lastname", "company", "country")
        answers = {
            question.slug: format_answer(self.cleaned_data[f"{PREFIX}{question.slug}"])
            for question in self.questions
        }
        return ApplicationData(
            **{name: self.cleaned_data[name] for name in names},
            custom_fields={slug: answer for slug, answer in answers.items() if answer},
            recruiter=recruiter,
        )


def build_question(question: CustomField) -> forms.Field:
    """The form field of a custom field."""
    arguments: dict[str, Any] = {"label": question.title, "required": question.required}
    options = [(str(option), str(option)) for option in question.options or ()]
    if question.type == FieldType.CHECKBOX:
        return forms.BooleanField(**arguments)
    if question.type == FieldType.SELECT:
        return forms.ChoiceField(choices=[NO_CHOICE, *options], **arguments)
    if question.type == FieldType.MULTISELECT:
        return forms.MultipleChoiceField(
            choices=options, widget=forms.CheckboxSelectMultiple, **arguments
        )
    arguments["max_length"] = MAX_TEXT_LENGTH
    if question.type == FieldType.URL:
        # Browsers accept no address without https:// in an input of the type url.
        widget = forms.TextInput({"inputmode": "url"})
        return forms.URLField(assume_scheme="https", widget=widget, **arguments)
    if question.type == FieldType.TEXTAREA:
        return forms.CharField(widget=forms.Textarea({"rows": 4}), **arguments)
    return forms.CharField(**arguments)


def format_answer(value: Any) -> str | list[str]:
    """An answer as the API takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, list) else str(value)
