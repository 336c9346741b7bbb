"""The page of a program, and the forms of its rates and bonuses."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.accounts import Plan
from tests.affiliate_site.backoffice.money_forms import (
    confirm,
    submit,
    submit_and_confirm,
)
from tests.affiliate_site.backoffice.test_form_pages import get_form
from tests.program_scenario import ProgramScenario
from tracking.services.portal_settings import build_portal_url, update_portal_settings

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.engine_independent,  # its queries are tested with services
]


BONUS = {
    "title": "Busy month",
    "goal_type": "conversions",
    "goal": "10",
    "period": "month",
    "kind": "fixed",
    "value": "50",
}


def program_url(program, page="change"):
    return reverse(f"admin:tracking_program_{page}", args=[program.pk])


def save(client, url, **values):
    """Submit a form with these values and return the messages or errors shown."""
    response = client.post(url, values, follow=True)
    assert response.status_code == 200
    errors = response.context.get("errors")
    assert not errors, errors
    return [str(message) for message in response.context["messages"]]


def read_page(client, program):
    return client.get(program_url(program)).content.decode()


def test_is_headed_by_the_title(staff_client, scenario):
    program = scenario.program
    assert program.title != program.slug

    page = read_page(staff_client(), program)

    assert re.search(rf"<h2[^>]*>{program.title}</h2>", page)


def test_adds_edits_and_removes_a_commission_type(staff_client, scenario, account):
    client, program = staff_client("manager"), scenario.program
    save(
        *(client, program_url(program, "add-commission-type")),
        identifier="gold",
        title="Gold",
        kind="percentage",
        value="20",
        mlm="on",
    )
    gold = account.commission_types.get(identifier="gold")
    page = read_page(client, program)
    assert "20 %" in page
    edit_url = reverse("admin:payouts_commissiontype_edit", args=[gold.pk])
    assert edit_url in page

    said = save(client, edit_url, **get_form(client, edit_url) | {"value": "22.5"})
    assert said == ["Gold was saved: 20 % → 22.5 %, for sales from now on."]
    assert account.commission_types.get(pk=gold.pk).value == Decimal("22.5")

    save(client, reverse("admin:payouts_commissiontype_remove", args=[gold.pk]))
    assert not account.commission_types.filter(pk=gold.pk).exists()


def test_sets_the_rate_of_a_group(staff_client, scenario, account):
    client, program = staff_client(), scenario.program
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold partners")
    standard = account.commission_types.get(identifier="standard")
    save(
        *(client, program_url(program, "add-group-rate")),
        group=group.pk,
        commission_type=standard.pk,
        kind="fixed",
        value="12",
    )

    assert "12.00 EUR" in read_page(client, program)
    rate = account.group_rates.get()
    edit_url = reverse("admin:payouts_grouprate_edit", args=[rate.pk])
    said = save(client, edit_url, **get_form(client, edit_url) | {"value": "13"})
    assert account.group_rates.get().value == 13
    text = "12.00 EUR → 13.00 EUR, for sales from now on."
    assert said == [f"Gold partners, {standard.title} was saved: {text}"]
    save(client, reverse("admin:payouts_grouprate_remove", args=[rate.pk]))
    assert not account.group_rates.exists()


def test_says_for_how_many_affiliates_a_rate_counts(staff_client, scenario, account):
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold partners")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_enrolled_affiliate("Ida", "Holm")
    scenario.create_enrolled_affiliate("Ole", "Dahl", approved=False)
    odette.affiliate.update_row(group=group)
    rate = scenario.create_group_rate(group, "12")
    client, standard = staff_client(), account.commission_types.get()

    for name, row, number in (
        ("commissiontype", standard, "2 approved affiliates."),
        ("grouprate", rate, "1 approved affiliate."),
    ):
        page = client.get(reverse(f"admin:payouts_{name}_edit", args=[row.pk]))
        assert f"It counts for {number}" in page.content.decode()


def test_adds_levels_and_bonuses_of_the_plan(staff_client, scenario, account):
    Plan.objects.filter(pk=account.plan_id).update(mlm=True, bonuses=True)
    client, program = staff_client(), scenario.program
    rate = {"kind": "percentage", "value": "3"}
    save(client, program_url(program, "add-level"), title="Parent", **rate)
    form = client.get(program_url(program, "add-bonus")).context["form"]
    assert "percent of the amount of the conversions" in form["value"].help_text
    url = program_url(program, "add-bonus")
    submit_and_confirm(client, url, **BONUS)

    page = read_page(client, program)
    assert "2: the affiliate's parent, if approved here" in unescape(page)
    assert "3 % of the sale" in page
    assert "10 conversions in a month" in page
    bonus = account.bonuses.get()
    edit_url = reverse("admin:payouts_bonus_edit", args=[bonus.pk])
    submit_and_confirm(client, edit_url, goal="12")
    assert account.bonuses.get().goal == 12
    save(client, reverse("admin:payouts_bonus_end", args=[bonus.pk]))
    level = account.levels.get()
    save(client, reverse("admin:payouts_level_remove", args=[level.pk]))
    assert not account.bonuses.exists()
    assert not account.levels.exists()


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        (
            {"goal": "2"},
            {
                "With this goal, from 2026-03-01 to 2026-03-31": (
                    "1 affiliate, together 50.00 EUR"
                ),
                "Mina Kessler (minakessler)": "2 conversions of 300.00 EUR: 50.00 EUR",
            },
        ),
        (
            {"goal": "1", "period": "all_time", "kind": "percentage", "value": "5"},
            {
                "With this goal, until now": "2 affiliates, together 16.00 EUR",
                "Mina Kessler (minakessler)": "2 conversions of 300.00 EUR: 15.00 EUR",
                "Odette Varga (odettevarga)": "1 conversion of 20.00 EUR: 1.00 EUR",
            },
        ),
        (
            {"goal": "3"},
            {"With this goal, from 2026-03-01 to 2026-03-31": "nobody"},
        ),
    ],
)
def test_shows_whom_a_bonus_would_have_paid(
    staff_client, scenario, account, time_machine, changes, facts
):
    Plan.objects.filter(pk=account.plan_id).update(bonuses=True)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for amount, affiliate in (("100", None), ("200", None), ("20", odette)):
        sale = scenario.create_conversion(amount, affiliate=affiliate)
        scenario.approve(scenario.get_commission(sale))
    time_machine.move_to("2026-04-07T12:00:00+00:00")
    client, url = staff_client(), program_url(scenario.program, "add-bonus")

    sent, shown = submit(client, url, **BONUS | changes)

    assert dict(shown.context["effect_facts"]) == facts
    assert not account.bonuses.exists()
    confirm(client, url, sent, shown)
    edit_url = reverse("admin:payouts_bonus_edit", args=[account.bonuses.get().pk])
    _, shown = submit(client, edit_url, value="60")
    assert len(shown.context["effect_facts"]) == len(facts)


def test_shows_ended_bonuses_without_links(staff_client, scenario, account):
    Plan.objects.filter(pk=account.plan_id).update(bonuses=True)
    ended_at = datetime(2026, 3, 4, 9, 15, tzinfo=UTC)
    bonus = scenario.create_bonus(goal=10, value=50, title="Busy month", ended_at=ended_at)

    page = read_page(staff_client(), scenario.program)

    assert "Busy month (ended 2026-03-04 09:15 UTC)" in page
    assert f"/admin/payouts/bonus/{bonus.pk}/" not in page


def test_hides_what_the_plan_lacks(staff_client, scenario, account):
    Plan.objects.filter(pk=account.plan_id).update(mlm=False, bonuses=False)
    client = staff_client()

    page = read_page(client, scenario.program)

    assert "add-level" not in page
    assert "add-bonus" not in page
    refused = client.post(program_url(scenario.program, "add-level"), {"title": "x"})
    assert refused.status_code == 302
    assert not account.levels.exists()


@pytest.mark.parametrize(
    ("page", "values", "field"),
    [
        ("add-commission-type", {"identifier": "A B"}, "identifier"),
        ("add-commission-type", {"value": "-1"}, "value"),
        ("add-commission-type", {"title": "x" * 256}, "title"),
        ("add-group-rate", {"group": "999999"}, "group"),
        ("add-bonus", {"goal": "0.5"}, "goal"),
    ],
)
def test_shows_errors_beside_the_fields(staff_client, scenario, account, page, values, field):
    Plan.objects.filter(pk=account.plan_id).update(bonuses=True)
    valid = {
        "identifier": "gold",
        "title": "Gold",
        "kind": "percentage",
        "value": "5",
        "goal_type": "conversions",
        "goal": "10",
        "period": "month",
    }

    response = staff_client().post(program_url(scenario.program, page), valid | values)

    assert field in response.context["form"].errors
    assert account.commission_types.count() == 1
    assert not account.bonuses.exists()


def test_archives_and_unarchives(staff_client, scenario, account):
    client = staff_client("manager")

    save(client, program_url(scenario.program, "archive"))
    assert account.programs.get().archived_at is not None
    assert program_url(scenario.program, "archive") not in read_page(client, scenario.program)

    save(client, program_url(scenario.program, "unarchive"))
    assert account.programs.get().archived_at is None


def test_viewers_see_the_rules_but_no_links_to_forms(staff_client, scenario, account):
    page = read_page(staff_client("viewer"), scenario.program)

    assert "<dt>Commissions</dt><dd>Need your approval</dd>" in page
    standard = account.commission_types.get(identifier="standard")
    assert f"/admin/payouts/commissiontype/{standard.pk}/edit/" not in page
    assert "add-commission-type" not in page


def test_page_takes_few_statements(staff_client, scenario, capture_queries):
    client = staff_client()
    for number in range(10):
        scenario.create_commission_type(f"type-{number}", number)
    read_page(client, scenario.program)  # stores the statistics of past days

    with capture_queries() as executed:
        read_page(client, scenario.program)

    # Including those of the days that are not closed, also in the hour after midnight.
    assert len(executed) <= 27


def test_shows_the_results_of_the_program_alone(staff_client, scenario, account):
    other = ProgramScenario(account, slug="beacon", prefix="b-", email=None)
    now = timezone.now()
    for days in (0, 2):  # a day that is counted now, and one that is stored
        at = now - timedelta(days=days)
        scenario.create_click(at=at)
        scenario.create_conversion("100", at=at)
        other.create_conversion("7", at=at)
    client = staff_client()

    for _ in range(2):
        context = client.get(program_url(scenario.program)).context
        values = [(card.title, card.value) for card in context["cards"]]
        assert values == [
            ("Clicks", "2"),
            ("Conversions", "2"),
            ("Revenue", "200.00\u00a0EUR"),
            ("Commissions", "20.00\u00a0EUR"),
        ]
        [top] = context["top_affiliates"]
        assert (top.slug, top.conversions) == ("minakessler", 2)
    for card, count in zip(context["cards"], (2, 2, 2, 2), strict=True):
        assert len(client.get(card.url).context["cl"].result_list) == count


def test_shows_the_snippet_of_the_account(staff_client, scenario, account):
    page = read_page(staff_client(), scenario.program)

    assert f"tap(&quot;create&quot;, &quot;{account.slug}&quot;);" in page


def test_creates_and_removes_a_custom_field(staff_client, account):
    client = staff_client("manager")
    url = "/admin/tracking/customfield/add/"
    values = {"slug": "size", "title": "Size", "type": "select", "options": "S\n L \n"}
    save(client, url, **values)
    field = account.field_definitions.get()
    assert field.options == ["S", "L"]

    edit_url = reverse("admin:tracking_customfield_edit", args=[field.pk])
    save(client, edit_url, **get_form(client, edit_url) | {"options": "S\nM\nL"})
    assert account.field_definitions.get().options == ["S", "M", "L"]

    refused = client.post(url, values | {"slug": "other", "options": ""})
    assert "options" in refused.context["form"].errors
    save(client, reverse("admin:tracking_customfield_remove", args=[field.pk]))
    assert not account.field_definitions.exists()


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Frühlings_Aktion 2027!", "fruhlings-aktion-2027"),
        ("a" * 70, "a" * 64),
        ("Größe -" + "x" * 80, "groe-" + "x" * 59),
    ],
)
def test_makes_the_id_from_the_title(staff_client, account, title, slug):
    url = reverse("admin:tracking_customfield_add")

    save(staff_client(), url, title=title, slug="", type="text")

    assert account.field_definitions.get(title=title).slug == slug


def test_makes_the_id_of_a_program_from_its_title(staff_client, account):
    client, url = staff_client(), reverse("admin:tracking_program_add")
    values = {"title": "Lamps", "currency": "EUR", "cookie_time": "45", "visibility": "public"}
    values |= {"rate_kind": "percentage", "rate": "10"}

    save(client, url, **values)
    second = client.post(url, values)

    assert account.programs.get(title="Lamps").slug == "lamps"
    assert "slug" in second.context["form"].errors  # it is taken


def test_makes_the_id_of_a_commission_type_from_its_title(staff_client, scenario, account):
    url = program_url(scenario.program, "add-commission-type")

    save(staff_client(), url, title="Gold (2027)", kind="percentage", value="20")

    assert account.commission_types.get(title="Gold (2027)").identifier == "gold-2027"


def test_asks_for_an_id_if_the_title_has_no_letters_for_it(staff_client, account):
    url = reverse("admin:tracking_customfield_add")

    response = staff_client().post(url, {"title": "電球", "type": "text"})

    assert response.context["form"].errors == {
        "slug": ["Enter an ID; this title has no letters to make one from."]
    }
    assert not account.field_definitions.exists()


def test_names_the_type_of_a_custom_field_as_its_form_does(staff_client, account):
    client, url = staff_client(), reverse("admin:tracking_customfield_add")
    save(client, url, title="Shop", type="select", options="one\ntwo")

    page = client.get(reverse("admin:tracking_customfield_changelist"))

    assert "One of several options" in page.content.decode()


@pytest.mark.parametrize(
    ("entered", "stored"),
    [
        (
            "Shop.Example.DE\n\n lamps.example:8443 \n",
            ["shop.example.de", "lamps.example:8443"],
        ),
        ("", None),
    ],
)
def test_names_further_hosts_of_the_shop(staff_client, scenario, entered, stored):
    client, url = staff_client("manager"), program_url(scenario.program, "edit")
    form = get_form(client, url)
    save(client, url, **form | {"shop_hosts": entered})
    assert scenario.program.reload().shop_hosts == stored


@pytest.mark.parametrize("entered", ["https://shop.example.de", "shop", "a b.example"])
def test_says_what_a_host_is(staff_client, scenario, entered):
    client, url = staff_client("manager"), program_url(scenario.program, "edit")
    form = get_form(client, url)
    page = client.post(url, form | {"shop_hosts": entered}).content.decode()
    assert "up to 20 hosts like shop.example.net, each on a line" in page
    assert scenario.program.reload().shop_hosts is None


def read_texts(client, program):
    """The texts of the page of a program."""
    return " ".join(re.sub(r"<[^>]*>", " ", read_page(client, program)).split())


def test_new_programs_begin_unlisted(staff_client, account):
    client, url = staff_client(), reverse("admin:tracking_program_add")
    update_portal_settings(account, changes={"is_open": True}, at=timezone.now())
    page = f"Its page in the portal {build_portal_url(account, 'club/')}"
    entries = {"title": "Club", "slug": "club", "currency": "EUR", "cookie_time": "30"}
    initial = client.get(url).context["form"].initial["visibility"]

    save(client, url, **entries, rate_kind="percentage", rate="10", visibility=initial)

    program = account.programs.get(slug="club")
    assert program.visibility == "unlisted"
    assert "In the portal Unlisted: by its link" in read_texts(client, program)
    assert page in read_texts(client, program)
    edit_url = program_url(program, "edit")
    save(client, edit_url, **get_form(client, edit_url) | {"visibility": "private"})
    assert "In the portal Private: by invitation" in read_texts(client, program)
    assert page not in read_texts(client, program)


def test_adds_and_ends_an_invitation(staff_client, scenario, account):
    client, program = staff_client("manager"), scenario.program
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold partners")
    save(
        *(client, program_url(program, "add-invitation")),
        title="Spring fair",
        group=group.pk,
        max_uses="10",
        last_day="2099-12-31",
    )

    invitation = account.program_invitations.get()
    link = build_portal_url(account, f"apply/?invitation={invitation.public_id}")
    text = read_texts(client, program)
    assert f"Spring fair (Gold partners) {link} 0 of 10" in text
    messages = save(client, reverse("admin:tracking_programinvitation_end", args=[invitation.pk]))
    assert messages == ["Spring fair was ended."]
    assert "UTC End invitation" not in read_texts(client, program)
