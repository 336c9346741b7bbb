"""Contested claims and signing secrets in the back office (docs/tracking-trust.md)."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_signing_secret
from affiliate_site.backoffice.formatters import format_datetime
from payouts.services.conversion_updates import delete_conversion
from tests.affiliate_site.backoffice.test_actions import confirm_action, post_action
from tests.ledger_checks import assert_ledger_consistent

CLAIMS = "tracking_conversionclaim"


@pytest.fixture
def contested(account, scenario):
    """An order that two visitors claim, through links of two affiliates."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for affiliate in (scenario.mina, scenario.odette):
        body = {"account": account.slug, "referral_code": affiliate.code}
        click = post("click", body).json()
        body = {"account": account.slug, "external_id": "order-1", "amount": 200}
        post("conversion", body | {"vid": click["vid"]})
    yield account.conversions.get()
    assert_ledger_consistent(account)


def post(call, body):
    return Client().post(f"/track/{call}/", body, content_type="application/json")


def open_page(client, name, *args, **query):
    response = client.get(reverse(f"admin:{name}", args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def test_links_a_contested_conversion_to_its_claims(staff_client, contested):
    client = staff_client(role=Role.VIEWER)

    page = open_page(client, "tracking_conversion_change", contested.pk)

    assert "Two visitors claim this conversion." in page
    assert "a page, not confirmed yet" in page
    link = f"{reverse(f'admin:{CLAIMS}_changelist')}?conversion_id={contested.pk}"
    assert f'href="{link}"' in page
    claims = open_page(client, f"{CLAIMS}_changelist", conversion_id=contested.pk)
    for text in ("minakessler", "odettevarga", "200.00 EUR", "Waiting, reported first"):
        assert text in claims


def test_the_commission_of_a_contested_sale_says_what_to_check(
    staff_client, account, scenario, contested
):
    client, commission = staff_client(role=Role.MANAGER), account.commissions.get()
    claims = f"{reverse(f'admin:{CLAIMS}_changelist')}?conversion_id={contested.pk}"

    page = open_page(client, "payouts_commission_change", commission.pk)
    for text in (
        "Reported by a page",
        "Contested claim",
        f'this conversion. (<a class="details-link" href="{claims}">compare the claims',
    ):
        assert text in page

    url = reverse("admin:payouts_commission_approve", args=[commission.pk])
    page = client.post(url).content.decode()
    assert "confirm one of the claims first." in page
    assert f'Two visitors claim this sale: <a class="underline" href="{claims}">' in page


def test_a_claim_shows_the_click_behind_it(staff_client, account, scenario, contested):
    claim = account.conversion_claims.get(affiliate=scenario.odette.affiliate)
    claim.click.landing_page = "https://shop.example.net/lamps"
    claim.click.save(update_fields=["landing_page"])

    page = open_page(staff_client(role=Role.VIEWER), f"{CLAIMS}_change", claim.pk)

    assert "Landing page" in page
    assert "https://shop.example.net/lamps" in page
    assert format_datetime(claim.click.created_at) in page.partition("Clicked")[2]


def test_confirms_one_of_the_claims(staff_client, account, scenario, contested):
    claim = account.conversion_claims.get(affiliate=scenario.odette.affiliate)
    client = staff_client(role=Role.MANAGER)

    page = post_action(client, "confirm_selected", [claim]).content.decode()
    assert f"order-1, claim {claim.pk}" in page
    assert 'Odette Varga <span class="subtext">odettevarga</span>' in page
    assert "The other claims of the order are rejected" in page
    messages = confirm_action(client, "confirm_selected", [claim])

    assert messages == ["Confirm claims: 1 done. Total: 200.00 EUR."]
    assert contested.reload().affiliate == scenario.odette.affiliate
    (commission,) = account.commissions.not_deleted()
    assert commission.affiliate == scenario.odette.affiliate
    page = open_page(client, f"{CLAIMS}_changelist")
    assert ">Confirmed<" in page
    assert ">Rejected<" in page
    both = list(account.conversion_claims.all())
    messages = confirm_action(client, "confirm_selected", both)
    assert any("already decided" in message for message in messages)


def test_confirms_a_claim_on_its_page(staff_client, account, scenario, contested):
    claim = account.conversion_claims.get(affiliate=scenario.odette.affiliate)
    client = staff_client(role=Role.MANAGER)
    url = reverse(f"admin:{CLAIMS}_confirm", args=[claim.pk])
    page = open_page(client, f"{CLAIMS}_change", claim.pk)
    assert url in page
    assert f">{scenario.program.title}</a>" in page

    shown = client.post(url)
    assert "Odette Varga" in shown.content.decode()
    old, new = shown.context["commission_rows"]
    assert (old["affiliate"], old["after"]) == ("minakessler", "Removed")
    assert (new["affiliate"], new["before"]) == ("odettevarga", "New")
    client.post(url, {"effects": shown.context["effects"].digest})

    assert contested.reload().affiliate == scenario.odette.affiliate
    assert url not in open_page(client, f"{CLAIMS}_change", claim.pk)
    page = client.get(reverse("admin:tracking_conversion_change", args=[contested.pk])).context[
        "details"
    ]
    assert list(page.labels) == ["pending"]
    sections = {section.title: section for section in page.sections}
    reporter = dict(sections["Sale"].facts)["Reported by"]
    assert reporter.startswith("a page, confirmed by manager@")
    assert sections["Attribution"].notes == [
        "Reported by a page without a signature: a claim, and confirmed later."
    ]
    assert [
        (strip_tags(affiliate), strip_tags(outcome))
        for _, affiliate, _, _, outcome in sections["Claims of this order"].values
    ] == [("minakessler", "Rejected"), ("odettevarga", "Confirmed")]


def test_lists_the_other_claims_of_the_order(staff_client, account, scenario, contested):
    first, second = account.conversion_claims.order_by("pk")
    client = staff_client(role=Role.VIEWER)

    page = open_page(client, f"{CLAIMS}_change", second.pk)

    for row in (first, first.affiliate):
        url = reverse(f"admin:tracking_{row._meta.model_name}_change", args=[row.pk])
        assert f'href="{url}"' in page
    reported = format_datetime(first.created_at)
    text = " ".join(strip_tags(page).split())
    assert (
        f"Claim {first.pk}: Mina Kessler (minakessler), 200.00 EUR, reported"
        f" {reported}, Waiting, reported first" in text
    )
    assert f"Claim {second.pk}:" not in text


def test_says_what_signing_secrets_are_for(staff_client):
    page = open_page(staff_client(), "accounts_signingsecret_changelist")

    assert "Your server signs with them what your pages report" in page
    assert "A webhook has a secret of its own." in page


def test_confirms_none_of_two_claims_of_an_order(staff_client, account, contested):
    both = list(account.conversion_claims.all())

    messages = confirm_action(staff_client(role=Role.MANAGER), "confirm_selected", both)

    assert all("another claim of the same order" in message for message in messages)
    assert messages
    assert contested.reload().is_contested


def test_dashboard_counts_contested_conversions(staff_client, account, contested):
    client = staff_client()
    link = f"{reverse(f'admin:{CLAIMS}_changelist')}?decided_at__isnull=True"
    assert link in open_page(client, "index")
    assert "minakessler" in client.get(link).content.decode()

    delete_conversion(account, conversion_id=contested.pk, at=timezone.now())

    assert link not in open_page(client, "index")
    assert "minakessler" not in client.get(link).content.decode()


def test_viewers_do_not_confirm(staff_client, account, contested):
    client = staff_client(role=Role.VIEWER)

    response = client.post(
        reverse(f"admin:{CLAIMS}_changelist"),
        {"action": "confirm_selected", "_selected_action": ["1"]},
    )

    assert response.status_code == 403
    assert contested.reload().is_contested


def test_approval_in_bulk_leaves_out_contested_conversions(
    staff_client, account, scenario, contested
):
    scenario.create_conversion("50")
    rows = list(account.commissions.order_by("id"))

    messages = confirm_action(staff_client(), "approve_selected", rows)

    assert messages[0].startswith("Approve commissions: 1 done. Total: ")
    assert "two visitors claim its conversion" in messages[1]
    statuses = account.commissions.order_by("id").values_list("status", flat=True)
    assert list(statuses) == ["pending", "approved"]


def test_creates_a_signing_secret_and_shows_it_once(staff_client, account):
    client = staff_client()

    response = client.post(reverse("admin:accounts_signingsecret_add"), {})

    secret = account.signing_secrets.get()
    assert response.context["secret"] == secret.secret
    assert "that your pages report" in response.context["explanation"]
    assert "no-store" in response["Cache-Control"]
    page = open_page(client, "accounts_signingsecret_changelist")
    assert secret.prefix in page
    assert secret.secret not in page


def test_a_third_secret_is_refused_until_one_is_revoked(staff_client, account):
    client = staff_client()
    old, _ = (create_signing_secret(account, at=timezone.now()) for _ in range(2))

    response = client.post(reverse("admin:accounts_signingsecret_add"), {}, follow=True)

    assert f"revoke the old one, {old.prefix}" in response.content.decode()
    confirm_action(client, "revoke_selected", [old])
    client.post(reverse("admin:accounts_signingsecret_add"), {})
    assert account.signing_secrets.filter(revoked_at=None).count() == 2


def test_comment_of_a_page_does_not_look_like_one_of_staff(staff_client, account, scenario):
    body = {"account": account.slug, "referral_code": scenario.mina.code}
    item = {"sub_amount": 5, "comment": "Checked, please approve"}
    body |= {"vid": post("click", body).json()["vid"], "commissions": [item]}
    post("conversion", body)

    client = staff_client(role=Role.VIEWER)
    commission = account.commissions.get()
    page = open_page(client, "payouts_commission_change", commission.pk)

    assert "A page sent: Checked, please approve" in page
