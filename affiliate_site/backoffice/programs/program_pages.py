"""Forms of programs: create one, and change its settings."""

from typing import Any

from django import forms
from django.conf import settings

from affiliate_site.backoffice.fields import DecimalField, LinesField, NewIdField
from affiliate_site.backoffice.form_pages import (
    AddPage,
    ArchivePage,
    EditPage,
    FormPage,
    UnarchivePage,
)
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from payouts.models.commission_types import RateKind
from payouts.services.programs import ProgramSettings, create_program
from tracking.models.programs import Program, Visibility
from tracking.money import list_currencies
from tracking.services.programs import (
    MAX_HOLD_DAYS,
    archive_program,
    unarchive_program,
    update_program,
)

SNIPPET = """\
<script src="{url}/tap.js" async></script>
<script>
  (function (w, n) {{
    w.TapfiliateObject = n;
    w[n] = w[n] || function () {{ (w[n].q = w[n].q || []).push(arguments); }};
  }})(window, "tap");
  tap("create", "{account}");
  tap("detect");{calls}
</script>"""


def render_snippet(account, *, calls: str = "") -> str:
    """The code for every page of an account's shop, with further `calls`."""
    return SNIPPET.format(url=settings.PUBLIC_URL, account=account.slug, calls=calls)


RATE_CHOICES = (
    (RateKind.PERCENTAGE, "Percentage of the amount"),
    (RateKind.FIXED, "Fixed amount"),
)


PROGRAM_FIELDS = (
    *("title", "program_group", "currency", "landing_page", "shop_hosts"),
    "cookie_time",
)


class ProgramForm(ServiceForm):
    title = forms.CharField(help_text="Affiliates see it, and so do API clients.")
    program_group = forms.CharField(
        label="Program group",
        required=False,
        help_text="Tracking calls with this program_group choose among its programs.",
    )
    currency = forms.ChoiceField(
        choices=lambda: [(code, code) for code in sorted(list_currencies())],
        help_text="Fixed by the first conversion.",
    )
    visibility = forms.ChoiceField(
        label="In the portal",
        choices=Visibility.choices,
        help_text="Who takes part sees it in any case.",
    )
    landing_page = forms.CharField(
        required=False,
        help_text="Referral links lead here. Start with https://.",
    )
    shop_hosts = LinesField(
        label="Further hosts of the shop",
        required=False,
        help_text="One per line, such as shop.example.de. Affiliates may link to pages"
        " of them, too. www. need not be named.",
    )
    cookie_time = forms.IntegerField(
        label="Cookie lifetime in days",
        initial=45,
        help_text="A click earns if the sale follows within this time.",
    )
    link_parameters = forms.MultipleChoiceField(
        label="Links of another program that go on working",
        required=False,
        choices=[
            ("via", "via=CODE (Rewardful)"),
            ("fpr", "fpr=CODE (FirstPromoter)"),
            ("rfsn", "rfsn=CODE (Refersion)"),
            ("aff", "aff=CODE"),
            ("a_aid", "a_aid=CODE (Post Affiliate Pro)"),
        ],
        help_text="For an affiliate whose referral code here is the one in the link."
        " Links with ref= and tap_a= always count.",
    )
    auto_approve_affiliates = forms.BooleanField(
        label="Approve affiliates automatically", required=False
    )
    auto_approve_commissions = forms.BooleanField(
        label="Approve commissions automatically", required=False
    )
    hold_days = forms.IntegerField(
        label="Days on hold",
        required=False,
        initial=0,
        help_text=f"From a sale until its commissions are due, 0 to {MAX_HOLD_DAYS}. An"
        " affiliate group can have other ones.",
    )
    auto_approve_browser_sales = forms.BooleanField(
        label="Treat sales reported by pages like others",
        required=False,
        help_text="Off: they wait for your approval, as anybody could report them.",
    )
    trust_browser_customers = forms.BooleanField(
        label="Trust customers named by pages",
        required=False,
        help_text="Off: a call with a key, a signature or an approval confirms them.",
    )
    recurring = forms.BooleanField(
        label="Later sales of a customer earn, too", required=False, initial=True
    )
    recurring_cap = forms.IntegerField(
        label="Highest number of sales per customer",
        required=False,
        help_text="The first sale counts. Empty: no limit.",
    )
    recurring_period_days = forms.IntegerField(
        label="Days in which a customer's sales earn",
        required=False,
        help_text="From the day the customer was created. Empty: no limit.",
    )

    fieldsets: FieldSets = (
        (None, PROGRAM_FIELDS),
        ("Moving in", ("link_parameters",)),
        ("Applications", ("visibility",)),
        ("Approval", ("auto_approve_affiliates", "auto_approve_commissions")),
        ("Payouts", ("hold_days",)),
        (
            "Recurring commissions",
            ("recurring", "recurring_cap", "recurring_period_days"),
        ),
        (
            "What pages may report",
            ("auto_approve_browser_sales", "trust_browser_customers"),
        ),
    )

    def clean_shop_hosts(self):
        """In lower case, in which hosts are compared; None: none."""
        return [host.lower() for host in self.cleaned_data["shop_hosts"]] or None

    def clean_link_parameters(self):
        """None: as from before the setting."""
        return self.cleaned_data["link_parameters"] or None

    def clean_hold_days(self):
        """Empty: none."""
        return self.cleaned_data["hold_days"] or 0


class AddProgramPage(AddPage):
    model = Program
    service = staticmethod(create_program)
    done_message = "Program {result.title} was created."

    class Form(ProgramForm):
        slug = NewIdField()
        rate_kind = forms.ChoiceField(label="Commission", choices=RATE_CHOICES)
        rate = DecimalField(
            label="Rate",
            initial=10,
            help_text="10 is 10 percent, or 10 units of the currency.",
        )

        def __init__(self, *args, **kwargs):
            """Ask for the currency, unless the account has a default."""
            super().__init__(*args, **kwargs)
            rate: Any = self.fields["rate"]
            rate.unit = "%" if self.data.get("rate_kind") == RateKind.PERCENTAGE else ""
            if not self.initial["currency"]:
                currency: Any = self.fields["currency"]
                currency.choices = [("", "Choose a currency"), *currency.choices]

        fieldsets = (
            (None, ("title", "slug", *ProgramForm.fieldsets[0][1][1:])),
            ("Commission", ("rate_kind", "rate")),
            *ProgramForm.fieldsets[1:],
        )

    def get_initial(self):
        """Begin with the defaults of the account."""
        account = self.account
        return super().get_initial() | {
            "currency": account.default_currency,
            "visibility": Visibility.UNLISTED,
            "auto_approve_affiliates": account.default_auto_approve_affiliates,
            "auto_approve_commissions": account.default_auto_approve_commissions,
        }

    def get_values(self, form):
        values = dict(form.values)
        slug = values.pop("slug")
        return {"slug": slug, "settings": ProgramSettings(**values)}


class ProgramPage(FormPage):
    model = Program
    row_argument = ("slug", "slug")


class EditProgramPage(ProgramPage, EditPage):
    title = "Edit settings"
    explanation = "New settings count for sales from now on; earlier commissions stay as they are."
    form_class = ProgramForm
    service = staticmethod(update_program)
    done_message = "The settings were saved."

    def get_values(self, form):
        return {"changes": form.values}


class ArchiveProgramPage(ProgramPage, ArchivePage):
    explanation = (
        "An archived program accepts no clicks, customers, sales and affiliates."
        " Commissions that exist can be approved and paid. You can unarchive it."
    )
    is_dangerous = True
    service = staticmethod(archive_program)


class UnarchiveProgramPage(ProgramPage, UnarchivePage):
    explanation = "The program accepts clicks, customers, sales and affiliates again."
    service = staticmethod(unarchive_program)


PROGRAM_PAGES = (EditProgramPage, ArchiveProgramPage, UnarchiveProgramPage)
