"""Links ready to copy: with a button, a QR code, and a file of it."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from accounts.models.keys import Role
from affiliate_site.backoffice import linking, qr
from tests.shop import Shop

SVG = "{http://www.w3.org/2000/svg}"


def page_of(client, thing):
    meta = thing._meta
    address = reverse(
        f"admin:{meta.app_label}_{meta.model_name}_change", args=[thing.pk]
    )
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def links_on(page):
    """What the buttons copy."""
    copied = re.findall(r'data-copies="([^"]+)"', page)
    return [
        unescape(re.search(rf'id="{mark}"[^>]*>([^<]+)<', page).group(1))
        for mark in copied
    ]


def drawing(link):
    """The path by which a QR code is told from others."""
    return re.search(r'stroke="#000" d="([^"]+)"', qr.inline(link)).group(1)


def both(member, page="https://shop.example.net/"):
    return [
        f"{page}?ref={member.code}",
        f"{page}?tap_a={member.asset_id}&tap_s={member.source_id}",
    ]


def test_shows_the_links_of_a_membership(staff, shop):
    page = page_of(staff(role=Role.VIEWER), shop.mina.enrolment)

    assert links_on(page) == both(shop.mina)
    for link in both(shop.mina):
        assert drawing(link) in page
        told = link.replace("&", "&amp;")
        assert f'role="img" aria-label="QR code of {told}"' in page
    assert "backoffice/copy" in page


def test_shows_an_affiliate_the_links_of_every_program(staff, shop, account):
    second = Shop(account, slug="spring", email=None, title="Spring")
    there = second.take_in(shop.mina.affiliate, approved=None)

    page = page_of(staff(), shop.mina.affiliate)

    assert sorted(links_on(page)) == sorted([*both(shop.mina), *both(there)])
    assert page.count("until the affiliate is approved") == 1


def test_writes_an_odd_code_so_that_it_arrives(staff, shop, account):
    account.referral_codes.filter(enrolment=shop.mina.enrolment).update(
        code='<b>"&amp;'
    )

    page = page_of(staff(), shop.mina.enrolment)

    link = "https://shop.example.net/?ref=%3Cb%3E%22%26amp%3B"
    assert links_on(page)[0] == link
    assert "<b>" not in page


def test_says_where_there_is_no_link_yet(staff, shop, account):
    lone = account.affiliates.create(slug="lone", firstname="Lone", lastname="Wolf")
    client = staff()

    assert "In no program yet" in page_of(client, lone)
    assert "In no program yet" not in page_of(client, shop.mina.affiliate)


@pytest.mark.parametrize("number", [1, 25])
def test_asks_as_often_for_many_programs_as_for_one(staff, account, statements, number):
    shop = Shop(account)
    for count in range(1, number):
        Shop(account, slug=f"program-{count}", email=None).take_in(shop.mina.affiliate)
    client = staff()

    with statements() as asked:
        page = page_of(client, shop.mina.affiliate)

    assert len(asked) <= 15
    assert len(links_on(page)) == 2 * number
    assert page.count("<svg viewBox") == 2 * min(number, linking.PICTURED)
    with statements() as asked:
        page_of(client, shop.mina.enrolment)
    assert len(asked) <= 15


def test_hands_out_a_picture_to_keep(staff, shop):
    page = page_of(staff(role=Role.VIEWER), shop.mina.enrolment)
    client = staff()

    paths = re.findall(r'href="([^"]+\.svg)" download', page)
    for path, link in zip(paths, both(shop.mina), strict=True):
        answer = client.get(path)
        assert answer["Content-Type"] == "image/svg+xml"
        kind = path.split("/")[-1]
        name = f"harbor-lamp-partners-minakessler-{kind}"
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        picture = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
        assert picture.find(f"{SVG}title").text == link
        assert drawing(link) in answer.content.decode()


def test_hands_out_no_picture_of_another_account(staff, shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-", email=None).mina.enrolment
    client = staff()

    for number, kind in (
        (theirs.pk, "referral"),
        (theirs.pk, "asset"),
        (10**9, "asset"),
        (shop.mina.enrolment.pk, "coupon"),
    ):
        address = reverse("admin:tracking_enrolment_qr", args=[number, kind])
        assert client.get(address).status_code == 404


def test_hands_out_no_picture_to_a_stranger(client, shop):
    number = shop.mina.enrolment.pk

    answer = client.get(reverse("admin:tracking_enrolment_qr", args=[number, "asset"]))

    assert answer.status_code == 302


def test_draws_no_link_that_has_no_room(staff, shop, account):
    account.programs.update(landing_page="https://shop.example.net/?" + "ü" * 1200)
    client = staff()

    page = page_of(client, shop.mina.enrolment)

    assert page.count("too long for a QR code") == 2
    assert ".svg" not in page.partition("office-links")[2].partition("</section>")[0]
    for kind in ("referral", "asset"):
        number = shop.mina.enrolment.pk
        address = reverse("admin:tracking_enrolment_qr", args=[number, kind])
        assert client.get(address).status_code == 404


def test_draws_the_longest_link_that_it_lets_in():
    assert qr.has_room("x" * qr.LONGEST)
    assert not qr.has_room("x" * (qr.LONGEST + 1))
    assert not qr.has_room("é" * (qr.LONGEST // 2 + 1))
    assert qr.inline("x" * qr.LONGEST)
