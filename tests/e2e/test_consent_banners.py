"""The snippets of docs/consent.md, with the signals that the banners send."""

import pytest

from tests.command_line import ROOT
from tests.e2e.test_guides import find_snippet

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

GUIDE = (ROOT / "docs/consent.md").read_text()
# For each banner: a text of its snippet, what the page has before, and the signals of a
# visitor who has not decided, who refuses, and who accepts.
GOOGLE = "(function () { dataLayer.push(arguments); })"
COOKIEBOT = """window.Cookiebot = {{ hasResponse: {0}, consent: {{ marketing: {1} }} }};
window.dispatchEvent(new Event("CookiebotOnConsentReady"));"""
ONETRUST = """window.OneTrust = {{ IsAlertBoxClosed: () => {0} }};
window.dispatchEvent(new CustomEvent("OneTrustGroupsUpdated", {{ detail: {1} }}));"""
USERCENTRICS = """window.__ucCmp = {{ getConsentDetails: () => Promise.resolve({{
  consent: {{ type: "{0}" }}, categories: {{ marketing: {{ state: "{1}" }} }} }}) }};
window.dispatchEvent(new Event("{2}"));"""
COOKIEYES = """document.dispatchEvent(new CustomEvent("cookieyes_{0}", {{ detail: {1} }}));"""
COMPLIANZ = """window.cmplz_has_consent = () => {1};
document.dispatchEvent(new CustomEvent("{0}", {{ detail: {{}} }}));"""
SHOPIFY = """document.dispatchEvent(new CustomEvent("visitorConsentCollected",
  {{ detail: {{ marketingAllowed: {0} }} }}));"""
LOAD_SHOPIFY = """window.Shopify = {
  loadFeatures: (features, done) => done(),
  customerPrivacy: { marketingAllowed: () => false } };"""
BANNERS = {
    "google": (
        "dataLayer",
        "",
        f'{GOOGLE}("consent", "default", {{ ad_storage: "denied" }});'
        ' dataLayer.push({ event: "gtm.js" });',
        f'{GOOGLE}("consent", "update", {{ ad_storage: "denied" }});',
        f'{GOOGLE}("consent", "update", {{ ad_storage: "granted" }});',
    ),
    "cookiebot": (
        "Cookiebot",
        "",
        COOKIEBOT.format("false", "false"),
        COOKIEBOT.format("true", "false"),
        COOKIEBOT.format("true", "true"),
    ),
    "onetrust": (
        "OneTrust",
        "",
        ONETRUST.format("false", '["C0001"]'),
        ONETRUST.format("true", '["C0001"]'),
        ONETRUST.format("true", '["C0001", "C0004"]'),
    ),
    "usercentrics": (
        "__ucCmp",
        "",
        USERCENTRICS.format("IMPLICIT", "ALL_ACCEPTED", "UC_UI_INITIALIZED"),
        USERCENTRICS.format("EXPLICIT", "ALL_DENIED", "UC_CONSENT"),
        USERCENTRICS.format("EXPLICIT", "ALL_ACCEPTED", "UC_CONSENT"),
    ),
    "cookieyes": (
        "cookieyes",
        "",
        COOKIEYES.format(
            "banner_load",
            "{ isUserActionCompleted: false, categories: { advertisement: true } }",
        ),
        COOKIEYES.format("consent_update", '{ accepted: ["necessary"] }'),
        COOKIEYES.format("consent_update", '{ accepted: ["advertisement"] }'),
    ),
    "complianz": (
        "cmplz_has_consent",
        "",
        COMPLIANZ.format("cmplz_enable_category", "false"),
        COMPLIANZ.format("cmplz_revoke", "false"),
        COMPLIANZ.format("cmplz_enable_category", "true"),
    ),
    "shopify": (
        "Shopify",
        LOAD_SHOPIFY,
        "",
        SHOPIFY.format("false"),
        SHOPIFY.format("true"),
    ),
}


@pytest.mark.parametrize("name", BANNERS)
def test_passes_on_what_a_banner_says(visitor, api, scenario, name):
    text, before, undecided, refused, accepted = BANNERS[name]
    create = f'tap("create", "{scenario.account.slug}", {{ consent: false }});'
    visitor.open(
        f"/?ref={scenario.mina.code}",
        'tap("detect", function (error, click) { window.calls = [error, click]; });'
        f"{before} {find_snippet(text, guide=GUIDE)} {undecided}",
        create=create,
    )
    page = visitor.page
    page.wait_for_function("() => tap.loaded")
    assert page.evaluate("() => window.calls") is None

    page.evaluate(f"() => {{ {refused} }}")
    assert page.wait_for_function("() => window.calls").json_value() == [None, None]
    assert (visitor.cookies, visitor.tracking_calls) == ({}, [])

    with page.expect_response("**/track/click/"):
        page.evaluate(f"() => {{ {accepted} }}")
    page.wait_for_function("() => document.cookie.length > 30")
    assert len(api("/clicks/")) == 1
    assert visitor.errors == []


def test_installs_the_script(visitor, scenario, server):
    snippet = find_snippet("tap.js", language="html", guide=GUIDE)
    snippet = snippet.replace('"acme"', f'"{scenario.account.slug}"')
    origin = f"http://127.0.0.1:{server.port}"
    snippet = snippet.replace("https://aff.example.net", origin)
    visitor.shop_server.pages["/"] = (snippet, {})
    visitor.page.goto(visitor.build_url(f"/?ref={scenario.mina.code}"))
    visitor.page.wait_for_function("() => window.tap && tap.loaded")
    assert visitor.tracking_calls == []

    with visitor.page.expect_response("**/track/click/") as response:
        visitor.page.evaluate('tap("consent", true)')

    assert response.value.ok
    assert scenario.account.clicks.count() == 1
