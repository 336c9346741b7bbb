"""The back office in Chromium, without console messages or requests to other hosts.

What staff do there is in test_staff_jobs.py.
"""

import re

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from tests.command_line import ROOT, run_manage_py
from tests.e2e.browser import open_context

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

PHONE = pytest.param(390, marks=pytest.mark.slow)
PASSWORD = "lamps-at-the-harbor"
PASSWORD_HASH = Argon2PasswordHasher().encode(PASSWORD, "0123456789abcdef")


class BackOfficePage:
    """A staff user in a browser; collects errors."""

    def __init__(self, context, server) -> None:
        self.home = f"http://127.0.0.1:{server.port}"
        self.errors: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda line: self.errors.append(line.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.record_message)

    def record_message(self, request) -> None:
        if not request.url.startswith((self.home, "data:")):
            self.errors.append(f"request to another host: {request.url}")

    def open(self, path):
        self.page.goto(f"{self.home}/admin/{path}")
        self.page.wait_for_load_state("load")

    def sign_in(self, account, email):
        self.open("")
        self.page.fill("#id_account", account.slug)
        self.page.fill("#id_username", email)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("button[type=submit]")
        self.page.wait_for_url(f"{self.home}/admin/")

    def continue_session(self, user):
        """Be signed in without the form, which other tests fill in."""
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": client.cookies[name].value, "url": self.home}
        self.page.context.add_cookies([cookie])

    def select_action(self, path, action):
        """Select all rows and an action; returns the text of the confirmation page."""
        self.open(path)
        self.page.check("#action-toggle")
        self.page.select_option("select[name=action]", label=action)
        return self.click('button[name=index], button[type=submit]:has-text("Run")')

    def confirm_by(self, button):
        """Press a button; returns the text of the next page."""
        return self.click(f'button:has-text("{button}")')

    def click(self, selector):
        """Click what loads another page; returns the text of that page."""
        with self.page.expect_navigation(wait_until="load"):
            self.page.click(selector)
        return self.page.inner_text("body")


@pytest.fixture(scope="session")
def static_files(django_db_setup, django_db_blocker):
    """Static files, unless they are already collected."""
    if (ROOT / "staticfiles" / "staticfiles.json").exists():
        return
    with django_db_blocker.unblock():
        text = run_manage_py("collectstatic", "--noinput")
    assert text.code == 0, text.err


@pytest.fixture
def back_office(chromium, static_files, scenario, server):
    email = f"owner@{scenario.account.slug}.example.org"
    create_staff_user(
        scenario.account,
        email=email,
        role=Role.OWNER,
        password=PASSWORD,
        at=timezone.now(),
    )
    # The server does not accept the fast hash of the tests.
    scenario.account.staff.update(password=PASSWORD_HASH)
    context = open_context(chromium)
    back_office = BackOfficePage(context, server)
    back_office.continue_session(scenario.account.staff.get())
    yield back_office
    context.close()
    assert back_office.errors == []


def test_shows_the_dashboard_and_lists(back_office, scenario):
    scenario.create_click(at=timezone.now())
    scenario.create_conversion("200", at=timezone.now(), external_id="order-1")

    back_office.open("")

    page = back_office.page.inner_text("body")
    assert page.index("Needs attention") < page.index("Conversion rate")
    assert "20.00\u00a0EUR; the oldest since" in page
    back_office.click(".dashboard-attention >> text=Pending commissions")
    assert "minakessler" in back_office.page.inner_text("#changelist")


def test_charts_name_the_day_and_the_money_under_the_pointer(back_office, scenario):
    scenario.create_conversion("1234.5", at=timezone.now())
    back_office.open("")

    chart = back_office.page.locator("canvas.chart").first
    today = chart.evaluate("canvas => Chart.getChart(canvas).chartArea.right - 1")
    chart.hover(position={"x": today, "y": 60})

    tooltip = chart.evaluate(
        """canvas => {
          const tooltip = Chart.getChart(canvas).tooltip;
          return [tooltip.title[0], ...tooltip.body.flatMap(item => item.lines)];
        }"""
    )
    assert tooltip == [
        f"{timezone.now():%a %d %b}",
        "Revenue: 1,234.50",
        "Revenue, previous period: 0.00",
        "Commissions: 123.45",
    ]


def test_days_are_those_of_the_account_wherever_the_browser_is(back_office):
    page = back_office.page
    zone = {"timezoneId": "Asia/Tokyo"}
    page.context.new_cdp_session(page).send("Emulation.setTimezoneOverride", zone)
    back_office.open("payouts/payoutrun/add/")

    warning = page.locator(".timezonewarning")

    assert "ahead of server time" in warning.text_content()
    assert not warning.is_visible()


def test_copies_the_code_and_hides_the_checklist(back_office, scenario):
    back_office.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    back_office.open("")

    back_office.page.click("text=Copy")
    back_office.page.get_by_role("button", name="Copied").wait_for()

    copied = back_office.page.evaluate("navigator.clipboard.readText()")
    assert f'tap("create", "{scenario.account.slug}");' in copied
    assert copied.endswith("</script>")
    page = back_office.confirm_by("Hide this checklist")
    assert "Set up your affiliate program" not in page


def test_enter_opens_a_result_of_all_that_was_typed(back_office):
    page = back_office.page
    back_office.open("")
    page.keyboard.press("Control+k")
    field = page.locator("#search-input-command:focus")
    field.press_sequentially("commi")
    page.get_by_role("link", name="Commissions").last.wait_for()

    field.fill("")
    field.press_sequentially("audit log")
    with page.expect_navigation(wait_until="load"):
        field.press("Enter")  # half a second before its results

    assert page.url.endswith("/admin/accounts/auditlogentry/")


def test_enter_does_nothing_if_nothing_is_found(back_office):
    page = back_office.page
    back_office.open("")
    page.keyboard.press("Control+k")
    field = page.locator("#search-input-command:focus")
    field.press_sequentially("xyzzy")
    page.get_by_text("Nothing found").wait_for()

    field.press("Enter")
    assert not page.get_by_role("dialog", name="Search").get_by_role("link").count()
    field.fill("")
    field.press_sequentially("audit log")
    with page.expect_navigation(wait_until="load"):
        field.press("Enter")

    assert page.url.endswith("/admin/accounts/auditlogentry/")


WRONG_ENTRIES = {
    "a field": ("tracking/conversion", {"amount": "80", "coupon": "nobody"}, "coupon"),
    "a search": ("tracking/conversion", {"amount": "80"}, "affiliate"),
    "a group": ("accounts/webhookendpoint", {"url": "https://a.example/"}, "events"),
}
UNKNOWN_EVENT = """field => { field.value = "unknown"; field.checked = true; }"""


@pytest.mark.parametrize("width", [1400, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("kind", WRONG_ENTRIES)
def test_leads_to_the_first_wrong_field(back_office, kind, width):
    """Its error is in view, too."""
    model, entries, name = WRONG_ENTRIES[kind]
    back_office.page.set_viewport_size({"width": width, "height": 500})
    back_office.open(f"{model}/add/")
    for field, value in entries.items():
        back_office.page.fill(f"[name={field}]", value)
    for checkbox in back_office.page.query_selector_all("[name=events]")[-1:]:
        checkbox.evaluate(UNKNOWN_EVENT)

    back_office.click(".form-buttons button[name=_save]")

    back_office.page.wait_for_function(
        """name => {
          const line = document.activeElement.closest(".errors");
          if (!line?.querySelector(`[name=${name}]`)) return false;
          const error = line.querySelector("ul:not([role]) li").getBoundingClientRect();
          return error.bottom < innerHeight;
        }""",
        arg=name,
    )


def test_the_sidebar_folds_by_keyboard_and_stays_so(back_office):
    def press(text):
        back_office.page.locator("#nav-sidebar-apps summary").get_by_text(text, exact=True).focus()
        back_office.page.keyboard.press("Enter")

    def is_shown(title):
        links = back_office.page.locator("#nav-sidebar-apps .nav-item")
        return links.filter(has_text=re.compile(rf"{title}$")).is_visible()

    back_office.page.set_viewport_size({"width": 1400, "height": 844})
    back_office.open("")
    assert is_shown("Programs")
    assert not is_shown("API keys")
    press("Affiliates")
    press("Integration")

    back_office.open("payouts/payment/")
    assert not is_shown("Programs")
    assert is_shown("API keys")

    back_office.open("tracking/program/")
    assert is_shown("Programs")  # this page is there


def test_the_sidebar_needs_no_script(back_office, chromium):
    context = open_context(chromium, java_script_enabled=False)
    context.add_cookies(back_office.page.context.cookies())
    page = context.new_page()
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{back_office.home}/admin/")
        page.locator("summary").get_by_text("Integration", exact=True).click()
        page.get_by_role("link", name="API keys").click()
        page.wait_for_url("**/accounts/apikey/")
    context.close()


def test_archives_a_program(back_office, scenario):
    back_office.open(f"tracking/program/{scenario.program.pk}/change/")
    back_office.click('a:has-text("Archive")')

    assert "The program is archived." in back_office.confirm_by("Archive")
    assert scenario.account.programs.get().archived_at


@pytest.mark.parametrize("width", [1400, PHONE], ids=["desktop", "phone"])
def test_shows_links_with_qr_codes(back_office, scenario, width):
    back_office.page.set_viewport_size({"width": width, "height": 844})
    back_office.page.emulate_media(color_scheme="dark")
    link = f"https://shop.example.net/?ref={scenario.mina.code}"

    for model_name in ("affiliate", "enrollment"):
        row_id = getattr(scenario.mina, model_name).pk
        back_office.open(f"tracking/{model_name}/{row_id}/change/")
        back_office.page.click("text=Copy >> nth=0")
        assert link in back_office.page.inner_text(".backoffice-links")
        back_office.page.click("[role=main] summary >> nth=0")
        background = back_office.page.evaluate(
            "getComputedStyle(document.querySelector('.backoffice-qr-code')).backgroundColor"
        )
        assert background == "rgb(255, 255, 255)"
        with back_office.page.expect_download() as download_info:
            back_office.page.click("text=Download SVG >> nth=0")
        assert download_info.value.suggested_filename.endswith("-minakessler-referral.svg")
        overflow = "document.documentElement.scrollWidth - window.innerWidth"
        assert back_office.page.evaluate(overflow) <= 0, model_name


@pytest.mark.parametrize("width", [1400, 390], ids=["desktop", "phone"])
def test_fits_the_width_in_dark_mode(back_office, scenario, width):
    scenario.create_conversion("200", at=timezone.now())
    back_office.page.set_viewport_size({"width": width, "height": 844})
    back_office.page.emulate_media(color_scheme="dark")

    for path in (
        "",
        "payouts/commission/",
        "tracking/click/",
        "accounts/auditlogentry/",
    ):
        back_office.open(path)
        overflow = back_office.page.evaluate(
            "document.documentElement.scrollWidth - window.innerWidth"
        )
        assert overflow <= 0, path
    background = back_office.page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = re.search(r"oklch\(([0-9.]+)|rgb\((\d+)", background)
    assert lightness, background


def test_approves_the_rows_of_all_pages(back_office, scenario):
    for _ in range(51):
        scenario.create_conversion("10", at=timezone.now())
    back_office.open("payouts/commission/")

    back_office.page.click("#action-toggle")
    back_office.page.click("text=Select all pages")
    back_office.page.select_option("select[name=action]", label="Approve")
    text = back_office.click("button[name=index]")

    assert "51 commissions, total 51.00 EUR" in text
