"""Staff add, correct and remove conversions, and decide about commissions."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import delete_conversion, update_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from tests.affiliate_site.backoffice.money_forms import (
    confirm,
    get_entries,
    list_messages,
    page_url,
    submit,
    submit_and_confirm,
)
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import EnrollmentFactory, ProgramFactory
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.program_scenario import ProgramScenario
from tracking.claims import Trust
from tracking.services.hierarchy import set_parent

DUPLICATE = "already a conversion with the order ID <a class"

pytestmark = pytest.mark.usefixtures("shared_scenario")

ADD_URL = "/admin/tracking/conversion/add/"
CONVERSION_PAGES = ("refund", "edit", "affiliate", "add-commission", "remove")


@pytest.fixture(autouse=True)
def consistent_ledger(account):
    yield
    assert_ledger_consistent(account)


@pytest.fixture
def conversion(scenario):
    """A conversion of 200 EUR with a pending commission of 20 EUR."""
    return scenario.create_conversion("200", external_id="order-1")


@pytest.fixture
def commission(scenario, conversion):
    return scenario.get_commission(conversion)


def pay(scenario, amount):
    order = PaymentOrder(scenario.mina.slug, Decimal(amount), "EUR")
    return create_payments(scenario.account, orders=[order], at=NOW)[0]


# Correct and remove


def test_corrects_an_amount_after_showing_what_moves(staff_client, account, conversion):
    client, url = staff_client("manager"), page_url(conversion, "edit")
    before = snapshot_account(account)

    sent, shown = submit(client, url, amount="150.50")
    page = shown.content.decode()
    assert "20.00 EUR, pending" in page
    assert "15.05 EUR, pending" in page
    assert 'name="amount" value="150.50"' in page
    assert snapshot_account(account) == before

    response = confirm(client, url, sent, shown)
    assert list_messages(response) == [
        f"Sale order-1 ({conversion}) was saved: amount 200.00 EUR → 150.50 EUR."
    ]
    assert account.conversions.get().amount == Decimal("150.50")
    assert account.commissions.get().amount == Decimal("15.05")


def test_an_amount_can_change_without_the_commissions(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "edit")
    sent = get_entries(client, url) | {"amount": "150"}
    del sent["should_recalculate"]

    shown = client.post(url, sent)
    assert dict(shown.context["effect_facts"]) == {
        "Sale before": "200.00 EUR",
        "Sale after": "150.00 EUR",
        "Order ID": "",
        "Commissions": "keep their amounts",
        "Reason": "It was wrong.",
    }
    assert account.conversions.get().amount == 200

    page = confirm(client, url, sent, shown).content.decode()
    assert account.conversions.get().amount == 150
    assert account.commissions.get().amount == 20
    assert (
        "The commissions are calculated from 200.00 EUR, the sale is 150.00 EUR: its"
        " amount was changed, and they were kept."
    ) in page


def test_says_that_a_commission_is_paid_and_what_moves_in_the_end(
    staff_client, account, scenario, conversion, commission
):
    client = staff_client()
    approve_commission(account, commission_id=commission.pk, at=NOW)
    payment = pay(scenario, "20")
    text = f"Paid already: commission {commission} of 20.00 EUR by"
    for row, name in (
        (conversion, "edit"),
        (conversion, "remove"),
        (commission, "edit"),
        (commission, "disapprove"),
    ):
        page = client.get(page_url(row, name)).content.decode()
        assert text in page, name
        assert f"{payment}</a>. Payments stay" in page, name

    _, shown = submit(client, page_url(conversion, "edit"), amount="150")
    assert shown.context["transfer_rows"] == [
        {
            "amount": "5.00 EUR",
            "debit": "Balance due",
            "credit": "Not earned",
            "affiliate": "minakessler",
        }
    ]
    page = client.get(page_url(conversion, "change"))
    assert list(page.context["details"].labels) == ["approved", "paid"]
    assert "Approved</span> paid by <a" in page.content.decode()


def test_corrects_order_id_and_metadata(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "edit")

    _, response = submit(client, url, external_id="order-2", meta_data="plan: gold\r\nseats: 3")

    assert response.status_code == 302
    stored = account.conversions.get()
    assert stored.external_id == "order-2"
    assert stored.meta_data == {"plan": "gold", "seats": "3"}
    assert get_entries(client, url)["meta_data"] == stored.meta_data


def test_a_new_order_id_leaves_the_commissions_alone(staff_client, account, conversion, commission):
    """Even if their amounts were set by hand, and recalculating is switched on."""
    client = staff_client()
    submit_and_confirm(client, page_url(commission, "edit"), amount="12.34")

    _, response = submit(client, page_url(conversion, "edit"), external_id="order-2")

    assert response.status_code == 302
    assert account.commissions.get().amount == Decimal("12.34")


def test_an_order_id_of_a_claim_shows_that_its_commissions_are_disapproved(
    staff_client, scenario, account, conversion
):
    claim = scenario.create_conversion(
        "50", external_id="order-2", trust=Trust.CLAIM, is_browser_sale=True
    )
    client, url = staff_client(), page_url(conversion, "edit")

    sent, shown = submit(client, url, external_id="order-2")
    response = confirm(client, url, sent, shown)

    commission = scenario.get_commission(claim)
    effects = shown.context["effects"].commissions
    assert [effect.commission_id for effect in effects] == [commission.pk]
    assert response.status_code == 200
    assert commission.status == "disapproved"
    assert account.conversions.get(external_id="order-2") == conversion


@pytest.mark.parametrize(
    ("entered", "amount"), [("150,5", "150.5"), (" 150,50 ", "150.5"), ("150.50", None)]
)
def test_takes_a_decimal_comma(staff_client, account, conversion, entered, amount):
    """An input of numbers dropped it: 150,50 became 15050."""
    client, url = staff_client(), page_url(conversion, "edit")
    assert 'type="number"' not in client.get(url).content.decode()

    submit_and_confirm(client, url, amount=entered)

    assert account.conversions.get().amount == Decimal(amount or entered)


def test_entries_can_be_changed_after_the_preview(staff_client, conversion):
    client, url = staff_client(), page_url(conversion, "edit")
    sent, shown = submit(client, url, amount="150")

    response = client.post(url, sent | {"_change_entries": ""})

    assert "effects" not in response.context
    assert response.context["form"]["amount"].value() == "150"
    assert response.context["version"] == shown.context["version"]


@pytest.mark.engine_independent
@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"amount": "-1"}, "amount", "cannot be negative"),
        ({"amount": "10.0005"}, "amount", "at most 2 decimals"),
        ({"amount": "1e14"}, "amount", "too many digits"),
        ({"amount": "9" * 400}, "amount", "too many digits"),
        ({"amount": "NaN"}, "amount", "number"),
        ({"amount": ""}, "amount", "required"),
        ({"external_id": "x" * 256}, "external_id", "255 characters"),
        ({"external_id": ""}, "external_id", "not removed"),
        ({"external_id": "order-taken"}, "external_id", DUPLICATE),
        ({"meta_data": "no separator"}, "meta_data", "key: value"),
        ({"meta_data": "a: 1\na: 2"}, "meta_data", "twice"),
        ({"meta_data": "a/b: 1"}, "meta_data", "not allowed"),
        ({"meta_data": "a: " + "x" * 256}, "meta_data", "255"),
    ],
)
def test_refuses_bad_entries_beside_their_field(
    staff_client, account, scenario, conversion, changed, field, text
):
    scenario.create_conversion("5", external_id="order-taken")
    client = staff_client()
    before = snapshot_account(account)

    sent, response = submit(client, page_url(conversion, "edit"), **changed)

    form = response.context["form"]
    assert text in str(form.errors[field])
    assert form["amount"].value() == str(sent["amount"])
    assert snapshot_account(account) == before


def test_removing_a_paid_sale_says_that_the_balance_becomes_negative(
    staff_client, account, scenario, conversion, commission
):
    approve_commission(account, commission_id=commission.pk, at=NOW)
    pay(scenario, "20")
    client, url = staff_client(), page_url(conversion, "remove")

    sent, shown = submit(client, url, reason="A test.")
    page = " ".join(shown.content.decode().split())
    assert "Balance due of minakessler becomes negative: -20.00 EUR." in page
    assert dict(shown.context["effect_facts"]) == {"Reason": "A test."}
    assert account.conversions.get().deleted_at is None

    response = confirm(client, url, sent, shown)
    assert list_messages(response) == [f"Sale order-1 ({conversion}) was removed."]
    assert "Reason: A test." in response.content.decode()
    assert account.conversions.get().deleted_at
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": -20}}


def test_nothing_is_stored_if_the_effects_changed_meanwhile(
    staff_client, account, conversion, commission
):
    client, url = staff_client(), page_url(conversion, "remove")
    sent, shown = submit(client, url)
    approve_commission(account, commission_id=commission.pk, at=NOW)

    again = confirm(client, url, sent, shown)

    assert "Something changed since this page was opened" in again.content.decode()
    assert account.conversions.get().deleted_at is None
    assert confirm(client, url, sent, again).status_code == 200
    assert account.conversions.get().deleted_at


def change_amount_meanwhile(account, conversion, amount):
    """What a second clerk stores while the page of the first one is open."""
    update_conversion(
        account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(amount)},
        should_recalculate=True,
        at=NOW,
    )


def test_two_clerks_cannot_overwrite_each_other(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "edit")
    sent, shown = submit(client, url, amount="150")
    change_amount_meanwhile(account, conversion, "180")

    response = confirm(client, url, sent, shown)

    errors = str(response.context["form"].errors["__all__"])
    assert "Amount is now 180.00" in errors
    assert account.conversions.get().amount == 180
    assert response.context["form"]["amount"].value() == "150"


@pytest.mark.parametrize(("amount", "shown"), [("180", "180.00"), ("0", "0")])
def test_saving_again_after_a_conflict_does_not_undo_the_other_change(
    staff_client, account, conversion, amount, shown
):
    """The form has the present value of what the first clerk did not touch."""
    client, url = staff_client(), page_url(conversion, "edit")
    opened = get_entries(client, url) | {"external_id": "order-2"}
    change_amount_meanwhile(account, conversion, amount)

    form = client.post(url, opened).context["form"]

    assert form["amount"].value() == shown
    assert form["external_id"].value() == "order-2"


def test_a_removed_conversion_has_no_pages(staff_client, account, conversion):
    client = staff_client()
    delete_conversion(account, conversion_id=conversion.pk, at=NOW)

    for name in CONVERSION_PAGES:
        response = client.get(page_url(conversion, name), follow=True)
        assert "not possible in this state" in list_messages(response)[0]


def test_final_commissions_refuse_the_removal(staff_client, account, scenario):
    type(account).objects.filter(pk=account.pk).update(uses_payouts=True)
    account.refresh_from_db()
    conversion = scenario.create_conversion("200")
    commission = scenario.get_commission(conversion)
    account.commissions.filter(pk=commission.pk).update(amount=commission.amount)
    url = page_url(conversion, "remove")
    client = staff_client()

    form = client.post(page_url(commission, "approve")).context["form"]
    assert form.non_field_errors() == ["The payout balance does not cover this commission."]
    assert "effects" in client.post(url, {"reason": "A test."}).context
    type(account).objects.filter(pk=account.pk).update(uses_payouts=False)


def test_warns_if_the_commission_that_a_level_follows_is_pending(staff_client, account, scenario):
    scenario.create_level(2, "3")
    parent = scenario.create_enrolled_affiliate("Odette", "Varga").affiliate
    set_parent(account, affiliate_id="minakessler", parent_id=parent.slug, at=NOW)
    scenario.create_conversion("200")
    base = account.commissions.get(kind="regular")
    level = account.commissions.get(kind="level")
    warning = f"commission {base} of minakessler, which it follows, is still pending"
    client, url = staff_client(), reverse("admin:payouts_commission_changelist")

    def open_pages(*selected):
        """The confirmations of one approval and of a bulk one."""
        form = {
            "action": "approve_selected",
            "_selected_action": [row.pk for row in selected],
        }
        pages = client.post(page_url(level, "approve")), client.post(url, form)
        return [warning in page.content.decode() for page in pages]

    assert open_pages(level) == [True, True]
    assert open_pages(level, base) == [True, False]  # both become approved
    approve_commission(account, commission_id=base.pk, at=NOW)
    assert open_pages(level) == [False, False]


# Add by hand


NEW = {"amount": "80", "external_id": "order-9", "customer_id": "anna"}


def test_adds_a_conversion_of_an_affiliate_in_a_program(staff_client, account, scenario):
    client = staff_client("manager")
    entries = NEW | {
        "affiliate": scenario.mina.affiliate.pk,
        "program": scenario.program.pk,
    }

    shown = client.post(ADD_URL, entries)
    page = shown.content.decode()
    assert "8.00 EUR, pending" in page
    assert "affiliate and program, of an asset link or chosen by staff" in page
    assert not account.conversions.exists()
    confirm(client, ADD_URL, entries, shown)

    conversion = account.conversions.get()
    assert (conversion.amount, conversion.external_id) == (80, "order-9")
    assert conversion.affiliate == scenario.mina.affiliate
    assert conversion.tracking_source == "asset_source"
    assert conversion.customer.customer_id == "anna"
    assert account.commissions.get().amount == 8
    entry = account.audit_log.get(kind="conversion.created")
    assert entry.actor == account.staff.get().actor_name


def test_says_if_another_affiliate_earns_than_the_chosen_one(staff_client, account, scenario):
    scenario.create_customer("anna")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    entries = NEW | {
        "affiliate": odette.affiliate.pk,
        "program": scenario.program.pk,
    }

    facts = dict(staff_client().post(ADD_URL, entries).context["effect_facts"])

    assert facts["Affiliate"] == "minakessler"
    assert facts["Not earned by"] == (
        "odettevarga, whom you chose: a sale of a known customer belongs to the"
        " affiliate of the customer, minakessler"
    )


def test_says_why_a_new_commission_is_disapproved(staff_client, account, scenario):
    scenario.program.update_row(recurring=False)
    scenario.create_customer("anna")
    scenario.create_conversion("10", customer_id="anna")

    facts = dict(staff_client().post(ADD_URL, NEW).context["effect_facts"])

    assert facts["Commission of minakessler"].startswith(
        "Standard, 10 % of 80.00 EUR; disapproved: "
    )


@pytest.mark.parametrize("source", ["coupon", "click", "customer"])
def test_adds_a_conversion_by_other_parameters(staff_client, account, scenario, source):
    client = staff_client()
    entries = {"amount": "80", "currency": "USD"}
    if source == "coupon":
        entries["coupon"] = scenario.mina.coupon
    elif source == "click":
        entries["click_id"] = str(scenario.create_click().public_id)
        entries["ignore_cookie_age"] = "on"
    else:
        scenario.create_customer("anna")
        entries["customer_id"] = "anna"

    shown = client.post(ADD_URL, entries)
    confirm(client, ADD_URL, entries, shown)

    conversion = account.conversions.get()
    assert (conversion.tracking_source, conversion.currency) == (source, "USD")


@pytest.mark.parametrize("page", ["add", "edit", "affiliate"])
def test_preview_names_a_parent_who_earns_nothing(staff_client, account, scenario, page):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", approved=None)
    hana = scenario.create_enrolled_affiliate("Hana", "Kim")
    rate = {"kind": "percentage", "value": Decimal(5)}
    account.levels.create(program=scenario.program, level=2, title="Parent", **rate)
    for child in (scenario.mina, hana):
        names = {"affiliate_id": child.slug, "parent_id": odette.slug}
        set_parent(account, **names, at=NOW)
    sale = scenario.create_conversion("100", at=timezone.now())
    entries = {
        "add": {"amount": "80", "coupon": scenario.mina.coupon},
        "edit": {"amount": "80"},
        "affiliate": {"affiliate": hana.affiliate.pk},
    }
    url = ADD_URL if page == "add" else page_url(sale, page)

    _, response = submit(staff_client(), url, **entries[page])

    facts = dict(response.context["effect_facts"])
    assert facts["Level 2"] == (
        "odettevarga earns nothing: affiliate is not approved in the program"
    )


@pytest.mark.parametrize(("others", "found"), [([], True), (["mina10"], False)])
def test_finds_a_coupon_in_another_case_as_pages_do(staff_client, account, scenario, others, found):
    account.coupons.update(code="MINA10")
    for code in others:
        odette = scenario.create_enrolled_affiliate("Odette", "Varga")
        account.coupons.filter(enrollment=odette.enrollment).update(code=code)

    _, response = submit(staff_client(), ADD_URL, amount="80", coupon="Mina10")

    if found:
        assert dict(response.context["effect_facts"])["Coupon"] == "MINA10"
    else:
        errors = response.context["form"].errors["coupon"]
        assert errors == ["Unknown coupon code"]


def test_a_commission_type_must_be_one_of_the_program(staff_client, account, scenario):
    accessories = scenario.create_commission_type("accessories", "5")
    other = ProgramScenario(account, slug="other", email=None)
    client = staff_client()
    entries = {"amount": "80", "coupon": scenario.mina.coupon}

    foreign = account.commission_types.get(program=other.program)
    refused = client.post(ADD_URL, entries | {"commission_type": foreign.pk})
    assert "Harbor Lamp Partners" in str(refused.context["form"].errors["commission_type"])
    entries["commission_type"] = accessories.pk
    confirm(client, ADD_URL, entries, client.post(ADD_URL, entries))
    assert account.commissions.get().amount == 4


@pytest.mark.parametrize(("days", "time"), [(0, ""), (40, ""), (100, "14:30")])
def test_adds_a_sale_of_its_day(staff_client, account, scenario, days, time):
    account.time_zone = "Pacific/Auckland"
    account.save()
    day = account.get_day(timezone.now()) - timedelta(days=days)
    sale = {"amount": "80", "coupon": scenario.mina.coupon}
    entries = sale | {"created_at": day, "time": time}
    client = staff_client()

    response = client.post(ADD_URL, entries)
    facts = dict(response.context["effect_facts"])
    assert facts["Sold"].startswith(f"{day} {time}")
    assert bool(facts["Rates"]) == bool(days)
    confirm(client, ADD_URL, entries, response)

    sold_at = account.conversions.get().created_at.astimezone(account.zone)
    assert sold_at.date() == day
    if days:
        assert f"{sold_at:%H:%M}" == (time or "00:00")


BAD_NEW_CONVERSIONS = [
    ({"created_at": "2999-01-01"}, "created_at", "in the future"),
    ({"created_at": "0202-01-01"}, "created_at", "before 1990"),
    ({"created_at": "0001-01-01"}, "created_at", "before 1990"),
    ({"created_at": "2026-01-01", "time": "25:00"}, "time", "valid time"),
    ({"amount": "-1"}, "amount", "cannot be negative"),
    ({"amount": "1.9999"}, "amount", "at most 2 decimals"),
    ({"amount": "9" * 20}, "amount", "too many digits"),
    ({"amount": ""}, "amount", "required"),
    ({"coupon": "nobody"}, "coupon", "Unknown coupon"),
    ({"coupon": "x" * 256}, "coupon", "255 characters"),
    ({"coupon": ""}, "affiliate", "an affiliate, a coupon or a click"),
    ({"click_id": "abc"}, "click_id", "one of these only"),
    ({"currency": "XXQ"}, "currency", "valid choice"),
    ({"external_id": "order-taken"}, "external_id", DUPLICATE),
    ({"external_id": "x" * 256}, "external_id", "255 characters"),
    ({"commission_type": "foreign"}, "commission_type", "valid choice"),
    ({"program": "foreign"}, "program", "valid choice"),
    ({"affiliate": "foreign"}, "affiliate", "valid choice"),
    ({"coupon": "foreign"}, "coupon", "Unknown coupon"),
    ({"coupon": "", "click_id": "foreign"}, "click_id", "Invalid click id"),
    ({"coupon": "", "customer_id": "foreign"}, "customer_id", "no customer found"),
]


@pytest.mark.engine_independent
def test_refuses_a_bad_new_conversion(staff_client, account, scenario, subtests):
    foreign = ProgramScenario(AccountFactory(), email=None)
    foreign.create_customer("foreign")
    values = {
        "commission_type": foreign.account.commission_types.get().pk,
        "program": foreign.program.pk,
        "affiliate": foreign.mina.affiliate.pk,
        "coupon": f"{foreign.mina.coupon}-F",
        "click_id": foreign.create_click().public_id,
        "customer_id": "foreign",
    }
    scenario.create_conversion("5", external_id="order-taken")
    client = staff_client()
    before = snapshot_account(account)
    entries = {"amount": "80", "currency": "EUR", "coupon": scenario.mina.coupon}

    for changed, field, text in BAD_NEW_CONVERSIONS:
        with subtests.test(changed=changed):
            sent = {
                name: values[name] if value == "foreign" else value
                for name, value in changed.items()
            }

            response = client.post(ADD_URL, entries | sent)

            assert text in str(response.context["form"].errors[field])
            assert snapshot_account(account) == before


def test_takes_the_only_program_that_the_affiliate_is_approved_in(staff_client, account, scenario):
    ProgramScenario(account, slug="other", email=None, prefix="o-")
    EnrollmentFactory(account=account, affiliate=scenario.mina.affiliate, approved=None)
    client = staff_client()
    entries = {"amount": "80", "affiliate": scenario.mina.affiliate.pk}

    confirm(client, ADD_URL, entries, client.post(ADD_URL, entries))

    conversion = account.conversions.get()
    assert (conversion.program, conversion.currency) == (scenario.program, "EUR")


@pytest.mark.parametrize(
    ("approved", "titles"),
    [(True, "Harbor Lamp Partners, Zebra Lamps"), (False, "none")],
)
def test_names_the_programs_to_choose_among(staff_client, account, scenario, approved, titles):
    program = ProgramFactory(account=account, title="Zebra Lamps")
    EnrollmentFactory(account=account, affiliate=scenario.mina.affiliate, program=program)
    account.enrollments.update(approved=approved)
    entries = {"amount": "80", "affiliate": scenario.mina.affiliate.pk}

    response = staff_client().post(ADD_URL, entries)

    assert response.context["form"].errors["program"] == [
        f"Choose the program; minakessler is approved in: {titles}."
    ]


def test_says_how_a_commission_is_calculated_before_it_is_stored(staff_client, account, scenario):
    fixed = scenario.create_commission_type("accessories", "5", kind="fixed")
    parent = scenario.create_enrolled_affiliate("Odette", "Varga").affiliate
    scenario.create_level(2, "3")
    set_parent(account, affiliate_id="minakessler", parent_id=parent.slug, at=NOW)
    entries = {"amount": "300", "coupon": scenario.mina.coupon}
    client = staff_client()

    for chosen, texts in (
        ({}, ["Standard, 10 % of 300.00 EUR", "Level 2, 3 % of 300.00 EUR"]),
        ({"commission_type": fixed.pk}, ["Accessories, 5.00 EUR fixed"]),
    ):
        page = client.post(ADD_URL, entries | chosen).content.decode()
        assert [text for text in texts if text not in page] == []


def test_groups_commission_types_by_program(staff_client, account, scenario):
    ProgramScenario(account, slug="other", email=None, prefix="o-")

    form = staff_client().get(ADD_URL).context["form"]

    choices = form.fields["commission_type"].choices
    assert [group for group, _ in choices[1:]] == [
        "Harbor Lamp Partners",
        "o-Harbor Lamp Partners",
    ]
    assert [text for _, types in choices[1:] for _, text in types] == [
        "Standard (Harbor Lamp Partners)",
        "Standard (o-Harbor Lamp Partners)",
    ]
    assert '<optgroup label="Harbor Lamp Partners">' in str(form["commission_type"])


def test_names_affiliates_by_name_and_id_as_choices(staff_client, scenario):
    client = staff_client()
    entries = {"affiliate": scenario.mina.affiliate.pk}
    query = {
        "app_label": "tracking",
        "model_name": "affiliate",
        "field_name": "parent",
        "term": "kess",
    }

    form = client.post(ADD_URL, entries).context["form"]
    found = client.get(reverse("admin:row_choices"), query).json()["results"]

    field = str(form["affiliate"])
    assert f'data-ajax--url="{reverse("admin:row_choices")}"' in field
    assert "selected>Mina Kessler (minakessler)</option>" in field
    assert [row["text"] for row in found] == ["Mina Kessler (minakessler)"]


@pytest.mark.parametrize(
    ("approved", "field", "state"),
    [(None, "affiliate", "pending in"), (False, "coupon", "disapproved in")],
)
def test_leads_to_the_approval_that_a_sale_lacks(
    staff_client, account, scenario, approved, field, state
):
    enrollment = scenario.mina.enrollment
    account.enrollments.filter(pk=enrollment.pk).update(approved=approved)
    entries = {
        "affiliate": {
            "affiliate": enrollment.affiliate_id,
            "program": enrollment.program_id,
        },
        "coupon": {"coupon": scenario.mina.coupon},
    }[field]

    response = staff_client("manager").post(ADD_URL, {"amount": "80", **entries})

    text = str(response.context["form"].errors[field])
    assert f"minakessler is {state} Harbor Lamp Partners" in text
    assert f'href="/admin/tracking/enrollment/{enrollment.pk}/approve/"' in text


def test_leads_to_the_program_that_an_affiliate_is_not_in(staff_client, account, scenario):
    other = ProgramScenario(account, slug="other", email=None, prefix="o-")
    affiliate = scenario.mina.affiliate
    entries = {"affiliate": affiliate.pk, "program": other.program.pk}

    response = staff_client("manager").post(ADD_URL, {"amount": "80", **entries})

    text = str(response.context["form"].errors["affiliate"])
    assert "minakessler is not in o-Harbor Lamp Partners" in text
    assert f'href="/admin/tracking/affiliate/{affiliate.pk}/program/"' in text


def test_a_locked_account_adds_no_conversions(staff_client, account, scenario):
    client = staff_client()
    type(account).objects.filter(pk=account.pk).update(locked_at=timezone.now())

    response = client.post(ADD_URL, {"amount": "1", "coupon": scenario.mina.coupon})

    assert "locked" in str(response.context["form"].errors["__all__"])


def test_adds_a_commission(staff_client, account, scenario, conversion):
    scenario.create_commission_type("accessories", "5")
    client = staff_client("manager")

    submit_and_confirm(
        client,
        page_url(conversion, "add-commission"),
        conversion_sub_amount="30",
        commission_type="accessories",
        comment="Forgotten lamp",
    )

    added = account.commissions.order_by("id").last()
    assert (added.amount, added.comment) == (Decimal("1.5"), "Forgotten lamp")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"conversion_sub_amount": "-1"}, "conversion_sub_amount"),
        ({"conversion_sub_amount": "0.001"}, "conversion_sub_amount"),
        ({"commission_type": "nothing"}, "commission_type"),
        ({"comment": "x" * 1001}, "comment"),
    ],
)
def test_refuses_a_bad_new_commission(staff_client, account, conversion, changed, field):
    entries = {"conversion_sub_amount": "30"} | changed

    _, response = submit(staff_client(), page_url(conversion, "add-commission"), **entries)

    assert field in response.context["form"].errors
    assert account.commissions.count() == 1


# Commissions


def test_corrects_a_commission(staff_client, account, conversion, commission):
    client, url = staff_client("manager"), page_url(commission, "edit")

    submit_and_confirm(client, url, amount="12.34", comment="Agreed by phone")
    stored = account.commissions.get()
    assert (stored.amount, stored.comment) == (Decimal("12.34"), "Agreed by phone")

    account.commissions.update(rate_kind="fixed", rate=5)  # and earns the same
    _, shown = submit(client, url, conversion_sub_amount="100")
    account.commissions.update(rate_kind="percentage", rate=10)
    assert dict(shown.context["effect_facts"]) == {
        "Sale before": "200.00 EUR",
        "Sale after": "100.00 EUR",
    }
    submit_and_confirm(client, url, conversion_sub_amount="100")
    assert account.commissions.get().amount == 10
    assert account.conversions.get().amount == 100

    _, response = submit(client, url, comment="")
    assert response.status_code == 302
    assert account.commissions.get().comment == ""


@pytest.mark.engine_independent
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"amount": "-0.01"}, "amount"),
        ({"amount": "0.001"}, "amount"),
        ({"amount": ""}, "amount"),
        ({"conversion_sub_amount": ""}, "conversion_sub_amount"),
        ({"conversion_sub_amount": "9" * 15}, "conversion_sub_amount"),
        ({"comment": "x" * 1001}, "comment"),
    ],
)
def test_refuses_a_bad_correction(staff_client, account, commission, changed, field):
    _, response = submit(staff_client(), page_url(commission, "edit"), **changed)

    assert field in response.context["form"].errors
    assert account.commissions.get().amount == 20


def test_approves_disapproves_and_reopens(staff_client, account, commission):
    client = staff_client("manager")

    submit_and_confirm(client, page_url(commission, "approve"))
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": 20}}
    submit_and_confirm(client, page_url(commission, "disapprove"), reason="Ordered by himself")
    stored = account.commissions.get()
    assert (stored.status, stored.comment) == (
        "disapproved",
        "Disapproved: Ordered by himself",
    )
    submit_and_confirm(client, page_url(commission, "reopen"))
    stored = account.commissions.get()
    assert (stored.status, stored.comment) == (
        "pending",
        "Earlier disapproved: Ordered by himself",
    )
    assert get_payable_balances_by_slug(account) == {}


def test_buttons_without_entries_show_what_moves(staff_client, account, commission):
    client = staff_client("manager")
    url = page_url(commission, "approve")

    page = client.get(page_url(commission, "change")).content.decode()
    shown = client.post(url)

    assert f'<form method="post" action="{url}">' in page
    assert f'<a href="{page_url(commission, "disapprove")}"' in page
    assert "20.00 EUR, approved" in shown.content.decode().replace("\u00a0", " ")
    assert account.commissions.get().status == "pending"


def test_a_disapproval_needs_a_reason(staff_client, account, commission):
    client, url = staff_client(), page_url(commission, "disapprove")

    for reason in ("", "   ", "x" * 501):
        _, response = submit(client, url, reason=reason)
        assert "reason" in response.context["form"].errors
    account.commissions.update(comment="y" * 900)
    _, response = submit(client, url, reason="x" * 200)
    assert "too long" in str(response.context["form"].errors["reason"])
    assert account.commissions.get().status == "pending"


def test_disapproving_a_paid_commission_says_what_it_does(
    staff_client, account, scenario, commission
):
    approve_commission(account, commission_id=commission.pk, at=NOW)
    payment = pay(scenario, "20")
    client, url = staff_client(), page_url(commission, "disapprove")

    sent, shown = submit(client, url, reason="Refunded")

    page = " ".join(shown.content.decode().split())
    assert "Balance due of minakessler becomes negative: -20.00 EUR." in page
    assert f"{payment}; the commission will count as unpaid" in page
    confirm(client, url, sent, shown)
    assert account.commissions.get().payment is None


# Roles and tenancy


def test_a_second_click_on_the_button_adds_nothing(staff_client, account, scenario):
    client = staff_client()
    entries = {"amount": "80", "coupon": scenario.mina.coupon}
    shown = client.post(ADD_URL, entries)
    confirm(client, ADD_URL, entries, shown)

    response = confirm(client, ADD_URL, entries, shown)

    assert "already" in list_messages(response)[-1]
    assert account.conversions.count() == 1
    # The same sale can be entered twice on purpose.
    confirm(client, ADD_URL, entries, client.post(ADD_URL, entries))
    assert account.conversions.count() == 2


def test_a_second_click_adds_no_second_commission(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "add-commission")
    sent, shown = submit(client, url, conversion_sub_amount="80")
    confirm(client, url, sent, shown)

    confirm(client, url, sent, shown)

    assert account.commissions.count() == 2
