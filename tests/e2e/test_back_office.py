"""The back office in Chromium, without console messages or requests to other hosts."""

import re

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models.api_keys import Role
from accounts.services.api_keys import find_api_key
from accounts.services.invitations import create_invitation
from accounts.services.staff import create_staff_user
from payouts.services.commissions import approve_commission
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

    def confirm(self):
        """Confirm the action; returns the text of the next page."""
        return self.click("form button.bg-primary-600")

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

    chart = back_office.page.locator("canvas.chart").nth(2)
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


def test_explains_a_conversion(back_office, scenario):
    conversion = scenario.create_conversion(
        "200", external_id="order-1", at=timezone.now()
    )

    back_office.open(f"tracking/conversion/{conversion.pk}/change/")

    page = back_office.page.inner_text("body")
    assert "200 at 10 % = 20" in page
    assert "Verified: attribution and calculation give the same result" in page


def test_approves_pays_and_cancels(back_office, scenario):
    for amount in ("200", "50"):
        scenario.create_conversion(amount, at=timezone.now())
    account = scenario.account

    assert "25.00 EUR" in back_office.select_action("payouts/commission/", "Approve")
    assert "Approve commissions: 2 done." in back_office.confirm()
    assert set(account.commissions.values_list("status", flat=True)) == {"approved"}

    assert "25.00 EUR" in back_office.select_action(
        "payouts/ledgeraccount/", "Pay balance in full"
    )
    assert "Pay affiliates: 1 done." in back_office.confirm()
    payment = account.payments.get()
    assert payment.canceled_at is None

    back_office.select_action("payouts/payment/", "Cancel")
    back_office.page.get_by_label("Reason").fill("Returned by the bank")
    assert "Cancel payments: 1 done." in back_office.confirm()
    assert account.payments.get().canceled_at


@pytest.mark.parametrize("width", [1440, PHONE], ids=["desktop", "phone"])
def test_corrects_an_amount_after_showing_what_moves(back_office, scenario, width):
    conversion = scenario.create_conversion("200", at=timezone.now())
    account, page = scenario.account, back_office.page
    commission = scenario.get_commission(conversion)
    approve_commission(account, commission_id=commission.pk, at=timezone.now())
    page.set_viewport_size({"width": width, "height": 844})

    back_office.open(f"tracking/conversion/{conversion.pk}/change/")
    back_office.click('a:has-text("Correct")')
    page.fill("#id_amount", "150")
    text = back_office.click("button[name=_save]")
    assert "20.00 EUR, approved" in text
    assert "15.00 EUR, approved" in text
    assert account.conversions.get().amount == 200

    back_office.click("button[name=_change_entries]")
    assert page.input_value("#id_amount") == "150"
    page.fill("#id_amount", "160")
    back_office.click("button[name=_save]")
    text = back_office.click("button[name=_save]")
    assert f"Conversion {conversion} was saved." in text
    assert account.conversions.get().amount == 160
    assert account.commissions.get().amount == 16


def test_disapproves_in_bulk_with_a_reason_by_keyboard(back_office, scenario):
    for amount in ("200", "50"):
        scenario.create_conversion(amount, at=timezone.now())
    account, page = scenario.account, back_office.page
    press = page.keyboard.press

    def press_until(key, selector):
        """Press a key until an element has the focus."""
        for _ in range(12):
            press(key)
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        pytest.fail(f"{selector} was not reached")

    back_office.open("payouts/commission/?status__exact=pending")
    page.focus("input.action-select >> nth=0")
    press("Space")
    press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Go to the actions"
    back_office.click("#result_list tbody a >> nth=1")  # a look at a row
    page.go_back()
    page.wait_for_function("document.querySelector('.action-select').checked")
    assert page.inner_text(".action-counter").startswith("1 of 2")

    page.focus("input.action-select >> nth=1")
    press("Space")
    press("Tab")
    press("Enter")
    assert page.evaluate("document.activeElement.name") == "action"
    page.keyboard.type("Dis")
    page.wait_for_selector("button[name=index]")  # shown once an action is selected
    press_until("Tab", "button[name=index]")
    with page.expect_navigation(wait_until="load"):
        press("Enter")
    assert "2 commissions, total 25.00 EUR" in page.inner_text("#main")
    page.wait_for_function("document.activeElement.id === 'id_reason'")
    page.keyboard.type("Own orders")
    press_until("Tab", "button[type=submit]")
    with page.expect_navigation(wait_until="load"):
        press("Enter")

    assert "Disapprove commissions: 2 done." in page.inner_text("body")
    found = account.commissions.values_list("status", "comment")
    assert set(found) == {("disapproved", "Disapproved: Own orders")}
    back_office.confirm_by("Put back to pending")
    assert set(account.commissions.values_list("status", flat=True)) == {"pending"}
    assert not page.locator("input.action-select:checked").count()


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


def test_archives_a_program(back_office, scenario):
    back_office.open(f"tracking/program/{scenario.program.pk}/change/")
    back_office.click('a:has-text("Archive")')

    assert "The program is archived." in back_office.confirm_by("Archive")
    assert scenario.account.programs.get().archived_at


def test_creates_and_revokes_an_api_key(back_office, scenario):
    back_office.open("accounts/apikey/add/")
    back_office.page.fill("#id_name", "shop")
    back_office.page.click("button[name=_save]")
    text = back_office.page.inner_text("#secret")
    assert find_api_key(text).account == scenario.account

    back_office.page.click("text=Copy >> nth=0")
    back_office.select_action("accounts/apikey/", "Revoke")
    assert "Revoke API keys: 1 done." in back_office.confirm()
    assert find_api_key(text) is None


def test_creates_and_deactivates_staff(back_office, scenario):
    back_office.open("accounts/user/add/")
    email = f"zoe@{scenario.account.slug}.example.org"
    back_office.page.fill("#id_email", email)
    back_office.page.select_option("#id_role", value="manager")
    back_office.page.click("button[name=_save]")
    password = back_office.page.inner_text("#secret")
    zoe = scenario.account.staff.get(email=email)
    assert zoe.role == "manager"
    assert Argon2PasswordHasher().verify(password, zoe.password)

    text = back_office.select_action("accounts/user/", "Deactivate")
    assert "you cannot change your own sign-in; ask another owner" in text
    assert "Deactivate staff: 1 done." in back_office.confirm()
    zoe.refresh_from_db()
    assert not zoe.is_active


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
        back_office.page.click("summary >> nth=0")
        background = back_office.page.evaluate(
            "getComputedStyle(document.querySelector('.backoffice-qr-code')).backgroundColor"
        )
        assert background == "rgb(255, 255, 255)"
        with back_office.page.expect_download() as download_info:
            back_office.page.click("text=Download SVG >> nth=0")
        assert download_info.value.suggested_filename.endswith(
            "-minakessler-referral.svg"
        )
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
    background = back_office.page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
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


@pytest.mark.parametrize("width", [1280, PHONE], ids=["desktop", "phone"])
def test_sets_up_two_factor_authentication_and_signs_in(back_office, scenario, width):
    back_office.page.set_viewport_size({"width": width, "height": 800})
    back_office.open("second-factor/")
    back_office.page.click("text=Set up")
    back_office.page.wait_for_selector(".backoffice-qr-code svg")
    fits_width = "document.documentElement.scrollWidth <= window.innerWidth"
    assert back_office.page.evaluate(fits_width)
    device = TOTPDevice.objects.get(user__account=scenario.account)
    back_office.page.fill("#code", f"{totp(device.bin_key):06d}")
    back_office.page.fill("#password", PASSWORD)
    text = back_office.confirm_by("Confirm")
    assert "Two-factor authentication is enabled" in text
    assert back_office.page.evaluate(fits_width)
    recovery_code = back_office.page.inner_text("#codes").split()[0]
    device.refresh_from_db()  # its clock can be a step behind since the confirmation

    back_office.page.context.clear_cookies()
    back_office.open("")
    back_office.page.fill("#id_account", scenario.account.slug)
    back_office.page.fill("#id_username", device.user.email)
    back_office.page.fill("#id_password", PASSWORD)
    back_office.page.fill(
        "#id_code", f"{totp(device.bin_key, drift=device.drift + 1):06d}"
    )
    back_office.page.click("button[type=submit]")
    back_office.page.wait_for_url(f"{back_office.home}/admin/")

    back_office.page.context.clear_cookies()
    back_office.open("")
    back_office.page.fill("#id_account", scenario.account.slug)
    back_office.page.fill("#id_username", device.user.email)
    back_office.page.fill("#id_password", PASSWORD)
    back_office.page.fill("#id_code", recovery_code)
    back_office.page.click("button[type=submit]")
    back_office.page.wait_for_url(f"{back_office.home}/admin/")
    assert "9 are left" in back_office.page.inner_text("body")

    back_office.open("second-factor/")
    back_office.page.fill("#proof", PASSWORD)
    assert "Two-factor authentication is disabled" in back_office.confirm_by(
        "Disable two-factor authentication"
    )


@pytest.mark.parametrize(
    ("theme", "width"),
    [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)],
)
def test_joins_by_an_invitation(back_office, scenario, width, theme):
    """From the link over the own password and a device to a recovery code."""
    account, page = scenario.account, back_office.page
    owner = account.staff.get()
    email = f"zoe@{account.slug}.example.org"
    _, token = create_invitation(
        account, email=email, role=Role.MANAGER, by=owner, at=timezone.now()
    )
    account.require_second_factor = True
    account.save()
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=theme)

    back_office.open(f"invitation/?token={token}")
    overflow = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(overflow) <= 0
    page.fill("#id_password", PASSWORD)
    page.fill("#id_repeated", PASSWORD)
    assert "Your password is set." in back_office.confirm_by("Set password")
    assert page.input_value("#id_account") == account.slug

    page.fill("#id_username", email)
    page.fill("#id_password", PASSWORD)
    text = back_office.confirm_by("Log in")
    assert "Your account requires two-factor authentication" in text
    back_office.confirm_by("Set up")
    device = TOTPDevice.objects.get(user__email=email)
    page.fill("#code", f"{totp(device.bin_key):06d}")
    page.fill("#password", PASSWORD)
    back_office.confirm_by("Confirm")
    recovery_code = page.inner_text("#codes").split()[0]

    page.context.clear_cookies()
    back_office.open(f"login/?account={account.slug}")
    page.fill("#id_username", email)
    page.fill("#id_password", PASSWORD)
    page.fill("#id_code", recovery_code)
    assert "9 are left" in back_office.confirm_by("Log in")


def test_changes_settings_and_webhooks(back_office, scenario):
    page, account = back_office.page, scenario.account
    back_office.open("")
    back_office.click("text=Account settings")
    page.fill("#id_name", "Harbor Lamps Ltd")
    page.select_option("#id_default_currency", "SEK")
    assert "The settings were saved." in back_office.confirm_by("Save")
    account.refresh_from_db()
    assert (account.name, account.default_currency) == ("Harbor Lamps Ltd", "SEK")

    back_office.open("accounts/webhookendpoint/add/")
    page.fill("#id_url", "https://hooks.example.net/a")
    assert "whsec_" in back_office.confirm_by("Create webhook")
    webhook = account.webhook_endpoints.get()
    back_office.open(f"accounts/webhookendpoint/{webhook.pk}/change/")
    back_office.click("text=Edit")
    page.fill("#id_url", "https://hooks.example.net/b")
    text = back_office.confirm_by("Save")
    assert "https://hooks.example.net/b" in text
    back_office.click("text=Send test event")
    assert "webhook.test" in back_office.confirm_by("Send test event")
