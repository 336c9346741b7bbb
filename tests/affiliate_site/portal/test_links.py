"""Links, QR codes and creatives: own ones only, to pages of the shop only."""

from html import unescape
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.utils import timezone

from tests.affiliate_site.portal.test_pages import get_page
from tests.program_scenario import ProgramScenario
from tracking.services.creatives import StoredImage, archive_creative, create_creative
from tracking.services.enrollments import set_approval

pytestmark = pytest.mark.usefixtures("shared_scenario")

SHOP = "https://shop.example.net/"
IMAGE = StoredImage(f"{'a' * 32}.png", "image/png", 468, 60)


def read(client, url):
    return unescape(get_page(client, url))


def add(scenario, **values):
    values = {"program_id": scenario.program.slug, "title": "Spring"} | values
    return create_creative(scenario.account, **values, at=timezone.now())


def test_gives_each_link_to_copy_send_and_print(mina, portal, scenario):
    page, code = read(mina, f"{portal}links/"), scenario.mina.code
    slug = scenario.program.slug
    for text in (
        f'value="{SHOP}?ref={code}"',
        f'value="{settings.PUBLIC_URL}/r/harbor/{code}/"',
        f'value="{SHOP}?tap_a={scenario.mina.asset_id}&tap_s={scenario.mina.source_id}"',
        f'src="{portal}links/qr/?kind=link&program={slug}"',
        f'href="{portal}links/qr/?kind=short&program={slug}&download=1"',
        "mailto:?subject=Harbor%20Lamp%20Partners&body=https%3A%2F%2Fshop.example.net",
        'data-share="link-1" data-title="Harbor Lamp Partners" hidden',
        f"Your coupon: <strong>{scenario.mina.coupon}</strong>",
    ):
        assert text in page


def test_builds_a_link_with_a_sub_id(mina, portal, scenario):
    query = urlencode({"page": f"{SHOP}desk?ref=other&a=1", "sub_id": "mail-1"})
    page, code = read(mina, f"{portal}links/?{query}"), scenario.mina.code
    assert f'value="{SHOP}desk?a=1&sub_id=mail-1&ref={code}"' in page
    to = urlencode({"to": f"{SHOP}desk?a=1", "sub_id": "mail-1"})
    assert f'value="{settings.PUBLIC_URL}/r/harbor/{code}/?{to}"' in page
    assert 'id="page-1-asset"' not in page


def test_takes_a_path_as_a_page_of_the_shop(mina, portal, scenario):
    page = read(mina, f"{portal}links/?page=/desk?a=1")
    label = '<label for="page-1">Your link to this page</label>'
    assert label in page
    assert f'value="{SHOP}desk?a=1&ref={scenario.mina.code}"' in page
    for other in ("//evil.example/", "//[", "https://evil.example/", "/" + "x" * 1600):
        page = read(mina, f"{portal}links/?{urlencode({'page': other})}")
        assert 'class="error"' in page
        assert label not in page
    page = read(mina, f"{portal}links/?page=https://evil.example/")
    assert "Your links lead to pages of: shop.example.net" in page


@pytest.mark.parametrize("sub_id", ["a b", "x" * 65, "a&b", "ä", "<script>"])
def test_says_which_names_a_link_can_have(mina, portal, scenario, sub_id):
    query = urlencode({"page": SHOP, "sub_id": sub_id})
    page = get_page(mina, f"{portal}links/?{query}")
    assert 'class="error"' in page
    assert 'id="page-1"' not in page


def test_shows_no_links_without_a_landing_page(mina, portal, scenario):
    scenario.program.update_row(landing_page="")
    page = get_page(mina, f"{portal}links/")
    assert "This program has no page to link to yet." in page
    assert "Make link" not in page


def test_draws_qr_codes(mina, portal, scenario):
    query = {"kind": "link", "program": scenario.program.slug}
    for values in ({}, {"kind": "short"}, {"page": f"{SHOP}desk", "sub_id": "a"}):
        response = mina.get(f"{portal}links/qr/", query | values)
        assert response["Content-Type"] == "image/svg+xml"
        assert response["Content-Disposition"] == (
            f'inline; filename="{scenario.program.slug}.svg"'
        )
    assert f"<title>{SHOP}desk?sub_id=a&amp;ref={scenario.mina.code}</title>" in (
        response.content.decode()
    )
    response = mina.get(f"{portal}links/qr/", query | {"download": "1"})
    assert response["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "other"},
        {"kind": ""},
        {"program": "other"},
        {"program": "a\0"},
        {"page": "https://evil.example/"},
        {"page": "//evil.example/"},
        {"page": "https://shop.example.net@evil.example/"},
        {"page": "https://shop.example.net:8443/"},
        {"page": f"{SHOP}{'x' * 3000}"},
        {"sub_id": "a b"},
    ],
)
def test_draws_no_other_qr_codes(mina, portal, scenario, values):
    query = {"kind": "link", "program": scenario.program.slug} | values
    get_page(mina, f"{portal}links/qr/?{urlencode(query)}", status=404)


def test_draws_qr_codes_for_approved_programs_only(mina, client, portal, scenario):
    url = f"{portal}links/qr/?kind=link&program={scenario.program.slug}"
    assert client.get(url).status_code == 302
    enrollment = {"affiliate_id": scenario.mina.slug, "approved": False}
    program = scenario.program
    set_approval(scenario.account, program=program, **enrollment, at=timezone.now())
    get_page(mina, url, status=404)


def test_shows_creatives_with_the_own_link(mina, portal, scenario):
    add(scenario, image=IMAGE, title='Say "hi" <b>')
    add(scenario, text="Lamps & desks")
    code = f"{SHOP}?ref={scenario.mina.code}"
    page = get_page(mina, f"{portal}creatives/")
    assert f'<img class="banner" src="/creatives/harbor/{IMAGE.file_name}"' in page
    assert "468 x 60 pixels" in page
    assert "Say &quot;hi&quot; &lt;b&gt;" in page
    shown = unescape(page)
    assert (
        f'<a href="{code}" rel="sponsored">'
        f'<img src="{settings.PUBLIC_URL}/creatives/harbor/'
        f'{IMAGE.file_name}" width="468" height="60"'
        ' alt="Say &quot;hi&quot; &lt;b&gt;"></a></textarea>'
    ) in shown
    assert f'<a href="{code}" rel="sponsored">Lamps &amp; desks</a></textarea>' in shown


def test_shows_creatives_of_approved_programs_only(mina, portal, scenario, other_account):
    account, at = scenario.account, timezone.now()
    archived = add(scenario, text="zz-archived")
    archive_creative(account, creative_id=archived.pk, at=at)
    other = ProgramScenario(account, slug="other", prefix="b-", email="b@example.org")
    add(other, text="zz-other")
    pending = ProgramScenario(account, slug="third", prefix="c-", email="c@example.org")
    pending.enroll(scenario.mina.affiliate, approved=None)
    add(pending, text="zz-pending")
    foreign = ProgramScenario(other_account, prefix="zz-marker-")
    add(foreign, text="zz-foreign")
    page = get_page(mina, f"{portal}creatives/")
    assert "zz-" not in page
    assert "There are no banners or texts yet." in page


def test_shows_24_creatives_at_a_time(mina, portal, scenario, capture_queries):
    rows = [add(scenario, image=IMAGE) for _ in range(25)]
    with capture_queries() as captured:
        page = mina.get(f"{portal}creatives/").content
    assert len(captured) <= 12
    assert len(page) < 60_000
    assert page.count(b'class="banner"') == 24
    older = f"?before={rows[1].pk}"
    assert older in page.decode()
    assert get_page(mina, f"{portal}creatives/{older}").count('class="banner"') == 1
    get_page(mina, f"{portal}creatives/?before={2**70}")


def test_chooses_a_code_once(mina, portal, scenario):
    path = f"{portal}links/{scenario.program.slug}/code/"
    assert f'href="{path}"' in read(mina, f"{portal}links/")
    for code, error in (
        ("a b", "Use letters, digits and single dashes, such as mina-10."),
        ("no", "at least 3 characters"),
        ("x" * 33, "at most 32 characters"),
    ):
        assert error in unescape(mina.post(path, {"code": code}).content.decode())
    same = mina.post(path, {"code": scenario.mina.code})
    assert "This is your code already." in same.content.decode()
    other = scenario.create_enrolled_affiliate("Odette", "Varga")
    refused = mina.post(path, {"code": other.code.upper()})
    assert "Referral code is already in use" in refused.content.decode()

    assert mina.post(path, {"code": "mina-10"}).url == f"{portal}links/"

    page = read(mina, f"{portal}links/")
    assert f'value="{SHOP}?ref=mina-10"' in page
    assert f'href="{path}"' not in page
    assert mina.get(path).status_code == 404


def test_limits_the_codes_that_an_affiliate_tries(mina, portal, scenario):
    other = scenario.create_enrolled_affiliate("Odette", "Varga")
    path = f"{portal}links/{scenario.program.slug}/code/"
    answers = [mina.post(path, {"code": other.code}).status_code for _ in range(21)]
    assert answers == 20 * [200] + [429]


def test_nobody_chooses_a_code_without_taking_part(mina, portal, scenario):
    scenario.mina.enrollment.update_row(approved=None)
    path = f"{portal}links/{scenario.program.slug}/code/"
    assert mina.post(path, {"code": "mina-10"}).status_code == 404


def test_links_lead_to_further_hosts_of_the_shop(mina, portal, scenario):
    scenario.program.update_row(shop_hosts=["lamps.example"])
    page = read(mina, f"{portal}links/?page=https://www.lamps.example/desk")
    assert f'value="https://www.lamps.example/desk?ref={scenario.mina.code}"' in page
