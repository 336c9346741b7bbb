"""The settings of the account, which its owners change."""

from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings
from django.urls import reverse
from PIL import Image

from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.accounts import lock_account
from accounts.services.api_keys import create_signing_secret
from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.test_creative_images import make_image
from tests.conftest import NOW

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

URL = "/admin/settings/"


def read_settings(account):
    return Account.objects.filter(pk=account.pk).values().get()


def test_saves_the_settings_and_logs_what_changed(account, staff_client):
    client = staff_client()
    assert 'type="color"' in client.get(URL).content.decode()
    sent = get_form(client, URL) | {
        "link_color": "#14532D",
        "name": "Harbor Lamps Ltd",
        "default_currency": "SEK",
        "default_auto_approve_commissions": "on",
        "max_browser_amount": "500",
        "visitor_data_days": "30",
        "click_days": "400",
    }

    response = client.post(URL, sent, follow=True)

    assert "The settings were saved." in response.content.decode()
    stored = Account.objects.get(pk=account.pk)
    assert (stored.name, stored.default_currency) == ("Harbor Lamps Ltd", "SEK")
    assert stored.default_auto_approve_commissions
    assert not stored.default_auto_approve_affiliates
    entry = account.audit_log.get(kind="account.settings_changed")
    assert entry.details == {
        "name": [account.name, "Harbor Lamps Ltd"],
        "default_currency": ["", "SEK"],
        "default_auto_approve_commissions": [False, True],
        "link_color": ["#000000", "#14532d"],
        "max_browser_amount": [100000, 500],
        "visitor_data_days": [90, 30],
        "click_days": [1095, 400],
    }


def test_new_programs_begin_with_the_defaults(account, staff_client):
    Account.objects.update(default_currency="SEK", default_auto_approve_affiliates=True)

    initial = staff_client().get("/admin/tracking/program/add/").context["form"].initial

    assert initial["currency"] == "SEK"
    assert (
        initial["auto_approve_affiliates"],
        initial["auto_approve_commissions"],
    ) == (True, False)


PNG = make_image(size=(8, 4))
TOO_LARGE = "The logo must be a PNG or JPEG of at most 20,000 bytes"
DAMAGED = "The image must be a PNG, JPEG, GIF or WebP that is not damaged"


def test_sets_replaces_and_removes_the_logo(account, staff_client):
    client, sizes = staff_client(), []
    for size in ((8, 4), (90, 80)):
        file = SimpleUploadedFile("l.png", make_image(size=size))
        assert client.post(URL, get_form(client, URL) | {"logo": file}).status_code == 302
        image = bytes(account.logos.get().image)
        assert Image.open(BytesIO(image)).size == size
        sizes.append(f"image/png, {len(image)} bytes")

    sent = get_form(client, URL) | {"remove_logo": "on"}
    assert client.post(URL, sent).status_code == 302
    assert not account.logos.exists()

    entries = account.audit_log.filter(kind="account.settings_changed").order_by("id")
    assert [entry.details for entry in entries] == [
        {"logo": [None, sizes[0]]},
        {"logo": sizes},
        {"logo": [sizes[1], None]},
    ]


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_stores_the_picture_of_a_logo_only(account, staff_client, kind):
    client = staff_client()
    file = SimpleUploadedFile("l", make_image(kind) + b"<script>alert(1)</script>")

    assert client.post(URL, get_form(client, URL) | {"logo": file}).status_code == 302

    logo = account.logos.get()
    assert logo.media_type == f"image/{kind.lower()}"
    assert b"script" not in bytes(logo.image)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"<svg onload='x'/>", TOO_LARGE),
        (PNG + b"0" * 20_000, TOO_LARGE),
        (b"GIF89a", TOO_LARGE),
        (b"\0", TOO_LARGE),
        (PNG[:30], DAMAGED),
    ],
)
def test_refuses_other_files_as_logo(account, staff_client, image, message):
    client = staff_client()
    sent = get_form(client, URL) | {"logo": SimpleUploadedFile("l.png", image)}

    response = client.post(URL, sent | {"name": "New"})

    assert response.context["form"].errors["logo"] == [message]
    assert not account.logos.exists()
    assert Account.objects.get(pk=account.pk).name == account.name


def test_refuses_a_logo_that_is_larger_when_re_encoded(account, staff_client):
    client, file = staff_client(), BytesIO()
    Image.effect_noise((250, 250), 90).save(file, "JPEG", quality=20)
    assert len(file.getvalue()) < 20_000
    logo = SimpleUploadedFile("l.jpg", file.getvalue())

    response = client.post(URL, get_form(client, URL) | {"logo": logo})

    [error] = response.context["form"].errors["logo"]
    assert error.startswith("The logo must be smaller: re-encoded it has ")
    assert not account.logos.exists()


INVALID_SETTINGS = [
    ({"link_color": "red"}, "link_color", "#rrggbb"),
    ({"link_color": "#fde047"}, "link_color", "dark enough for scanners"),
    ({"name": ""}, "name", "required"),
    ({"name": "n" * 256}, "name", "255 characters"),
    ({"name": "Harbor\r\nBcc: x@example.org"}, "name", "one line"),
    ({"name": "Har\x00bor"}, "name", "Null characters"),
    ({"default_currency": "XXQ"}, "default_currency", "valid choice"),
    ({"max_browser_amount": "0"}, "max_browser_amount", "from 1 to"),
    ({"max_browser_amount": "-5"}, "max_browser_amount", "from 1 to"),
    ({"max_browser_amount": "9" * 30}, "max_browser_amount", "from 1 to"),
    ({"visitor_data_days": "0"}, "visitor_data_days", "from 1 to 365"),
    ({"visitor_data_days": "366"}, "visitor_data_days", "from 1 to 365"),
    ({"click_days": "399"}, "click_days", "from 400 to 3650"),
    ({"click_days": "3651"}, "click_days", "from 400 to 3650"),
    ({"max_browser_amount": "a lot"}, "max_browser_amount", "whole number"),
    ({"require_signatures": "on"}, "require_signatures", "signing secret first"),
]


def test_refuses_invalid_settings_beside_the_field(account, staff_client, subtests):
    client, before = staff_client(), read_settings(account)
    sent = get_form(client, URL) | {"default_auto_approve_affiliates": "on"}

    for changed, field, text in INVALID_SETTINGS:
        with subtests.test(changed=changed):
            response = client.post(URL, sent | changed)

            assert text in str(response.context["form"].errors[field])
            assert read_settings(account) == before
    assert not account.audit_log.filter(kind="account.settings_changed").exists()


def test_signatures_can_be_required_with_a_secret(account, staff_client):
    create_signing_secret(account, at=NOW)
    client = staff_client()

    client.post(URL, get_form(client, URL) | {"require_signatures": "on"})

    assert read_settings(account)["require_signatures"]


def test_sets_nothing_that_is_not_in_the_form(account, other_account, staff_client):
    client, foreign = staff_client(), read_settings(other_account)
    lock_account(account, at=NOW)
    plan = account.plan_id
    hostile = {
        "id": other_account.pk,
        "account": other_account.pk,
        "slug": "stolen",
        "plan": "1",
        "locked_at": "",
        "uses_payouts": "on",
    }

    client.post(URL, get_form(client, URL) | hostile)

    stored = Account.objects.get(pk=account.pk)
    assert (stored.slug, stored.plan_id, stored.uses_payouts) == (
        *("harbor", plan),
        False,
    )
    assert stored.locked_at == NOW
    assert read_settings(other_account) == foreign


@pytest.mark.parametrize(
    ("role", "is_shown"), [(Role.OWNER, True), (Role.MANAGER, False), (Role.VIEWER, False)]
)
def test_owners_find_the_settings_in_the_sidebar(staff_client, role, is_shown):
    assert (URL in staff_client(role).get("/admin/").content.decode()) == is_shown


def test_operators_have_no_account_to_change(db, client):
    client.force_login(User.objects.create_superuser("ops@example.org", "x" * 12))

    assert URL not in client.get(reverse("admin:index")).content.decode()


def test_offers_no_second_factor_where_there_is_none(staff_client):
    client = staff_client()
    assert "require_second_factor" in client.get(URL).context["form"].fields

    with override_settings(SECOND_FACTOR_REMOVER=""):
        fields = client.get(URL).context["form"].fields

    assert "require_second_factor" not in fields
