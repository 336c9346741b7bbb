"""Pages about a conversion, a commission and a payment."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.actor import use_actor
from affiliate_site.api.resources.conversions import build_added_line_items
from affiliate_site.backoffice.conversions.admin import find_outcomes, label_conversion
from affiliate_site.backoffice.money_pages import NEXT_STEP
from affiliate_site.backoffice.theme import TO_CHECK
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_commission,
)
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from tests.affiliate_site.backoffice.money_forms import page_url, submit_and_confirm
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import TrackingParameters
from tracking.services.hierarchy import create_group, set_group

LATER = CONVERSION_CREATED_AT + timedelta(days=1)
NEXT_MONTH = datetime(2026, 4, 3, tzinfo=UTC)


@pytest.fixture
def conversion(scenario):
    """A conversion by a coupon; a click of another affiliate lost."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    click = scenario.create_click(scenario.odette)
    parameters = TrackingParameters(
        coupon=scenario.mina.coupon, click_id=str(click.public_id), customer_id="anna"
    )
    return scenario.create_conversion("100.92", parameters=parameters, external_id="order-1")


@pytest.fixture
def commission(scenario, conversion):
    return scenario.get_commission(conversion)


def get_details(client, row):
    """Title → section, and the whole page as text."""
    response = client.get(page_url(row, "change"))
    assert response.status_code == 200
    details = response.context["details"]
    sections = {section.title: section for section in details.sections}
    return details, sections, " ".join(response.content.decode().split())


def list_texts(rows):
    return [[str(cell) for cell in row] for row in rows]


def test_shows_attribution_calculation_and_history(
    staff_client, account, scenario, conversion, commission
):
    client = staff_client()
    scenario.approve(commission, at=LATER)

    details, sections, page = get_details(client, conversion)

    assert details.headline == "100.92 EUR"
    assert [(it, it.color) for it in details.labels] == [("approved", "success")]
    facts = dict(sections["Sale"].facts)
    assert facts["Order ID"] == "order-1"
    assert "User agent" not in page  # empty values are left out
    customer, coupon, click = sorted(
        list_texts(sections["Attribution"].values),
        key=lambda row: ["Customer", "Coupon", "Click"].index(row[0]),
    )
    assert coupon[2:] == ["minakessler", "<strong>Wins</strong>"]
    assert click[2:] == ["odettevarga", "Coupon comes first"]
    assert customer[2] == "No affiliate"
    (row,) = list_texts(sections["Calculation"].values)
    assert row[1:] == [
        "minakessler",
        "10 % (commission type standard)",
        "100.92 at 10 % = 10.092",
        "10.09 EUR",
        "10.09 EUR",
        '<span class="status-label success">Approved</span>',
    ]
    assert "Verified: attribution and calculation give the same result" in page
    history = " ".join(str(cell) for row in sections["History"].values for cell in row)
    address = page_url(commission, "change")
    assert f'Approved <a href="{address}">commission' in history
    for text in ("Not earned → Pending", "Pending → Balance due"):
        assert text in history


def test_history_names_who_did_it(staff_client, account, conversion, commission):
    client = staff_client()
    client.post(page_url(commission, "disapprove"), {"reason": "x"})
    effects = client.post(page_url(commission, "disapprove"), {"reason": "Own order"})
    client.post(
        page_url(commission, "disapprove"),
        {"reason": "Own order", "effects": effects.context["effects"].digest},
    )

    _, sections, page = get_details(client, commission)

    (entry,) = [
        row for row in sections["History"].values if row[1] == "Disapproved this commission"
    ]
    assert entry[2] == account.staff.get().email
    assert "Disapproved: Own order" in page


def test_history_names_who_moved_the_money(staff_client, account, conversion, commission):
    client = staff_client()
    with use_actor(account.staff.get().actor_name):
        approve_commission(account, commission_id=commission.pk, at=LATER)
    with use_actor("command tidy"):  # at the same moment
        delete_conversion(account, conversion_id=conversion.pk, at=LATER)

    for row in (conversion, commission):
        _, sections, page = get_details(client, row)
        history = {
            strip_tags(text).split(" (")[0]: who for _, text, who in sections["History"].values
        }
        assert history["10.09 EUR: Not earned → Pending"] == "The system"
        assert history["10.09 EUR: Pending → Balance due"] == "owner@harbor.example.org"
        for text in ("10.09 EUR: Balance due → Pending", "Removed conversion order-1"):
            assert history[text] == "The command tidy"
        assert "(now " not in page


def test_history_names_who_paid(staff_client, account, conversion, commission):
    client = staff_client()
    approve_commission(account, commission_id=commission.pk, at=LATER)
    order = PaymentOrder(commission.affiliate.slug, commission.amount, "EUR")
    with use_actor(account.staff.get().actor_name):
        (payment,) = create_payments(account, orders=[order], at=LATER)

    _, sections, _ = get_details(client, commission)

    history = [(strip_tags(text), who) for _, text, who in sections["History"].values]
    assert history[-1] == (f"Paid by {payment}", "owner@harbor.example.org")


def test_shows_corrections_and_removals(staff_client, scenario, account, conversion, commission):
    client = staff_client()
    scenario.change_amount(conversion, 50, at=LATER)
    _, sections, _ = get_details(client, conversion)
    history = [str(row[1]) for row in sections["History"].values]
    assert any("amount: 100.92 → 50" in text for text in history)

    delete_conversion(account, conversion_id=conversion.pk, at=LATER)
    for row in (conversion, commission):
        details, _, _ = get_details(client, row)
        assert details.is_removed
        assert list(details.labels) == ["removed"]


def test_a_payment_shows_what_it_pays_and_a_commission_what_pays_it(
    staff_client, account, scenario, conversion, commission
):
    client = staff_client()
    scenario.approve(commission, at=LATER)
    _, sections, _ = get_details(client, commission)
    balance = account.ledger_accounts.get(kind="payable")
    ((_, link),) = sections["Payment"].facts
    assert page_url(balance, "change") in link
    method = account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@pay.example.org"},
        is_primary=True,
    )
    payment = scenario.pay("12.09", at=LATER)
    method.update_row(kind="bank", details={})

    _, sections, _ = get_details(client, payment)
    facts = dict(sections["What it pays"].facts)
    assert facts == {
        "This payment": "12.09 EUR",
        "Commissions paid in full": "10.09 EUR",
        "Left over for later commissions": "2.00 EUR",
    }
    (row,) = list_texts(sections["What it pays"].values)
    assert row[2:] == ["10.09 EUR", "Paid by it"]
    text = "PayPal (E-mail: mina@pay.example.org)"
    assert dict(sections["Payment"].facts)["Paid to"] == text

    details, sections, page = get_details(client, commission)
    assert dict(sections["Payment"].facts)["Paid to"] == text
    assert "paid" in details.labels
    assert payment.public_id in page
    scenario.disapprove(commission, at=LATER)
    _, sections, _ = get_details(client, payment)
    (row,) = list_texts(sections["What it pays"].values)
    assert row[3] == "No longer paid by it"


@pytest.mark.parametrize(
    ("kind", "text"), [(None, "not recorded"), ("", "none"), ("bank", "Bank account")]
)
def test_a_payment_without_details_says_so(staff_client, scenario, kind, text):
    """Of an earlier version, without a method, and of an erased affiliate."""
    payment = scenario.pay("1", at=LATER)
    payment.update_row(payout_kind=kind)

    _, sections, _ = get_details(staff_client(), payment)

    assert dict(sections["Payment"].facts)["Paid to"] == text


def test_a_payment_names_the_payments_that_its_amount_comes_from_and_goes_to(
    staff_client, account, scenario, commission
):
    scenario.approve(commission, at=LATER)  # 10.09 EUR
    first, second, third = (
        create_payments(
            account, orders=[PaymentOrder("minakessler", Decimal(it), "EUR")], at=LATER
        )[0]
        for it in ("4", "7", "1")
    )

    client = staff_client()

    def list_facts(payment):
        _, sections, page = get_details(client, payment)
        facts = sections["What it pays"].facts
        is_short = "It pays no commission in full" in page
        return is_short, {strip_tags(name): amount for name, amount in facts}

    assert list_facts(first) == (
        True,
        {"This payment": "4.00 EUR", f"Left over for {second}": "4.00 EUR"},
    )
    assert list_facts(second) == (
        False,
        {
            "This payment": "7.00 EUR",
            f"Left over from {first}": "4.00 EUR",
            "Commissions paid in full": "10.09 EUR",
            f"Left over for {third}": "0.91 EUR",
        },
    )
    cancel_payment(account, payment_id=first.public_id, at=LATER)
    assert list_facts(second)[1] == {
        "This payment": "7.00 EUR",
        "Commissions paid in full": "10.09 EUR",
        f"Missing, from {third}": "3.09 EUR",
    }
    assert list_facts(third)[1] == {
        "This payment": "1.00 EUR",
        f"Used for commissions of {second}": "3.09 EUR",
        "Missing, from a later payment": "2.09 EUR",
    }
    _, sections, _ = get_details(client, first)
    assert sections["What it paid"].facts == []


def test_says_what_was_paid_for_a_commission_that_was_corrected_later(
    staff_client, account, scenario, conversion, commission
):
    scenario.approve(commission, at=LATER)
    payment = scenario.pay("10.09", at=LATER)
    scenario.change_amount(conversion, 50, at=LATER + timedelta(days=1))
    client = staff_client()

    _, sections, _ = get_details(client, payment)
    (row,) = list_texts(sections["What it pays"].values)
    assert row[2:] == ["10.09 EUR", "Paid by it, now 5.00 EUR"]
    _, sections, _ = get_details(client, commission)
    assert dict(sections["Payment"].facts)["Commission when paid"] == "10.09 EUR"


def test_says_that_nothing_was_paid_for_a_commission_of_zero(
    staff_client, account, scenario, conversion, commission
):
    scenario.approve(commission, at=LATER)
    changes = {"amount": Decimal(0)}
    update_commission(account, commission_id=commission.pk, changes=changes, at=LATER)
    payment = scenario.pay(1, at=LATER)

    _, sections, _ = get_details(staff_client(), payment)
    (row,) = list_texts(sections["What it pays"].values)
    assert row[2:] == ["0.00 EUR", "Paid by it"]


@pytest.mark.parametrize("is_missed", [False, True])
def test_says_whether_the_goal_of_a_bonus_is_met(staff_client, account, scenario, is_missed):
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_bonus(goal="2", value="50")
    scenario.create_conversion("200")
    sale = scenario.create_conversion("100")
    (bonus,) = grant_bonuses(account, at=NEXT_MONTH).granted
    if is_missed:
        delete_conversion(account, conversion_id=sale.pk, at=NEXT_MONTH)
        grant_bonuses(account, at=NEXT_MONTH)
    client = staff_client()

    details, sections, _ = get_details(client, bonus)

    facts = dict(sections["Commission"].facts)
    assert facts["Period from"] == "2026-03-01 UTC"
    goal = facts["Goal"]
    assert goal.startswith("Conversions: 2; reached with 2 conversions of 300.00 EUR")
    assert goal.endswith(": no longer met since 2026-04-03 00:00 UTC") == is_missed
    assert ("; now 1 conversion of 200.00 EUR" in goal) == is_missed
    assert details.labels[0] == ("pending" if is_missed else "approved")
    found = client.get(
        reverse("admin:payouts_commission_changelist"),
        {"goal_missed_at__isnull": "False"},
    ).content.decode()
    assert ("Bonus goal no longer met" in found) == is_missed
    assert (str(bonus.amount) in found) == is_missed


def test_says_before_an_approval_that_a_goal_is_no_longer_met(staff_client, account, scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_bonus(goal="300", goal_type="conversion_amount", value="50")
    sale = scenario.create_conversion("300")
    (bonus,) = grant_bonuses(account, at=NEXT_MONTH).granted
    delete_conversion(account, conversion_id=sale.pk, at=NEXT_MONTH)
    grant_bonuses(account, at=NEXT_MONTH)
    client = staff_client()

    page = client.post(
        reverse("admin:payouts_commission_changelist"),
        {"action": "approve_selected", "_selected_action": [bonus.pk]},
    ).content.decode()

    assert "Bonus goal no longer met" in page
    _, sections, text = get_details(client, bonus)
    goal = dict(sections["Commission"].facts)["Goal"]
    assert goal.startswith("Sales: 300.00 EUR; reached with 1 conversion of 300.00 EUR")
    assert "ound the goal of" in text


def test_says_who_reported_a_sale(staff_client, account, scenario):
    client = staff_client()
    form = {"affiliate": scenario.mina.affiliate.pk, "amount": "10"}
    url = "/admin/tracking/conversion/add/"
    submit_and_confirm(client, url, **form)

    _, sections, _ = get_details(client, account.conversions.get())
    assert dict(sections["Sale"].facts)["Reported by"] == "owner@harbor.example.org"


def test_leads_to_the_neighbors_of_the_own_account(staff_client, other_account, scenario):
    first, second, third = (
        scenario.create_conversion("10", at=CONVERSION_CREATED_AT) for _ in range(3)
    )

    client = staff_client()
    response = client.get(page_url(second, "change"))

    assert response.context["neighbors"] == [
        ("Newer", page_url(third, "change")),
        ("Older", page_url(first, "change")),
    ]
    assert staff_client("viewer").get(page_url(third, "change")).context["neighbors"] == [
        ("Older", page_url(second, "change"))
    ]

    filters = "?_changelist_filters=currency%3DEUR%26p%3D2"  # of the page's list
    response = client.get(page_url(first, "change") + filters)
    (newer,) = response.context["neighbors"]
    assert newer == ("Newer", page_url(second, "change") + filters)


def test_says_why_less_is_due_than_an_unpaid_commission(staff_client, account, commission):
    """A payment that was left over counts toward the commission."""
    client, note = staff_client(), "earlier payments left something over"
    approve_commission(account, commission_id=commission.pk, at=LATER)
    assert note not in get_details(client, commission)[2]
    order = PaymentOrder(commission.affiliate.slug, commission.amount, "EUR")
    create_payments(account, orders=[order], at=LATER)
    disapprove_commission(account, commission_id=commission.pk, at=LATER)
    approve_commission(account, commission_id=commission.pk, at=LATER)

    _, sections, page = get_details(client, commission.reload())

    assert sections["Payment"].notes[0] == "Not paid."
    assert note in page
    (due,) = (strip_tags(str(value)) for _, value in sections["Payment"].facts)
    assert due == "0.00 EUR"


def test_says_why_the_commissions_are_not_of_the_amount_of_the_sale(
    staff_client, scenario, account, conversion
):
    client = staff_client()
    line_items = build_added_line_items([{"conversion_sub_amount": Decimal(40)}], is_array=False)

    def get_note():
        (note,) = get_details(client, conversion)[1]["Calculation"].notes
        return note

    scenario.change_amount(conversion, 50, at=LATER)
    add_commissions(account, conversion_id=conversion.pk, line_items=line_items, at=LATER)
    assert get_note() == (
        "The commissions are calculated from 90.00 EUR, the sale is 50.00 EUR: a"
        " commission was added. See History."
    )
    scenario.change_amount(conversion, 70, recalculate=False, at=LATER)
    assert "its amount was changed, and they were kept; a commission" in get_note()


def test_the_list_shows_the_statuses_of_the_commissions(
    staff_client, account, scenario, commission
):
    second = scenario.create_conversion("10", external_id="order-2")
    scenario.approve(commission, at=LATER)
    scenario.delete(second, at=LATER)

    response = staff_client().get("/admin/tracking/conversion/")

    labels = {
        row.external_id: strip_tags(label_conversion(row, row.loaded[find_outcomes])).split()
        for row in response.context["cl"].result_list
    }
    assert labels == {"order-1": ["Approved"], "order-2": ["Removed"]}


def test_shows_an_affiliate_in_a_program(staff_client, account, scenario):
    scenario.create_enrolled_affiliate("Odette", "Varga", approved=None)
    client, enrollment = staff_client(), scenario.mina.enrollment

    details, sections, page = get_details(client, enrollment)

    assert details.headline == "Mina Kessler in Harbor Lamp Partners"
    assert [(it, it.color) for it in details.labels] == [("approved", "success")]
    facts = dict(sections["Program affiliate"].facts)
    assert page_url(scenario.mina.affiliate, "change") in facts["Affiliate"]
    assert page_url(scenario.program, "change") in facts["Program"]
    assert facts["Affiliate ID"] == "minakessler"
    assert (facts["Coupon"], facts["Referral code"]) == (
        scenario.mina.coupon,
        scenario.mina.code,
    )
    assert scenario.mina.asset_id in sections["Links"].lines
    assert f'href="{page_url(enrollment, "disapprove")}"' in page
    assert f'{page_url(enrollment, "change")}">minakessler</a>' in page
    assert f"{enrollment}</a>" not in page
    other = account.enrollments.exclude(pk=enrollment.pk).get()
    assert f'href="{page_url(other, "change")}" rel="prev"' in page


def test_breadcrumbs_keep_the_letters_of_an_id(staff_client, scenario):
    response = staff_client().get(page_url(scenario.mina.affiliate, "change"))

    page = response.content.decode()
    assert list_breadcrumbs(page) == ["Affiliates", "minakessler"]


def test_breadcrumbs_name_a_page_as_the_sidebar_does(staff_client, scenario):
    client = staff_client()

    def open_page(name, *args):
        page = client.get(reverse(f"admin:{name}", args=args)).content.decode()
        return list_breadcrumbs(page)

    assert open_page("index") == ["Dashboard"]
    assert open_page("tracking_program_add") == ["Affiliates", "Programs"]
    assert open_page("payouts_transfer_changelist") == ["Payouts", "Ledger"]
    assert open_page("payouts_payoutrun_add") == ["Payouts", "Payout runs"]
    assert open_page("second_factor") == ["Two-factor authentication"]
    to_check = f"{reverse('admin:payouts_commission_changelist')}?{TO_CHECK}"
    page = client.get(to_check).content.decode()
    assert list_breadcrumbs(page) == ["Tracking", "To check"]
    assert page.count('class="nav-item active"') == 1
    rate = scenario.account.commission_types.get()
    assert open_page("payouts_commissiontype_edit", rate.pk) == [
        "Affiliates",
        "Programs",
        rate.title,
    ]


def list_breadcrumbs(page: str) -> list[str]:
    """The texts of the breadcrumbs, from left to right."""
    breadcrumbs = page.partition('<h1 class="breadcrumbs')[2].partition("</h1>")[0]
    return re.findall(r">([^<>]*\w[^<>]*)</", breadcrumbs)


def test_names_the_group_whose_rate_was_used(staff_client, account, scenario):
    group = create_group(account, title="Top affiliates", at=CONVERSION_CREATED_AT)
    affiliate = scenario.mina.affiliate
    set_group(
        account,
        affiliate_id=affiliate.slug,
        group_id=group.public_id,
        at=CONVERSION_CREATED_AT,
    )
    account.group_rates.create(
        group=group,
        commission_type=account.commission_types.get(),
        kind="percentage",
        value=12,
    )
    commission = scenario.get_commission(scenario.create_conversion("100"))
    client = staff_client()

    _, _, page = get_details(client, commission)
    assert "12 % (group Top affiliates for type" in page
    assert group.public_id not in page
    _, _, page = get_details(client, commission.conversion)
    assert "12 % (group Top affiliates for type" in page


def test_a_removed_sale_has_removed_commissions(staff_client, account, conversion):
    delete_conversion(account, conversion_id=conversion.pk, at=LATER)

    _, sections, _ = get_details(staff_client(), conversion)

    (row,) = sections["Calculation"].values
    assert "Removed" in row[-1]


def test_a_click_shows_its_browser_once_and_no_empty_rows(staff_client, scenario):
    click = scenario.create_click()
    click.user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko Firefox/131.0"
    click.save(update_fields=["user_agent"])

    page = staff_client().get(page_url(click, "change")).content.decode()

    form = page.partition('id="click_form"')[2]
    assert form.count("Firefox 131") == form.count("User agent") == 1
    assert "Referrer" not in form


def test_the_ledger_names_affiliates(staff_client, conversion):
    page = staff_client().get("/admin/payouts/transfer/").content.decode()

    assert "Pending of minakessler" in page
    assert "Not earned" in page


def test_says_which_cap_was_reached_and_by_which_sales(staff_client, scenario):
    scenario.program.update_row(recurring_cap=2)
    orders = [
        scenario.create_conversion(
            "10",
            parameters=TrackingParameters(coupon=scenario.mina.coupon, customer_id="anna"),
            external_id=f"order-{number}",
            at=CONVERSION_CREATED_AT + timedelta(hours=number),
        )
        for number in range(4)
    ]

    client = staff_client()
    _, sections, page = get_details(client, orders[3])

    cap = strip_tags(str(dict(sections["Calculation"].facts)["Commission cap"]))
    assert cap == (
        "Later sales of a customer earn, too: up to 2 sales (the rule of today). Other"
        " sales of this customer that earn today: order-1, order-0"
    )
    assert page_url(orders[1], "change") in page
    for order in orders[:2]:
        scenario.delete(order, at=LATER)
    _, sections, _ = get_details(client, orders[3])
    cap = strip_tags(str(dict(sections["Calculation"].facts)["Commission cap"]))
    assert cap.endswith("earn today: none any more")
    _, sections, _ = get_details(client, orders[1])
    assert dict(sections["Calculation"].facts)["Commission cap"] == ""


def test_the_first_page_of_an_approval_says_what_follows(staff_client, scenario):
    commission = scenario.get_commission(scenario.create_conversion("10"))

    page = staff_client().get(page_url(commission, "approve")).content.decode()

    assert NEXT_STEP in page
