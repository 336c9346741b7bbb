"""Everything that a page lists as a CSV file."""

import csv
from io import StringIO

import pytest
from django.conf import settings
from django.utils import timezone

from affiliate_site.portal import tables
from payouts.services.payments import cancel_payment
from tests.affiliate_site.portal.test_figures import read_file
from tests.affiliate_site.portal.test_links import IMAGE, SHOP, add
from tests.affiliate_site.portal.test_pages import earn, get_page
from tests.payout_scenario import Paid, create_run
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")


def read_rows(client, url):
    return list(csv.reader(StringIO("\n".join(read_file(client.get(url))))))


def test_links_and_coupons(mina, portal, scenario):
    mine, title = scenario.mina, "Harbor Lamp Partners"
    rows = read_rows(mina, f"{portal}links/?file=links")
    assert rows == [
        ["Program", "Kind", "Link or coupon"],
        [title, "Your link", f"{SHOP}?ref={mine.code}"],
        [title, "Short link", f"{settings.PUBLIC_URL}/r/harbor/{mine.code}/"],
        [
            title,
            "Link without your code",
            f"{SHOP}?tap_a={mine.asset_id}&tap_s={mine.source_id}",
        ],
        [title, "Coupon", mine.coupon],
    ]
    query = f"page={SHOP}desk"
    longer = read_rows(mina, f"{portal}links/?{query}&file=links")
    assert [title, "Your link", f"{SHOP}desk?ref={mine.code}"] in longer
    assert len(longer) == len(rows) + 3
    assert 'href="?file=links" download' in get_page(mina, f"{portal}links/")


def test_links_of_approved_programs_only(mina, account, portal, scenario):
    account.enrollments.update(approved=None)
    assert len(read_rows(mina, f"{portal}links/?file=links")) == 1
    assert "file=links" not in get_page(mina, f"{portal}links/")


def test_creatives_with_the_own_link(mina, portal, scenario, monkeypatch):
    monkeypatch.setattr(tables, "FILE_PART", 1)
    add(scenario, text="=1+1", title="@Spring")
    add(scenario, image=IMAGE, title="Banner")
    link = f"{SHOP}?ref={scenario.mina.code}"
    source = f"{settings.PUBLIC_URL}/creatives/harbor/{IMAGE.file_name}"
    assert read_rows(mina, f"{portal}creatives/?file=creatives") == [
        [
            *("Program", "Title", "Text", "Width", "Height", "Your link"),
            "Code for your page, with your link in it",
        ],
        [
            *("Harbor Lamp Partners", "Banner", "", "468", "60", link),
            f'<a href="{link}" rel="sponsored">'
            f'<img src="{source}" width="468" height="60"'
            ' alt="Banner"></a>',
        ],
        [
            *("Harbor Lamp Partners", "'@Spring", "'=1+1", "", "", link),
            f'<a href="{link}" rel="sponsored">=1+1</a>',
        ],
    ]
    assert 'href="?file=creatives" download' in get_page(mina, f"{portal}creatives/")


def test_payments_in_all_states(mina, account, portal, scenario, monkeypatch):
    monkeypatch.setattr(tables, "FILE_PART", 1)
    create_run(account, Paid("3"))
    create_run(account, Paid("4"))
    for amount in ("20", "40"):
        earn(scenario, amount)
    stranger = scenario.create_enrolled_affiliate("Odette", "Lind")
    create_run(account, Paid("9", slug=stranger.slug))
    account.payout_lines.update(state="settled")
    create_run(account, Paid("5"))
    canceled, returned = account.payments.get(amount=3), account.payments.get(amount=4)
    for payment in (canceled, returned):
        cancel_payment(account, payment_id=payment.public_id, at=timezone.now())
    account.payout_lines.filter(payment=returned).update(state="returned")
    rows = read_rows(mina, f"{portal}payments/?file=payments&before=1")
    assert rows[0] == ["Day", "Payment", "State", "Amount", "Currency"]
    assert [row[2:] for row in rows[1:]] == [
        ["On its way", "5", "EUR"],
        ["Came back, owed again", "4", "EUR"],
        ["Canceled, owed again", "3", "EUR"],
    ]
    page = get_page(mina, f"{portal}payments/")
    assert 'href="?file=payments" download' in page
    assert '<span class="state canceled">Canceled, owed again</span>' in page
    assert '<span class="state returned">Came back, owed again</span>' in page


@pytest.mark.parametrize("with_sales", [False, True])
def test_recruits_as_the_account_shows_them(mina, account, portal, scenario, with_sales):
    changes = {"shows_recruit_sales": with_sales}
    update_portal_settings(account, changes=changes, at=timezone.now())
    for name in ("Eve", "=Nils"):
        child = scenario.create_enrolled_affiliate(name, "Zz-Berg")
        scenario.add_child(child, scenario.mina)
    expected = [["First name", "Sales of all time"], ["'=Nils", "0"], ["Eve", "0"]]
    if not with_sales:
        expected = [row[:1] for row in expected]
    assert read_rows(mina, f"{portal}recruits/?file=recruits") == expected
    assert 'href="?file=recruits" download' in get_page(mina, f"{portal}recruits/")
