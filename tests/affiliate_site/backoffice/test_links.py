"""Affiliate links: copy buttons, QR codes and their downloads."""

import re
from base64 import b64encode
from html import unescape
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.services.accounts import set_logo
from affiliate_site import qr_codes
from affiliate_site.backoffice import links
from affiliate_site.qr_codes import QrStyle
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.services.account_settings import update_account_settings

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

SVG = "{http://www.w3.org/2000/svg}"


def get_page(client, row):
    meta = row._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def list_copyable_links(page):
    """The texts that the buttons copy."""
    element_ids = re.findall(r'data-copy-target="([^"]+)"', page)
    return [
        unescape(re.search(rf'id="{element_id}"[^>]*>([^<]+)<', page).group(1))
        for element_id in element_ids
    ]


def render_svg_path(link):
    """The SVG path of a QR code."""
    return re.search(r'stroke="#000" d="([^"]+)"', qr_codes.render_inline_svg(link)).group(1)


def build_both_links(affiliate, page="https://shop.example.net/"):
    return [
        f"{page}?ref={affiliate.code}",
        f"{page}?tap_a={affiliate.asset_id}&tap_s={affiliate.source_id}",
    ]


def test_shows_the_links_of_a_program_affiliate(staff_client, scenario):
    page = get_page(staff_client(role=Role.VIEWER), scenario.mina.enrollment)

    assert list_copyable_links(page) == build_both_links(scenario.mina)
    for link in build_both_links(scenario.mina):
        assert render_svg_path(link) in page
        escaped = link.replace("&", "&amp;")
        assert f'role="img" aria-label="QR code of {escaped}"' in page
    assert "backoffice/copy" in page


def test_shows_the_links_of_all_programs_of_an_affiliate(staff_client, scenario, account):
    second = ProgramScenario(account, slug="spring", email=None, title="Spring")
    enrolled = second.enroll(scenario.mina.affiliate, approved=None)

    page = get_page(staff_client(), scenario.mina.affiliate)

    assert sorted(list_copyable_links(page)) == sorted(
        [*build_both_links(scenario.mina), *build_both_links(enrolled)]
    )
    assert page.count("until the affiliate is approved") == 1


def test_escapes_referral_codes(staff_client, scenario, account):
    account.referral_codes.filter(enrollment=scenario.mina.enrollment).update(code='<b>"&amp;')

    page = get_page(staff_client(), scenario.mina.enrollment)

    link = "https://shop.example.net/?ref=%3Cb%3E%22%26amp%3B"
    assert list_copyable_links(page)[0] == link
    assert "<b>" not in page


def test_explains_missing_links(staff_client, scenario, account):
    affiliate = account.affiliates.create(slug="lone", firstname="Lone", lastname="Wolf")
    client = staff_client()

    assert "Not in any program yet" in get_page(client, affiliate)
    assert "Not in any program yet" not in get_page(client, scenario.mina.affiliate)


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize("number", [1, 25])
def test_query_count_does_not_depend_on_the_number_of_programs(
    staff_client, account, capture_queries, number
):
    shop = ProgramScenario(account)
    for count in range(1, number):
        ProgramScenario(account, slug=f"program-{count}", email=None).enroll(shop.mina.affiliate)
    client = staff_client()

    with capture_queries() as queries:
        page = get_page(client, shop.mina.affiliate)

    assert len(queries) <= 29
    assert len(list_copyable_links(page)) == 2 * number
    assert page.count("<svg viewBox") == 2 * min(number, links.MAX_QR_CODES)
    with capture_queries() as queries:
        get_page(client, shop.mina.enrollment)
    assert len(queries) <= 15


def test_downloads_a_qr_code(staff_client, scenario):
    page = get_page(staff_client(role=Role.VIEWER), scenario.mina.enrollment)
    client = staff_client()

    paths = re.findall(r'href="([^"]+\.svg)" download', page)
    for path, link in zip(paths, build_both_links(scenario.mina), strict=True):
        response = client.get(path)
        assert response["Content-Type"] == "image/svg+xml"
        kind = path.split("/")[-1]
        name = f"harbor-lamp-partners-minakessler-{kind}"
        assert response["Content-Disposition"] == f'attachment; filename="{name}"'
        svg = ElementTree.fromstring(response.content)  # noqa: S314 - our own
        assert svg.find(f"{SVG}title").text == link
        assert render_svg_path(link) in response.content.decode()


def test_downloads_no_qr_code_of_another_account(staff_client, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None).mina.enrollment
    client = staff_client()

    for number, kind in (
        (foreign.pk, "referral"),
        (foreign.pk, "asset"),
        (10**9, "asset"),
        (scenario.mina.enrollment.pk, "coupon"),
    ):
        url = reverse("admin:tracking_enrollment_qr", args=[number, kind])
        assert client.get(url).status_code == 404


def test_shows_no_qr_code_of_a_link_that_is_too_long(staff_client, scenario, account):
    account.programs.update(landing_page="https://shop.example.net/?" + "ü" * 1200)
    client = staff_client()

    page = get_page(client, scenario.mina.enrollment)

    assert page.count("too long for a QR code") == 2
    assert ".svg" not in page.partition("backoffice-links")[2].partition("</section>")[0]
    for kind in ("referral", "asset"):
        number = scenario.mina.enrollment.pk
        url = reverse("admin:tracking_enrollment_qr", args=[number, kind])
        assert client.get(url).status_code == 404


def test_encodes_links_up_to_the_limit():
    assert qr_codes.is_encodable("x" * qr_codes.MAX_LINK_BYTES)
    assert not qr_codes.is_encodable("x" * (qr_codes.MAX_LINK_BYTES + 1))
    assert not qr_codes.is_encodable("é" * (qr_codes.MAX_LINK_BYTES // 2 + 1))
    assert qr_codes.render_inline_svg("x" * qr_codes.MAX_LINK_BYTES)


# Color and logo of the account

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
LOGO_URL = f"data:image/png;base64,{b64encode(PNG).decode()}"


def test_qr_codes_have_the_color_and_the_logo_of_the_account(staff_client, scenario, account):
    update_account_settings(account, changes={"link_color": "#14532d"}, at=NOW)
    set_logo(account, image=PNG, at=NOW)
    client, enrollment = staff_client(role=Role.VIEWER), scenario.mina.enrollment
    url = reverse("admin:tracking_enrollment_qr", args=[enrollment.pk, "referral"])

    pages = [
        get_page(client, scenario.mina.affiliate),
        get_page(client, enrollment),
        client.get(url).content.decode(),
    ]

    for page in pages:
        assert 'stroke="#14532d"' in page
        assert f'href="{LOGO_URL}"' in page
    assert ElementTree.fromstring(pages[-1]).findall(f"{SVG}image")  # noqa: S314 - ours


def test_the_logo_is_in_the_middle():
    style = QrStyle(logo=LOGO_URL)
    root = ElementTree.fromstring(qr_codes.render_svg_file("https://a.example", style))  # noqa: S314 - ours
    image, width = root.find(f"{SVG}image"), float(root.get("width"))

    size = float(image.get("width"))
    assert size == float(image.get("height")) == pytest.approx(width * 0.22, abs=0.1)
    assert float(image.get("x")) + size / 2 == pytest.approx(width / 2, abs=0.1)


def test_a_very_long_link_has_no_room_for_a_logo():
    svg = qr_codes.render_inline_svg("x" * 2000, QrStyle(logo=LOGO_URL))

    assert "<image" not in svg


def test_another_account_has_its_own_style(staff_client, scenario, other_account):
    set_logo(other_account, image=PNG, at=NOW)

    assert "<image" not in get_page(staff_client(), scenario.mina.affiliate)
