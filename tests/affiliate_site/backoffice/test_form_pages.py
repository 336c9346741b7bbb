"""Pages with a form that calls a service."""

import pytest
from django.urls import reverse

from tests.affiliate_site.backoffice.forms import get_form
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.services.programs import update_program

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

ADD_URL = "/admin/tracking/program/add/"
NEW_PROGRAM = {
    "slug": "summer-sale",
    "title": "Summer sale",
    "currency": "EUR",
    "cookie_time": "30",
    "visibility": "public",
    "rate_kind": "percentage",
    "rate": "12.5",
    "recurring": "on",
}


def edit_url(program):
    return reverse("admin:tracking_program_edit", args=[program.pk])


def test_creates_a_program(account, staff_client):
    response = staff_client("manager").post(ADD_URL, NEW_PROGRAM, follow=True)

    program = account.programs.get()
    assert (program.slug, program.cookie_time, program.recurring) == (
        *("summer-sale", 30),
        True,
    )
    assert str(account.commission_types.get().value) == "12.5000"
    assert response.redirect_chain == [(f"/admin/tracking/program/{program.pk}/change/", 302)]
    assert "Program Summer sale was created." in response.content.decode()


def test_shows_all_errors_of_a_program_at_once(account, staff_client):
    client = staff_client()
    wrong = {
        "title": "x" * 256,
        "slug": "not a slug",
        "landing_page": "shop",
        "cookie_time": "-5",
        "recurring_cap": "0",
        "rate": "150",
    }

    response = client.post(ADD_URL, NEW_PROGRAM | wrong)

    assert set(response.context["form"].errors) == set(wrong)

    program = ProgramFactory(slug="harbor", account=account)
    changed = {name: wrong[name] for name in wrong.keys() - {"slug", "rate"}}
    sent = get_form(client, edit_url(program)) | changed
    errors = client.post(edit_url(program), sent).context["form"].errors
    assert set(errors) == set(changed)


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"slug": "not a slug"}, "slug", "is not a slug"),
        ({"landing_page": "ftp://x"}, "landing_page", "starts with https://"),
        ({"cookie_time": "366"}, "cookie_time", "1 to 365"),
        ({"rate": "100.5"}, "rate", "100 % at most"),
        ({"title": "x" * 256}, "title", "255 characters at most"),
        ({"recurring_cap": "0"}, "recurring_cap", "1 to 100,000"),
        ({"currency": "XXQ"}, "currency", "valid choice"),
        ({"rate": "ten"}, "rate", "number"),
    ],
)
def test_shows_a_refusal_beside_its_field_and_keeps_the_entries(
    account, staff_client, changed, field, text
):
    response = staff_client().post(ADD_URL, NEW_PROGRAM | changed)

    form = response.context["form"]
    assert text in str(form.errors[field])
    assert form["title"].value() == (NEW_PROGRAM | changed)["title"]
    assert not account.programs.exists()
    assert not account.audit_log.filter(kind="program.created").exists()


def test_edits_the_settings_and_logs_what_changed(account, staff_client):
    program = ProgramFactory(account=account, title="Old", recurring_cap=3)
    client = staff_client()
    sent = get_form(client, edit_url(program)) | {"title": "New", "recurring_cap": ""}

    response = client.post(edit_url(program), sent)

    assert response.status_code == 302
    stored = account.programs.get()
    assert (stored.title, stored.recurring_cap) == ("New", None)
    entry = account.audit_log.get(kind="program.updated")
    assert entry.details == {"title": ["Old", "New"], "recurring_cap": [3, None]}


def test_refuses_to_overwrite_what_another_user_saved(account, staff_client):
    program = ProgramFactory(account=account, title="Old")
    client = staff_client()
    sent = get_form(client, edit_url(program)) | {"title": "Mine"}
    update_program(account, slug=program.slug, changes={"title": "Theirs"}, at=NOW)

    response = client.post(edit_url(program), sent)

    assert "Title is now Theirs" in str(response.context["form"].errors["__all__"])
    assert account.programs.get().title == "Theirs"

    again = sent | {"version": response.context["version"]}
    assert client.post(edit_url(program), again).status_code == 302
    assert account.programs.get().title == "Mine"


def test_says_in_words_what_is_there_now(account, staff_client):
    hosts = ["a.example", "b.example"]
    program = ProgramFactory(account=account, title="Old", shop_hosts=hosts)
    client = staff_client()
    sent = get_form(client, edit_url(program)) | {"version": ""}

    response = client.post(edit_url(program), sent)

    text = response.context["form"].errors["__all__"][0]
    assert text.startswith("Nothing was saved: the page had not shown the present")
    assert "Title is now Old; " in text
    assert "Further hosts of the shop is now a.example, b.example; " in text
    assert "Approve commissions automatically is now off; " in text
    assert "Highest number of sales per customer is now empty; " in text


def test_currency_is_fixed_by_the_first_conversion(scenario, staff_client):
    client, program = staff_client(), scenario.program
    scenario.create_conversion()
    sent = get_form(client, edit_url(program)) | {"currency": "USD"}

    response = client.post(edit_url(program), sent)

    assert "has conversions" in str(response.context["form"].errors["currency"])


@pytest.mark.parametrize("title", ["Summer\tsale", "Summer\x1b[31m", "Summer\x85sale"])
def test_refuses_control_characters_beside_the_field(account, staff_client, title):
    response = staff_client().post(ADD_URL, NEW_PROGRAM | {"title": title})

    assert response.context["form"].errors == {
        "title": ["Write text in one line, without control characters."]
    }
    assert not account.programs.exists()
