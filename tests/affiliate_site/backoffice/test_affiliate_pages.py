"""Forms of affiliates: create, edit, remove, group and parent."""

from decimal import Decimal

import pytest
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.urls import reverse
from django.utils import timezone

from accounts.services.webhooks import create_webhook
from affiliate_site.backoffice.affiliates.affiliate_columns import find_affiliate_facts
from payouts.services.commissions import approve_commission
from tests.affiliate_site.backoffice.form_values import get_form_values, get_version
from tests.affiliate_site.backoffice.money_forms import confirm
from tests.conftest import NOW
from tests.factories.accounts import PlanFactory
from tests.factories.tracking import AffiliateFactory
from tests.ledger_checks import snapshot_account
from tests.program_scenario import ProgramScenario
from tracking.models.affiliates import FieldType
from tracking.services.affiliates import update_affiliate
from tracking.services.hierarchy import create_group, set_parent
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

ADD_URL = "/admin/tracking/affiliate/add/"
HANA = {"firstname": "Hana", "lastname": "Kim", "email": "hana@example.org"}
ADDRESS = {
    "address__address": "Pristaniška 4",
    "address__postal_code": "6000",
    "address__city": "Koper",
    "address__country": "SI",
}


def page_url(name, affiliate):
    return reverse(f"admin:tracking_affiliate_{name}", args=[affiliate.pk])


def list_kinds(account):
    return list(account.audit_log.order_by("id").values_list("kind", flat=True))


@pytest.fixture
def fields(account):
    """A custom field of each type."""
    for type_, options in (
        (FieldType.TEXT, None),
        (FieldType.TEXTAREA, None),
        (FieldType.URL, None),
        (FieldType.CHECKBOX, None),
        (FieldType.SELECT, ["Blog", "Newsletter"]),
        (FieldType.MULTISELECT, ["Lamps", "Desks", "Chairs"]),
    ):
        account.field_definitions.create(
            slug=type_, title=f"Your {type_}", type=type_, options=options
        )


@pytest.fixture
def hana(account):
    return AffiliateFactory(account=account, slug="hanakim", firstname="Hana", lastname="Kim")


def test_creates_an_affiliate_and_shows_its_password_once(account, staff_client):
    create_webhook(account, url="https://shop.example.net/hook", at=NOW)
    client = staff_client("manager")

    response = client.post(ADD_URL, HANA)

    hana = account.affiliates.get()
    secret = response.context["secret"]
    assert (hana.slug, hana.email) == ("hanakim", "hana@example.org")
    assert check_password(secret, hana.password)
    assert "no-store" in response["Cache-Control"]
    assert response.context["back_url"] == page_url("change", hana)
    assert "affiliate.created" in list_kinds(account)
    assert account.deliveries.get().event.kind == "affiliate.created"
    assert secret not in client.get(page_url("change", hana)).content.decode()


def test_minimum_of_passwords_is_that_of_the_setting(staff_client):
    page = staff_client().get(ADD_URL).text
    assert f"At least {settings.MIN_PASSWORD_LENGTH} characters" in page


@pytest.mark.parametrize(
    ("is_on", "text"),
    [(True, "signs in with it at http"), (False, "once you switch it on")],
)
def test_says_where_the_password_is_for(account, staff_client, is_on, text):
    update_portal_settings(account, changes={"is_on": is_on}, at=NOW)
    response = staff_client().post(ADD_URL, HANA)
    assert text in response.context["explanation"]


def test_creates_an_affiliate_with_all_its_data(account, staff_client, fields):
    sent = HANA | ADDRESS
    sent |= {
        "new_password": "harbor-lamps",
        "company__name": "Kim Notes",
        "meta_data": "tier: gold\r\n\r\nurl: https://kim.example/a:b",
        "custom_fields__text": "hello",
        "custom_fields__checkbox": "on",
        "custom_fields__select": "Blog",
        "custom_fields__multiselect": ["Lamps", "Chairs"],
    }

    response = staff_client().post(ADD_URL, sent)

    hana = account.affiliates.get()
    assert response.status_code == 302
    assert check_password("harbor-lamps", hana.password)
    assert (hana.company_name, hana.city, hana.country) == ("Kim Notes", "Koper", "SI")
    assert hana.meta_data == {"tier": "gold", "url": "https://kim.example/a:b"}
    assert hana.custom_fields == {
        "text": "hello",
        "checkbox": "true",
        "select": "Blog",
        "multiselect": ["Lamps", "Chairs"],
    }


@pytest.fixture
def parts(account, scenario):
    """What makes a new affiliate ready to earn and to be paid."""
    return {
        "group_id": create_group(account, title="Top", at=NOW).pk,
        "affiliate_id": scenario.mina.affiliate.pk,
        "program": scenario.program.pk,
        "approval": "approved",
        "coupon": "HANA10",
        "kind": "paypal",
        "payout_email": "hana@example.org",
    }


def list_folded(response):
    """The titles of the field sets, and those of the folded ones."""
    fieldsets = [each for each in response.context["adminform"] if each.name]
    folded = [each.name for each in fieldsets if each.is_collapsible]
    return [each.name for each in fieldsets], folded


def test_few_parts_of_a_new_affiliate_are_folded_while_they_are_empty(staff_client):
    client = staff_client()

    shown = client.get(ADD_URL)
    titles, folded = list_folded(shown)
    assert titles[-4:] == ["Payout method", *folded]
    assert folded == ["Company", "Address", "Your own data"]
    assert "They replace" not in shown.content.decode()
    sent = {"firstname": "Hana", "address__city": "Koper", "meta_data": "no colon"}
    assert list_folded(client.post(ADD_URL, sent))[1] == ["Company"]


def test_creates_an_affiliate_who_is_ready_on_one_page(account, staff_client, parts):
    response = staff_client("manager").post(ADD_URL, HANA | parts)

    assert response.status_code == 200  # shows the password
    hana = account.affiliates.get(slug="hanakim")
    assert (hana.group_id, hana.parent_id) == (parts["group_id"], parts["affiliate_id"])
    enrollment = account.enrollments.get(affiliate=hana)
    assert (enrollment.program_id, enrollment.approved) == (parts["program"], True)
    assert account.coupons.get(enrollment=enrollment).code == "HANA10"
    method = account.payout_methods.get(affiliate=hana)
    assert (method.kind, method.is_primary) == ("paypal", True)
    assert method.details == {"email": "hana@example.org"}


@pytest.mark.parametrize(("approved", "warns"), [(True, False), (None, True)])
def test_says_that_a_parent_outside_the_program_earns_nothing(
    account, staff_client, scenario, approved, warns
):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", approved=approved)
    rate = {"kind": "percentage", "value": Decimal(5)}
    account.levels.create(program=scenario.program, level=2, title="Parent", **rate)
    client, url = staff_client(), page_url("parent", scenario.mina.affiliate)

    sent = {"affiliate_id": odette.affiliate.pk} | get_version(client, url)
    shown = response = client.post(url, sent, follow=True)
    if warns:
        assert account.affiliates.get(slug="minakessler").parent is None
        note = dict(shown.context["effect_facts"])["Note"]
        assert note.startswith("odettevarga earns nothing in Harbor Lamp Partners")
        response = confirm(client, url, sent, shown)

    assert "The parent of minakessler is odettevarga now." in response.content.decode()
    assert account.affiliates.get(slug="minakessler").parent == odette.affiliate


@pytest.mark.parametrize("is_automatic", [True, False])
def test_approves_a_new_affiliate_as_its_program_says(
    account, staff_client, scenario, is_automatic
):
    scenario.program.update_row(auto_approve_affiliates=is_automatic)

    staff_client().post(ADD_URL, HANA | {"program": scenario.program.pk})

    enrollment = account.enrollments.get(affiliate__slug="hanakim")
    assert enrollment.approved is (True if is_automatic else None)


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"coupon": "TAKEN"}, "coupon", "already in use: minakessler in"),
        ({"coupon": "x" * 65}, "coupon", "64 characters"),
        ({"program": ""}, "program", "required"),
        ({"payout_email": "hana"}, "payout_email", "not an e-mail address"),
        ({"payout_email": ""}, "payout_email", "Enter the e-mail address"),
        ({"kind": ""}, "kind", "required"),
        ({"email": "hana"}, "email", "not a valid email"),
    ],
)
def test_stores_nothing_of_an_affiliate_if_a_part_is_refused(
    account, staff_client, scenario, parts, changed, field, text
):
    client = staff_client()
    account.coupons.update(code="TAKEN")
    before = snapshot_account(account)

    response = client.post(ADD_URL, HANA | parts | changed)

    errors = response.context["form"].errors
    assert list(errors) == [field]
    assert text in str(errors[field])
    assert len(errors[field]) == 1
    assert snapshot_account(account) == before


def test_offers_no_parent_if_the_plan_has_no_levels(account, staff_client):
    account.plan = PlanFactory(mlm=False)
    account.save()

    form = staff_client().get(ADD_URL).context["form"]

    assert "affiliate_id" not in form.fields


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"firstname": " "}, "firstname", "required"),
        ({"lastname": "x" * 256}, "lastname", "255 characters at most"),
        ({"lastname": "a\x00b"}, "lastname", "Null characters"),
        ({"email": "hana"}, "email", "not a valid email"),
        ({"email": "Taken@Example.org"}, "email", "already in use"),
        ({"new_password": "nine-char"}, "new_password", "at least 10 characters"),
        ({"address__city": "Koper"}, "address__postal_code", "required"),
        ({"address__country": "ZZ"}, "address__country", "valid choice"),
        ({"company__description": "x" * 1001}, "company__description", "1000"),
        ({"meta_data": "no colon"}, "meta_data", "key: value"),
        ({"meta_data": "a: 1\na: 2"}, "meta_data", "a comes twice"),
        ({"meta_data": "a/b: 1"}, "meta_data", "not allowed"),
        ({"meta_data": "\n".join(f"k{n}: 1" for n in range(11))}, "meta_data", "10"),
        ({"meta_data": "a: \x00"}, "meta_data", "Null characters"),
        ({"custom_fields__text": "x" * 5001}, "custom_fields__text", "5000"),
        ({"custom_fields__select": "Forged"}, "custom_fields__select", "valid choice"),
        (
            {"custom_fields__multiselect": ["Lamps", "Forged"]},
            "custom_fields__multiselect",
            "valid choice",
        ),
    ],
)
def test_shows_a_refusal_beside_its_field_and_stores_nothing(
    account, staff_client, fields, changed, field, text
):
    AffiliateFactory(account=account, slug="other", email="taken@example.org")

    response = staff_client().post(ADD_URL, HANA | changed)

    form = response.context["form"]
    assert text in str(form.errors[field])
    assert form["firstname"].value() == (HANA | changed)["firstname"]
    assert account.affiliates.count() == 1
    assert "affiliate.created" not in list_kinds(account)


def test_shows_the_errors_of_the_form_and_of_the_api_at_once(account, staff_client):
    """`meta_data` is checked by the form, the address by the serializer."""
    entries = HANA | {"email": "not an address", "meta_data": "no pair"}

    response = staff_client().post(ADD_URL, entries)

    assert set(response.context["form"].errors) == {"email", "meta_data"}
    assert not account.affiliates.exists()


def test_edits_only_what_changed(account, staff_client, fields, hana):
    hana.update_row(
        company_name="Kim Notes",
        company_description="Old",
        city="only a city",
        meta_data={"tier": "gold"},
        custom_fields={"text": "kept", "select": "Fax", "multiselect": ["Lamps"]},
    )
    client, url = staff_client("manager"), page_url("edit", hana)
    sent = get_form_values(client, url)
    assert (sent["meta_data"], sent["custom_fields__select"]) == ("tier: gold", "Fax")
    sent |= {"company__description": "", "custom_fields__multiselect": ["Desks"]}

    response = client.post(url, sent)

    assert response.status_code == 302
    hana.refresh_from_db()
    assert (hana.company_name, hana.company_description) == ("Kim Notes", None)
    assert hana.custom_fields == {
        "text": "kept",
        "select": "Fax",
        "multiselect": ["Desks"],
    }
    (entry,) = account.audit_log.filter(kind="affiliate.updated")
    assert entry.details == {"fields": ["company_description", "custom_fields"]}


def test_clears_what_is_emptied(account, staff_client, fields, hana):
    url = page_url("edit", hana)
    hana.update_row(
        company_name="Kim Notes",
        address="A 1",
        postal_code="6000",
        city="Koper",
        country="SI",
        meta_data={"tier": "gold"},
        custom_fields={"text": "old", "checkbox": "true"},
    )
    client = staff_client()
    emptied = dict.fromkeys([*ADDRESS, "company__name", "meta_data"], "")
    sent = get_form_values(client, url) | emptied | {"custom_fields__text": ""}
    del sent["custom_fields__checkbox"]

    client.post(url, sent)

    hana.refresh_from_db()
    assert (hana.company_name, hana.city, hana.country) == (None, None, None)
    assert (hana.meta_data, hana.custom_fields) == ({}, {"checkbox": "false"})


def test_keeps_meta_data_that_lines_cannot_hold(staff_client, hana):
    hana.update_row(meta_data={"note": "two\nlines"})
    client, url = staff_client(), page_url("edit", hana)
    sent = get_form_values(client, url) | {"firstname": "Hannah", "meta_data": "a: b"}

    client.post(url, sent)

    hana.refresh_from_db()
    assert (hana.firstname, hana.meta_data) == ("Hannah", {"note": "two\nlines"})


def test_refuses_to_overwrite_what_another_user_saved(account, staff_client, hana):
    client, url = staff_client(), page_url("edit", hana)
    sent = get_form_values(client, url) | {"lastname": "Mine"}
    update_affiliate(account, affiliate_id=hana.slug, changes={"lastname": "Theirs"}, at=NOW)

    response = client.post(url, sent)

    assert "Last name is now Theirs" in str(response.context["form"].errors["__all__"])
    assert account.affiliates.get().lastname == "Theirs"


def test_removes_an_affiliate_after_saying_what_stays(account, staff_client, scenario):
    mina = scenario.mina.affiliate
    child = AffiliateFactory(account=account, slug="child", parent=mina)
    commission = scenario.get_commission(scenario.create_conversion("200"))
    approve_commission(account, commission_id=commission.pk, at=NOW)
    client, url = staff_client("manager"), page_url("remove", mina)

    text = client.get(url).content.decode()
    for part in (
        "Commissions: 1 stay",
        "Balance due: 20.00 EUR",
        "Recruited affiliates: 1",
    ):
        assert part in text
    response = client.post(url)

    assert response.status_code == 302
    mina.refresh_from_db()
    child.refresh_from_db()
    assert (bool(mina.deleted_at), child.parent) == (True, None)
    assert "affiliate.deleted" in list_kinds(account)
    for name in ("edit", "remove", "group", "parent"):
        response = client.post(page_url(name, mina), {}, follow=True)
        assert "not possible in this state" in response.content.decode()


def test_sets_and_unsets_the_group(account, staff_client, hana):
    group = create_group(account, title="Top affiliates", at=NOW)
    client, url = staff_client("manager"), page_url("group", hana)
    assert "Top affiliates" in client.get(url).content.decode()

    client.post(url, {"group_id": group.pk} | get_version(client, url))
    hana.refresh_from_db()
    assert hana.group == group
    client.post(url, {"group_id": ""} | get_version(client, url))

    hana.refresh_from_db()
    assert hana.group is None
    assert list_kinds(account)[-2:] == ["affiliate.added_to_group", "affiliate.updated"]


def test_sets_and_unsets_the_parent(account, staff_client, hana):
    parent = AffiliateFactory(account=account, slug="parent")
    client, url = staff_client("manager"), page_url("parent", hana)

    client.post(url, {"affiliate_id": parent.pk} | get_version(client, url))
    hana.refresh_from_db()
    assert hana.parent == parent
    other = page_url("parent", parent)
    cycle = client.post(other, {"affiliate_id": hana.pk} | get_version(client, other))
    assert "its own ancestor" in str(cycle.context["form"].errors["affiliate_id"])
    client.post(url, {"affiliate_id": ""} | get_version(client, url))

    hana.refresh_from_db()
    assert hana.parent is None


def test_removed_affiliates_cannot_become_parents(account, staff_client, hana):
    removed = AffiliateFactory(account=account, slug="removed", deleted_at=NOW)

    client, url = staff_client(), page_url("parent", hana)
    response = client.post(url, {"affiliate_id": removed.pk} | get_version(client, url))

    assert "Unknown affiliate" in str(response.context["form"].errors["affiliate_id"])


def test_shows_changes_of_the_parent_meanwhile(account, staff_client, hana):
    parent = AffiliateFactory(account=account, slug="parent")
    client, url = staff_client(), page_url("parent", hana)
    sent = get_form_values(client, url)
    set_parent(account, affiliate_id=hana.slug, parent_id="parent", at=NOW)

    response = client.post(url, sent)

    assert "Parent is now" in str(response.context["form"].errors["__all__"])
    hana.refresh_from_db()
    assert hana.parent == parent


def test_plans_without_levels_have_no_parents(account, staff_client, hana):
    account.plan = PlanFactory(name="pro")
    account.save()
    response = staff_client().get(page_url("parent", hana), follow=True)

    assert "not possible" in response.content.decode()


def test_the_list_of_a_program_counts_that_program(staff_client, account, scenario):
    """Not the clicks, sales and revenue that its affiliates have elsewhere."""
    other = ProgramScenario(account, slug="other", email=None)
    mina = other.enroll(scenario.mina.affiliate)
    now = timezone.now()
    scenario.create_conversion("100", at=now)
    other.create_conversion("7", affiliate=mina, at=now)
    url = reverse("admin:tracking_affiliate_changelist")

    client, found = staff_client(), {}
    for program in ("", scenario.program.slug, other.program.slug):
        response = client.get(url, {"program": program} if program else {})
        [row] = [
            row
            for row in response.context["cl"].result_list
            if row.pk == scenario.mina.affiliate.pk
        ]
        performance = row.loaded[find_affiliate_facts].performance
        found[program] = (performance.conversions, performance.revenue)
        titles = "Revenue, 30 days, in the program" in response.content.decode()
        assert titles == bool(program)

    assert found == {
        "": (2, {"EUR": Decimal(107)}),
        scenario.program.slug: (1, {"EUR": Decimal(100)}),
        other.program.slug: (1, {"EUR": Decimal(7)}),
    }


def test_staff_choose_the_language_of_an_affiliate(account, staff_client, api, hana):
    client, page = staff_client(), page_url("change", hana)
    url, body = page_url("edit", hana), api.get(f"/affiliates/{hana.slug}/").json()
    assert "Language: not chosen yet" in client.get(page).content.decode()

    client.post(url, get_form_values(client, url) | {"language": "de"})

    hana.refresh_from_db()
    assert hana.language == "de"
    assert "Language: Deutsch" in client.get(page).content.decode()
    activity = client.get(page, {"tab": "activity"}).content.decode()
    assert "changed the language of" in activity
    assert api.get(f"/affiliates/{hana.slug}/").json() == body
    for email in ("hana@example.org", "hana@example.com"):
        client.post(url, get_form_values(client, url) | {"email": email})
    assert account.mails.get().subject.startswith("Ihre E-Mail-Adresse")
    client.post(url, get_form_values(client, url) | {"language": ""})
    hana.refresh_from_db()
    assert hana.language is None


def test_a_new_affiliate_has_the_language_that_staff_choose(account, staff_client):
    staff_client("manager").post(ADD_URL, HANA | {"language": "fr"})
    assert account.affiliates.get(slug="hanakim").language == "fr"
