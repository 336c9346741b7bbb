"""Pages of an affiliate with many rows take few statements."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site.portal_sessions import COOKIE
from tests.affiliate_site.portal.test_tenant_isolation import (
    PAGES,
    POST_ONLY,
    TOKENS,
    build_urls,
    create_rows,
)
from tests.factories.tracking import EnrollmentFactory, ProgramFactory
from tests.payout_scenario import Paid, create_run
from tracking.services.creatives import create_creative
from tracking.services.hierarchy import set_parent
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, ask_question

pytestmark = pytest.mark.usefixtures("shared_scenario")

MAX_STATEMENTS = 14  # of the home page, three about what documents lack
MANY = 15  # of each row


@pytest.fixture
def busy(scenario, portal, account, time_machine):
    """Nils, with many rows of everything that his pages show.

    At noon: until an hour after midnight, yesterday is counted again by each page.
    """
    at = timezone.now().replace(hour=12)
    time_machine.move_to(at)
    changes = {
        "is_open": True,
        "terms": "Be kind.",
        "order_ids": "whole",
        "shows_comments": True,
        "shows_recruit_sales": True,
        "payout_day": 15,
        "contact_email": "us@harbor.example",
    }
    update_portal_settings(account, changes=changes, at=at)
    account.uses_webhooks = True
    account.save()
    visited = create_rows(scenario)
    affiliate = visited.affiliate
    enrollment = account.enrollments.get(affiliate=affiliate)
    nils = SimpleNamespace(
        coupon=account.coupons.get(enrollment=enrollment).code,
        code=account.referral_codes.get(enrollment=enrollment).code,
    )
    for number in range(MANY):
        day = at - timedelta(days=number)
        scenario.create_click(nils, landing_page=f"https://shop.example/{number}")
        for currency in ("EUR", "USD"):
            sale = scenario.create_conversion("200", affiliate=nils, currency=currency, at=day)
            if number % 3:
                scenario.approve(scenario.get_commission(sale), at=at)
        create_run(account, Paid("1", slug=affiliate.slug))
        program = ProgramFactory(account=account, landing_page="https://shop.example/")
        approved = number % 2 == 0
        EnrollmentFactory(account=account, affiliate=affiliate, program=program, approved=approved)
        ProgramFactory(account=account)
        create_creative(account, program_id=scenario.program.slug, title="x", text="x", at=at)
        recruit = scenario.create_enrolled_affiliate(f"Odo{number}", "Zander")
        set_parent(account, affiliate_id=recruit.slug, parent_id=affiliate.slug, at=at)
        if number < 9:
            data = QuestionData(f"order-{number}", account.get_day(at), text="Where?")
            ask_question(affiliate, data=data, at=at)
    visited.ids["program"] = scenario.program.slug
    return visited


def test_every_page_takes_few_statements(busy, portal, set_up_password, capture_queries):
    client, counts, shown = Client(), {}, set()
    client.cookies[COOKIE] = set_up_password(busy.affiliate)
    pages = set(PAGES) - POST_ONLY - TOKENS.keys()
    for page in sorted(pages):
        for url in build_urls(portal, busy, page):
            client.get(url)  # stores the statistics of past days
            with capture_queries() as captured:
                response = client.get(url)
                if response.streaming:
                    b"".join(response)
            if response.status_code == 200:
                shown.add(page)
            counts[url] = len(captured)
    assert pages - shown == {"logo"}
    assert {url: n for url, n in counts.items() if n > MAX_STATEMENTS} == {}
