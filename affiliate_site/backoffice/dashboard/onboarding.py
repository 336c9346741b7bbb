"""The onboarding checklist of a new account, which ticks itself off from the data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Model, Q, QuerySet, Subquery
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.models.accounts import Account
from accounts.models.api_keys import ApiKey
from accounts.models.users import User
from accounts.services.accounts import dismiss_onboarding
from affiliate_site.backoffice.programs.program_pages import render_snippet
from payouts.models.payments import PayoutMethod
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click, FailedPageCall
from tracking.models.conversions import Conversion
from tracking.models.programs import Program

DISMISS_PERMISSION = "accounts.change_account"
CONVERSION_CALL = 'tap("conversion", "ORDER-ID", 49.90);'


@dataclass(frozen=True)
class StepType:
    """A step: its text, the page where one does it, and the rows that show it done."""

    title: str
    help: str
    model: type[Model]
    find_rows: Callable[[Account], QuerySet]


@dataclass(frozen=True)
class OnboardingStep:
    """A step as the page shows it."""

    title: str
    help: str
    url: str
    is_done: bool


@dataclass(frozen=True)
class Onboarding:
    """The checklist of an account, and whether anything happened there yet."""

    steps: list[OnboardingStep]
    is_dismissed: bool
    can_dismiss: bool
    has_activity: bool
    snippet: str
    conversion_call: str = CONVERSION_CALL

    @property
    def is_shown(self) -> bool:
        """Hidden once all is done, or dismissed."""
        return not self.is_dismissed and self.done_count < len(self.steps)

    @property
    def done_count(self) -> int:
        return sum(step.is_done for step in self.steps)


STEPS = {
    "program": StepType(
        "Create a program",
        "Its currency, cookie time and landing page.",
        Program,
        lambda account: account.programs.all(),
    ),
    "rates": StepType(
        "Set the rates",
        "What a sale pays: a percentage or a fixed amount.",
        Program,
        lambda account: account.commission_types.filter(value__gt=0),
    ),
    "affiliate": StepType(
        "Add the first affiliate",
        "Then add it to the program: it gets a link.",
        Affiliate,
        lambda account: account.affiliates.not_deleted(),
    ),
    "script": StepType(
        "Install the script in your shop",
        "Put the code below on every page. Ticked when a page has called.",
        FailedPageCall,
        lambda account: account.visitors.all(),
    ),
    "click": StepType(
        "See the first click",
        "Open an affiliate's link yourself.",
        Click,
        lambda account: account.clicks.all(),
    ),
    "conversion": StepType(
        "See the first conversion",
        "Report each sale on the page after a purchase, or through the API.",
        Conversion,
        lambda account: account.conversions.all(),
    ),
    "integration": StepType(
        "Create an API key or a webhook",
        "So that your server can report sales and hear of changes.",
        ApiKey,
        lambda account: account.api_keys.filter(revoked_at=None),
    ),
    "payout": StepType(
        "Record how affiliates are paid",
        "A payout method of the first affiliate.",
        PayoutMethod,
        lambda account: account.payout_methods.all(),
    ),
    "team": StepType(
        "Invite your team",
        "A second person who can sign in.",
        User,
        lambda account: account.staff.filter(is_active=True)[1:2],
    ),
}


def get_onboarding(request) -> Onboarding:
    """The checklist of the user's account, read by one statement."""
    account = request.user.account
    done = {name: Q(Exists(step.find_rows(account))) for name, step in STEPS.items()}
    done["click"] |= Q(Exists(account.pruned_click_counts.all()))
    done["script"] |= Q(Exists(account.failed_page_calls.all()))
    done["integration"] |= Q(Exists(account.webhook_endpoints.all()))
    done["activity"] = (
        done["click"]
        | done["conversion"]
        | Q(Exists(account.customers.all()))
        | Q(Exists(account.commissions.all()))
        | Q(Exists(account.payments.all()))
    )
    values: dict[str, Any] = {f"has_{name}": condition for name, condition in done.items()}
    programs = account.programs.order_by("id").values("pk")
    values["program_pk"] = Subquery(programs[:1])
    rows: QuerySet[Any, Any] = Account.objects.values(**values)
    found = rows.get(pk=account.pk)
    urls = {name: get_page_url(request, step.model) for name, step in STEPS.items()}
    urls["script"] = "#tracking-snippet"
    for name in ("click", "conversion"):  # to see them, not to add one
        model_name = STEPS[name].model._meta.model_name
        urls[name] = reverse(f"admin:tracking_{model_name}_changelist")
    if found["program_pk"]:
        args = [found["program_pk"]]
        urls["rates"] = reverse("admin:tracking_program_change", args=args)
    steps = [
        OnboardingStep(step.title, step.help, urls[name], found[f"has_{name}"])
        for name, step in STEPS.items()
    ]
    return Onboarding(
        steps,
        is_dismissed=account.onboarding_dismissed_at is not None,
        can_dismiss=request.user.has_perm(DISMISS_PERMISSION),
        has_activity=found["has_activity"],
        snippet=render_snippet(account),
    )


def get_page_url(request, model: type[Model]) -> str:
    """The page that adds a row, if the user may; else the list."""
    name = f"{model._meta.app_label}_{model._meta.model_name}"
    page = admin.site.get_model_admin(model)
    kind = "add" if page.has_add_permission(request) else "changelist"
    return reverse(f"admin:{name}_{kind}")


@require_POST
def dismiss_view(request):
    """Hide the checklist from all staff of the account; owners only."""
    account = request.user.account
    if account is None or not request.user.has_perm(DISMISS_PERMISSION):
        raise PermissionDenied
    dismiss_onboarding(account, at=timezone.now())
    messages.success(request, "The checklist is hidden for everybody in this account.")
    return redirect("admin:index")
