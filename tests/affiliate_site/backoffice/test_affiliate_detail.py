"""The page of an affiliate."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape, strip_tags

from accounts.models.api_keys import Role
from affiliate_site.backoffice.formatters import format_labels
from affiliate_site.backoffice.payouts.payout_texts import COMMISSION_STATUSES
from payouts.services.opening_balances import post_opening_balance
from payouts.services.payout_methods import set_payout_method
from tests.affiliate_site.backoffice.form_values import get_version
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, EnrollmentFactory
from tracking.services.hierarchy import create_group, set_group, set_parent
from tracking.services.notes import create_note

TABS = ("programs", "conversions", "commissions", "payments", "notes", "activity")
MAX_QUERIES = 33


def page_url(affiliate):
    return reverse("admin:tracking_affiliate_change", args=[affiliate.pk])


@pytest.fixture
def mina(scenario):
    return scenario.mina.affiliate


def test_shows_who_it_is_and_what_it_earns(account, staff_client, scenario, mina):
    now = timezone.now()
    group = create_group(account, title="Top affiliates", at=NOW)
    set_group(account, affiliate_id=mina.slug, group_id=group.public_id, at=NOW)
    account.field_definitions.create(slug="site", title="Your site", type="url")
    mina.update_row(
        company_name="Kessler Notes",
        city="Koper",
        country="SI",
        custom_fields={"site": "https://kessler.example"},
        meta_data={"tier": "gold"},
    )
    scenario.create_click(at=now)
    commission = scenario.get_commission(scenario.create_conversion("200", at=now))
    scenario.approve(commission, at=now)

    client = staff_client()
    response = client.get(page_url(mina))

    context, page = response.context, response.content.decode()
    assert context["balance_due"] == "20.00 EUR"
    assert [(card.title, card.value) for card in context["cards"]] == [
        ("Clicks", "1"),
        ("Conversions", "1"),
        ("Revenue", "200.00\u00a0EUR"),
        ("Commissions", "20.00\u00a0EUR"),
    ]
    for card in context["cards"]:
        rows = list(client.get(card.url).context["cl"].result_list)
        assert [row.affiliate for row in rows] == [mina], card.title
        assert f'href="{escape(card.url)}"' in page
    assert "Clicks by day" in page
    assert [(it, it.color) for it in context["badges"]] == [
        ("Harbor Lamp Partners: approved", "success"),
        ("group Top affiliates", "info"),
    ]
    assert dict(context["details"]) == {
        "Company": "Kessler Notes",
        "Address": "Koper\nSlovenia",
        "Your site": "https://kessler.example",
        "tier": "gold",
        "Created": "2026-03-02",
    }
    balance = account.ledger_accounts.get(kind="payable")
    url = reverse("admin:payouts_ledgeraccount_pay", args=[balance.pk])
    assert context["pay_links"] == [("Pay", url)]
    assert f'href="{url}"' in page
    assert f"https://shop.example.net/?ref={scenario.mina.code}" in page


def test_each_balance_has_its_form_to_pay(account, staff_client, scenario, mina):
    for currency in ("EUR", "USD"):
        sale = scenario.create_conversion("200", currency=currency)
        scenario.approve(scenario.get_commission(sale))

    links = staff_client().get(page_url(mina)).context["pay_links"]

    rows = account.ledger_accounts.filter(kind="payable").order_by("currency")
    assert links == [
        (
            f"Pay {row.currency}",
            reverse("admin:payouts_ledgeraccount_pay", args=[row.pk]),
        )
        for row in rows
    ]


def test_shows_its_opening_balances(account, staff_client, scenario, mina):
    key = {"affiliate_id": mina.slug, "at": NOW}
    post_opening_balance(account, currency="EUR", amount=Decimal(50), **key)
    transfer = post_opening_balance(account, currency="USD", amount=Decimal("-7.5"), **key)
    other = scenario.create_enrolled_affiliate("Nils", "Berg")
    post_opening_balance(
        account, affiliate_id=other.slug, currency="EUR", amount=Decimal(9), at=NOW
    )
    client = staff_client()

    page = client.get(page_url(mina), {"tab": "payments"}).content.decode()

    url = reverse("admin:payouts_transfer_change", args=[transfer.pk])
    link = f'<a class="details-link" href="{url}">Opening balance of {NOW:%Y-%m-%d}</a>'
    assert page.count(f"{link}: -7.50 USD") == 2  # by the balance, and in the tab
    assert page.count(": 50.00 EUR</p>") == 2
    assert "9.00 EUR" not in page


def test_shows_six_months(time_machine, staff_client, scenario, mina):
    """The present one up to today; the days of earlier ones are stored."""
    days = ("2026-09-30T23:00Z", "2026-10-01T01:00Z", "2027-02-02T12:00Z")
    for day in map(datetime.fromisoformat, (*days, "2026-08-31T12:00Z")):
        scenario.create_conversion("1000", at=day)
    time_machine.move_to(datetime(2027, 2, 3, 12, tzinfo=UTC))

    months = staff_client().get(page_url(mina)).context["months"]

    sold = ["1", "1,000.00\u00a0EUR", "100.00\u00a0EUR"]
    nothing = ["0", "0", "0"]
    assert [(month, list(dict(pairs).values())[1:]) for month, pairs in months] == [
        ("February 2027", sold),
        ("January 2027", nothing),
        ("December 2026", nothing),
        ("November 2026", nothing),
        ("October 2026", sold),
        ("September 2026", sold),
    ]


def test_leaves_out_what_is_empty(account, staff_client):
    response = staff_client().get(page_url(AffiliateFactory(account=account)))

    assert [title for title, _ in response.context["details"]] == ["Created"]
    assert response.context["pay_links"] == []
    assert "Not in any program yet" in response.content.decode()


def test_counts_only_its_own_sales(account, staff_client, scenario, mina):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("50", affiliate=odette, at=timezone.now())
    scenario.create_conversion("70", at=timezone.now() - timedelta(days=2))

    client = staff_client()
    revenue = {
        affiliate: client.get(page_url(affiliate)).context["cards"][2].value
        for affiliate in (mina, odette.affiliate)
    }

    assert revenue == {mina: "70.00\u00a0EUR", odette.affiliate: "50.00\u00a0EUR"}


def test_each_tab_shows_its_rows(account, staff_client, scenario, mina):
    conversion = scenario.create_conversion("200", external_id="order-1")
    create_note(account, affiliate=mina, text="Prefers <b>calls</b>", at=NOW)
    set_payout_method(
        account,
        affiliate_id=mina.slug,
        kind="bank",
        details={"iban": "SI56"},
        is_primary=True,
        at=NOW,
    )
    client, pages = staff_client(), {}
    for tab in TABS:
        pages[tab] = client.get(page_url(mina), {"tab": tab}).content.decode()

    assert "order-1" in pages["conversions"]
    assert f"20.00 EUR {format_labels([COMMISSION_STATUSES['pending']])}" in pages["conversions"]
    commission = scenario.get_commission(conversion)
    url = reverse("admin:payouts_commission_change", args=[commission.pk])
    assert url in pages["commissions"]
    assert "No payments yet" in pages["payments"]
    assert "Prefers &lt;b&gt;calls&lt;/b&gt;" in pages["notes"]
    assert "IBAN: SI56" in pages["programs"]
    assert "set the IBAN of the payout method bank" in pages["activity"]
    assert "IBAN: none → ••••<" in pages["activity"]
    assert client.get(page_url(mina), {"tab": "forged"}).context["tab"] == "programs"


def test_activity_reads_as_sentences(account, staff_client, scenario, mina):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    account.levels.create(program=scenario.program, level=2, title="Parent", kind="fixed", value=1)
    group = create_group(account, title="Top affiliates", at=NOW)
    client = staff_client("manager")
    enrollment = scenario.mina.enrollment
    for path, sent in (
        (f"affiliate/{mina.pk}/edit/", {"firstname": "M", "lastname": "K"}),
        (f"affiliate/{mina.pk}/group/", {"group_id": group.pk}),
        (f"affiliate/{mina.pk}/group/", {"group_id": ""}),
        (f"affiliate/{mina.pk}/parent/", {"affiliate_id": odette.affiliate.pk}),
        (f"enrollment/{enrollment.pk}/disapprove/", {}),
        (f"enrollment/{enrollment.pk}/codes/", {"referral_code": "mina-2"}),
    ):
        url = f"/admin/tracking/{path}"
        client.post(url, sent | {"email": mina.email} | get_version(client, url))

    events = client.get(page_url(mina), {"tab": "activity"}).context["events"]

    who = "affiliate minakessler"
    assert [strip_tags(action) for _, _, action in events] == [
        f"changed the coupon, referral code of {who} program: {scenario.program.title}",
        f"disapproved {who} for program {scenario.program.title}",
        f"set the parent of {who} to odettevarga",
        f"took {who} out of its group",
        f"put {who} into the group Top affiliates",
        f"changed the first name, last name of {who}",
        f"added {who} to program {scenario.program.title}: approved",
        f"created {who}",
    ]
    assert events[0][1] == "manager@harbor.example.org"


def test_pages_long_tabs(account, staff_client, scenario, mina):
    for number in range(30):
        create_note(account, affiliate=mina, text=f"note {number:02}", at=NOW)
    client = staff_client()

    first = client.get(page_url(mina), {"tab": "notes"})
    assert "note 29" in first.content.decode()
    assert "note 04" not in first.content.decode()
    older = first.context["section"].older_url
    second = client.get(page_url(mina) + older)

    assert "note 04" in second.content.decode()
    assert second.context["section"].newer_url == "?tab=notes&page=1#sections"
    assert second.context["section"].older_url == ""
    for number in ("0", "-1", "x", "9" * 30, "99999"):
        odd = client.get(page_url(mina), {"tab": "notes", "page": number})
        assert odd.status_code == 200


def test_leads_to_the_neighbors(account, staff_client):
    first, second, third = (AffiliateFactory(account=account, created_at=NOW) for _ in range(3))
    removed = AffiliateFactory(account=account, created_at=NOW, deleted_at=NOW)
    client = staff_client()

    def get_neighbors(affiliate):
        context = client.get(page_url(affiliate)).context
        return context["previous"], context["next"]

    assert get_neighbors(third) == (None, second)
    assert get_neighbors(second) == (third, first)
    assert get_neighbors(first) == (second, None)
    assert get_neighbors(removed) == (None, third)


@pytest.mark.engine_independent
@pytest.mark.usefixtures("at_noon")
def test_takes_a_limited_number_of_statements(
    account, staff_client, scenario, mina, capture_queries, subtests
):
    now = timezone.now()
    parent = AffiliateFactory(account=account, slug="parent")
    set_parent(account, affiliate_id=mina.slug, parent_id="parent", at=NOW)
    for number in range(5):
        scenario.create_conversion("20", at=now, external_id=f"order-{number}")
        EnrollmentFactory(account=account, affiliate=mina)
        create_note(account, affiliate=mina, text="note", at=NOW)
        AffiliateFactory(account=account, parent=mina)
    clients = {role: staff_client(role) for role in Role.values}
    clients[Role.OWNER].get("/admin/")  # stores the statistics of past days

    for role, tab in product(clients, TABS):
        with subtests.test(role=role, tab=tab):
            with capture_queries() as executed:
                response = clients[role].get(page_url(mina), {"tab": tab})

            assert response.status_code == 200
            assert parent.slug in response.content.decode()
            assert len(executed) <= MAX_QUERIES


def test_decides_right_there(account, staff_client, scenario, mina):
    scenario.mina.enrollment.update_row(approved=None)
    url = reverse("admin:tracking_enrollment_approve", args=[scenario.mina.enrollment.pk])
    client = staff_client("manager")
    assert f'<form method="post" action="{url}">' in (client.get(page_url(mina)).content.decode())

    response = client.post(url, follow=True)

    assert account.enrollments.get().approved
    assert response.redirect_chain == [(f"{page_url(mina)}?tab=programs", 302)]


def test_viewers_see_no_buttons_and_managers_cannot_pay(account, staff_client, scenario, mina):
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission, at=NOW)

    viewer = staff_client("viewer").get(page_url(mina))
    manager = staff_client("manager").get(page_url(mina))

    assert viewer.context["page_urls"] == {}
    assert not any(card.urls for card in viewer.context["programs"])
    assert viewer.context["pay_links"] == manager.context["pay_links"] == []
    assert set(manager.context["page_urls"]) == {
        *("edit", "group", "parent", "remove", "program", "note", "payout"),
        *("minimum", "tax", "invite", "view_portal", "remove_second_factor"),
    }


def test_removed_affiliates_can_only_be_exported_and_erased(account, staff_client, mina):
    mina.update_row(deleted_at=NOW)

    context = staff_client().get(page_url(mina)).context

    assert set(context["page_urls"]) == {"export_person", "erase_person"}
    assert context["badges"][0].color == "danger"
    assert not any(card.urls for card in context["programs"])


def test_changes_nothing_by_post(staff_client, mina):
    assert staff_client().post(page_url(mina)).status_code == 403
