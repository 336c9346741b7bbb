"""Staff refund a sale, say why they correct it, and give it to another affiliate."""

from decimal import Decimal

import pytest

from payouts.services.refunds import refund_conversion
from tests.affiliate_site.backoffice.money_forms import (
    confirm,
    list_messages,
    page_url,
    submit,
    submit_and_confirm,
)
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent, snapshot_account

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture(autouse=True)
def consistent_ledger(account):
    yield
    assert_ledger_consistent(account)


@pytest.fixture
def conversion(scenario):
    """Lines of 100 and 40 EUR, at 10 % and 5 %; the second one has a comment."""
    scenario.create_commission_type("accessories", "5")
    conversion = scenario.create_conversion("100", ("40", "accessories"), external_id="order-1")
    account = scenario.account
    account.commissions.filter(commission_type="accessories").update(comment="A lamp")
    return conversion


def list_lines(account):
    return list(account.commissions.order_by("id"))


def get_sections(client, conversion):
    response = client.get(page_url(conversion, "change"))
    details = response.context["details"]
    return {section.title: section for section in details.sections}


def test_refunds_one_line_after_showing_what_moves(staff_client, account, conversion):
    client, url = staff_client("manager"), page_url(conversion, "refund")
    _, lamp = list_lines(account)
    before = snapshot_account(account)
    page = client.get(url).content.decode()
    assert "Accessories: A lamp" in page
    assert "Of 40.00 EUR." in page

    sent, shown = submit(client, url, refunded="lines", reason="Broken.", **{f"line_{lamp}": "40"})
    assert dict(shown.context["effect_facts"]) == {
        "Refund": "40.00 EUR",
        "Sale before": "140.00 EUR",
        "Sale after": "100.00 EUR",
        "Reason": "Broken.",
    }
    [row] = shown.context["commission_rows"]
    assert (row["before"], row["after"]) == ("2.00 EUR, pending", "0.00 EUR, pending")
    assert snapshot_account(account) == before

    response = confirm(client, url, sent, shown)
    assert list_messages(response) == [f"40.00 EUR of sale order-1 ({conversion}) was refunded."]
    assert account.conversions.get().amount == 100
    [row] = get_sections(client, conversion)["Refunds"].values
    assert list(map(str, row[1:])) == [
        "40.00 EUR",
        f"40.00 EUR of commission {lamp}, Accessories: A lamp",
        "Broken.",
        account.staff.get().email,
    ]


def test_everything_is_chosen_first(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "refund")

    _, shown = submit(client, url, refunded="everything", reason="Returned.")
    assert dict(shown.context["effect_facts"])["Sale after"] == "removed"
    assert client.get(url).context["form"]["refunded"].value() == "everything"
    submit_and_confirm(client, url, refunded="everything", reason="Returned.")

    assert account.conversions.get().deleted_at
    [row] = get_sections(client, conversion)["Refunds"].values
    assert row[2] == "Everything that was left"


@pytest.mark.parametrize(("amount", "text"), [("100", "partly refunded"), ("140", "refunded")])
def test_a_refunded_sale_says_so(staff_client, account, conversion, amount, text):
    refund_conversion(
        account,
        conversion_id=conversion.pk,
        amount=Decimal(amount),
        reason="Returned.",
        at=NOW,
    )
    client = staff_client()

    details = client.get(page_url(conversion, "change")).context["details"]
    page = client.get("/admin/tracking/conversion/").content.decode()

    pending = ["pending"] if text == "partly refunded" else []
    assert list(details.labels) == [*pending, text]
    assert ("Before refunds", "140.00 EUR") in details.sections[0].facts
    assert f">{text.capitalize()}</span>" in page
    assert ">Removed</span>" not in page


def test_an_amount_is_spread(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "refund")

    submit_and_confirm(client, url, refunded="amount", amount="70")

    assert account.conversions.get().amount == 70
    assert [row.amount for row in list_lines(account)] == [5, 1]


def test_a_sale_of_one_line_offers_no_lines(staff_client, scenario):
    conversion = scenario.create_conversion("10")

    form = staff_client().get(page_url(conversion, "refund")).context["form"]

    assert list(form.fields) == ["refunded", "amount", "reason"]
    assert [value for value, _ in form.fields["refunded"].choices] == [
        "everything",
        "amount",
    ]


@pytest.mark.parametrize(
    ("entries", "field", "text"),
    [
        ({"reason": ""}, "reason", "required"),
        ({"refunded": "lines"}, "refunded", "one line or more"),
        ({"refunded": "lines", "amount": "3"}, "amount", "or this: An amount?"),
        ({"refunded": "amount"}, "amount", "Enter an amount"),
        ({"refunded": "amount", "amount": "0"}, "amount", "above 0"),
        ({"refunded": "amount", "amount": "140.01"}, "amount", "Only 140 EUR is left"),
        ({"refunded": "amount", "amount": "1.0012"}, "amount", "at most 2 decimals"),
        (
            {"refunded": "everything", "line": "3"},
            "line",
            "or this: Lines of the sale?",
        ),
        ({"refunded": "lines", "line": "100.5"}, "line", "Only 100 EUR is left"),
        ({"refunded": "lines", "line": "-5"}, "line", "cannot be negative"),
    ],
)
def test_refuses_bad_entries_beside_their_field(
    staff_client, account, conversion, entries, field, text
):
    line = f"line_{list_lines(account)[0]}"
    entries = {line if key == "line" else key: it for key, it in entries.items()}
    client, url = staff_client(), page_url(conversion, "refund")
    before = snapshot_account(account)

    _, response = submit(client, url, **{"refunded": "everything"} | entries)

    form = response.context["form"]
    assert text in str(form.errors[line if field == "line" else field])
    assert snapshot_account(account) == before


def test_two_people_cannot_refund_the_same_line(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "refund")
    line, _ = list_lines(account)
    sent, shown = submit(client, url, refunded="lines", reason="Broken.", **{f"line_{line}": "60"})
    refund_conversion(
        account,
        conversion_id=conversion.pk,
        line_amounts={line.pk: Decimal(60)},
        reason="Broken.",
        at=NOW,
    )

    response = confirm(client, url, sent, shown)

    errors = str(response.context["form"].errors)
    assert "Only 40 EUR is left to refund." in errors
    assert account.refunds.count() == 1


def test_pressed_twice_it_refunds_once(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "refund")
    sent, shown = submit(client, url, refunded="amount", amount="10")

    for _ in range(2):
        confirm(client, url, sent, shown)

    assert account.refunds.count() == 1
    assert account.conversions.get().amount == 130


def test_a_final_commission_says_what_to_do_instead(staff_client, account, scenario):
    scenario.enable_payouts("100")
    conversion = scenario.create_conversion("10")
    scenario.approve(scenario.get_commission(conversion))

    _, response = submit(staff_client(), page_url(conversion, "refund"), refunded="everything")

    [error] = response.context["form"].non_field_errors()
    assert error.startswith("Commission ")
    assert "choose Correct on its page" in error


def test_refund_and_remove_each_say_when_to_use_them(staff_client, conversion):
    client = staff_client()
    for name, text in (
        ("refund", "For a sale whose customer got money back"),
        ("remove", "For a sale that should never have been recorded"),
    ):
        assert text in client.get(page_url(conversion, name)).content.decode()


def test_a_correction_needs_a_reason_which_is_shown(staff_client, account, conversion):
    client, url = staff_client(), page_url(conversion, "edit")
    _, response = submit(client, url, external_id="order-2", reason="")
    assert "required" in str(response.context["form"].errors["reason"])

    submit_and_confirm(client, url, amount="70", reason="The shop was wrong.")

    rows = get_sections(client, conversion)["History"].values
    (row,) = (row for row in rows if "The shop was wrong." in str(row[1]))
    assert row[1:] == ("Reason: The shop was wrong.", account.staff.get().email)


def test_gives_a_sale_to_another_affiliate(staff_client, account, scenario, conversion):
    otto = scenario.create_enrolled_affiliate("Otto", "Brandt").affiliate
    client, url = staff_client("manager"), page_url(conversion, "affiliate")

    sent, shown = submit(client, url, affiliate=otto.pk, reason="His newsletter.")
    assert dict(shown.context["effect_facts"]) == {
        "Affiliate": "minakessler → ottobrandt",
        "Reason": "His newsletter.",
    }
    assert account.conversions.get().affiliate == scenario.mina.affiliate
    response = confirm(client, url, sent, shown)

    assert list_messages(response) == [f"Sale order-1 ({conversion}) belongs to ottobrandt now."]
    assert account.conversions.get().affiliate == otto
    sections = get_sections(client, conversion)
    attribution = sections["Attribution"]
    assert attribution.notes == ["Attributed by staff."]
    [row] = attribution.values
    assert list(map(str, row)) == [
        "Staff",
        "chosen by staff",
        "ottobrandt",
        "<strong>Wins</strong>",
    ]
    [earlier] = sections["Earlier attribution"].values
    assert (str(earlier[0]), str(earlier[2])) == ("Coupon", "minakessler")
    history = str(sections["History"].values)
    assert "Attributed" in history
    assert "minakessler → ottobrandt" in history
    assert "Reason: His newsletter." in history


def test_an_affiliate_must_be_approved_in_the_program(staff_client, account, scenario, conversion):
    nora = scenario.create_enrolled_affiliate("Nora", "Lind", approved=False).affiliate
    client, url = staff_client(), page_url(conversion, "affiliate")

    for affiliate, text in (
        (nora, "Approve it"),
        (scenario.mina.affiliate, "The sale belongs to minakessler already."),
    ):
        _, response = submit(client, url, affiliate=affiliate.pk)
        assert text in str(response.context["form"].errors["affiliate"])
    nora.update_row(deleted_at=NOW)
    _, response = submit(client, url, affiliate=nora.pk)
    assert response.context["form"].errors["affiliate"]
