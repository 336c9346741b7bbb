"""Postbacks in the portal: own ones only, with their last calls."""

import pytest
from django.utils import timezone

from accounts.services.webhooks import create_postback_endpoint, disable_webhook
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

ADDRESS = "https://track.example.net/?s=${click_subid}&a=${commission_amount}"
NEW = {"url": ADDRESS, "events": ["conversion.created"]}


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


@pytest.fixture
def url(portal, account):
    account.uses_webhooks = True
    account.save()
    return f"{portal}profile/postbacks/"


def create(account, affiliate, url=ADDRESS):
    return create_postback_endpoint(account, affiliate=affiliate.slug, url=url, at=timezone.now())


def test_there_is_no_page_without_webhooks(mina, account, portal):
    assert mina.get(f"{portal}profile/postbacks/").status_code == 404
    assert "Postbacks" not in read(mina.get(f"{portal}profile/"))


def test_adds_shows_and_removes(mina, account, portal, url, scenario, capture_queries):
    affiliate = scenario.mina.affiliate
    assert f'<a href="{url}">Postbacks</a>' in read(mina.get(f"{portal}profile/"))
    response = mina.post(url, NEW)
    assert response["Location"] == f"{url}?saved=1"
    postback = account.webhook_endpoints.get()
    assert (postback.affiliate, postback.method) == (affiliate.slug, "GET")
    assert (postback.url, postback.events) == (ADDRESS, ["conversion.created"])
    event = account.audit_log.get(kind="webhook.created")
    assert event.actor == f"affiliate {affiliate.log_id}"
    scenario.create_conversion("200", at=timezone.now())
    scenario.create_conversion("100", at=timezone.now())
    failed, arrived = account.deliveries.order_by("id")
    failed.update_row(due_at=None, attempts=3, status=404)
    arrived.update_row(due_at=None, attempts=1, delivered_at=timezone.now())

    with capture_queries() as captured:
        page = read(mina.get(url))

    queries = " ".join(query["sql"] for query in captured.captured_queries)
    assert '"accounts_delivery"."status"' in queries
    for column in ("url", "body"):
        assert f'"accounts_delivery"."{column}"' not in queries
    assert "https://track.example.net/?s=${click_subid}&amp;a=${commission" in page
    assert page.index("A new sale: Arrived") < page.index("A new sale: Failed (404)")
    remove_url = f"{url}{postback.public_id}/remove/"
    assert remove_url in page
    assert "Remove postback" in read(mina.get(remove_url))
    assert postback.reload().disabled_at is None
    mina.post(remove_url)
    assert postback.reload().disabled_because == "by hand"
    assert "Last calls" not in read(mina.get(url))
    assert mina.post(remove_url).status_code == 404


def test_shows_one_that_failed_too_long(mina, account, url, scenario):
    postback = create(account, scenario.mina.affiliate)
    disable_webhook(postback, reason="failed for 3 days: HTTP 500", at=timezone.now())
    page = read(mina.get(url))
    assert "Switched off: it has failed for too long." in page
    assert "HTTP 500" not in page


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"url": "http://127.0.0.1/"}, "This address cannot be called."),
        ({"url": "https://x.example/?a=${gold}"}, "Unknown macro"),
        ({"url": "https://${gold}.example/"}, "This address cannot be called."),
        ({"events": []}, "This field is required."),
        ({"events": ["payment.created"]}, "Select a valid choice."),
    ],
)
def test_refuses(mina, account, url, changes, text):
    page = read(mina.post(url, NEW | changes))
    assert f'<span class="error" role="alert">{text}' in page
    assert not account.webhook_endpoints.exists()


def test_refuses_the_same_and_too_many(mina, account, url):
    mina.post(url, NEW)
    assert "already has this URL and these events" in read(mina.post(url, NEW))
    for number in range(4):
        mina.post(url, NEW | {"url": f"https://x.example/{number}"})
    page = read(mina.post(url, NEW | {"url": "https://x.example/5"}))
    assert "You have 5 postbacks already: remove one first." in page
    assert account.webhook_endpoints.count() == 5


def test_does_not_find_those_of_others(mina, account, other_account, url, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Lind").affiliate
    other = ProgramScenario(other_account, prefix="zz").mina.affiliate
    other.update_row(slug=scenario.mina.slug)
    foreign = [
        create(account, odette, "https://odette.example/"),
        create(other_account, other, "https://zz.example/"),
    ]
    page = read(mina.get(url))
    for postback in foreign:
        assert postback.url not in page
        path = f"{url}{postback.public_id}/remove/"
        assert mina.get(path).status_code == 404
        assert mina.post(path).status_code == 404
        assert postback.reload().disabled_at is None


def test_a_removed_postback_that_was_never_called_leaves_no_row(mina, account, url):
    mina.post(url, NEW)
    postback = account.webhook_endpoints.get()
    mina.post(f"{url}{postback.public_id}/remove/")
    assert not account.webhook_endpoints.exists()
    kinds = account.audit_log.order_by("id").values_list("kind", flat=True)
    assert list(kinds)[-2:] == ["webhook.created", "webhook.disabled"]


def test_limits_the_forms_of_an_affiliate(mina, account, portal, url):
    """Each change leaves rows, such as those of the audit log."""
    assert {mina.post(url, {"url": "x"}).status_code for _ in range(60)} == {200}
    refused = mina.post(url, NEW, headers={"Accept": "text/html"})
    assert "You sent many forms. Try again in an hour." in read(refused, 429)
    assert not account.webhook_endpoints.exists()
    # Pages are still shown, and public forms taken.
    assert mina.get(url).status_code == 200
    assert mina.post(f"{portal}sign-out/").status_code == 302
