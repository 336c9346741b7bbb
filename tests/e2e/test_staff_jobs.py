"""Staff do their jobs from an empty account by clicks and keys only, in Chromium."""

import re
from base64 import b32decode
from contextlib import contextmanager
from io import BytesIO
from uuid import uuid4

import pytest
from django.utils import timezone
from django_otp.oath import totp
from PIL import Image

from accounts.models.api_keys import RateWindow, Role
from accounts.services.staff import create_staff_user
from tests.concurrency.server import run_server
from tests.e2e.browser import open_context
from tests.e2e.staff_walk import StaffWalk
from tests.e2e.test_back_office import PASSWORD, PASSWORD_HASH, static_files
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.mail_server import run_mail_server
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["static_files"]

PROGRAM = {
    "ID": "harbor-lamps",
    "Title": "Harbor Lamps",
    "Currency": "EUR",
    "Landing page": "https://shop.example.net/",
}
LEVEL = "2: the affiliate's parent, if approved here"


def make_logo():
    """A small PNG, as a file to upload."""
    file = BytesIO()
    Image.new("RGB", (60, 20), "#14532d").save(file, format="PNG")
    return {"name": "logo.png", "mimeType": "image/png", "buffer": file.getvalue()}


LOGO = make_logo()


@pytest.fixture(scope="session")
def checked_pages():
    """Kinds of pages that axe has checked."""
    return set()


@pytest.fixture(
    params=[("light", 1440), pytest.param(("dark", 390), marks=pytest.mark.slow)],
    ids=["light-desktop", "dark-phone"],
)
def device(request):
    """Theme, and width in pixels."""
    return request.param


@pytest.fixture
def walk(device, chromium, static_files, committed_db, server, checked_pages):
    with sign_in(device, chromium, server, checked_pages) as walk:
        yield walk


@pytest.fixture
def mail_server():
    with run_mail_server() as mail_server:
        yield mail_server


@pytest.fixture
def walk_with_mail(device, chromium, static_files, committed_db, mail_server, checked_pages):
    with (
        run_server(workers=1, EMAIL_URL=mail_server.url) as server,
        sign_in(device, chromium, server, checked_pages) as walk,
    ):
        yield walk


@contextmanager
def sign_in(device, chromium, server, checked_pages, role=Role.OWNER):
    """A user of an empty account, signed in; checks what the walk recorded."""
    server.wait_until_ready()
    theme, width = device
    RateWindow.objects.all().delete()  # the tests of a minute sign in from one address
    account = AccountFactory(slug=f"jobs-{uuid4().hex[:12]}", plan__name="enterprise")
    email = f"anna@{account.slug}.example.org"
    now = timezone.now()
    create_staff_user(account, email=email, role=role, password=PASSWORD, at=now)
    # The server does not accept the fast hash of the tests.
    account.staff.update(password=PASSWORD_HASH)
    context = open_context(chromium, color_scheme=theme, viewport={"width": width, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    # The slow variant runs axe; test_accessibility.py does so for pages in both themes.
    checked_pages = checked_pages if theme == "dark" else None
    walk = StaffWalk(context, server, account, checked_pages)
    walk.sign_in(account, email)
    yield walk
    context.close()
    assert walk.errors == []
    assert walk.too_long == []
    assert_ledger_consistent(account)


def create_program(walk, **entries):
    """Create the first program from the checklist."""
    walk.follow("Create a program")
    walk.fill(PROGRAM | entries)
    return walk.press("Add program")


def create_affiliate(walk, firstname, lastname, **entries):
    """Create an affiliate from its list, with a password."""
    walk.go("Affiliates")
    walk.follow("Add affiliate")
    walk.fill({"First name": firstname, "Last name": lastname} | entries)
    walk.fill({"Password": "harbor-lamps-12"})
    return walk.press("Create affiliate")


def test_sets_up_a_program(walk):
    assert "0 of 9 done" in walk.text
    with walk.job("create a program", clicks=2):
        text = create_program(walk, Rate="12.5")
    assert "Program Harbor Lamps was created." in text
    assert "12.5 %" in text

    with walk.job("change the settings of a program", clicks=2):
        walk.follow("Edit settings")
        walk.fill(
            {
                "Title": "Harbor Lamp Partners",
                "Program group": "lamps",
                "Currency": "SEK",
                "Landing page": "https://lamps.example.net/",
                "Cookie lifetime in days": "30",
                "Approve affiliates automatically": True,
                "Approve commissions automatically": True,
                "Highest number of sales per customer": "3",
                "Days in which a customer's sales earn": "365",
                "Treat sales reported by pages like others": True,
            }
        )
        text = walk.press("Save")
    for rule in (
        "A click earns for\n30 days",
        "Affiliates\nApproved automatically",
        "Commissions\nApproved automatically",
        "Later sales of a customer earn, too: up to 3 sales for 365 days",
        "Sales that pages report\nTreated like others",
        "Landing page\nhttps://lamps.example.net/",
        "Program group\nlamps",
        "harbor-lamps, SEK",
    ):
        assert rule in text

    with walk.job("add a commission type", clicks=2):
        walk.follow("Add commission type")
        walk.fill(
            {
                "ID": "accessories",
                "Title": "Accessories",
                "Commission": "Fixed amount",
                "Rate": "5",
                "Parents earn, too": False,
            }
        )
        text = walk.press("Add commission type")
    assert re.search(r"Accessories\s+accessories\s+5.00 SEK\s+No", text)
    with walk.job("make a commission type the default", clicks=2):
        walk.follow("Edit: Accessories")
        walk.fill({"Default": True})
        assert "Accessories (default)" in walk.press("Save")
    with walk.job("remove a commission type", clicks=4):
        walk.follow("Add commission type")
        walk.fill({"ID": "spare", "Title": "Spare parts", "Rate": "1"})
        walk.press("Add commission type")
        walk.follow("Remove: Spare parts")
        assert "Spare parts was removed." in walk.press("Remove")

    with walk.job("add a level", clicks=2):
        walk.follow("Add level")
        walk.fill({"Title": "Recruiter", "Rate": "3"})
        assert re.search(rf"{LEVEL}\s+Recruiter\s+3 %", walk.press("Add level"))
    with walk.job("change a level", clicks=2):
        walk.follow(f"Edit: {LEVEL}")
        walk.fill({"Rate": "4"})
        assert re.search(rf"{LEVEL}\s+Recruiter\s+4 %", walk.press("Save"))

    with walk.job("add a bonus", clicks=3):
        walk.follow("Add bonus")
        walk.fill(
            {
                "Title": "Ten a month",
                "Goal": "Number of conversions",
                "At least": "10",
                "Within": "Month",
                "Commission": "Fixed amount",
                "Rate": "500",
            }
        )
        assert "With this goal, from" in walk.press("Continue")
        text = walk.press("Add bonus")
    assert re.search(r"Ten a month\s+10 conversions in a month\s+500.00 SEK", text)

    with walk.job("create a group", clicks=3):
        walk.go("Affiliate groups")
        walk.follow("Add affiliate group")
        walk.fill({"Title": "Magazines"})
        assert "The group Magazines was created." in walk.press("Create group")
    with walk.job("set the rate of a group", clicks=4):
        walk.go("Programs")
        walk.follow("Harbor Lamp Partners")
        walk.follow("Set group rate")
        walk.fill({"Group": "Magazines", "Commission": "Percentage of the amount"})
        walk.fill({"Rate": "15"})
        text = walk.press("Save")
    assert re.search(r"Magazines\s+\S.*\s+15 %", text)

    with walk.job("copy the snippet", clicks=1):
        snippet = walk.copy("Copy the snippet")
    assert f'tap("create", "{walk.account.slug}");' in snippet

    with walk.job("add a custom field", clicks=3):
        walk.go("Custom fields")
        walk.follow("Add custom field")
        walk.fill({"ID": "website", "Title": "Your website", "Type": "Web address"})
        walk.press("Add custom field")
    with walk.job("change a custom field", clicks=2):
        walk.follow("Edit")
        walk.fill({"Title": "Your web site", "Required": True})
        assert "Your web site" in walk.press("Save")

    assert "2 of 9 done" in walk.go("Dashboard")


def test_brings_affiliates_into_a_program(walk):
    create_program(walk)
    walk.go("Custom fields")
    walk.follow("Add custom field")
    walk.fill({"ID": "website", "Title": "Your website", "Type": "Web address"})
    walk.press("Add custom field")
    walk.go("Affiliate groups")
    walk.follow("Add affiliate group")
    walk.fill({"Title": "Magazines"})
    walk.press("Create group")

    walk.go("Dashboard")
    with walk.job("create an affiliate with a generated password", clicks=6):
        walk.follow("Add the first affiliate")
        for part in ("Company", "Address"):
            walk.main.locator("summary", has_text=part).click()
        walk.fill(
            {
                "First name": "Hana",
                "Last name": "Kim",
                "E-mail": "hana@notes.example.org",
                "Your website": "https://hana.example.org",
                "Company": "Kim Notes",
                "City": "Ljubljana",
                "Country": "Slovenia",
            }
        )
        assert "This field is required." in walk.press("Create affiliate")
        walk.fill({"Street and number": "Trg 1", "Postal code": "1000"})
        walk.press("Create affiliate")
        assert len(walk.page.inner_text("#secret")) == 16
        text = walk.follow("Continue to the affiliate")
    for part in ("hanakim", "hana@notes.example.org", "Kim Notes", "Ljubljana"):
        assert part in text
    assert "https://hana.example.org" in text
    with walk.job("create an affiliate with a password", clicks=3):
        assert "Noah Meyer was created." in create_affiliate(walk, "Noah", "Meyer")
    walk.go("Affiliates")
    walk.follow("hanakim")

    with walk.job("edit an affiliate", clicks=2):
        walk.follow("Edit")
        walk.fill({"Company": "Kim Media", "Your website": "https://kim.example.org"})
        walk.fill({"Metadata": "tier: gold"})
        text = walk.press("Save")
    assert "Kim Media" in text
    assert "https://kim.example.org" in text
    assert "gold" in text
    with walk.job("set the group", clicks=2):
        walk.follow("Change the group")
        walk.fill({"Group": "Magazines"})
        assert "hanakim is in the group Magazines now." in walk.press("Save")
    with walk.job("set the parent", clicks=2):
        walk.follow("Change the parent")
        walk.choose("noahmeyer")
        text = walk.press("Save")
    assert "The parent of hanakim is noahmeyer now." in text
    with walk.job("set a payout method", clicks=2):
        walk.follow("Add a payout method")
        walk.fill({"Method": "PayPal"})
        walk.fill({"E-mail address of the account": "hana@example.org"})
        text = walk.press("Save")
    assert "E-mail: hana@example.org" in text
    with walk.job("write a note", clicks=2):
        walk.follow("Add note")
        walk.fill({"Note": "Prefers calls in the morning."})
        assert "Prefers calls in the morning." in walk.press("Save")

    with walk.job("add an affiliate to a program with a coupon", clicks=2):
        walk.follow("Add to a program")
        walk.fill({"Program": "Harbor Lamps", "Coupon": "HANA10"})
        text = walk.press("Add to program")
    assert "Added to Harbor Lamps: pending." in text
    with walk.job("approve an affiliate", clicks=1):
        text = walk.press("Approve for Harbor Lamps")
    assert "hanakim is approved in Harbor Lamps." in text
    with walk.job("change coupon and referral code", clicks=2):
        walk.follow("Change coupon or code in Harbor Lamps")
        walk.fill({"Coupon": "HANA15", "Referral code": "hana"})
        text = walk.press("Save")
    assert "HANA15" in text
    assert walk.copy("Copy the referral link of Harbor Lamps") == (
        "https://shop.example.net/?ref=hana"
    )
    with walk.job("take an affiliate out of a program", clicks=2):
        walk.follow("Disapprove for Harbor Lamps")
        text = walk.press("Disapprove")
    assert "hanakim is disapproved in Harbor Lamps." in text

    with walk.job("read the history of an affiliate", clicks=1):
        text = walk.follow("History")
    anna = walk.account.staff.get().email
    for sentence in (
        f"{anna} created affiliate hanakim",
        f"{anna} put affiliate hanakim into the group Magazines",
        "of the payout method paypal of affiliate hanakim",
        f"{anna} added affiliate hanakim to program",
    ):
        assert sentence in text
    walk.follow("affiliate hanakim")
    for tab in ("Conversions", "Commissions", "Payments", "Activity"):
        text = walk.follow(tab)
    assert "into the group Magazines" in text
    assert "to noahmeyer" in text

    with walk.job("remove an affiliate", clicks=2):
        walk.follow("Remove")
        assert "hanakim was removed." in walk.press("Remove affiliate")

    with walk.job("create a prospect", clicks=3):
        walk.go("Prospects")
        walk.follow("Add prospect")
        walk.fill({"First name": "Mira", "Last name": "Oz", "Program": "Harbor Lamps"})
        assert "?ref=" in walk.press("Create prospect")
    with walk.job("make a prospect an affiliate", clicks=2):
        walk.follow("Make affiliate")
        assert "miraoz is an affiliate now." in walk.press("Make affiliate")
    walk.go("Prospects")
    walk.follow("Add prospect")
    walk.fill({"First name": "Ute", "Last name": "Lang"})
    walk.press("Create prospect")
    with walk.job("remove a prospect", clicks=2):
        walk.follow("Remove")
        assert "The prospect was removed." in walk.press("Remove prospect")

    with walk.job("rename a group", clicks=4):
        walk.go("Affiliate groups")
        walk.follow("Magazines")
        walk.follow("Edit")
        walk.fill({"Title": "Print magazines"})
        assert "The group Print magazines was saved." in walk.press("Save")
    with walk.job("remove a group", clicks=2):
        walk.follow("Remove")
        assert "The group was removed." in walk.press("Remove group")


def test_sees_the_shop_and_ticks_off_the_checklist(walk, chromium, shop_server):
    shop = f"http://shop.localhost:{shop_server.server_address[1]}"
    create_program(walk, **{"Landing page": f"{shop}/"})
    create_affiliate(walk, "Hana", "Kim")
    walk.follow("Add to a program")
    walk.fill({"Program": "Harbor Lamps", "Approval": "Approved: earns from now on"})
    walk.press("Add to program")
    link = walk.copy("Copy the referral link of Harbor Lamps")
    walk.go("Dashboard")
    snippet = walk.copy("Copy").replace("http://127.0.0.1:8000", walk.home)
    sale = walk.page.inner_text(".dashboard-onboarding p > code")
    assert sale == 'tap("conversion", "ORDER-ID", 49.90);'

    body = f"<!doctype html><html lang='en'><title>Lamps</title><p>A lamp</p>{snippet}"
    shop_server.pages["/"] = (body, {})
    sale = sale.replace("ORDER-ID", "A-1")
    thanks = body.replace('tap("detect");', f'tap("detect");{sale}')
    shop_server.pages["/thanks"] = (thanks, {})
    visitor = open_context(chromium)
    page = visitor.new_page()
    with page.expect_response("**/track/click/"):
        page.goto(link)
    page.wait_for_function("tap.vid")
    with page.expect_response("**/track/conversion/"):
        page.goto(f"{shop}/thanks")
    visitor.close()

    text = walk.go("Dashboard")
    assert "6 of 9 done" in text
    with walk.job("see the sale behind a number of the dashboard", clicks=2):
        if walk.is_phone:  # where a part of the dashboard unfolds
            walk.main.locator("summary", has_text="From clicks").click()
        cards = walk.main.locator(".dashboard-rows a", has_text="Conversions")
        text = walk.load(cards.first)
        assert "A-1" in text
        assert walk.main.locator(".backoffice-chips li").count()
        text = walk.follow(str(walk.account.conversions.get().pk))
    assert "Reported by" in text
    assert "Wins" in text
    with walk.job("find the ID of a click", clicks=2):
        assert "hanakim" in walk.go("Clicks")
        text = walk.load(walk.main.locator(".data-row th a"))
    click_id = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)[0]

    with walk.job("add a sale by its click", clicks=4):
        walk.go("Conversions")
        walk.follow("Add conversion")
        walk.fill({"Amount": "80", "Order ID": "A-2", "Click ID": click_id})
        assert "click" in walk.press("Continue")
        assert "of 80.00 EUR was added." in walk.press("Add conversion")


def test_corrects_sales_and_pays(walk):
    create_program(walk)
    create_affiliate(walk, "Hana", "Kim")
    walk.follow("Add to a program")
    approval = "Approved: earns from now on"
    walk.fill({"Program": "Harbor Lamps", "Approval": approval, "Coupon": "HANA10"})
    walk.press("Add to program")
    create_affiliate(walk, "Noah", "Meyer")
    walk.follow("Add to a program")
    walk.fill({"Program": "Harbor Lamps", "Approval": approval})
    walk.press("Add to program")

    with walk.job("add a sale by its affiliate", clicks=4):
        walk.go("Conversions")
        walk.follow("Add conversion")
        walk.choose("hanakim")
        walk.fill({"Amount": "200", "Order ID": "A-1", "Customer ID": "c-1"})
        text = walk.press("Continue")
        assert "20.00 EUR, pending" in text
        text = walk.press("Add conversion")
    assert "of 200.00 EUR was added." in text
    with walk.job("add a sale by its coupon", clicks=4):
        walk.go("Conversions")
        walk.follow("Add conversion")
        walk.fill({"Amount": "100", "Order ID": "A-2", "Coupon": "HANA10"})
        assert "coupon" in walk.press("Continue")
        walk.press("Add conversion")
    with walk.job("give a sale to another affiliate, and back", clicks=10):
        for name in ("noahmeyer", "hanakim"):
            walk.follow("Change affiliate")
            walk.choose(name)
            walk.fill({"Reason": "Both sent a newsletter"})
            assert "10.00 EUR, pending" in walk.press("Continue")
            text = walk.press("Confirm new affiliate")
            assert f"Sale A-2 ({find_conversion(walk, 'A-2')}) belongs to {name}" in text
            assert "Attributed by staff." in text
    with walk.job("add a sale of a known customer", clicks=4):
        walk.go("Conversions")
        walk.follow("Add conversion")
        walk.fill({"Amount": "50", "Order ID": "A-3", "Customer ID": "c-1"})
        assert "the customer's affiliate" in walk.press("Continue")
        walk.press("Add conversion")

    with walk.job("add a commission", clicks=3):
        walk.follow("Add commission")
        walk.fill({"Amount that earns": "30", "Comment": "Forgotten lamp"})
        walk.press("Continue")
        assert "of 3.00 EUR" in walk.press("Add commission")
    with walk.job("refund a part of a sale", clicks=3):
        walk.follow("Refund")
        amount = walk.main.get_by_label("Amount")
        assert not amount.is_visible()
        walk.fill({"The customer got back": "An amount", "Amount": "10"})
        walk.fill({"Reason": "A scratch"})
        assert "4.00 EUR, pending" in walk.press("Continue")
        text = walk.press("Confirm refund")
    assert f"10.00 EUR of sale A-3 ({find_conversion(walk, 'A-3')}) was" in text
    assert "A scratch" in text
    with walk.job("refund a sale", clicks=3):
        walk.follow("Refund")
        walk.fill({"Reason": "Sent back"})
        assert "removed" in walk.press("Continue")
        text = walk.press("Confirm refund")
    assert "Everything that was left" in text

    walk.go("Conversions")
    walk.follow(str(find_conversion(walk, "A-2").pk))
    with walk.job("correct an order and keep its commission", clicks=4):
        walk.follow("Correct")
        walk.fill({"Amount": "120", "Order ID": "A-2b"})
        walk.fill({"Recalculate the commissions": False, "Reason": "A typo"})
        assert "keep their amounts" in walk.press("Continue")
        text = walk.press("Confirm correction")
    assert "A-2b" in text
    assert "10.00 EUR" in text
    walk.go("Conversions")
    walk.follow(str(find_conversion(walk, "A-1").pk))
    with walk.job("correct an amount and its commission", clicks=3):
        walk.follow("Correct")
        walk.fill({"Amount": "150", "Reason": "A wrong price"})
        text = walk.press("Continue")
        assert "20.00 EUR, pending" in text
        assert "15.00 EUR, pending" in text
        walk.press("Confirm correction")

    commission = walk.account.commissions.get(conversion=find_conversion(walk, "A-1"))
    links = walk.main.locator(".details-table a")
    walk.load(links.filter(has_text=re.compile(rf"^{commission.pk}$")).first)
    with walk.job("correct a commission", clicks=3):
        walk.follow("Correct")
        walk.fill({"Commission": "16", "Comment": "Agreed by phone"})
        assert "16.00 EUR, pending" in walk.press("Continue")
        assert "Agreed by phone" in walk.press("Confirm correction")
    with walk.job("decline a commission", clicks=3):
        walk.follow("Disapprove")
        walk.fill({"Reason": "Own order"})
        walk.press("Continue")
        text = walk.press("Disapprove commission")
    assert "Own order" in text
    with walk.job("put a commission back to pending", clicks=2):
        walk.press("Put back to pending")
        text = walk.press("Put back to pending")
    assert "Own order" in text
    with walk.job("approve a commission", clicks=2):
        assert "Balance due" in walk.press("Approve")
        text = walk.press("Approve commission")
    assert "of 16.00 EUR is approved now." in text

    with walk.job("approve all commissions and undo it", clicks=6):
        walk.go("Commissions")
        walk.follow("Pending")
        walk.page.check("#action-toggle")
        walk.page.select_option("select[name=action]", label="Approve")
        assert "total 10.00 EUR" in walk.press("Run")
        assert "1 done" in walk.press("Approve commissions")
        assert "1 done" in walk.press("Undo: put back to pending")

    walk.go("Affiliates")
    walk.follow("hanakim")
    with walk.job("pay an affiliate", clicks=3):
        walk.follow("Pay")
        text = walk.press("Continue")
        assert "16.00 EUR" in text
        assert "Paid out" in text
        text = walk.press("Record payment")
    assert "of 16.00 EUR was recorded." in text

    walk.go("Conversions")
    walk.follow(str(find_conversion(walk, "A-1").pk))
    walk.follow("Remove")
    walk.fill({"Reason": "A test"})
    text = walk.press("Continue")
    assert "Balance due of hanakim becomes negative: -16.00 EUR." in text
    assert walk.main.locator("#effects .negative").count()
    text = walk.press("Remove conversion")
    assert "amount: 200 → 150" in text
    with walk.job("read the history of a sale", clicks=1):
        if walk.is_phone:
            walk.find("link", "More actions").click()
        text = walk.load(walk.main.get_by_role("link", name="History"))
    anna = walk.account.staff.get().email
    assert f"{anna} created conversion A-1" in text
    assert f"{anna} removed conversion A-1" in text

    with walk.job("cancel a payment with a reason", clicks=5):
        walk.go("Payments")
        walk.follow(walk.account.payments.get().public_id)
        walk.follow("Cancel payment")
        walk.fill({"Reason": "The bank returned it"})
        walk.press("Continue")
        walk.press("Cancel payment")
    assert "canceled" in walk.text.lower()
    assert "The bank returned it" in walk.text


def find_conversion(walk, order):
    return walk.account.conversions.get(external_id=order)


def test_finds_and_decides(walk):
    scenario = ProgramScenario(walk.account)
    now = timezone.now()
    for number in range(1, 53):
        scenario.create_conversion(
            str(number), external_id=f"A-{number:02}", customer_id=f"c-{number}", at=now
        )
    walk.go("Dashboard")

    with walk.job("find an affiliate by a part of its name", clicks=3):
        walk.go("Affiliates")
        walk.page.fill("#searchbar", "essle")
        with walk.page.expect_navigation():
            walk.page.press("#searchbar", "Enter")
        walk.check_page()
        assert "Mina Kessler" in walk.follow("minakessler")
    with walk.job("find a sale by a part of its order ID", clicks=1):
        found = walk.search("A-5", "A-52")
        assert found.get_by_role("link").count() == 3
        walk.load(found.get_by_role("link", name="A-52"))
    assert "52.00 EUR" in walk.text
    with walk.job("go to an action by its name", clicks=1):
        found = walk.search("approve comm", "Approve commissions")
        walk.load(found.get_by_role("link"))
    assert "52 commissions" in walk.text
    assert "1,378" not in walk.text
    assert "137.80 EUR" in walk.text

    with walk.job("sort by amount and turn the page", clicks=3):
        walk.follow("Amount")
        assert "0.10 EUR" in walk.main.locator(".data-row").first.inner_text()
        walk.follow("Page 2")
        assert "5.20 EUR" in walk.text
    with walk.job("filter by an affiliate, and save the view", clicks=5):
        walk.go("Commissions")
        walk.page.get_by_role("button", name="Filters", exact=True).click()
        walk.page.fill("#filter-affiliate", "minakessler")
        walk.load(walk.page.get_by_role("button", name="Apply Filters"))
        chips = walk.main.locator(".backoffice-chips")
        assert "Mina Kessler" in chips.inner_text()
        walk.page.click("text=Save this view")
        walk.fill({"Name": "Mina's"})
        walk.press("Save")
    walk.follow("Remove the filter Affiliate: Mina Kessler (minakessler)")
    assert not chips.count()
    walk.follow("Mina's")
    assert "Mina Kessler" in chips.inner_text()

    walk.go("Dashboard")
    with walk.job("see what needs attention", clicks=1):
        cards = walk.main.locator(".dashboard-attention a")
        walk.load(cards.filter(has_text="Pending commissions"))
    assert "52 commissions" in walk.text
    decide_by_keyboard(walk)


def decide_by_keyboard(walk):
    """Disapprove two commissions of a list and undo it, without a pointer."""
    page, press = walk.page, walk.page.keyboard.press

    def press_until(selector, limit):
        """Press Tab until an element has the focus."""
        for _ in range(limit):
            press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        pytest.fail(f"{selector} was not reached")

    def enter():
        with page.expect_navigation(wait_until="load"):
            press("Enter")
        walk.check_page()

    press("Tab")
    press("Enter")  # skip to the content
    press_until("input.action-select", 40)
    press("Space")
    press_until(".data-row th a", 3)
    enter()  # a look at the row
    page.go_back()
    page.wait_for_function("document.querySelector('.action-select').checked")
    assert page.inner_text(".action-counter").startswith("1 of 50")

    page.focus("body")
    press("Tab")
    press("Enter")
    press_until("input.action-select:not(:checked)", 40)
    press("Space")
    press_until(".selection-link", 1)
    press("Enter")
    page.keyboard.type("Dis")
    page.locator("button[name=index]").wait_for()
    press_until("button[name=index]", 3)
    enter()
    assert "2 commissions" in walk.text
    page.locator("#id_reason:focus").wait_for()
    page.keyboard.type("Own orders")
    press_until("button[type=submit]", 3)
    enter()
    assert "Disapprove commissions: 2 done." in walk.text
    found = walk.account.commissions.filter(comment="Disapproved: Own orders")
    assert {commission.status for commission in found} == {"disapproved"}
    press("Tab")
    press("Enter")
    press_until("form button[type=submit]", 40)
    enter()
    assert "Put back to pending: 2 done." in walk.text
    assert not page.locator("input.action-select:checked").count()


def test_runs_the_account(walk_with_mail, mail_server):
    walk = walk_with_mail
    account = walk.account
    with walk.job("set name and time zone", clicks=2):
        walk.go("Account settings")
        walk.fill({"Name": "Harbor Lamps Ltd", "Time zone": "Europe/Ljubljana"})
        walk.fill({"Currency": "EUR", "Approve commissions automatically": True})
        walk.fill({"Color of QR codes": "#14532d"})
        walk.find_field("Logo").set_input_files(LOGO)
        assert "The settings were saved." in walk.press("Save")
        walk.fill({"Remove logo": False})  # which is offered now
    assert "Days in Europe/Ljubljana" in walk.go("Dashboard")

    with walk.job("create an API key", clicks=2):
        walk.follow("Create an API key or a webhook")
        role = walk.find_field("Role")
        assert role.evaluate("role => role.value") == "viewer"
        walk.fill({"Label": "shop"})
        walk.press("Create API key")
    assert walk.page.inner_text("#secret")
    with walk.job("create the key of a proxy, with the lines for it", clicks=4):
        walk.go("API keys")
        walk.follow("Add API key")
        walk.fill({"Role": "Page proxy: only passes calls of your pages on"})
        walk.press("Create API key")
        walk.page.click("summary:has-text('Caddy')")
    key = walk.page.inner_text("#secret")
    assert f'X-Affiliate-Proxy "{key}"' in walk.page.inner_text("#snippet-2")

    with walk.job("create a webhook", clicks=3):
        walk.go("Webhooks")
        walk.follow("Add webhook")
        walk.fill({"URL": "https://hooks.example.net/a", "conversion.created": True})
        assert "whsec_" in walk.press("Create webhook")
    with walk.job("change a webhook", clicks=4):
        walk.follow("Back to the list")
        walk.follow(account.webhook_endpoints.get().public_id)
        walk.follow("Edit")
        walk.fill({"URL": "https://hooks.example.net/b", "conversion.created": False})
        text = walk.press("Save")
    assert "https://hooks.example.net/b" in text
    assert "all events" in text
    with walk.job("send a test event", clicks=2):
        walk.follow("Send test event")
        text = walk.press("Send test event")
    assert "webhook.test" in text

    with walk.job("invite a colleague", clicks=3):
        walk.go("Dashboard")
        walk.follow("Invite your team")
        zoe = f"zoe@{account.slug}.example.org"
        walk.fill({"E-mail": zoe})
        text = walk.press("Add staff user")
    assert f"{zoe} was invited." in text
    [mail] = mail_server.mails
    assert "Harbor Lamps Ltd" in mail
    link = re.search(r"/admin/(invitation/\S+)", mail)[1]
    set_up_second_factor(walk)

    walk.page.context.clear_cookies()
    walk.open(link)
    walk.fill({"Password": PASSWORD, "Password again": PASSWORD})
    assert "Your password is set." in walk.press("Set password")
    walk.fill({"E-mail": zoe, "Password": PASSWORD})
    walk.load(walk.main.get_by_role("button", name="Log in"))
    assert "Set up your affiliate program" in walk.text


def set_up_second_factor(walk):
    """Set up a device, and sign in with a recovery code."""
    email = walk.account.staff.order_by("pk").first().email
    with walk.job("set up two-factor authentication", clicks=4):
        walk.open_menu()
        walk.page.get_by_role("button", name="Account menu").click()
        walk.load(walk.page.get_by_role("link", name="Two-factor authentication"))
        walk.press("Set up")
        key = b32decode(walk.page.inner_text("#secret").replace(" ", ""))
        walk.fill({"Code": f"{totp(key):06d}", "Password": PASSWORD})
        walk.press("Confirm")
    code = walk.page.inner_text("#codes").split()[0]
    walk.follow("Continue to the dashboard")

    walk.page.context.clear_cookies()
    walk.open("")
    walk.page.fill("#id_account", walk.account.slug)
    walk.page.fill("#id_username", email)
    walk.page.fill("#id_password", PASSWORD)
    walk.page.fill("#id_code", code)
    text = walk.load(walk.main.get_by_role("button", name="Log in"))
    assert "9 are left" in text
