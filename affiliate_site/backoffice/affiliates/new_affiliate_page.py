"""The form of a new affiliate: the person, group, parent, program and payout method."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin.utils import flatten
from django.contrib.auth.password_validation import validate_password
from django.utils.functional import cached_property

from affiliate_site.api.person_serializers import build_person_data
from affiliate_site.api.resources.affiliates import AffiliateInputSerializer
from affiliate_site.api.resources.enrollments import EnrollmentUpdateSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import (
    AffiliateGroupForm,
    ParentForm,
    warn_of_parent,
)
from affiliate_site.backoffice.affiliates.enrollment_pages import (
    CodeOwnerForm,
    EnrollmentForm,
)
from affiliate_site.backoffice.affiliates.payout_method_pages import (
    PayoutMethodForm,
    warn_of_shared_accounts,
)
from affiliate_site.backoffice.affiliates.person_forms import NO_CHOICE, LanguageForm
from affiliate_site.backoffice.form_pages import AddPage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.secret_page import render_secret
from payouts.services.payout_methods import set_payout_method
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import create_affiliate, create_password
from tracking.services.enrollments import EnrollmentData, create_enrollment
from tracking.services.hierarchy import set_group, set_parent
from tracking.services.portal_profiles import set_language
from tracking.services.portal_settings import build_portal_url, get_portal_settings


class FirstProgramForm(EnrollmentForm):
    """A program for an affiliate that does not exist yet."""

    serializer_class = EnrollmentUpdateSerializer

    def get_affiliate(self):
        return None


# The parts that may stay empty: titles, forms of other pages and names of their fields.
PARTS: tuple[tuple[str, type[ServiceForm], tuple[str, ...]], ...] = (
    ("Group", AffiliateGroupForm, ("group_id",)),
    ("Parent", ParentForm, ("affiliate_id",)),
    ("Program", FirstProgramForm, ("program", "approval", "coupon")),
    (
        "Payout method",
        PayoutMethodForm,
        tuple(name for name in PayoutMethodForm.base_fields if name != "primary"),
    ),
)


class NewAffiliateForm(CodeOwnerForm, LanguageForm):
    """A new affiliate. `password` is hashed outside of the transaction.

    A part that is filled in is validated by the form of its own page.
    """

    serializer_class = AffiliateInputSerializer
    first_fields = (*LanguageForm.first_fields, "new_password")

    new_password = forms.CharField(
        label="Password",
        required=False,
        help_text=f"At least {settings.MIN_PASSWORD_LENGTH} characters. Empty: one is"
        " generated and shown once.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for form_class, names in self.parts.items():
            part = form_class(account=self.account)
            self.fields |= {name: part.fields[name] for name in names}
            for name in names:
                self.fields[name].required = False
                self.fields[name].widget.is_required = False
        details = self.fields["details"]  # of a method that exists, too
        details.help_text = details.help_text.replace(" They replace those of the method.", "")
        kind: Any = self.fields["kind"]
        kind.choices = [NO_CHOICE, *kind.choices]

    @cached_property
    def parts(self) -> dict[type[ServiceForm], tuple[str, ...]]:
        """The parts of this account's plan, with the names of their fields."""
        has_parents = self.account.plan.mlm
        return {
            form_class: names
            for _, form_class, names in PARTS
            if has_parents or form_class is not ParentForm
        }

    def get_fieldsets(self):
        """What few affiliates need comes last, folded while it is empty."""
        person, *more = super().get_fieldsets()
        parts = [
            (title, {"fields": names})
            for title, form_class, names in PARTS
            if form_class in self.parts
        ]
        opened = {*self.errors, *self.changed_data, *self.custom_fields}
        for _, options in more:
            if opened.isdisjoint(flatten(options["fields"])):
                options["classes"] = ("collapse",)
        return [person, *parts, *more]

    def clean_new_password(self):
        """Refuse what the portal would refuse, too."""
        password = self.cleaned_data["new_password"]
        if password:
            person: Any = Affiliate(email=self.data.get("email"))
            validate_password(password, person)
        return password

    def build_body(self):
        names = {name for names in self.parts.values() for name in names}
        body = super().build_body()
        password = body.pop("new_password", None)
        person = {key: value for key, value in body.items() if key not in names}
        return person | ({"password": password} if password else {})

    def add_error_at(self, path, text):
        super().add_error_at("new_password" if path == "password" else path, text)

    def clean(self):
        super().clean()
        self.filled = {
            form_class: form_class(self.data, account=self.account)
            for form_class, names in self.parts.items()
            if not set(names).isdisjoint(self.changed_data)
        }
        for part in self.filled.values():
            for name, errors in part.errors.items():
                if name not in self.errors:
                    self.add_error(name, errors)
        if not self.errors:
            self.password = create_password(self.validated.get("password"))
        return self.cleaned_data


def describe_sign_in(account) -> str:
    """Where an affiliate enters the password."""
    if get_portal_settings(account).is_on:
        return f"The affiliate signs in with it at {build_portal_url(account)}."
    return (
        "The portal is off: the affiliate signs in with it once you switch it on, under"
        " Portal settings."
    )


class AddAffiliatePage(AddPage):
    """Create an affiliate, ready to earn; a generated password is shown once."""

    model = Affiliate
    title = button = "Create affiliate"
    explanation = (
        "Only the name is needed. What you leave out now can follow on the page of the affiliate."
    )
    form_class = NewAffiliateForm
    done_message = "{result.firstname} {result.lastname} was created."

    def save(self, form, at):
        """Create the affiliate with all parts that were filled in."""
        account, filled = self.account, form.filled
        person = build_person_data(form.values)
        affiliate = create_affiliate(account, data=person, password=form.password, at=at)
        if language := form.cleaned_data["language"]:
            set_language(affiliate, language)
        name: Any = {"affiliate_id": affiliate.slug, "at": at}
        if part := filled.get(ParentForm):
            parent = part.values["affiliate_id"]
            affiliate = set_parent(account, parent_id=parent.slug, **name)
        if part := filled.get(AffiliateGroupForm):
            group = part.values["group_id"]
            set_group(account, group_id=group.public_id, **name)
        if part := filled.get(FirstProgramForm):
            program = part.cleaned_data["program"]
            is_approved = program.auto_approve_affiliates or None
            data = EnrollmentData(
                affiliate_id=affiliate.slug,
                approved=part.values.get("approved", is_approved),
                coupon=part.values.get("coupon"),
            )
            create_enrollment(account, program=program, data=data, at=at)
        if part := filled.get(PayoutMethodForm):
            set_payout_method(
                account,
                kind=part.cleaned_data["kind"],
                details=part.values["details"],
                is_primary=True,
                **name,
            )
        return affiliate

    def get_done_message(self, affiliate):
        text = super().get_done_message(affiliate)
        return f"{text} {warn_of_parent(affiliate, affiliate.parent)}".strip()

    def list_warnings(self, affiliate):
        methods = self.account.payout_methods.filter(affiliate=affiliate)
        return warn_of_shared_accounts(list(methods))

    def respond(self, form, affiliate):
        response = super().respond(form, affiliate)
        if form.password.generated is None:
            return response
        return render_secret(
            self.model_admin,
            self.request,
            title=f"Password of {affiliate}",
            secret=form.password.generated,
            explanation=(
                f"This is the password of the affiliate {affiliate.firstname}"
                f" {affiliate.lastname}. {describe_sign_in(self.account)}"
            ),
            back_url=response.url,
            back_text="Continue to the affiliate",
        )
