"""Accessibility of the back office: all kinds of pages pass the rules of axe in the
light and the dark theme."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.invitations import create_invitation
from payouts.services.commissions import approve_commission
from payouts.services.payout_runs import create_draft
from tests.affiliate_site.backoffice.form_samples import (
    create_rows_for_all_pages,
    list_cases,
    list_rows,
)
from tests.concurrency.server import make_key
from tests.conftest import ApiClient
from tests.e2e.test_back_office import back_office, static_files

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["back_office", "static_files"]

DESKTOP, PHONE = 1280, 390
# Without `preload`, which only rules about sound and video need.
RUN_AXE_SCRIPT = """
async (rules) => {
  const options = {resultTypes: ["violations"], preload: false};
  if (rules) options.runOnly = rules;
  return (await axe.run(options)).violations.flatMap(rule => rule.nodes.map(node =>
    `${node.impact}: ${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`
  ));
}
"""
UNFOLD = "document.querySelectorAll('[role=main] details').forEach(it => it.open = true)"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
COLOR_RULES = ["color-contrast", "link-in-text-block"]  # what differs between themes
ANIMATIONS_FINISHED = (
    "document.getAnimations().every(animation => animation.playState !== 'running')"
)
IS_MAIN_FOCUSED = "document.activeElement.getAttribute('role') === 'main'"


@pytest.fixture
def page(back_office):
    back_office.page.set_viewport_size({"width": DESKTOP, "height": 844})
    return back_office.page


@pytest.fixture
def conversion(scenario):
    now = timezone.now()
    scenario.create_click(at=now)
    paid = scenario.create_conversion("50", at=now, external_id="order-0")
    approve_commission(scenario.account, commission_id=scenario.get_commission(paid).pk, at=now)
    return scenario.create_conversion("200", at=now, external_id="order-1")


class PageVisits:
    """Visits all kinds of pages and their dialogs."""

    def __init__(self, back_office, scenario, conversion) -> None:
        self.back_office, self.page = back_office, back_office.page
        enrollment_id = scenario.mina.enrollment.pk
        commission_id = scenario.get_commission(conversion).pk
        _, token = create_invitation(
            scenario.account,
            email="zoe@example.org",
            role=Role.VIEWER,
            by=scenario.account.staff.get(),
            at=timezone.now(),
        )
        now = timezone.now()
        run = create_draft(scenario.account, due_until=now.date(), at=now)
        self.paths = {
            "the dashboard": "",
            "a list": "payouts/commission/",
            "an empty list": "tracking/prospect/",
            "a conversion": f"tracking/conversion/{conversion.pk}/change/",
            "removing a conversion": f"tracking/conversion/{conversion.pk}/remove/",
            "refunding a conversion": f"tracking/conversion/{conversion.pk}/refund/",
            "a commission": f"payouts/commission/{commission_id}/change/",
            **{
                f"the tab {tab} of an affiliate": "tracking/affiliate/"
                f"{scenario.mina.affiliate.pk}/change/?tab={tab}"
                for tab in ("conversions", "commissions", "payments", "activity")
            },
            "a program": f"tracking/program/{scenario.program.pk}/change/",
            "a new payout run": "payouts/payoutrun/add/",
            "a payout run": f"payouts/payoutrun/{run.pk}/change/",
            "confirming a payout run": f"payouts/payoutrun/{run.pk}/confirm/",
            "a program affiliate": f"tracking/enrollment/{enrollment_id}/change/",
            "adding a key": "accounts/apikey/add/",
            "invitations": "accounts/invitation/",
            "an invitation": f"invitation/?token={token}",
            "two-factor authentication": "second-factor/",
        }

    def visit_all(self):
        """Open one page or dialog after the other; yields its name."""
        yield from self.visit_pages("on a desktop", self.paths)
        for open_state in (
            self.open_daily_table,
            self.select_rows,
            self.open_filters,
            self.open_palette,
            self.open_confirmation,
            self.open_effects,
            self.open_secret,
        ):
            open_state()
            yield open_state.__name__
        self.page.set_viewport_size({"width": PHONE, "height": 844})
        yield from self.visit_pages("on a phone", ["the dashboard", "a list"])
        self.page.context.clear_cookies()
        self.back_office.open("")
        yield "the sign-in page"

    def visit_pages(self, device, names):
        for name in names:
            self.back_office.open(self.paths[name])
            yield f"{name} {device}"

    def open_daily_table(self):
        self.back_office.open(self.paths["the dashboard"])
        self.page.click("text=Show the charts as a table")

    def select_rows(self):
        self.back_office.open(self.paths["a list"])
        self.page.check("#action-toggle")
        self.page.wait_for_selector("select[name=action]")

    def open_filters(self):
        """By keyboard."""
        self.back_office.open(self.paths["a list"])
        self.page.get_by_role("button", name="Filters", exact=True).press("Enter")
        self.page.get_by_role("button", name="Apply Filters").wait_for()

    def open_palette(self):
        self.back_office.open(self.paths["the dashboard"])
        self.page.keyboard.press("Control+k")
        # What is typed before the field is shown and focused goes nowhere.
        self.page.locator("#search-input-command:focus").press_sequentially("order-1")
        self.page.get_by_role("link", name="order-1").wait_for()

    def open_confirmation(self):
        self.back_office.select_action(self.paths["a list"], "Disapprove")

    def open_effects(self):
        self.back_office.open(self.paths["removing a conversion"])
        self.page.fill("#id_reason", "A test")
        self.back_office.click("button[name=_save]")
        self.page.wait_for_selector("#effects")

    def open_secret(self):
        self.back_office.open(self.paths["adding a key"])
        self.page.fill("#id_name", "shop")
        self.page.click("button[name=_save]")
        self.page.wait_for_selector("#secret")


def set_theme_class(page, theme):
    """Select a theme of the back office."""
    page.evaluate("name => document.documentElement.className = name", theme)


def list_violations(page, set_theme=set_theme_class):
    """Violations of the rules of axe; of those of colors also in the dark theme. A page
    that is wider than the window is one, too.

    The script is evaluated from outside the page, whose policy would block it.
    """
    page.evaluate(AXE_SCRIPT)
    if (overflow := page.evaluate(OVERFLOW)) > 0:
        yield f"{overflow} pixels too wide"
    for theme, rules in (("light", None), ("dark", COLOR_RULES)):
        set_theme(page, theme)
        page.wait_for_function(ANIMATIONS_FINISHED)
        yield from (f"{theme}: {violation}" for violation in page.evaluate(RUN_AXE_SCRIPT, rules))


def test_all_pages_pass_the_accessibility_rules(back_office, page, scenario, conversion):
    found = [
        f"{name}: {violation}"
        for name in PageVisits(back_office, scenario, conversion).visit_all()
        for violation in list_violations(page)
    ]

    assert found == []


class FormVisits:
    """Visits form pages of an account that has a row for each of them."""

    def __init__(self, back_office, scenario) -> None:
        self.back_office, self.page = back_office, back_office.page
        account = scenario.account
        create_rows_for_all_pages(account, ApiClient(make_key(account)), "harbor")
        self.user = account.staff.get(email__startswith="owner@")
        self.cases = list_cases(account)

    def select_examples(self):
        """A few pages that have all kinds of fields together, longest forms first."""
        seen, examples = set(), []
        kinds = {case: self.list_kinds(case) for case in self.cases}
        for case in sorted(self.cases, key=lambda case: -len(kinds[case])):
            if kinds[case] - seen:
                examples.append(case)
                seen |= kinds[case]
        return examples

    def list_kinds(self, case):
        """The widgets of a form; a page without fields is a kind of its own."""
        fields = case.get_form(self.user).fields.values()
        return {type(field.widget) for field in fields} or {None}

    def visit(self, cases):
        """Open the pages, what searches rows, and the errors of an empty form."""
        for case in cases:
            self.back_office.open(case.url.removeprefix("/admin/"))
            yield case.name
            for combobox in self.page.locator(".select2-selection").all():
                combobox.click()
                self.page.locator(".select2-results__option--highlighted").wait_for()
                yield f"{case.name}, rows to choose from"

    def visit_lists_and_objects(self):
        """Open each list and its newest object, with all that unfolds."""
        for model_admin in admin.site._registry.values():
            model = model_admin.model
            path = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
            row = list_rows(model, self.user.account).last()
            for each in (path, *([f"{path}{row.pk}/change/"] if row else [])):
                self.back_office.open(each.removeprefix("/admin/"))
                self.page.evaluate(UNFOLD)
                yield each

    def show_errors(self):
        """Send a form without what it needs."""
        self.back_office.open("tracking/conversion/add/")
        self.back_office.click("button[name=_save]")
        self.page.locator(".errorlist").first.wait_for()


def list_form_violations(visits, cases):
    return [
        f"{name}: {violation}"
        for name in visits.visit(cases)
        for violation in list_violations(visits.page)
    ]


def test_all_kinds_of_fields_pass_the_accessibility_rules(back_office, page, scenario):
    visits = FormVisits(back_office, scenario)

    found = list_form_violations(visits, visits.select_examples())
    visits.show_errors()

    assert found + list(list_violations(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_all_forms_pass_the_accessibility_rules(back_office, page, scenario, width):
    visits = FormVisits(back_office, scenario)
    page.set_viewport_size({"width": width, "height": 844})

    assert list_form_violations(visits, visits.cases) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_all_lists_and_objects_pass_the_accessibility_rules(back_office, page, scenario, width):
    visits = FormVisits(back_office, scenario)
    page.set_viewport_size({"width": width, "height": 844})

    found = [
        f"{path}: {violation}"
        for path in visits.visit_lists_and_objects()
        for violation in list_violations(page)
    ]

    assert found == []


def test_skips_to_the_content(back_office, page, conversion):
    back_office.open("payouts/commission/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")

    page.wait_for_function(IS_MAIN_FOCUSED)
