"""Forms of notes, payout methods, groups and prospects, and the pages about them."""

from datetime import timedelta

import pytest
from django.urls import reverse

from affiliate_site.backoffice.affiliates.admin import count_members
from affiliate_site.backoffice.payouts.payout_texts import format_payout_method
from payouts.services.payout_methods import set_payout_method
from tests.affiliate_site.backoffice.form_values import get_form_values
from tests.affiliate_site.backoffice.money_forms import list_messages
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, ProgramFactory
from tracking.services.affiliates import PersonData
from tracking.services.hierarchy import create_group
from tracking.services.notes import create_note, delete_note
from tracking.services.programs import archive_program
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

PIA = {"firstname": "Pia", "lastname": "Lang", "email": "pia@example.org"}
ADD_GROUP, ADD_PROSPECT = (
    f"/admin/tracking/{model}/add/" for model in ("affiliategroup", "prospect")
)

IBAN = "SI56 1910 0000 0123 438"
COMPACT_IBAN = "SI56191000000123438"


def page_url(model, name, row):
    return reverse(f"admin:tracking_{model}_{name}", args=[row.pk])


def make_prospect(account, program):
    data = ProspectData(PersonData("Pia", "Lang"), program_id=program.slug)
    return create_prospect(account, data=data, at=NOW)


@pytest.fixture
def hana(account):
    return AffiliateFactory(account=account, slug="hanakim")


@pytest.fixture
def note(account, hana):
    return create_note(account, affiliate=hana, text="Prefers calls", at=NOW)


@pytest.fixture
def group(account):
    return create_group(account, title="Top affiliates", at=NOW)


@pytest.fixture
def prospect(account, program):
    return make_prospect(account, program)


def list_kinds(account):
    return list(account.audit_log.order_by("id").values_list("kind", flat=True))


class TestNotes:
    def test_writes_changes_and_deletes_a_note(self, account, staff_client, hana):
        client = staff_client("manager")
        response = client.post(page_url("affiliate", "note", hana), {"note": "Prefers calls"})
        note = account.notes.get()
        assert (note.affiliate, note.note) == (hana, "Prefers calls")
        assert response["Location"].endswith(f"/{hana.pk}/change/?tab=notes")

        url = page_url("note", "edit", note)
        client.post(url, get_form_values(client, url) | {"note": "Prefers mail"})
        assert account.notes.get().note == "Prefers mail"

        url = page_url("note", "remove", note)
        page = client.get(url).content.decode()
        assert "Delete note: about hanakim" in page
        assert "Prefers mail" in page
        client.post(url)
        assert not account.notes.exists()
        assert list_kinds(account)[-3:] == [*("note.created", "note.updated", "note.deleted")]

    def test_shows_who_wrote_a_note(self, account, staff_client, hana):
        staff_client("manager").post(page_url("affiliate", "note", hana), {"note": "Prefers calls"})
        create_note(account, affiliate=hana, text="Imported", at=NOW)
        client = staff_client("viewer")

        tab = client.get(page_url("affiliate", "change", hana), {"tab": "notes"})
        rows = client.get(reverse("admin:tracking_note_changelist"))

        for page in (tab, rows):
            text = page.content.decode().partition("Prefers calls")[2]
            assert text.count("manager@harbor.example.org") == 1
            assert "The system" in text.partition("Imported")[2]

    @pytest.mark.parametrize(
        ("text", "error"), [("", "required"), (" ", "required"), ("x" * 5001, "5000")]
    )
    def test_refuses_empty_and_long_notes(self, account, staff_client, hana, text, error):
        response = staff_client().post(page_url("affiliate", "note", hana), {"note": text})

        assert error in str(response.context["form"].errors["note"])
        assert not account.notes.exists()

    def test_a_note_that_was_deleted_meanwhile_is_not_found(
        self, account, staff_client, hana, note
    ):
        client, url = staff_client(), page_url("note", "edit", note)
        sent = get_form_values(client, url)
        delete_note(account, affiliate=hana, note_id=note.public_id, at=NOW)

        assert client.post(url, sent | {"note": "new"}).status_code == 404


class TestPayoutMethods:
    def test_sets_and_changes_a_payout_method(self, account, staff_client, hana):
        client, url = staff_client("manager"), page_url("affiliate", "payout", hana)
        client.post(url, {"kind": "paypal", "payout_email": "h@example.org"})
        bank = {"kind": "bank", "iban": IBAN, "bic": "ljbasi2x", "details": "ref: 7"}
        client.post(url, bank | {"payout_email": "ignored"})

        methods = {row.kind: row for row in account.payout_methods.all()}
        assert methods["paypal"].is_primary
        assert methods["paypal"].details == {"email": "h@example.org"}
        details = {"iban": COMPACT_IBAN, "bic": "LJBASI2X", "ref": "7"}
        assert methods["bank"].details == details

        owner = staff_client()
        sent = get_form_values(owner, f"{url}?kind=bank")
        assert (sent["iban"], sent["details"]) == (COMPACT_IBAN, "ref: 7")
        owner.post(f"{url}?kind=bank", sent | {"bic": "", "primary": "on"})

        methods = {row.kind: row for row in account.payout_methods.all()}
        assert methods["bank"].details == {"iban": COMPACT_IBAN, "ref": "7"}
        assert methods["bank"].is_primary
        assert not methods["paypal"].is_primary
        assert list_kinds(account).count("payout_method.set") == 3

    @pytest.mark.parametrize(
        ("sent", "field", "error"),
        [
            ({"kind": "bank"}, "iban", "Enter the IBAN"),
            ({"kind": "bank", "iban": "SI56"}, "iban", "is not an IBAN"),
            ({"kind": "bank", "iban": IBAN, "bic": "LJ"}, "bic", "is not a BIC"),
            ({"kind": "bank", "details": "Konto: SI56"}, "bank_country", "Choose the"),
            ({"kind": "paypal"}, "payout_email", "Enter the e-mail"),
            ({"kind": "paypal", "payout_email": "h"}, "payout_email", "not an e-mail"),
            ({"kind": "wise", "iban": IBAN}, "payout_email", "recipient ID at Wise"),
            ({"kind": "other"}, "details", "Enter the details"),
            ({"kind": "other", "details": "SI56"}, "details", "key: value"),
            ({"kind": "other", "details": f"a: {'x' * 256}"}, "details", "255"),
            (
                {"kind": "other", "details": "\n".join(f"{n}: 1" for n in range(21))},
                "details",
                "20 items",
            ),
        ],
    )
    def test_refuses_beside_the_field(self, account, staff_client, hana, sent, field, error):
        response = staff_client().post(page_url("affiliate", "payout", hana), sent)

        assert error in str(response.context["form"].errors[field])
        assert not account.payout_methods.exists()

    def set_bank(self, account, affiliate, details):
        return set_payout_method(
            account,
            affiliate_id=affiliate.slug,
            kind="bank",
            details=details,
            is_primary=False,
            at=NOW,
        )

    @pytest.mark.parametrize("role", ["manager", "owner"])
    def test_keeps_what_a_client_of_the_api_has_set(self, account, staff_client, hana, role):
        self.set_bank(account, hana, {"IBAN": "SI56"})
        client, url = staff_client(role), page_url("affiliate", "payout", hana)
        sent = get_form_values(client, f"{url}?kind=bank")

        client.post(f"{url}?kind=bank", sent | {"primary": "on"})

        bank = account.payout_methods.get()
        assert (bank.is_primary, bank.details) == (True, {"IBAN": "SI56"})

    def test_refuses_to_empty_the_details(self, account, staff_client, hana):
        self.set_bank(account, hana, {"iban": IBAN})
        url = page_url("affiliate", "payout", hana)
        for query in ("", "?kind=bank"):
            response = staff_client("owner").post(f"{url}{query}", {"kind": "bank"})
            assert response.context["form"].errors["iban"]
            account.staff.all().delete()
        assert account.payout_methods.get().details == {"iban": IBAN}

    def test_managers_change_what_they_see_masked(self, account, staff_client, hana):
        self.set_bank(account, hana, {"iban": IBAN, "bic": "LJBASI2X"})
        client, url = staff_client("manager"), page_url("affiliate", "payout", hana)
        page = client.get(f"{url}?kind=bank").content.decode()
        assert "SI56…3438" in page
        assert COMPACT_IBAN not in page
        sent = get_form_values(client, f"{url}?kind=bank")

        client.post(f"{url}?kind=bank", sent | {"iban": "DE89370400440532013000"})

        assert account.payout_methods.get().details == {"iban": "DE89370400440532013000"}

    @pytest.mark.parametrize("role", ["manager", "finance"])
    def test_does_not_overwrite_a_change_of_somebody_else(self, account, staff_client, hana, role):
        self.set_bank(account, hana, {"iban": IBAN})
        client, url = staff_client(role), page_url("affiliate", "payout", hana)
        sent = get_form_values(client, f"{url}?kind=bank")
        set_payout_method(
            account,
            affiliate_id=hana.slug,
            kind="bank",
            details={"iban": "DE89370400440532013000"},
            is_primary=False,
            at=NOW + timedelta(seconds=1),
        )

        response = client.post(f"{url}?kind=bank", sent | {"iban": IBAN})

        text = str(response.context["form"].non_field_errors())
        assert "Somebody changed this while the page was open" in text
        assert account.payout_methods.get().details == {"iban": "DE89370400440532013000"}

    def test_names_the_country_of_a_bank(self, account, staff_client, hana):
        values = {"bic": "CHASUS33", "account_number": "123456", "country": "US"}
        method = self.set_bank(account, hana, values)
        client = staff_client("finance")
        user = account.staff.get(role="finance")
        assert "Country: United States" in format_payout_method(method, user)
        page = client.get(page_url("affiliate", "change", hana)).content.decode()
        assert "Country: United States" in page

    @pytest.mark.parametrize("role", ["viewer", "manager", "finance", "owner"])
    def test_shows_accounts_whole_to_those_who_pay(self, account, staff_client, scenario, role):
        mina = scenario.mina.affiliate
        method = self.set_bank(account, mina, {"iban": IBAN})
        payment = scenario.pay(5, at=NOW)
        client = staff_client(role)
        balance = account.ledger_accounts.get(affiliate=mina, kind="payable")
        pages = [
            page_url("affiliate", "change", mina),
            reverse("admin:payouts_payoutmethod_change", args=[method.pk]),
            reverse("admin:payouts_payment_change", args=[payment.pk]),
            reverse("admin:payouts_payment_export"),
            reverse("admin:payouts_ledgeraccount_change", args=[balance.pk]),
            reverse("admin:payouts_ledgeraccount_changelist"),
        ]

        for page in pages:
            response = client.get(page)
            assert response.status_code == 200
            text = response.getvalue().decode()
            assert (IBAN in text) is (role in ("finance", "owner")), page
            assert ("SI56…3438" in text) is (role in ("viewer", "manager")), page

    def test_warns_on_both_pages_of_one_account(
        self, account, other_account, staff_client, hana, scenario
    ):
        mina = scenario.mina.affiliate
        foreign = AffiliateFactory(account=other_account, slug="foreign")
        removed = AffiliateFactory(account=account, slug="removed")
        for each in (hana, mina, removed):
            self.set_bank(account, each, {"iban": IBAN})
        self.set_bank(other_account, foreign, {"iban": IBAN})
        removed.update_row(deleted_at=NOW)
        client = staff_client("viewer")

        for shown, other in ((hana, mina), (mina, hana)):
            response = client.get(page_url("affiliate", "change", shown))
            found = [row.affiliate for row in response.context["equal_methods"]]
            assert found == [other]
            text = response.content.decode()
            assert "Other affiliates are paid to the same account" in text
            assert page_url("affiliate", "change", other) in text

    @pytest.mark.parametrize(
        ("details", "shown"),
        [
            ({"account_number": "12", "ref": "7"}, "Account number: 12, ref: 7"),
            ({"iban": "SI56", "bic": "LJBASI2X"}, "IBAN: SI56, BIC: LJBASI2X"),
        ],
    )
    def test_names_details_as_the_form_does(self, account, staff_client, scenario, details, shown):
        mina = scenario.mina.affiliate
        method = self.set_bank(account, mina, details)
        payment = scenario.pay(5, at=NOW)
        client = staff_client()

        url = reverse("admin:payouts_payoutmethod_change", args=[method.pk])
        facts = client.get(url).context["details"].sections[0].facts
        first = shown.partition(":")[0]
        assert (first, next(iter(details.values()))) in facts
        url = reverse("admin:payouts_payment_change", args=[payment.pk])
        assert f"Bank account ({shown}" in client.get(url).content.decode()

    @pytest.mark.parametrize("kind", ["bank", "other"])
    def test_opens_a_new_method_of_a_kind(self, account, staff_client, hana, kind):
        client = staff_client("manager")
        url = f"{page_url('affiliate', 'payout', hana)}?kind={kind}"
        sent = get_form_values(client, url)
        assert sent["kind"] == kind

        field = {"bank": "iban", "other": "details"}[kind]
        assert client.post(url, sent).context["form"].errors[field]
        client.post(url, sent | {field: {"iban": IBAN, "details": "a: 1"}[field]})

        assert account.payout_methods.get().kind == kind

    def test_a_kind_that_there_is_not_opens_the_usual_form(self, staff_client, hana):
        url = f"{page_url('affiliate', 'payout', hana)}?kind=gold"

        assert "kind" not in get_form_values(staff_client(), url)

    def test_replaces_no_method_that_the_page_did_not_show(self, account, staff_client, hana):
        """Of a blank page, or one of another kind, whose list chooses a kind."""
        client, url = staff_client("owner"), page_url("affiliate", "payout", hana)
        set_payout_method(
            account,
            affiliate_id=hana.slug,
            kind="paypal",
            details={"email": "hana@example.org"},
            is_primary=True,
            at=NOW,
        )
        for query in ("", "?kind=bank"):
            sent = get_form_values(client, f"{url}{query}") | {"kind": "paypal"}
            response = client.post(f"{url}{query}", sent | {"payout_email": "x@y.test"})
            text = str(response.context["form"].errors["__all__"])
            assert "is now hana@example.org" in text
            assert account.payout_methods.get().details["email"] == "hana@example.org"

        again = sent | {"version": response.context["version"]}
        client.post(url, again | {"payout_email": "x@y.test"})
        assert account.payout_methods.get().details == {"email": "x@y.test"}

    def test_warns_when_an_account_is_that_of_another_affiliate(
        self, account, other_account, staff_client, hana, scenario
    ):
        foreign = AffiliateFactory(account=other_account, slug="foreign")
        self.set_bank(other_account, foreign, {"iban": IBAN})
        client, url = staff_client("manager"), page_url("affiliate", "payout", hana)
        sent = {"kind": "bank", "iban": IBAN}
        [text] = list_messages(client.post(url, sent, follow=True))
        assert text == "Bank account was saved as a payout method."
        mina = scenario.mina.affiliate
        self.set_bank(account, mina, {"iban": COMPACT_IBAN})

        shown = get_form_values(client, f"{url}?kind=bank")
        _, text = list_messages(client.post(f"{url}?kind=bank", shown, follow=True))

        link = f'<a class="underline" href="{page_url("affiliate", "change", mina)}">'
        assert text == (
            f"The same account is that of {link}Mina Kessler (minakessler)</a>: make"
            " sure that it is right."
        )
        person = {"firstname": "Ada", "lastname": "Stone", "email": "a@x.example"}
        page = client.post(reverse("admin:tracking_affiliate_add"), person | sent)
        assert "(hanakim)</a>, <a" in str(list_messages(page)[1])

    def test_staff_end_a_hold(self, account, staff_client, hana):
        method = self.set_bank(account, hana, {"iban": IBAN})
        method.update_row(on_hold_reason="Account closed")
        url = reverse("admin:payouts_payoutmethod_release", args=[method.pk])
        page = page_url("affiliate", "change", hana)
        viewer = staff_client("viewer")
        assert "Account closed" in viewer.get(page).content.decode()
        assert url not in viewer.get(page).content.decode()
        assert viewer.post(url).status_code == 403
        client = staff_client("finance")
        assert url in client.get(page).content.decode()
        assert "Account closed" in client.get(url).content.decode()

        response = client.post(url)

        assert response["Location"] == page
        assert account.payout_methods.get().on_hold_reason == ""
        assert list_kinds(account)[-1] == "payout_method.released"
        again = client.post(url, follow=True)
        assert "not possible in this state" in again.content.decode()


class TestGroups:
    def test_lists_how_many_affiliates_a_group_has(
        self, account, other_account, staff_client, group, hana
    ):
        create_group(account, title="Empty", at=NOW)
        hana.update_row(group=group)
        removed = AffiliateFactory(account=account, slug="removed", group=group)
        removed.update_row(deleted_at=NOW)
        create_group(other_account, title="zz-marker", at=NOW)
        client = staff_client("viewer")

        page = client.get(reverse("admin:tracking_affiliategroup_changelist"))
        file = client.get(reverse("admin:tracking_affiliategroup_export"))

        rows = page.context["cl"].result_list
        assert [(row.title, row.loaded[count_members] or 0) for row in rows] == [
            ("Empty", 0),
            ("Top affiliates", 1),
        ]
        lines = file.getvalue().decode().splitlines()
        assert [line.split(",")[2] for line in lines] == ['"Affiliates"', "0", "1"]

    def test_creates_renames_and_removes_a_group(self, account, staff_client, hana):
        client = staff_client("manager")
        client.post(ADD_GROUP, {"title": "Top"})
        group = account.affiliate_groups.get()
        url = page_url("affiliategroup", "edit", group)
        client.post(url, get_form_values(client, url) | {"title": "Best"})
        assert account.affiliate_groups.get().title == "Best"
        hana.update_row(group=group)

        url = page_url("affiliategroup", "remove", group)
        assert "Affiliates: 1 leave" in client.get(url).content.decode()
        response = client.post(url)

        assert response["Location"] == reverse("admin:tracking_affiliategroup_changelist")
        hana.refresh_from_db()
        assert hana.group is None
        assert list_kinds(account)[-4:] == [
            "affiliate_group.created",
            "affiliate_group.updated",
            "affiliate.updated",
            "affiliate_group.deleted",
        ]

    def test_adds_several_affiliates_at_once(self, account, staff_client, hana, group):
        other = create_group(account, title="Others", at=NOW)
        mina = AffiliateFactory(account=account, slug="mina", group=other)
        client, url = (
            staff_client("manager"),
            page_url("affiliategroup", "members", group),
        )

        response = client.post(url, {"affiliates": [hana.pk, mina.pk]}, follow=True)

        text = "Added to Top affiliates: hanakim, mina (out of Others)."
        assert text in response.content.decode()
        assert f'href="{page_url("affiliate", "group", hana)}"' in (response.content.decode())
        assert set(account.affiliates.filter(group=group)) == {hana, mina}
        assert list_kinds(account)[-2:] == ["affiliate.added_to_group"] * 2
        page = staff_client("viewer").get(page_url("affiliategroup", "change", group))
        assert "Change group" not in page.content.decode()

    @pytest.mark.parametrize("keys", [[], ["0"], ["9" * 40], ["x"]])
    def test_refuses_affiliates_that_do_not_exist(self, account, staff_client, hana, group, keys):
        url = page_url("affiliategroup", "members", group)
        sent = [hana.pk, *keys] if keys else []

        response = staff_client().post(url, {"affiliates": sent})

        assert response.context["form"].errors["affiliates"]
        assert not account.affiliates.filter(group=group).exists()

    def test_sets_a_rate_of_its_own_and_leads_back(self, account, staff_client, scenario, group):
        client, page = staff_client(), page_url("affiliategroup", "change", group)
        url = page_url("program", "add-group-rate", scenario.program)
        url += f"?group={group.pk}"
        assert f'href="{url}"' in client.get(page).content.decode()

        form = client.get(url).context["form"]
        assert form["group"].value() == group.pk
        sent = {"group": group.pk, "kind": "percentage", "value": "15"}
        sent["commission_type"] = account.commission_types.get().pk
        response = client.post(url, sent)

        assert response["Location"] == page
        assert account.group_rates.get().group == group

    def test_shows_its_affiliates_and_rates(self, account, staff_client, scenario, group):
        scenario.mina.affiliate.update_row(group=group)
        AffiliateFactory(account=account, group=group, deleted_at=NOW)
        scenario.create_group_rate(group, "12.5")

        response = staff_client().get(page_url("affiliategroup", "change", group))

        assert response.context["affiliate_count"] == 1
        assert "minakessler" in response.content.decode()
        assert "12.5 %" in response.content.decode()
        set_rate = reverse("admin:tracking_program_add-group-rate", args=[scenario.program.pk])
        assert set_rate in response.content.decode()

    @pytest.mark.parametrize(("title", "error"), [("", "required"), ("x" * 256, "255")])
    def test_refuses_beside_the_field(self, account, staff_client, group, title, error):
        client = staff_client()
        for url in (ADD_GROUP, page_url("affiliategroup", "edit", group)):
            response = client.post(url, {"title": title})
            assert error in str(response.context["form"].errors["title"])
        assert account.affiliate_groups.get().title == "Top affiliates"


class TestProspects:
    def test_creates_a_prospect_with_a_link(self, account, staff_client, program, group):
        other = ProgramFactory(account=account, slug="other")
        sent = PIA | {"program_id": other.pk, "affiliate_group_id": group.pk}

        response = staff_client("manager").post(ADD_PROSPECT, sent, follow=True)

        prospect = account.prospects.get()
        assert (prospect.program, prospect.group) == (other, group)
        code = account.referral_codes.get(prospect=prospect).code
        assert f"ref={code}" in response.content.decode()
        assert "affiliate_prospect.created" in list_kinds(account)

    @pytest.mark.parametrize(
        ("changed", "field", "error"),
        [
            ({"lastname": ""}, "lastname", "required"),
            ({"email": "pia"}, "email", "valid email"),
        ],
    )
    def test_refuses_beside_the_field(self, account, staff_client, program, changed, field, error):
        response = staff_client().post(ADD_PROSPECT, PIA | changed)

        assert error in str(response.context["form"].errors[field])
        assert not account.prospects.exists()

    def test_says_that_there_is_no_program_to_enter(self, account, staff_client):
        response = staff_client().post(ADD_PROSPECT, PIA)

        assert "Unknown program" in str(response.context["form"].errors["program_id"])

    def test_makes_a_prospect_an_affiliate(self, account, staff_client, prospect):
        client = staff_client("manager")
        url = page_url("prospect", "promote", prospect)
        assert "becomes an affiliate" in client.get(url).content.decode()

        response = client.post(url)

        affiliate = account.affiliates.get()
        prospect.refresh_from_db()
        assert (prospect.affiliate, prospect.promotion_method) == (affiliate, "manual")
        assert account.enrollments.get().approved
        assert response["Location"] == page_url("affiliate", "change", affiliate)
        again = client.post(url, follow=True)
        assert "not possible in this state" in again.content.decode()

    def test_says_if_an_affiliate_has_the_address_of_a_prospect(
        self, account, staff_client, prospect
    ):
        email = "pia@example.org"
        prospect.update_row(email=email, email_folded=email)
        AffiliateFactory(account=account, email=email, email_folded=email)
        url = page_url("prospect", "promote", prospect)

        page = staff_client().post(url, follow=True).content.decode()

        assert f"without {email}: another affiliate has this address" in page

    def test_removes_a_prospect(self, account, staff_client, prospect):
        client, url = staff_client("manager"), page_url("prospect", "remove", prospect)
        assert "stops working" in client.get(url).content.decode()

        client.post(url)

        prospect.refresh_from_db()
        assert prospect.deleted_at
        assert "affiliate_prospect.deleted" in list_kinds(account)

    def test_archived_programs_take_nobody_in(self, account, staff_client, program, prospect):
        archive_program(account, slug=program.slug, at=NOW)
        client = staff_client()

        page = client.post(page_url("prospect", "promote", prospect), follow=True)

        assert "not possible in this state" in page.content.decode()
        assert not account.affiliates.exists()


class TestActionsOnAffiliates:
    LIST = "/admin/tracking/affiliate/"

    def run(self, client, action, rows, **entries):
        """Confirm an action; its page and the text after it."""
        sent = {"action": action, "_selected_action": [row.pk for row in rows]}
        asked = client.post(self.LIST, sent)
        sent |= {"confirmed": "1"} | entries
        return asked, client.post(self.LIST, sent, follow=True).content.decode()

    def test_puts_several_into_a_group(self, account, staff_client, hana, group):
        mina = AffiliateFactory(account=account, slug="mina", group=group)

        asked, text = self.run(
            staff_client("manager"), "put_into_group", [hana, mina], group=group.pk
        )

        assert "Sales from now on earn by the rates" in asked.content.decode()
        assert "Put affiliates into a group: 1 done." in text
        assert "already in the group" in text
        assert set(account.affiliates.filter(group=group)) == {hana, mina}

    def test_asks_again_if_no_group_is_chosen(self, account, staff_client, hana, group):
        _, text = self.run(staff_client(), "put_into_group", [hana])

        assert "This field is required" in text
        assert not account.affiliates.filter(group=group).exists()

    @pytest.mark.parametrize("approved", [True, False])
    def test_decides_in_a_program(self, account, staff_client, scenario, hana, approved):
        name = "approve_in_program" if approved else "disapprove_in_program"
        odette = scenario.create_enrolled_affiliate("Odette", "V", approved=None)
        rows = [hana, scenario.mina.affiliate, odette.affiliate]

        _, text = self.run(staff_client(), name, rows, program=scenario.program.pk)

        assert "hanakim: not in Harbor Lamp Partners" in text
        assert ("minakessler: already approved" in text) is approved
        assert account.enrollments.get(affiliate=odette.affiliate).approved is approved

    def test_shows_mail_addresses_to_copy(self, account, staff_client, hana):
        hana.update_row(email="hana@example.org")
        pia = AffiliateFactory(account=account, slug="pia", email=None)
        sent = {"action": "show_addresses", "_selected_action": [hana.pk, pia.pk]}

        page = staff_client("viewer").post(self.LIST, sent).content.decode()

        assert ">hana@example.org</p>" in page
        assert "1 without one left out" in page

    def test_viewers_decide_nothing(self, staff_client, hana):
        sent = {"action": "put_into_group", "_selected_action": [hana.pk]}

        assert staff_client("viewer").post(self.LIST, sent).status_code == 403
