"""The guides in a browser, and the snippets of docs/browser-script.md."""

import re
from contextlib import ExitStack

import pytest

from affiliate_site import guide
from tests.command_line import ROOT
from tests.e2e.browser import open_context
from tests.e2e.test_accessibility import DESKTOP, PHONE, list_violations
from tests.e2e.test_back_office import static_files

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["static_files"]

GUIDE = (ROOT / "docs/browser-script.md").read_text()
INTEGRATION = (ROOT / "docs/integration.md").read_text()
FORM = '<form><input name="tracking_id"></form>'


@pytest.fixture
def reader(chromium, server, static_files):
    """A page, and what went wrong in it."""
    context = open_context(chromium, base_url=f"http://127.0.0.1:{server.port}")
    page = context.new_page()
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "request",
        lambda request: (
            request.url.startswith(f"http://127.0.0.1:{server.port}/")
            or page.problems.append(request.url)
        ),
    )
    yield page
    context.close()


def set_system_theme(page, theme):
    """Select a theme of the browser, which the guides have, too."""
    page.emulate_media(color_scheme=theme)


@pytest.mark.parametrize("width", [DESKTOP, pytest.param(PHONE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", guide.PAGES)
def test_guide_is_accessible(reader, name, width):
    reader.set_viewport_size({"width": width, "height": 844})

    reader.goto(guide.get_address(name))

    assert list(list_violations(reader, set_system_theme)) == []
    assert reader.problems == []
    assert reader.evaluate("document.documentElement.scrollWidth") == width


def test_guides_fit_a_phone(reader):
    reader.set_viewport_size({"width": PHONE, "height": 844})

    for name in guide.PAGES:
        reader.goto(guide.get_address(name))
        width = reader.evaluate("document.documentElement.scrollWidth")
        assert width == PHONE, name


def test_copies_a_snippet(reader):
    reader.goto("/docs/guide/")
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"])

    button = reader.locator(".snippet button").first
    button.click()
    reader.get_by_role("button", name="Copied").wait_for()

    text = reader.evaluate("navigator.clipboard.readText()")
    assert text.startswith("export BASE=")


def test_leads_from_the_reference_to_a_heading(reader):
    reader.goto("/docs/")
    reader.get_by_role("link", name="Guide").click()
    reader.get_by_role("navigation").get_by_role("link", name="6. Webhooks").click()

    assert reader.url.endswith("/docs/guide/#6-webhooks")
    assert reader.evaluate("document.querySelector('#id, :target').tagName") == "H2"


def find_snippet(text, *, language="javascript", guide=GUIDE):
    """Return the one snippet of a guide with a text."""
    snippets = re.findall(rf"(?ms)^```{language}\n(.*?)^```", guide)
    (snippet,) = [found for found in snippets if text in found]
    return snippet


def open_and_wait_for(visitor, *texts, script):
    """Open a page that runs a script; wait for the calls with these texts."""
    with ExitStack() as stack:
        for text in texts:
            stack.enter_context(
                visitor.page.expect_response(
                    lambda response, text=text: f'"{text}"' in (response.request.post_data or "")
                )
            )
        visitor.open("/thanks", script)
    assert visitor.errors == []


@pytest.mark.parametrize("text", [GUIDE, INTEGRATION], ids=["script", "integration"])
def test_installs_the_script(visitor, scenario, server, text):
    snippet = find_snippet("tap.js", language="html", guide=text)
    snippet = snippet.replace('"acme"', f'"{scenario.account.slug}"')
    snippet = snippet.replace(guide.EXAMPLE_URL, f"http://127.0.0.1:{server.port}")
    visitor.shop_server.pages["/"] = (snippet, {})

    with visitor.page.expect_response("**/track/click/") as response:
        visitor.page.goto(visitor.build_url(f"/?ref={scenario.mina.code}"))

    assert response.value.ok
    assert scenario.account.clicks.count() == 1


def test_reports_a_visit(visitor, scenario):
    with visitor.page.expect_console_message(lambda message: message.type == "log") as message:
        visitor.open(f"/?ref={scenario.mina.code}", find_snippet("always_callback: true }"))

    assert re.fullmatch("visit [0-9a-f]{32}", message.value.text)


def test_reports_sales(visitor, api):
    visitor.visit()

    open_and_wait_for(
        visitor,
        *("order-21", "order-22", "order-23"),
        script=find_snippet('"order-21"'),
    )

    amounts = {row["external_id"]: row["amount"] for row in api("/conversions/")}
    assert amounts == {"order-21": 49.9, "order-22": 49.9, "order-23": 20}


def test_reports_line_items(visitor, api):
    visitor.visit()

    open_and_wait_for(visitor, "order-24", script=find_snippet('"order-24"'))

    (conversion,) = api("/conversions/")
    amounts = [row["amount"] for row in conversion["commissions"]]
    assert (conversion["amount"], amounts) == (249.9, [20, 4.99])


def test_reports_a_sign_up(visitor, api):
    visitor.visit()

    open_and_wait_for(visitor, "customer-25", script=find_snippet('"customer-25"'))

    (customer,) = api("/customers/")
    assert (customer["status"], customer["meta_data"]) == ("trial", {"plan": "pro"})


def test_reports_sale_and_sign_up_of_the_integration_guide(visitor, api):
    visitor.visit()
    snippet = find_snippet('"order-1"', guide=INTEGRATION)

    open_and_wait_for(visitor, "order-1", "new", script=snippet)

    assert [row["customer"]["customer_id"] for row in api("/conversions/")] == ["customer-17"]


@pytest.mark.parametrize("text", [GUIDE, INTEGRATION], ids=["script", "integration"])
def test_puts_the_tracking_id_into_a_form(visitor, text):
    vid = visitor.visit()
    visitor.open("/cart")
    visitor.page.wait_for_function("() => tap.loaded")
    visitor.page.evaluate("form => { document.body.innerHTML = form; }", FORM)

    visitor.page.evaluate(find_snippet("getTrackingId", guide=text))

    assert visitor.page.input_value("input") == vid
