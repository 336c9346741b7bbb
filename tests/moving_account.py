"""An account with rows in most tables, and what its API answers."""

from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.test import Client

from accounts.actor import use_actor
from accounts.models.api_keys import Role
from accounts.services.accounts import set_logo
from accounts.services.api_keys import create_api_key, create_signing_secret
from accounts.services.invitations import create_invitation
from accounts.services.saved_views import create_saved_view
from accounts.services.staff import create_staff_user, reset_password
from accounts.services.webhooks import create_webhook
from affiliate_site.creative_images import encode_image, store_image
from payouts.models.commission_types import RateKind
from payouts.services.corrections import reattribute_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_methods import set_payout_method
from payouts.services.payout_runs import create_draft, take_out
from payouts.services.refunds import refund_conversion
from tests.architecture.api_contract import OPERATIONS
from tests.conftest import ApiClient
from tests.document_scenario import set_rule, set_taxes, switch_on
from tests.payout_scenario import BANK
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tests.sample_account import SampleAccount
from tests.shop_inbox import deliver
from tests.stripe_events import SECRET, build_charge, build_checkout, build_dispute
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.creatives import StoredImage, create_creative
from tracking.services.notes import create_note
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

DAY = timedelta(days=1)
SOURCE_KEY = "rk_live_zz-hidden"
# Secrets that the rows of `fill_account` hold in clear.
SECRETS = (SECRET, SOURCE_KEY, "whsec_")


@contextmanager
def rolled_back():
    """Roll back what the block stores, as if it ran in another installation."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def fill_account(account, *, marker="qq", image=b""):
    """Create rows of most tables; return the text of an API key."""
    key = create_api_key(account, name="shop", role=Role.OWNER, at=AT)[1]
    create_signing_secret(account, at=AT)
    owner, _ = create_staff_user(
        account,
        email=f"{marker}-owner@example.org",
        role=Role.OWNER,
        password=f"{marker}-Passw0rd!",
        at=AT,
    )
    finance, _ = create_staff_user(
        account,
        email=f"{marker}-finance@example.org",
        role=Role.FINANCE,
        password=None,
        at=AT,
    )
    reset_password(account, email=finance.email, by=owner, at=AT)
    create_invitation(
        account,
        email=f"{marker}-new@example.org",
        role=Role.VIEWER,
        by=owner,
        at=AT,
    )
    set_logo(account, image=b"\x89PNG\r\n\x1a\nx", at=AT)
    create_webhook(account, url=f"https://{marker}.example.net/hook", at=AT)
    scenario = ProgramScenario(account, email=f"mina@{marker}.example.org")
    with use_actor(owner.actor_name):
        fill_program(scenario, marker, image)
    with use_actor("operator us_1"):
        create_note(account, affiliate=scenario.mina.affiliate, text="From support", at=AT)
    create_saved_view(
        account,
        user=owner,
        list_label="tracking.conversion",
        name="Last month",
        query="from=2026-02-01",
        at=AT,
    )
    fill_by_api(account, key, marker)
    return key


def fill_program(scenario, marker, image):
    account = scenario.account
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_level(2, Decimal(5))
    scenario.add_child(scenario.mina, odette)
    scenario.create_bonus(goal=Decimal(100), value=Decimal(25), kind=RateKind.FIXED)
    for slug in (scenario.mina.slug, odette.slug):
        set_payout_method(
            account,
            affiliate_id=slug,
            kind="bank",
            details=BANK,
            is_primary=True,
            at=AT,
        )
    switch_on(account)
    set_taxes(account, odette.slug)
    set_rule(account)
    update_portal_settings(
        account,
        changes={
            "is_on": True,
            "terms": "Be kind.",
            "translations": {"de": "Lieb."},
            "host": f"{marker}.example.org",
        },
        at=AT,
    )
    invite_affiliate(account, affiliate_id=odette.slug, mail_url=lambda token: token, at=AT)
    if image:
        encoded = encode_image(image)
        name = store_image(account, encoded)
        stored = StoredImage(name, "image/png", encoded.width, encoded.height)
        create_creative(
            account,
            program_id=scenario.program.slug,
            title="Banner",
            image=stored,
            announced_url="https://example.org/creatives/",
            at=AT,
        )
    sales = [scenario.create_conversion("200.25") for _ in range(3)]
    for sale in sales:
        scenario.approve(account.commissions.get(conversion=sale, kind="regular"))
    account.imported_objects.create(
        source="old.example.net",
        kind="conversion",
        source_id="1",
        local_id=sales[0].pk,
        fingerprint="0" * 64,
    )
    refund_conversion(account, conversion_id=sales[0].pk, reason="late", amount=Decimal(20), at=AT)
    scenario.delete(sales[1])
    scenario.pay("10")
    reattribute_conversion(
        account,
        conversion_id=scenario.create_conversion("50").pk,
        affiliate_id=odette.slug,
        reason="asked",
        at=AT,
    )
    run = create_draft(account, due_until=AT.date(), at=AT + 3 * DAY)
    line = account.payout_lines.filter(run=run, state="included").first()
    take_out(account, pk=line.pk, reason="asked", at=AT + 3 * DAY)
    fill_shop(scenario)


def fill_shop(scenario):
    """A shop with a sale, a refund, and a dispute that holds the commission."""
    connection = create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=AT,
    )
    connection.update_row(source_key=SOURCE_KEY)
    scenario.program.update_row(auto_approve_commissions=True)
    click = str(scenario.create_click().public_id)
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_charge(2380, hours=1))
    deliver(connection, build_dispute("needs_response", hours=2))


def fill_by_api(account, key, marker):
    """Claims of two visitors and a fact that confirms one, a payment, a prospect."""
    sample = SampleAccount(ApiClient(key), account.slug, marker)
    names = ("contested_claim", "approved_amount", "payment_id", "note_id")
    for name in (*names, "prospect_id", "payout_method", "customer_id"):
        assert getattr(sample, name)
    sample.post(
        "/conversions/",
        {"external_id": f"{marker}-claim", "amount": 12} | {"referral_code": sample.referral_code},
    )


def read_lists(key):
    """Return what each list of the API answers."""
    api = ApiClient(key, Client())
    paths = [
        path
        for (method, path) in OPERATIONS
        if method == "GET" and "{" not in path and not path.startswith("/pb/")
    ]
    answers = {}
    for path in paths:
        response = api.get(path)
        answers[path] = response.status_code, response.content, response.get("Link")
    assert {status for status, _, _ in answers.values()} <= {200, 400}
    return answers


def read_balances(account):
    return {slug: dict(it) for slug, it in get_payable_balances_by_slug(account).items()}
