"""The back office in a real browser: no console line, no CSP report, no other host."""

import re

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models.keys import Role
from accounts.services.keys import recognise
from accounts.services.staff import invite_staff
from tests.command_line import ROOT, manage

PASSWORD = "lamps-at-the-harbor"
HASHED = Argon2PasswordHasher().encode(PASSWORD, "0123456789abcdef")


class Office:
    """Somebody who sits at a desk."""

    def __init__(self, context, shop, server) -> None:
        self.shop = shop
        self.home = f"http://127.0.0.1:{server.port}"
        self.faults: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda line: self.faults.append(line.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self.note)

    def note(self, request) -> None:
        if not request.url.startswith((self.home, "data:")):
            self.faults.append(f"a foreign request: {request.url}")

    def open(self, path):
        self.page.goto(f"{self.home}/admin/{path}")
        self.page.wait_for_load_state("load")

    def sign_in(self, email):
        self.open("")
        self.page.fill("#id_username", email)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("button[type=submit]")
        self.page.wait_for_url(f"{self.home}/admin/")

    def choose(self, path, action):
        """Choose all rows of a list and this action; the page that asks again."""
        self.open(path)
        self.page.click("#action-toggle")
        self.page.select_option("select[name=action]", label=action)
        self.page.click('button[name=index], button[type=submit]:has-text("Run")')
        return self.page.inner_text("main, #content, body")

    def confirm(self):
        """The message that comes of it."""
        self.page.click("form button.bg-primary-600")
        self.page.wait_for_load_state("load")
        return self.page.inner_text("body")

    def confirm_by(self, button):
        """The same, by a button of this name."""
        self.page.click(f'button:has-text("{button}")')
        self.page.wait_for_load_state("load")
        return self.page.inner_text("body")


@pytest.fixture(scope="session")
def static_files(django_db_setup, django_db_blocker):
    """What the pages ask for; the make targets have collected it."""
    if (ROOT / "staticfiles" / "staticfiles.json").exists():
        return
    with django_db_blocker.unblock():
        told = manage("collectstatic", "--noinput")
    assert told.code == 0, told.err


@pytest.fixture
def office(chromium, static_files, shop, server):
    email = f"owner@{shop.account.slug}.example.org"
    invite_staff(
        shop.account, email=email, role=Role.OWNER, password=PASSWORD, at=timezone.now()
    )
    # The server knows no quick hash, as the tests do.
    shop.account.staff.update(password=HASHED)
    context = chromium.new_context()
    office = Office(context, shop, server)
    office.sign_in(email)
    yield office
    context.close()
    assert office.faults == []


def test_reads_the_dashboard_and_lists(office, shop):
    shop.click(at=timezone.now())
    shop.sell("200", at=timezone.now(), external_id="order-1")

    office.open("")

    page = office.page.inner_text("body")
    assert "Commissions to review" in page
    assert "1: 20 EUR" in page
    office.page.click("text=Commissions to review")
    office.page.wait_for_load_state("load")
    assert "minakessler" in office.page.inner_text("#changelist")


def test_explains_a_sale(office, shop):
    sale = shop.sell("200", external_id="order-1", at=timezone.now())

    office.open(f"tracking/conversion/{sale.pk}/change/")

    told = office.page.inner_text(".office-story >> nth=2")
    assert told.startswith("Commission ")
    assert "200 at 10 % = 20 → 20 EUR" in told
    page = office.page.inner_text("body")
    assert "Decided and reckoned again: the same" in page


def test_approves_pays_and_cancels(office, shop):
    for amount in ("200", "50"):
        shop.sell(amount, at=timezone.now())
    account = shop.account

    assert "25 EUR" in office.choose("payouts/commission/", "Approve")
    assert "Approve commissions: 2 done." in office.confirm()
    assert set(account.commissions.values_list("status", flat=True)) == {"approved"}

    assert "25 EUR" in office.choose("payouts/ledgeraccount/", "Pay in full")
    assert "Pay affiliates: 1 done." in office.confirm()
    payment = account.payments.get()
    assert payment.canceled_at is None

    office.choose("payouts/payment/", "Cancel")
    assert "Cancel payments: 1 done." in office.confirm()
    assert account.payments.get().canceled_at


def test_archives_a_program(office, shop):
    office.choose("tracking/program/", "Archive")

    assert "Archive programs: 1 done." in office.confirm()
    assert shop.account.programs.get().archived_at


def test_makes_and_revokes_a_key(office, shop):
    office.open("accounts/apikey/add/")
    office.page.fill("#id_name", "shop")
    office.page.click("button[name=_save]")
    text = office.page.inner_text("#secret")
    assert recognise(text).account == shop.account

    office.page.click("text=Copy >> nth=0")
    office.choose("accounts/apikey/", "Revoke")
    assert "Revoke API keys: 1 done." in office.confirm()
    assert recognise(text) is None


def test_invites_and_dismisses_staff(office, shop):
    office.open("accounts/user/add/")
    email = f"zoe@{shop.account.slug}.example.org"
    office.page.fill("#id_email", email)
    office.page.select_option("#id_role", label="Manager")
    office.page.click("button[name=_save]")
    made = office.page.inner_text("#secret")
    zoe = shop.account.staff.get(email=email)
    assert zoe.role == "manager"
    assert Argon2PasswordHasher().verify(made, zoe.password)

    told = office.choose("accounts/user/", "Deactivate")
    assert "it is your own: ask another owner" in told
    assert "Deactivate staff: 1 done." in office.confirm()
    zoe.refresh_from_db()
    assert not zoe.is_active


@pytest.mark.parametrize("width", [1400, 390], ids=["desk", "phone"])
def test_has_links_to_copy_and_to_scan(office, shop, width):
    office.page.set_viewport_size({"width": width, "height": 844})
    office.page.emulate_media(color_scheme="dark")
    link = f"https://shop.example.net/?ref={shop.mina.code}"

    for thing in ("affiliate", "enrolment"):
        number = getattr(shop.mina, thing).pk
        office.open(f"tracking/{thing}/{number}/change/")
        office.page.click("text=Copy >> nth=0")
        assert link in office.page.inner_text(".office-links")
        office.page.click("summary >> nth=0")
        ground = office.page.evaluate(
            "getComputedStyle(document.querySelector('.office-qr')).backgroundColor"
        )
        assert ground == "rgb(255, 255, 255)"
        with office.page.expect_download() as kept:
            office.page.click("text=Download it as SVG >> nth=0")
        assert kept.value.suggested_filename.endswith("-minakessler-referral.svg")
        wider = "document.documentElement.scrollWidth - window.innerWidth"
        assert office.page.evaluate(wider) <= 0, thing


@pytest.mark.parametrize("width", [1400, 390], ids=["desk", "phone"])
def test_is_readable_by_night_and_on_a_phone(office, shop, width):
    shop.sell("200", at=timezone.now())
    office.page.set_viewport_size({"width": width, "height": 844})
    office.page.emulate_media(color_scheme="dark")

    for path in ("", "payouts/commission/", "tracking/click/", "accounts/event/"):
        office.open(path)
        wider = office.page.evaluate(
            "document.documentElement.scrollWidth - window.innerWidth"
        )
        assert wider <= 0, path
    ground = office.page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = re.search(r"oklch\(([0-9.]+)|rgb\((\d+)", ground)
    assert lightness, ground


def test_decides_on_the_rows_of_all_pages(office, shop):
    for _ in range(51):
        shop.sell("10", at=timezone.now())
    office.open("payouts/commission/")

    office.page.click("#action-toggle")
    office.page.click("text=Select those of the other pages too")
    office.page.select_option("select[name=action]", label="Approve")
    office.page.click("button[name=index]")

    assert "51 of commissions, together 51 EUR" in office.page.inner_text("#content")


@pytest.mark.parametrize("width", [390, 1280])
def test_adds_a_second_factor_and_signs_in_with_it(office, shop, width):
    office.page.set_viewport_size({"width": width, "height": 800})
    office.open("second-factor/")
    office.page.click("text=Add a device")
    office.page.wait_for_selector(".office-qr svg")
    shown = "document.documentElement.scrollWidth <= window.innerWidth"
    assert office.page.evaluate(shown)
    device = TOTPDevice.objects.get(user__account=shop.account)
    office.page.fill("#code", f"{totp(device.bin_key):06d}")
    told = office.confirm_by("Confirm")
    assert "The second factor is on" in told

    office.page.context.clear_cookies()
    office.open("")
    office.page.fill("#id_username", device.user.email)
    office.page.fill("#id_password", PASSWORD)
    office.page.fill("#id_code", f"{totp(device.bin_key, drift=1):06d}")
    office.page.click("button[type=submit]")
    office.page.wait_for_url(f"{office.home}/admin/")

    office.open("second-factor/")
    office.page.fill("#proof", PASSWORD)
    assert "The second factor is off" in office.confirm_by("Remove the second factor")
