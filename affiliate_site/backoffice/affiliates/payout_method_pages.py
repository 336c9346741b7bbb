"""The form of an affiliate's payout methods, and the page that ends a hold."""

from collections.abc import Sequence

from django import forms
from django.utils.html import format_html, format_html_join

from accounts.countries import list_countries
from affiliate_site.api.resources.payout_methods import PayoutMethodInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.fields import (
    FIELD_WIDGETS,
    NO_CHOICE_TEXT,
    KeyValueField,
)
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_person
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.payouts.payout_texts import can_see_accounts
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.payout_detail_fields import DETAIL_TEXTS, DetailField
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.payout_details import (
    DETAIL_NAMES,
    find_problems,
    mask_details,
    normalize_details,
)
from payouts.services.payout_methods import (
    list_equal_methods,
    release_payout_method,
    set_payout_method,
)

# The fields of details whose names another form has, too; "" are problems of no detail.
FIELD_NAMES = {"country": "bank_country", "email": "payout_email", "": "details"}
FIELD_WIDGETS[DetailField] = FIELD_WIDGETS[forms.CharField]


def warn_of_shared_accounts(methods: Sequence[PayoutMethod]) -> list[str]:
    """Which other affiliates are paid to the accounts of one affiliate."""
    others = list_equal_methods(methods[0].account, methods) if methods else []
    if not others:
        return []
    owners = [it.affiliate for it in others]
    links = [(get_object_url(owner), format_person(owner)) for owner in owners]
    names = format_html_join(", ", '<a class="underline" href="{}">{}</a>', links)
    text = "The same account is that of {}: make sure that it is right."
    return [format_html(text, names)]


def get_field_name(detail: str) -> str:
    return FIELD_NAMES.get(detail, detail)


class PayoutMethodForm(ServiceForm):
    """A payout method. The page shows the fields of the kind; those of others are not
    read."""

    serializer_class = PayoutMethodInputSerializer

    kind = forms.ChoiceField(label="Method", choices=PayoutMethodKind.choices)
    payout_email = DetailField("email")
    recipient = DetailField("recipient")
    account_holder = DetailField(
        "account_holder", help_text="If it is somebody else than the affiliate."
    )
    iban = DetailField("iban")
    bic = DetailField("bic")
    account_number = DetailField("account_number", help_text="Of an account without IBAN.")
    routing_number = DetailField("routing_number")
    bank_name = DetailField("bank_name")
    bank_country = forms.ChoiceField(
        choices=lambda: list_countries(NO_CHOICE_TEXT),
        required=False,
        help_text="Of an account without IBAN.",
        **DETAIL_TEXTS["country"],
    )
    details = KeyValueField(
        label="Further details",
        required=False,
        help_text="One per line, such as address: 5 Harbor Street.",
    )
    primary = forms.BooleanField(
        label="Pay by this method first",
        required=False,
        help_text="The first method of an affiliate always is.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if masked := self.initial.get("account"):
            self.fields["kind"].help_text = (
                f"Now: {masked}. Leave the details empty to keep them; what you enter"
                " replaces all of them."
            )

    def clean(self):
        """Refuse changed details that are incomplete; the API takes any text."""
        self.new_details = self.read_details()
        super().clean()
        if self.new_details is not None:
            kind = self.cleaned_data["kind"]
            for name, sentence in find_problems(kind, self.new_details).items():
                self.add_error(get_field_name(name), sentence)
        return self.cleaned_data

    def read_details(self) -> dict[str, str] | None:
        """The details of the chosen kind; None if they stay as they are."""
        values = self.cleaned_data
        kind = values.get("kind")
        if kind is None:
            return None
        names = {name: get_field_name(name) for name in DETAIL_NAMES[kind]}
        is_changed = not {*names.values(), "details"}.isdisjoint(self.changed_data)
        if kind == self.initial.get("kind") and not is_changed and self.is_set(kind):
            return None
        entered = {name: values.get(field, "") for name, field in names.items()}
        return normalize_details(kind, (values.get("details") or {}) | entered)

    def is_set(self, kind: str) -> bool:
        methods = self.account.payout_methods.filter(affiliate=self.row, kind=kind)
        return methods.exists()

    def build_body(self):
        body = {"primary": self.cleaned_data.get("primary")}
        if self.new_details is not None:
            body["details"] = self.new_details
        return body


class SetPayoutMethodPage(AffiliatePage):
    """Set a payout method; `?kind=bank` opens the one that is set, or a new one.

    Who chooses a kind that is set replaces it: then its values are compared, too.
    Who may not see accounts changes one without seeing it.
    """

    name = "payout"
    title = "Set payout method"
    permission = "payouts.change_payoutmethod"
    explanation = (
        "An affiliate has at most one method of each kind. Only the affiliate removes"
        " one, in the portal; here you can pay by another one first."
    )
    form_class = PayoutMethodForm
    service = staticmethod(set_payout_method)

    def get_unlocked_initial(self, affiliate):
        opened = self.request.GET.get("kind", "")
        kind = self.request.POST.get("kind", opened)
        if kind not in PayoutMethodKind.values:
            return {}
        method = affiliate.account.payout_methods.filter(affiliate=affiliate, kind=kind).first()
        if method is None and kind != opened:
            return {}  # a new one
        method = method or PayoutMethod(kind=kind)
        values = {"kind": kind, "primary": method.is_primary}
        if not can_see_accounts(self.request.user):
            return values | {
                "account": mask_details(kind, method.details),
                "last change": method.details_changed_at,
            }
        details = normalize_details(kind, method.details)
        for name in DETAIL_NAMES[kind]:
            values[get_field_name(name)] = details.pop(name, "")
        return values | {"details": details}

    def get_values(self, form):
        return {
            "kind": form.cleaned_data["kind"],
            "details": form.values.get("details"),
            "is_primary": form.values["primary"],
        }

    def get_done_message(self, method):
        return f"{method.get_kind_display()} was saved as a payout method."

    def list_warnings(self, method):
        return warn_of_shared_accounts([method])


class ReleasePayoutMethodPage(FormPage):
    """End the hold of a payout method that staff have looked at."""

    name = "release"
    title = "Looked at: use it again"
    button = "Use it again"
    permission = "payouts.change_payoutmethod"
    subject = "{row.affiliate}"
    service = staticmethod(release_payout_method)
    done_message = "Payout runs use it again."

    @classmethod
    def is_offered(cls, method):
        return bool(method.on_hold_reason)

    def get_explanation(self):
        return (
            f"Payout runs leave it out: {self.row.on_hold_reason}\nCompare it with what"
            " the affiliate says; other details end the hold, too."
        )

    def get_row_arguments(self):
        return {"affiliate_id": self.row.affiliate.slug, "kind": self.row.kind}

    def get_back_url(self):
        return get_object_url(self.row.affiliate)
