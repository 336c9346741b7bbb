"""What a link, code, coupon or tracking ID is worth, for staff who are signed in."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.connections import create_connection
from tracking.services.visitors import generate_tracking_id

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOBODY = "A visit does not count. The referral code of the link is unknown."


@pytest.fixture
def check(staff_client, scenario):
    """Check a text on the page of a connection: `check("https://…")`."""
    shop = create_connection(scenario.account, kind="stripe", at=CONVERSION_CREATED_AT)
    url, client = (
        reverse("admin:tracking_connection_check", args=[shop.pk]),
        staff_client(),
    )

    def post(text):
        before = scenario.account.clicks.count()
        response = client.post(url, {"text": text})
        assert scenario.account.clicks.count() == before
        (section,) = response.context["sections"]
        return list(section.notes)

    return post


@pytest.mark.parametrize(
    "text",
    [
        "https://shop.example.net/lamps?a=1&ref={code}",
        "https://shop.example.net/?ref=nobody&ref={code}#top",
        "{url}/r/{slug}/{code}/?sub_id=a",
        "https://shop.example.net/?tap_a={asset}&tap_s={source}",
    ],
)
def test_says_for_whom_a_link_counts(check, scenario, text):
    mina = scenario.mina
    text = text.format(
        url=settings.PUBLIC_URL,
        slug=scenario.account.slug,
        code=mina.code,
        asset=mina.asset_id,
        source=mina.source_id,
    )

    assert check(text) == [f"A visit counts for {mina.affiliate} in {scenario.program.title}."]


def test_says_why_a_link_does_not_count(check, scenario, other_account):
    (unknown,) = check("https://shop.example.net/?ref=nobody")
    assert unknown.startswith(NOBODY)
    (foreign,) = check(f"https://shop.example.net/?via={scenario.mina.code}")
    assert foreign.startswith(NOBODY)
    assert check("https://shop.example.net/?utm_source=a") == [
        "This address has no parameters of a link: a page with it reports no visit."
    ]
    assert check(f"{settings.PUBLIC_URL}/r/elsewhere/{scenario.mina.code}/") == [
        "This short link is of another account: elsewhere."
    ]
    assert check("https://[::1/") == ["This is no address."]
    scenario.program.update_row(link_parameters=["via"])
    (counts,) = check(f"https://shop.example.net/?via={scenario.mina.code}")
    assert counts.startswith("A visit counts for ")


def test_says_whose_a_code_or_coupon_is(check, scenario):
    mina = scenario.mina
    assert check(mina.code) == [
        f"A visit counts for {mina.affiliate} in {scenario.program.title}.",
        "It is no coupon.",
    ]
    visit, coupon = check(f" {mina.coupon} ")
    assert visit.startswith(NOBODY)
    assert coupon == f"The coupon {mina.coupon} is of {mina.affiliate}."


def test_says_whose_visit_a_tracking_id_names(check, scenario):
    vid = generate_tracking_id(scenario.account.slug)
    unknown = "This tracking ID names no visit of this account"
    assert check(vid)[0].startswith(unknown)
    click = scenario.create_click()
    click.update_row(created_at=timezone.now() - timedelta(days=2))
    scenario.account.visitors.create(tracking_id=vid, click=click, created_at=timezone.now())

    (visit,) = check(vid)
    assert visit.startswith(f"This visitor came by a link of {scenario.mina.affiliate}")
    assert "earns nothing" not in visit
    click.update_row(created_at=timezone.now() - timedelta(days=45))
    assert "older than the cookie lifetime of 45 days" in check(vid)[0]


def test_knows_nothing_of_other_accounts(check, other_account, scenario):
    other_account.coupons.all()
    vid = generate_tracking_id(other_account.slug)

    assert check(vid)[0].startswith("This tracking ID names no visit")
