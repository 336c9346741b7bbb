"""The audit log: entries name people by IDs, the page by addresses."""

import re
from decimal import Decimal
from html import unescape

import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.actor import use_actor
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.changes import log_event
from accounts.services.staff import create_staff_user, reset_password
from affiliate_site.backoffice.account import audit_log
from affiliate_site.backoffice.audit_sentences import (
    describe_actor,
    find_names,
    name_models,
    render_action,
)
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from payouts.models.documents import SupplierKind
from payouts.models.runs import PayoutSettings
from payouts.services.conversion_updates import update_commission
from payouts.services.payments import cancel_payment
from payouts.services.payout_limits import set_minimum
from payouts.services.payout_methods import set_payout_method
from payouts.services.refunds import refund_conversion
from payouts.services.tax_data import set_tax_rule
from tests.affiliate_site.backoffice.credentials import PASSWORD
from tests.conftest import NOW
from tests.moving_account import fill_account
from tests.program_scenario import ProgramScenario
from tracking.models.affiliates import Affiliate
from tracking.models.customers import Customer
from tracking.models.portal import PortalSettings
from tracking.models.programs import Program
from tracking.services.affiliates import delete_affiliate
from tracking.services.customers import confirm_customer
from tracking.services.enrollments import update_enrollment
from tracking.services.hierarchy import create_group, set_parent
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, ask_question

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

LIST = "admin:accounts_auditlogentry_changelist"


@pytest.fixture
def zoe(account):
    return create_staff_user(
        account, email="zoe@harbor.example.org", role=Role.OWNER, password=None, at=NOW
    )[0]


@pytest.fixture
def operator(db):
    return User.objects.create_superuser(email="ops@example.org", password=PASSWORD)


def read_list(client, **query):
    """The subject, actor and details of each row of the list."""
    response = client.get(reverse(LIST), query)
    assert response.status_code == 200
    _action, *columns = audit_log.DETAILS
    return [
        tuple(column(entry) for column in columns) for entry in response.context["cl"].result_list
    ]


def test_shows_the_addresses_of_staff(staff_client, account, zoe):
    """Who reset whose password; the entry itself has IDs only."""
    client = staff_client()
    owner = account.staff.get(email="owner@harbor.example.org")

    client.post(
        reverse("admin:accounts_user_changelist"),
        {"action": "reset_password", "_selected_action": [zoe.pk], "confirmed": "yes"},
    )

    entry = account.audit_log.get(kind="staff.password_reset")
    assert (entry.actor, entry.details) == (f"staff {owner.log_id}", {"user_id": zoe.log_id})
    assert read_list(client)[0] == (
        "account:harbor",
        f"owner@harbor.example.org (staff {owner.log_id})",
        "user_id: zoe@harbor.example.org",
    )
    detail = reverse("admin:accounts_auditlogentry_change", args=[entry.pk])
    for path in (detail, reverse("admin:accounts_auditlogentry_export")):
        text = client.get(path).getvalue().decode()
        assert "owner@harbor.example.org" in text
        assert "zoe@harbor.example.org" in text


def test_shows_old_and_new_values(staff_client, account):
    log_event(account, "program.updated", account, at=NOW, rate=["10", "7.5"])

    assert read_list(staff_client())[1][2] == "rate: 10 → 7.5"


def test_names_what_is_logged(account):
    """No sentence has the name of a model, of a column or of a kind of entry, or the
    ID of what has a name."""
    fill_account(account)
    update_portal_settings(account, changes={"is_open": True}, at=NOW)
    program, affiliate = account.programs.first(), account.affiliates.first()
    changes = {"coupon": "NEW-COUPON"}
    update_enrollment(
        account,
        program=program,
        affiliate_id=affiliate.slug,
        changes=changes,
        at=NOW,
    )
    models = {model._meta.model_name for model in apps.get_models()}
    compound = {name for name in models if name != name_models()[name]}
    columns = {
        field.name
        for model in (Affiliate, Customer, PayoutSettings, PortalSettings, Program)
        for field in model._meta.concrete_fields
        if "_" in field.name
    }
    entries = list(account.audit_log.order_by("id"))
    names = find_names(account.staff.filter(role=Role.OWNER).first(), entries)
    words = {}
    for entry in entries:
        text = strip_tags(render_action(entry, names))
        assert not re.search(r"\b(cu|ap|no|cn)_\w{16}\b|\w\.(upd|cre)ated", text), text
        words[text] = set(re.findall(r"[\w ]+", text.replace(":", "")))
        words[text] |= set(text.split())
    raw = compound | columns | {name.replace("_", " ") for name in ("is_on", "is_open")}
    raw -= {"apikey", "user"}
    assert {text: found & raw for text, found in words.items() if found & raw} == {}
    assert any("coupon now: NEW-COUPON" in text for text in words)
    assert any(f"program: {program.title}" in text for text in words)


def test_shows_whose_customer_it_became(staff_client, account):
    scenario = ProgramScenario(account)
    mina, inga = scenario.mina, scenario.create_enrolled_affiliate("Inga", "Berg")
    customer = scenario.create_customer("anna")
    customer.update_row(is_confirmed=False)
    sale = scenario.create_conversion("10", affiliate=inga)
    with transaction.atomic():
        confirm_customer(account, customer, owner=sale, at=NOW)

    entry = account.audit_log.get(kind="customer.confirmed")
    assert entry.details == {"affiliate": [mina.affiliate.log_id, inga.affiliate.log_id]}
    client = staff_client()
    (details,) = [row[2] for row in read_list(client) if "affiliate: " in row[2]]
    assert details == "affiliate: minakessler → ingaberg"
    assert "minakessler → ingaberg" in client.get(reverse(LIST)).content.decode()


def test_shows_and_finds_affiliates_by_their_ids(staff_client, account):
    scenario = ProgramScenario(account)
    mina, inga = scenario.mina, scenario.create_enrolled_affiliate("Inga", "Berg")
    set_parent(account, affiliate_id="minakessler", parent_id="ingaberg", at=NOW)
    delete_affiliate(account, affiliate_id="minakessler", at=NOW)
    client = staff_client()

    rows = read_list(client, q="affiliate:minakessler")

    assert [(subject, details) for subject, _, details in rows] == [
        ("affiliate:minakessler", EMPTY_VALUE),
        ("affiliate:minakessler", "parent: ingaberg"),
        ("affiliate:minakessler", "program: Harbor Lamp Partners\napproved: approved"),
        ("affiliate:minakessler", EMPTY_VALUE),
    ]
    entries = account.audit_log.filter(subject=f"affiliate:{mina.affiliate.log_id}")
    assert entries.count() == len(rows)
    assert entries.get(kind="affiliate.updated").details == {"parent": inga.affiliate.log_id}
    assert read_list(client, q="affiliate:nobody") == []
    assert len(read_list(client, q="program:harbor-lamp-partners")) == 1
    assert len(read_list(client, q="program harbor-lamp-partners")) == 1
    assert read_list(client, q=" affiliate  minakessler ") == rows


def test_names_what_a_confirmed_claim_changed(staff_client, account, other_account):
    scenario = ProgramScenario(account)
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    conversion = scenario.create_conversion("20")
    program = scenario.program
    log_event(
        account,
        "conversion.confirmed",
        conversion,
        at=NOW,
        affiliate=[None, scenario.mina.affiliate.log_id],
        program=[program.slug, foreign.program.slug],
    )

    page = staff_client().get(reverse(LIST), {"q": f"conversion:{conversion.pk}"})

    text = unescape(page.content.decode())
    assert "affiliate: none → minakessler" in text
    assert f"program: {program.title} → {foreign.program.slug}<" in text


def test_finds_no_affiliate_of_another_account(staff_client, account, other_account):
    ProgramScenario(other_account)

    assert read_list(staff_client(), q="affiliate:minakessler") == []


def test_does_not_show_the_addresses_of_operators_and_of_other_accounts(
    staff_client, account, other_account, operator
):
    """IDs of users who are unknown to the account stay as they are."""
    foreign, _ = create_staff_user(
        other_account, email="may@example.net", role=Role.OWNER, password=None, at=NOW
    )
    client = staff_client()
    for user in (operator, foreign):
        with use_actor(user.actor_name):
            log_event(account, "staff.activated", account, at=NOW, user_id=user.log_id)

    rows = read_list(client)

    assert rows[0][1:] == (f"staff {foreign.log_id}", f"user_id: {foreign.log_id}")
    assert rows[1][1:] == (f"operator {operator.log_id}", f"user_id: {operator.log_id}")
    signed_in = Client()
    signed_in.force_login(operator)
    assert read_list(signed_in)[1][1:] == (
        f"ops@example.org (operator {operator.log_id})",
        "user_id: ops@example.org",
    )


def test_logs_operators_by_their_ids(account, operator, zoe):
    client = Client()
    client.force_login(operator)

    client.post(
        reverse("admin:accounts_user_changelist"),
        {"action": "make_viewer", "_selected_action": [zoe.pk], "confirmed": "yes"},
    )
    client.post(
        reverse("admin:accounts_user_changelist"),
        {"action": "reset_password", "_selected_action": [zoe.pk], "confirmed": "yes"},
    )

    entry = account.audit_log.get(kind="staff.password_reset")
    assert entry.actor == f"operator {operator.log_id}"


def test_looks_up_all_people_of_a_page_at_once(staff_client, account, zoe, capture_queries):
    client = staff_client()
    scenario = ProgramScenario(account)

    def count_queries():
        with capture_queries() as queries:
            read_list(client)
        return len(queries)

    before = count_queries()
    for number in range(10):
        scenario.create_enrolled_affiliate(f"Ada{number}", "Lind")
        reset_password(account, email=zoe.email, by=make_owner(account, number), at=NOW)

    assert count_queries() == before


def make_owner(account, number):
    return create_staff_user(
        account,
        email=f"zoe{number}@harbor.example.org",
        role=Role.OWNER,
        password=None,
        at=NOW,
    )[0]


# Sentences


def read_sentences(client, **query):
    """The text of what happened in each row of the list."""
    response = client.get(reverse(LIST), query)
    cells = re.findall(
        r'<td class="field-sentence cell"[^>]*>(.*?)</td>',
        response.content.decode(),
        re.DOTALL,
    )
    return [unescape(strip_tags(cell)) for cell in cells]


def test_says_who_did_what_to_whom(staff_client, account):
    scenario = ProgramScenario(account)
    client = staff_client()
    commission = scenario.get_commission(
        scenario.create_conversion("374.80", external_id="order-7")
    )
    with use_actor(account.staff.get().actor_name):
        scenario.approve(commission, at=NOW)
        update_commission(
            account,
            commission_id=commission.pk,
            changes={"amount": Decimal(30)},
            at=NOW,
        )
        payment = scenario.pay(30, at=NOW)
        # At the same moment: the entry says which payment it was.
        cancel_payment(account, payment_id=payment.public_id, at=NOW)

    sentences = read_sentences(client)

    name = f"commission {commission.pk} of minakessler (now 30.00 EUR)"
    assert sentences[0] == (
        f"owner@harbor.example.org took {name} out of payment {payment.public_id}"
    )
    assert sentences[2:6] == [
        f"owner@harbor.example.org put {name} into payment {payment.public_id}",
        f"owner@harbor.example.org recorded payment {payment.public_id} to minakessler: 30.00 EUR",
        f"owner@harbor.example.org changed the amount of {name} amount: 37.48 EUR → 30.00 EUR",
        f"owner@harbor.example.org approved {name}",
    ]
    assert "The system created conversion order-7 (now 374.80 EUR)" in sentences
    assert (
        "The system added affiliate minakessler to program Harbor Lamp Partners:"
        " approved" in sentences
    )


def test_exports_kinds_in_words(staff_client, account, scenario):
    account.enrollments.update(approved=None)
    update_enrollment(
        account,
        program=scenario.program,
        affiliate_id="minakessler",
        changes={"approved": True},
        at=NOW,
    )

    export = staff_client().get(reverse("admin:accounts_auditlogentry_export"))

    text = export.getvalue().decode()
    assert "Approved an affiliate for program" in text
    assert "previous_approved: pending" in text
    assert "affiliate.approved" not in text


def test_writes_amounts_as_money(staff_client, account, scenario):
    sale = scenario.create_conversion("100", external_id="order-7", currency="JPY")
    refund_conversion(account, conversion_id=sale.pk, amount=Decimal(25), reason="Broken.", at=NOW)
    set_minimum(account, amount=Decimal(50), currency="EUR", at=NOW)

    text = " ".join(read_sentences(staff_client()))

    assert "amount: 100 JPY → 75 JPY" in text
    assert "refunded 25 JPY of conversion order-7 (now 75 JPY)" in text
    assert "set the payout minimum of account harbor to 50.00 EUR" in text


def test_folds_what_one_action_did_to_several_objects(staff_client, account):
    """A bulk approval is one row of the list, with the others inside."""
    scenario, client = ProgramScenario(account), staff_client()
    commissions = [
        scenario.get_commission(scenario.create_conversion(amount)) for amount in ("10", "20", "30")
    ]
    selected = [commission.pk for commission in commissions]
    url = reverse("admin:payouts_commission_changelist")
    form = {"action": "approve_selected", "_selected_action": selected}
    shown = client.post(url, form)
    rows = shown.context["rows"]
    confirmed = {
        "confirmed": "yes",
        "token": shown.context["token"],
        "confirmed_amounts": " ".join(f"{row.pk}:{amount}" for row, amount in rows),
    }
    client.post(url, form | confirmed)
    approved = [f"pproved commission {commission.pk} of minakessler" for commission in commissions]

    first, second, *_ = read_sentences(client)

    assert all(text in first for text in approved)
    assert "and 2 more" in first
    assert "pproved commission" not in second
    entry = account.audit_log.filter(kind="commission.updated").order_by("-id")[1]
    url = reverse("admin:accounts_auditlogentry_change", args=[entry.pk])
    page = client.get(url).content.decode()
    assert approved[1] in strip_tags(page)  # its own page shows it alone
    assert "and 2 more" not in page


def test_history_leads_to_the_entries_of_the_object(staff_client, account):
    scenario = ProgramScenario(account)
    conversion = scenario.create_conversion("10", external_id="order-7")
    client = staff_client()

    for page, row, last in (
        (
            "tracking_conversion",
            conversion,
            "created conversion order-7 (now 10.00 EUR)",
        ),
        ("tracking_affiliate", scenario.mina.affiliate, "created affiliate"),
        ("tracking_program", scenario.program, "created program"),
    ):
        url = reverse(f"admin:{page}_history", args=[row.pk])
        form = client.get(reverse(f"admin:{page}_change", args=[row.pk]))
        assert url in form.content.decode()
        response = client.get(url, follow=True)
        assert response.redirect_chain[0][1] == 302
        assert last in read_sentences(client, q=response.context["cl"].query)[-1]


def test_offers_no_history_where_there_is_none(staff_client, account):
    click = ProgramScenario(account).create_click()

    form = staff_client().get(reverse("admin:tracking_click_change", args=[click.pk]))

    assert "history/" not in form.content.decode()


def test_describes_nothing_of_another_account(staff_client, account, other_account):
    client = staff_client()
    foreign = ProgramScenario(other_account, prefix="zz-marker-")
    commission = foreign.get_commission(foreign.create_conversion("10"))
    log_event(account, "commission.created", commission, at=NOW)

    assert read_sentences(client)[0] == f"The system created commission {commission.pk}"


def test_a_transfer_from_before_the_column_names_nobody():
    assert describe_actor(None, names=None) == ""


@pytest.mark.parametrize(
    ("actor", "text"),
    [
        ("key aff_live_8Oo", "API key aff_live_8Oo…"),
        ("command set_plan", "The command set_plan"),
        ("unknown", "A page or form"),
        ("operator 4711", "An operator"),
    ],
)
def test_names_actors_in_words(staff_client, account, actor, text):
    client = staff_client()
    with use_actor(actor):
        log_event(account, "account.locked", account, at=NOW)

    assert read_sentences(client)[0] == f"{text} locked the account"


# Searches and filters


def list_kinds(client, **query):
    response = client.get(reverse(LIST), query)
    assert response.status_code == 200
    return [entry.kind for entry in response.context["cl"].result_list]


def test_finds_a_staff_user_by_the_address(staff_client, account, other_account, zoe):
    client = staff_client()
    with use_actor(zoe.actor_name):
        log_event(account, "account.locked", account, at=NOW)
        log_event(other_account, "account.locked", other_account, at=NOW)
    log_event(account, "staff.activated", account, at=NOW, user_id=zoe.log_id)

    found = list_kinds(client, q="Zoe@harbor.example.org")

    assert found == ["staff.activated", "account.locked", "staff.created"]
    assert list_kinds(client, q="nobody@harbor.example.org") == []


def test_finds_objects_without_their_kind(staff_client, account, other_account):
    client = staff_client()
    scenario = ProgramScenario(account)
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    conversion = scenario.create_conversion("374.80", external_id="order-7")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission, at=NOW)
    payment = scenario.pay("37.48", at=NOW)
    ask_question(scenario.mina.affiliate, data=QuestionData("ORDER-7", NOW.date()), at=NOW)

    assert "affiliate.created" in list_kinds(client, q="minakessler")
    assert "affiliate.created" in list_kinds(client, q="Mina Kessler")
    assert list_kinds(client, q=payment.public_id) == ["payment.created"]
    of_order = {"conversion.created", "commission.created", "payment.created", "question.asked"}
    assert of_order <= set(list_kinds(client, q="ORDER-7"))
    by_number = list_kinds(client, q=commission.pk)
    assert {"commission.created", "commission.updated"} <= set(by_number)
    assert list_kinds(client, q=foreign.mina.slug) == []


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
def test_filters_by_who_did_it_and_by_action(staff_client, account, zoe, role):
    client = staff_client(role=role)
    log_event(account, "account.locked", account, at=NOW)
    with use_actor(zoe.actor_name):
        log_event(account, "account.locked", account, at=NOW)
        log_event(account, "account.unlocked", account, at=NOW)

    done = list_kinds(client, actor=zoe.actor_name)
    assert done == ["account.unlocked", "account.locked"]
    both = list_kinds(client, actor=zoe.actor_name, kind="account.locked")
    assert both == ["account.locked"]
    page = client.get(reverse(LIST), {"actor": zoe.actor_name}).content.decode()
    assert f'<option value="{zoe.actor_name}" selected>{zoe.email}</option>' in page
    assert "Approved, disapproved or changed a commission</option>" in page
    assert "Reset the password of …</option>" in page
    assert client.get(reverse(LIST), {"kind": "x"}).status_code == 400


def test_offers_the_staff_of_the_own_account_only(staff_client, other_account):
    foreign, _ = create_staff_user(
        other_account, email="may@example.net", role=Role.OWNER, password=None, at=NOW
    )
    client = staff_client()
    log_event(other_account, "account.locked", other_account, at=NOW)

    page = client.get(reverse(LIST), {"actor": foreign.actor_name}).content.decode()

    assert "may@example.net" not in page
    assert list_kinds(client, actor=foreign.actor_name) == []


def test_says_in_how_many_rows_the_entries_are(staff_client, account):
    client = staff_client()
    with use_actor("system", trace_id="7" * 32):
        for _ in range(3):
            log_event(account, "account.locked", account, at=NOW)
    log_event(account, "account.locked", account, at=NOW)

    page = client.get(reverse(LIST), {"kind": "account.locked"}).content.decode()

    assert "4 audit log entries · 4 of them on this page, in 2 rows: what one" in page
    page = client.get(reverse(LIST), {"kind": "staff.created"}).content.decode()
    assert "of them on" not in page


def test_says_what_changed_of_a_payout_method(staff_client, account):
    scenario = ProgramScenario(account)

    def set_bank(**details):
        set_payout_method(
            account,
            affiliate_id="minakessler",
            kind="bank",
            details=details,
            is_primary=True,
            at=NOW,
        )

    set_bank(iban="SI56191000000123438", Mina="Kessler")
    set_bank(iban="DE89370400440532013000", Mina="Kessler")
    set_bank(iban="DE89370400440532013000", Mina="Kessler")

    entries = account.audit_log.filter(kind="payout_method.set").order_by("id")
    assert [entry.details for entry in entries] == [
        {
            "method": "bank",
            "fields": ["iban", "others", "primary"],
            "iban": [None, "•••• 3438"],
        },
        {"method": "bank", "fields": ["iban"], "iban": ["•••• 3438", "•••• 3000"]},
        {"method": "bank", "fields": []},
    ]
    sentences = read_sentences(staff_client(), kind="payout_method.set")
    subject = f"payout method bank of affiliate {scenario.mina.slug}"
    assert [sentence.strip() for sentence in sentences][1:] == [
        f"The system set the IBAN of the {subject} IBAN: •••• 3438 → •••• 3000",
        f"The system set the IBAN, other details of the {subject}"
        " and made it the primary one IBAN: none → •••• 3438",
    ]


def test_names_affiliates_who_change_what_is_theirs(staff_client, account):
    mina = ProgramScenario(account).mina.affiliate
    with use_actor(f"affiliate {mina.log_id}", ""):
        log_event(account, "affiliate.password_set", mina, at=NOW)
        log_event(account, "affiliate.second_factor_added", mina, at=NOW)
        set_payout_method(
            account,
            affiliate_id=mina.slug,
            kind="bank",
            details={"iban": "SI56191000000123438"},
            is_primary=True,
            at=NOW,
        )
    client = staff_client()

    assert [
        read_sentences(client, kind=kind)[-1].strip()
        for kind in (
            "affiliate.password_set",
            "affiliate.second_factor_added",
            "payout_method.set",
        )
    ] == [
        "Mina Kessler (affiliate) set their portal password",
        "Mina Kessler (affiliate) switched their second factor on",
        "Mina Kessler (affiliate) set their IBAN of the payout method bank and made it"
        " the primary one IBAN: none → •••• 3438",
    ]
    entry = account.audit_log.get(kind="payout_method.set")
    url = reverse("admin:accounts_auditlogentry_change", args=[entry.pk])
    page = strip_tags(unescape(client.get(url).content.decode()))
    assert f"Mina Kessler (affiliate) (affiliate {mina.log_id})" in page
    assert "iban: none → •••• 3438" in page


@pytest.mark.parametrize(
    "values",
    [
        {"actor": "affiliate x"},
        {"actor": "staff " + "9" * 40},
        {"subject": "affiliate:" + "9" * 40},
        {"details": {"user_id": 7, "program": 7, "until": "x", "parent": {}}},
        {"details": {"user_id": [1], "affiliate": [[1]], "program": [[1]]}},
        {"kind": "affiliate.added_to_group", "details": {"group": {}}},
        {"kind": "affiliate.added_to_group", "details": {}},
        {"kind": "affiliate.added_to_program", "details": {"approved": [1]}},
        {"kind": "affiliate.updated", "details": {"fields": 5}},
        {"kind": "commission.updated", "details": {"fields": ["payment"]}},
        {"kind": "commission.updated", "details": {"status": []}},
    ],
)
def test_an_odd_entry_does_not_hide_the_others(account, staff_client, values):
    """Entries of an account that moved in may be foreign."""
    entry = {"kind": "account.locked", "subject": "account:harbor", "details": {}}
    account.audit_log.create(**entry | values)
    assert read_list(staff_client())


def test_finds_all_that_is_about_an_affiliate(staff_client, account):
    scenario = ProgramScenario(account)
    inga = scenario.create_enrolled_affiliate("Inga", "Berg")
    sales = [
        scenario.create_conversion("100"),
        scenario.create_conversion("200", affiliate=inga),
    ]
    own, other = map(scenario.get_commission, sales)
    scenario.approve(own, at=NOW)
    payment = scenario.pay(10, at=NOW)
    with use_actor(f"affiliate {scenario.mina.affiliate.log_id}"):
        log_event(account, "account.settings_changed", account, at=NOW)
    client = staff_client()
    for term in ("minakessler", "affiliate:minakessler", "Kessler"):
        subjects = {subject for subject, *_ in read_list(client, q=term)}
        assert subjects >= {
            "affiliate:minakessler",
            f"conversion:{sales[0].pk}",
            f"commission:{own.pk}",
            f"payment:{payment.public_id}",
            f"account:{account}",
        }
        assert f"commission:{other.pk}" not in subjects


def test_names_rates_and_imports(staff_client, account):
    scenario = ProgramScenario(account)
    group = create_group(account, title="Top", at=NOW)
    commission_type = account.commission_types.get()
    rate = account.group_rates.create(
        commission_type=commission_type, group=group, kind="fixed", value=15
    )
    log_event(account, "group_rate.updated", rate, at=NOW, value=["13.5000", "15.0000"])
    log_event(account, "level.created", scenario.create_level(2, "1"), at=NOW)
    row = account.table_imports.create(
        public_id="ti_1", kind="affiliates", file_name="people.csv", actor="x"
    )
    log_event(account, "table_import.stored", row, at=NOW, created=3)
    client = staff_client()
    sentences = read_sentences(client)
    title = scenario.program.title
    assert (
        f"The system changed the value of rate {commission_type.title} of the group Top"
        f" in {title} value: 13.5 → 15" in sentences
    )
    assert f"The system created level 2 of {title}" in sentences
    assert "The system stored the import of people.csv: 3 rows" in sentences


def test_names_no_rate_of_another_account(staff_client, account, other_account):
    foreign = ProgramScenario(other_account)
    subject = foreign.create_level(2, "1")
    log_event(account, "level.created", subject, at=NOW)
    assert foreign.program.title not in read_sentences(staff_client())[0]


@pytest.mark.parametrize(
    ("withholding", "end"), [("0", "0 % VAT"), ("15.5", "0 % VAT and 15.5 % withholding tax")]
)
def test_says_what_a_tax_rule_withholds(staff_client, account, withholding, end):
    client = staff_client()
    rates = {"rate": Decimal(0), "withholding_rate": Decimal(withholding)}
    kind = SupplierKind.PRIVATE
    set_tax_rule(account, kind=kind, sentence="Not taxable", **rates, at=NOW)

    assert read_sentences(client)[0].endswith(f" to {end}")
