"""What affiliates see: their own numbers with the reasons, and nothing of others."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from payouts.services.corrections import reattribute_conversion
from payouts.services.payout_limits import set_minimum
from payouts.services.refunds import refund_conversion
from payouts.services.risk_cases import hold_commissions
from tests.document_scenario import switch_on
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")


def get_page(client, url, status=200):
    response = client.get(url)
    assert response.status_code == status, url
    return " ".join(response.content.decode().split())


def earn(scenario, amount="200", *, approve=True, **options):
    sale = scenario.create_conversion(amount, at=timezone.now(), **options)
    if approve:
        scenario.approve(scenario.get_commission(sale), at=timezone.now())
    return sale


def test_the_public_page_tells_the_terms_by_the_rules(client, account, portal, scenario):
    scenario.program.update_row(hold_days=30, cookie_time=1)
    set_minimum(account, currency="EUR", amount=Decimal(50), at=timezone.now())
    welcome = {"welcome_text": "Sell <b>lamps</b>\nwith us"}
    update_portal_settings(account, changes=welcome, at=timezone.now())
    assert "You earn" not in get_page(client, portal)
    is_open = {"is_open": True}
    update_portal_settings(account, changes=is_open, at=timezone.now())
    page = get_page(client, portal)
    for text in (
        "Sell &lt;b&gt;lamps&lt;/b&gt;<br>with us",
        "You earn 10 % of each sale.",
        "followed your link at most 1 day before",
        "Commissions are due 30 days after the sale at the earliest.",
        "Payments are made from 50.00 EUR.",
    ):
        assert text in page


def test_the_public_page_links_the_present_terms(client, account, portal):
    link = f'<a href="{portal}terms/">Terms of {account.name}</a>'
    assert link not in get_page(client, portal)
    changes = {"terms": "Be nice."}
    update_portal_settings(account, changes=changes, at=timezone.now())
    assert link in get_page(client, portal)
    assert "Be nice." in get_page(client, f"{portal}terms/")


def test_shows_what_is_due_on_hold_and_pending_and_why_it_waits(mina, account, portal, scenario):
    set_minimum(account, currency="EUR", amount=Decimal(50), at=timezone.now())
    earn(scenario, "100")
    earn(scenario, "70", approve=False)
    scenario.program.update_row(hold_days=30)
    earn(scenario, "300")
    page = get_page(mina, portal)
    for text in (
        "<dt>Due</dt><dd>10.00 EUR</dd>",
        "<dt>On hold</dt><dd>30.00 EUR</dd>",
        "<dt>Waits for approval</dt><dd>7.00 EUR</dd>",
        "You are paid once 50.00 EUR are due.",
    ):
        assert text in page
    until = account.get_day(timezone.now() + timedelta(days=30))
    assert f"All that is on hold is due on {until:%-d %B %Y}." in page
    scenario.program.update_row(hold_days=33)
    earn(scenario, "200")
    last = account.get_day(timezone.now() + timedelta(days=33))
    assert (
        f"Of what is on hold, 30.00 EUR will be due on {until:%-d %B %Y}, and all of it"
        f" by {last:%-d %B %Y}."
    ) in get_page(mina, portal)


def test_gives_links_and_coupons(mina, portal, scenario):
    page = get_page(mina, f"{portal}links/")
    assert f"https://shop.example.net/?ref={scenario.mina.code}" in page
    assert f"<strong>{scenario.mina.coupon}</strong>" in page


@pytest.mark.parametrize(
    "page",
    [
        "https://evil.example/lamps",
        "https://shop.example.net.evil.example/",
        "https://shop.example.net@evil.example/",
        "https://x@shop.example.net/",
        "ftp://shop.example.net/",
    ],
)
def test_makes_links_to_pages_of_the_shop_only(mina, portal, scenario, page):
    own = get_page(mina, f"{portal}links/?page=https://shop.example.net/desk?a=1")
    assert f"https://shop.example.net/desk?a=1&amp;ref={scenario.mina.code}" in own
    other = get_page(mina, f"{portal}links/?page={page}")
    assert "page-1" not in other
    assert 'class="error"' in other


@pytest.mark.parametrize(
    ("setting", "shown"), [("none", ""), ("last_four", "…7788"), ("whole", "ab7788")]
)
def test_shows_order_ids_as_far_as_the_account_allows(
    mina, account, portal, scenario, setting, shown
):
    changes = {"order_ids": setting}
    update_portal_settings(account, changes=changes, at=timezone.now())
    sale = earn(scenario, external_id="ab7788")
    for url in ("sales/", f"sales/{sale.pk}/", "statement/"):
        page = get_page(mina, f"{portal}{url}")
        assert ("ab7788" in page) == (setting == "whole")
        assert shown in page


def test_breaks_no_line_after_the_dots_of_an_order_id(mina, portal, scenario):
    earn(scenario, external_id="ab7788")
    page = get_page(mina, f"{portal}sales/")
    assert '<small>order <span class="whole">…7788</span></small>' in page


def test_explains_a_sale(mina, portal, scenario):
    sale = earn(scenario, "199.99")
    page = get_page(mina, f"{portal}sales/{sale.pk}/")
    assert "The customer had followed your link" in page or "your coupon" in page
    assert "10 % of 199.99 EUR are 19.999 EUR, rounded to 20.00 EUR." in page
    assert f"{portal}sales/{sale.pk}/" in get_page(mina, f"{portal}sales/")


def test_strikes_amounts_that_are_not_paid(mina, portal, scenario):
    sale = earn(scenario, approve=False)
    assert "<s>" not in get_page(mina, f"{portal}sales/")
    scenario.set_status(scenario.get_commission(sale), "disapproved")
    for url in ("", "sales/"):
        assert '<td class="amount"><s>20.00 EUR</s></td>' in get_page(mina, f"{portal}{url}")
    page = get_page(mina, f"{portal}sales/{sale.pk}/")
    assert "<s>10 % of 200.00 EUR are 20.00 EUR.</s>" in page


def test_shows_nothing_of_others(mina, portal, scenario, other_account):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    theirs = earn(scenario, affiliate=nils, external_id="zz-order")
    foreign = ProgramScenario(other_account, prefix="zz-marker-")
    far = foreign.create_conversion("10", at=timezone.now())
    for sale in (theirs, far):
        get_page(mina, f"{portal}sales/{sale.pk}/", status=404)
    get_page(mina, f"{portal}sales/{2**70}/", status=404)
    for page in ("", "sales/", "payments/", "links/", "statement/"):
        text = get_page(mina, f"{portal}{page}")
        assert "zz-" not in text
        assert "Nils" not in text
        assert nils.code not in text


def test_shows_payments_and_the_statement(mina, account, portal, scenario):
    earn(scenario, "200")
    payment = scenario.pay(Decimal(20))
    page = get_page(mina, f"{portal}payments/")
    assert payment.public_id in page
    assert "20.00 EUR" in page
    start = account.get_day(payment.created_at) - timedelta(days=1)
    end = account.get_day(timezone.now())
    page = get_page(mina, f"{portal}statement/?start={start}&end={end}")
    assert "-20.00 EUR" in page
    assert payment.public_id in page
    wrong = get_page(mina, f"{portal}statement/?start=2026-02-30&end=x")
    assert wrong.count('class="error"') == 2
    long = get_page(mina, f"{portal}statement/?start=2020-01-01&end=2026-01-01")
    assert "A statement is of at most 366 days." in long


def test_a_payment_is_on_its_way_until_the_bank_answers(mina, account, portal, scenario):
    sale = earn(scenario, "200")
    run = create_run(account, Paid("20"))
    pages = [f"{portal}{url}" for url in ("payments/", "sales/", f"sales/{sale.pk}/")]
    for page in pages:
        assert ">On its way</span>" in get_page(mina, page)
    account.payout_lines.filter(run=run).update(state="settled")
    for page in pages:
        text = get_page(mina, page)
        assert ">On its way</span>" not in text
        assert ">Paid</span>" in text


def test_lists_fifty_sales_at_a_time(mina, portal, scenario):
    sales = [earn(scenario, "10", approve=False) for _ in range(51)]
    page = get_page(mina, f"{portal}sales/")
    oldest = scenario.get_commission(sales[0])
    assert page.count(">Why?<") == 50
    assert f"?before={oldest.pk + 1}" in page
    assert get_page(mina, f"{portal}sales/?before={oldest.pk + 1}").count(">Why?<") == 1


@pytest.mark.parametrize(
    "page",
    ["", "sales/", "payments/", "links/", "creatives/", "statement/", "profile/"],
)
def test_pages_are_small_and_take_few_statements(mina, portal, scenario, capture_queries, page):
    for _ in range(15):
        earn(scenario, "10")
    with capture_queries() as captured:
        response = mina.get(f"{portal}{page}")
    assert len(captured) <= 11
    assert len(response.content) < 60_000


@pytest.mark.parametrize("page", ["", "payments/"])
def test_balances_take_few_statements_with_all_there_is_to_say(
    mina, account, portal, scenario, capture_queries, page
):
    changes = {"terms": "Be fair.", "payout_day": 1}
    update_portal_settings(account, changes=changes, at=timezone.now())
    switch_on(account)
    earn(scenario, "200")
    create_run(account, Paid("20"))
    earn(scenario, "300")
    scenario.program.update_row(hold_days=30)
    earn(scenario, "100")
    with capture_queries() as captured:
        text = get_page(mina, f"{portal}{page}")
    assert len(captured) <= 15  # four about what documents lack
    for part in (
        "add a way to be paid.",
        "enter your tax data.",
        "All that is on hold",
    ):
        assert part in text


def test_says_that_a_sale_is_no_longer_ones_own(mina, account, portal, scenario):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    sale = earn(scenario, external_id="ab7788")
    reattribute_conversion(
        account,
        conversion_id=sale.pk,
        affiliate_id=nils.slug,
        reason="Nils wrote the review",
        at=timezone.now(),
    )
    page = get_page(mina, f"{portal}sales/{sale.pk}/")
    assert "Another referral won this sale: you earn nothing." in page
    assert "Nils" not in page


def test_tells_nothing_about_the_sales_of_recruits(mina, account, portal, scenario):
    whole = {"order_ids": "whole"}
    update_portal_settings(account, changes=whole, at=timezone.now())
    scenario.create_level(2, "1")
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    scenario.add_child(nils, scenario.mina)
    sale = earn(scenario, affiliate=nils, external_id="zz-order", approve=False)
    for url in ("", "sales/", f"sales/{sale.pk}/", "statement/"):
        page = get_page(mina, f"{portal}{url}")
        for text in ("Nils", "zz-order", "200.00 EUR"):
            assert text not in page
    page = get_page(mina, f"{portal}sales/{sale.pk}/")
    assert "2.00 EUR: 1 % of a sale by a recruit, level 1." in page
    commission = account.commissions.get(affiliate=scenario.mina.affiliate)
    for changes, text in (
        ({"rate_kind": "fixed"}, "a fixed amount for each sale by a recruit, level 1."),
        ({"commission_type": "imported"}, "your share of the sale."),
    ):
        commission.update_row(**changes)
        page = get_page(mina, f"{portal}sales/{sale.pk}/")
        assert f"2.00 EUR: {text}" in page


@pytest.mark.parametrize(
    ("period", "end"),
    [("month", " The period began on 1 February 2026."), ("all_time", "")],
)
def test_says_which_goal_a_bonus_is_for(mina, account, portal, scenario, period, end):
    bonus = account.bonuses.create(
        program=scenario.program,
        public_id="bo_1",
        title="Ten",
        goal_type="conversions",
        goal=10,
        period=period,
        kind="fixed",
        value=50,
    )
    account.commissions.create(
        affiliate=scenario.mina.affiliate,
        kind="bonus",
        commission_type="bonus",
        name="Ten",
        currency="EUR",
        amount=50,
        rate_kind="fixed",
        rate=50,
        calculation="{}",
        status="disapproved",
        bonus=bonus,
        period_start=date(2026, 2, 1),
    )
    text = f"Bonus: 50.00 EUR for at least 10 sales in a month.{end}"
    text = text.replace("in a month", "in all") if period == "all_time" else text
    for url in ("", "sales/"):
        assert f"<td>{text}</td>" in get_page(mina, f"{portal}{url}")


def test_shows_no_links_of_archived_programs(mina, portal, scenario):
    scenario.program.update_row(archived_at=timezone.now())
    assert scenario.mina.code not in get_page(mina, f"{portal}links/")


def test_a_refund_that_the_shop_canceled_is_not_shown(mina, scenario, portal):
    sale = earn(scenario)
    refund = refund_conversion(
        scenario.account,
        conversion_id=sale.pk,
        amount=Decimal(50),
        reason="Broken",
        at=timezone.now(),
    )
    url = f"{portal}sales/{sale.pk}/"
    assert "got money back" in get_page(mina, url)
    refund.update_row(amount=Decimal(0), canceled_at=timezone.now())
    assert "got money back" not in get_page(mina, url)


def test_a_missing_page_leads_back_to_the_overview(mina, portal):
    accept = {"Accept": "text/html", "Accept-Language": "de"}
    response = mina.get(f"{portal}sales/9/", headers=accept)
    assert response.status_code == 404
    assert f'<p><a href="{portal}">Übersicht</a></p>' in response.text
    assert 'aria-current="page">Verkäufe</a>' in response.text
    response = mina.get(f"{portal}no/such/page/", headers=accept)
    assert response.status_code == 404
    assert f'<a class="button" href="{portal}">Übersicht</a>' in response.text


@pytest.mark.usefixtures("portal")
def test_a_page_of_no_portal_leads_nowhere(client):
    response = client.get("/partners/nobody/", headers={"Accept": "text/html"})
    assert response.status_code == 404
    assert 'href="/partners/' not in response.text


def test_a_sale_says_under_which_day_the_list_has_it(mina, portal, scenario):
    """A sale that the company assigned later earns on another day."""
    other = scenario.create_enrolled_affiliate("Nils", "Berg")
    at = timezone.now()
    sale = scenario.create_conversion("200", at=at - timedelta(days=9), affiliate=other)
    url, text = f"{portal}sales/{sale.pk}/", "your sales list it under that day."
    reattribute_conversion(
        scenario.account,
        conversion_id=sale.pk,
        affiliate_id=scenario.mina.slug,
        reason="Mina's",
        at=at,
    )
    assert get_page(mina, url).count(text) == 1
    own = earn(scenario)
    assert text not in get_page(mina, f"{portal}sales/{own.pk}/")


def test_says_that_commissions_are_under_review_but_never_why(scenario, portal, mina):
    account, now = scenario.account, timezone.now()
    commission = scenario.get_commission(scenario.create_conversion(at=now))
    scenario.approve(commission, at=now)
    case = account.risk_cases.create(rule="fast_sale", affiliate=scenario.mina.affiliate)
    account.risk_findings.create(
        case=case,
        rule=case.rule,
        affiliate=case.affiliate,
        conversion=commission.conversion,
        facts=[["Seconds from click to sale", "2"]],
    )
    hold_commissions(account, at=now)

    pages = [
        mina.get(f"{portal}{path}").content.decode()
        for path in ("", "sales/", f"sales/{commission.conversion_id}/")
    ]

    assert "20.00 EUR are under review." in pages[0]
    assert all("under review" in page for page in pages)
    assert not any("Seconds from click" in page or "right after" in page for page in pages)
    commission.update_row(status="pending", finalized_at=None)
    assert "under review" in mina.get(f"{portal}sales/").content.decode()
