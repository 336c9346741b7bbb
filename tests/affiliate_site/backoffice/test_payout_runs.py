"""Pages of payout runs: draft, lines, who is left out, confirmation."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.payouts import run_detail, run_lines, run_parts
from affiliate_site.backoffice.payouts.runs import sum_lines
from payouts.services.payout_methods import set_payout_method
from payouts.services.payout_runs import create_draft, discard_run
from payouts.services.run_confirmation import confirm_run
from tests.affiliate_site.backoffice.forms import get_form
from tests.document_scenario import set_taxes, switch_on
from tests.latin_fonts import use_latin_fonts
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario

ADD = "/admin/payouts/payoutrun/add/"
LIST = "/admin/payouts/payoutrun/"


@pytest.fixture
def scenario(scenario):
    """Mina has 20 EUR and 5 USD due and a PayPal address, Odette 3 EUR and none."""
    scenario.create_commission_type("all", 100)
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
    earn(scenario, "20")
    earn(scenario, "5", currency="USD")
    earn(scenario, "3", affiliate=scenario.odette)
    yield scenario
    assert_amounts_consistent(scenario.account)


def earn(scenario, amount, **conversion):
    sale = scenario.create_conversion((amount, "all"), **conversion)
    scenario.approve(scenario.get_commission(sale))


def draft(account, **basis):
    now = timezone.now()
    return create_draft(account, due_until=now.date(), at=now, **basis)


def open_run(client, run, **query):
    url = reverse("admin:payouts_payoutrun_change", args=[run.pk])
    return client.get(url, query).content.decode()


def build_url(run, page):
    return reverse(f"admin:payouts_payoutrun_{page}", args=[run.pk])


def get_section(page, title):
    """The text of a section."""
    found = re.search(rf"{re.escape(title)}</h2>(.*?)</section>", page, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", found[1]))


def list_alerts(page):
    """The texts of the alerts."""
    found = re.findall(r'<p role="alert"[^>]*>(.*?)</p>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", "", text).split()) for text in found]


def test_makes_a_draft_by_the_form(staff_client, scenario):
    client = staff_client()
    values = get_form(client, ADD) | {
        "currencies": ["EUR"],
        "methods": ["paypal", "bank"],
        "minimum": "4,50",
        "note": "November",
    }

    page = client.post(ADD, values, follow=True).content.decode()

    run = scenario.account.payout_runs.get()
    assert run.basis == {
        "programs": [],
        "groups": [],
        "methods": ["bank", "paypal"],
        "currencies": ["EUR"],
        "minimums": {"EUR": "4.5"},
    }
    assert run.created_by == f"staff {User.objects.get(role=Role.OWNER).log_id}"
    assert f"The draft {run} was made." in page
    assert "EUR PayPal 1 20.00 EUR" in get_section(page, "Totals")
    assert "November" in get_section(page, f"Payout run {run}")
    left_out = get_section(page, "Left out: below the minimum")
    assert "Odette Varga odettevarga 3.00 EUR - The minimum is 4.50 EUR" in left_out


def test_a_minimum_counts_in_each_currency(staff_client, scenario):
    client = staff_client()

    client.post(ADD, get_form(client, ADD) | {"minimum": "6"})

    run = scenario.account.payout_runs.get()
    assert run.basis["minimums"] == {"EUR": "6", "USD": "6"}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"due_until": "9999-12-31"}, "The day is out of range"),
        ({"due_until": "tomorrow"}, "Enter a valid date"),
        ({"minimum": "-1"}, "greater than or equal to 0"),
        ({"currencies": ["XXX"]}, "not one of the available choices"),
    ],
)
def test_shows_errors_of_the_form(staff_client, scenario, values, error):
    client = staff_client()

    page = client.post(ADD, get_form(client, ADD) | values)

    assert error in page.content.decode()
    assert not scenario.account.payout_runs.exists()


def test_shows_totals_lines_and_who_is_left_out(staff_client, scenario):
    page = open_run(staff_client(), draft(scenario.account))

    assert "20.00 EUR, 5.00 USD" in page
    totals = get_section(page, "Totals")
    assert "EUR PayPal 1 20.00 EUR USD PayPal 1 5.00 USD" in totals
    assert "Mina Kessler minakessler 1 20.00 EUR PayPal" in get_section(page, "Lines")
    left_out = get_section(page, "Left out: no payout method")
    assert "1, together 3.00 EUR" in left_out
    assert "Odette Varga odettevarga 3.00 EUR" in left_out
    assert "Withholding tax" not in page


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "method changed today"),
        (1, "method changed 1 day ago"),
        (29, "method changed 29 days ago"),
        (31, None),
    ],
)
def test_marks_methods_that_changed_lately(staff_client, scenario, days, text):
    changed_at = timezone.now() - timedelta(days=days)
    scenario.account.payout_methods.update(details_changed_at=changed_at)

    client, run = staff_client(), draft(scenario.account)

    page = open_run(client, run)

    assert text in page if text else "method changed" not in page
    alerts = list_alerts(client.get(build_url(run, "confirm")).content.decode())
    ago = text and text.removeprefix("method changed ")
    expected = f"Payout methods changed in the last 30 days: minakessler {ago}."
    assert alerts == ([expected] if text else [])


def test_names_few_of_many_methods_that_changed_lately(staff_client, scenario, monkeypatch):
    monkeypatch.setattr(run_parts, "MAX_NAMED", 0)
    now = timezone.now()
    scenario.account.payout_methods.update(details_changed_at=now)

    page = staff_client().get(build_url(draft(scenario.account), "confirm"))

    [alert] = list_alerts(page.content.decode())
    assert alert == "Payout methods changed in the last 30 days: and 1 more."


def hold_commission(scenario, amount, until, *, at=None, **conversion):
    at = at or timezone.now()
    sale = scenario.create_conversion((amount, "all"), at=at, **conversion)
    commission = scenario.get_commission(sale)
    scenario.approve(commission, at=at)
    scenario.account.commissions.filter(pk=commission.pk).update(due_at=until)


def test_shows_what_is_on_hold_of_who_is_paid(staff_client, scenario):
    until = timezone.now() + timedelta(days=3)
    hold_commission(scenario, "6", until)
    hold_commission(scenario, "7", until + timedelta(days=1))
    hold_commission(scenario, "2", until, affiliate=scenario.odette)
    client, run = staff_client(), draft(scenario.account)

    section = get_section(open_run(client, run), "Lines")

    last = format_datetime(until + timedelta(days=1))
    assert f"20.00 EUR and 13.00 EUR on hold until {last} PayPal" in section
    assert "5.00 USD PayPal" in section
    note = "n hold, and so not paid by this run: 13.00 EUR of these affiliates."
    assert f"O{note}" in section

    confirm_run(scenario.account, pk=run.pk, at=timezone.now())
    hold_commission(scenario, "8", until, at=timezone.now() + timedelta(hours=1))
    assert f"Still o{note}" in get_section(open_run(client, run.reload()), "Lines")
    scenario.account.commissions.update(due_at=timezone.now())
    assert "hold" not in get_section(open_run(client, run), "Lines")


def test_shows_what_is_on_hold_in_the_programs_of_a_run(staff_client, scenario):
    hold_commission(scenario, "6", timezone.now() + timedelta(days=3))
    scenario.account.programs.create(slug="lamps", title="Lamps")
    client = staff_client()

    def has_rest(*programs):
        run = draft(scenario.account)
        run.update_row(basis=run.basis | {"programs": programs})
        return "6.00 EUR on hold" in get_section(open_run(client, run), "Lines")

    assert has_rest(scenario.program.slug)
    assert not has_rest("lamps")


@pytest.mark.parametrize(
    ("kind", "holder", "expected"),
    [
        ("bank", "Øyvind Śliwa", "Bank account Øyvind Śliwa, written as Oyvind Sliwa"),
        ("wire_transfer", "Ærø", "Wire transfer Ærø, written as AEro"),
        ("bank", "Mina Kessler", "Bank account Take out"),
    ],
)
def test_a_draft_shows_names_as_bank_files_write_them(
    staff_client, scenario, kind, holder, expected
):
    details = {"account_holder": holder, "iban": "DE89370400440532013000"}
    scenario.account.payout_methods.update(kind=kind, details=details)

    page = open_run(staff_client(), draft(scenario.account))

    section = get_section(page, "Lines")
    assert expected in section
    # SEPA pays in euros only.
    assert section.count("written as") == ("written as" in expected)


def test_a_draft_names_who_cannot_be_in_a_file(staff_client, scenario):
    """Before the payments are made, as nobody can send them."""
    earn(scenario, "12.50", currency="HUF")
    run = draft(scenario.account)
    client, reason = staff_client(), "PayPal pays whole units of HUF only"

    lines = get_section(open_run(client, run), "Lines")
    confirmation = client.get(build_url(run, "confirm")).content.decode()

    assert lines.count(f"in no file, but in a list: {reason}") == 1
    assert (
        "In no file, but in a list to pay by hand: minakessler, 12.50 HUF: "
        f"{reason}." in list_alerts(confirmation)
    )


def test_a_draft_names_whose_document_no_font_prints(staff_client, scenario, monkeypatch):
    use_latin_fonts(monkeypatch)
    scenario.mina.affiliate.update_row(lastname="李")
    switch_on(scenario.account)
    set_taxes(scenario.account, scenario.mina.slug)
    earn(scenario, "20")
    run = draft(scenario.account)
    page = staff_client().get(build_url(run, "confirm")).text
    [alert] = [it for it in list_alerts(page) if "No font" in it]
    assert alert == (
        "No font of this server prints minakessler: 李. An operator has to install"
        " fonts: apt-get install fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji,"
        " or take them out of this run."
    )


def test_takes_out_and_puts_back(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account, currencies=["EUR"])
    line = scenario.account.payout_lines.get(run=run, state="included")
    url = reverse("admin:payouts_payoutline_take_out", args=[line.pk])
    assert url in open_run(client, run)
    assert "Take out: minakessler, 20.00 EUR" in client.get(url).content.decode()

    page = client.post(url, {"reason": "Asked to wait"}, follow=True)

    assert page.request["PATH_INFO"] == reverse("admin:payouts_payoutrun_change", args=[run.pk])
    section = get_section(page.content.decode(), "Left out: withheld by staff")
    assert "Mina Kessler minakessler 20.00 EUR PayPal Withheld by owner@" in section
    assert f"since {timezone.localdate()}: Asked to wait Put back" in section
    assert "affiliate: minakessler" in page.content.decode()

    url = reverse("admin:payouts_payoutline_put_back", args=[line.pk])
    client.post(url, {})
    assert line.reload().state == "included"


def test_confirms_after_saying_what_it_does(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account)
    url = build_url(run, "confirm")
    page = client.get(url).content.decode()
    assert "2 payments to 1 affiliate: 20.00 EUR and 5.00 USD." in page
    totals = get_section(page, "Totals")
    assert "EUR PayPal 1 20.00 EUR USD PayPal 1 5.00 USD" in totals
    assert list_alerts(page) == []
    assert "it transfers no money itself" in page

    page = client.post(url, get_form(client, url), follow=True).content.decode()

    assert f"Payout run {run} was confirmed." in page
    buttons = [page.index(build_url(run, it)) for it in ("files", "results", "note")]
    assert buttons == sorted(buttons)
    amounts = scenario.account.payments.order_by("id").values_list("amount", flat=True)
    assert list(amounts) == [20, 5]
    payment = scenario.account.payments.first()
    assert f"{payment} No answer yet" in get_section(page, "Lines")
    assert "EUR PayPal No answer yet 1 20.00 EUR" in get_section(page, "Totals")
    url_of_payment = reverse("admin:payouts_payment_change", args=[payment.pk])
    assert f">{run}</a>" in client.get(url_of_payment).content.decode()
    assert "Take out" not in page

    page = client.post(url, {}, follow=True).content.decode()
    assert "nothing was paid a second time" in page
    assert scenario.account.payments.count() == 2


def test_names_what_changed_since_the_draft(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account)
    earn(scenario, "6")
    url = build_url(run, "confirm")
    assert list_alerts(client.get(url).content.decode()) == [
        "Changed since the draft, so re-make it first: minakessler: the amount was"
        " 20 EUR, is 26 EUR; minakessler: the number of commissions was 1, is 2."
    ]

    page = client.post(url, get_form(client, url)).content.decode()

    assert "minakessler: the amount was 20 EUR, is 26 EUR" in page
    assert not scenario.account.payments.exists()


def test_does_not_confirm_another_draft_than_the_one_shown(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account)
    url = build_url(run, "confirm")
    values = get_form(client, url)
    earn(scenario, "6")
    client.post(build_url(run, "remake"), {})

    page = client.post(url, values).content.decode()

    assert "is now 2 payments to 1 affiliate: 26.00 EUR and 5.00 USD" in page
    assert not scenario.account.payments.exists()


def test_says_that_another_person_has_to_confirm(staff_client, scenario):
    scenario.account.payout_settings.create(requires_second_person=True)
    client = staff_client()
    client.post(ADD, get_form(client, ADD))
    run = scenario.account.payout_runs.get()
    url = build_url(run, "confirm")
    assert "so somebody else has to confirm it" in client.get(url).content.decode()

    client.post(url, get_form(client, url))

    assert not scenario.account.payments.exists()


def test_warns_of_another_draft_that_pays_the_same(staff_client, scenario):
    other, run = draft(scenario.account), draft(scenario.account)

    assert list_alerts(staff_client().get(build_url(run, "confirm")).content.decode()) == [
        f"{other} is a draft, too, and pays 2 of these balances: only one of both can be confirmed."
    ]


@pytest.mark.parametrize("email", ["mina@notes.example.org", "odette@x.example.org"])
def test_warns_of_accounts_in_common(staff_client, scenario, email):
    for slug, address in (
        ("odettevarga", email),
        ("minakessler", "MINA@notes.example.org"),
    ):
        set_payout_method(
            scenario.account,
            affiliate_id=slug,
            kind="paypal",
            details={"email": address},
            is_primary=True,
            at=timezone.now(),
        )
    run = draft(scenario.account)

    page = staff_client().get(build_url(run, "confirm")).content.decode()

    text = "payout accounts in common: minakessler, odettevarga."
    assert (text in page) is email.startswith("mina")


@pytest.mark.parametrize(("days", "is_warned"), [(0, False), (2, True)])
def test_warns_of_a_day_to_come(staff_client, scenario, days, is_warned):
    now = timezone.now()
    day = (now + timedelta(days=days)).date()
    run = create_draft(scenario.account, due_until=day, at=now)

    page = staff_client().get(build_url(run, "confirm")).content.decode()

    assert ("The day is yet to come" in page) is is_warned


def test_a_discarded_run_offers_nothing_but_its_note(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account)
    client.post(build_url(run, "discard"), {})

    page = open_run(client, run.reload())

    assert build_url(run, "note") in page
    assert build_url(run, "confirm") not in page
    page = client.post(build_url(run, "confirm"), {}, follow=True).content.decode()
    assert "Confirm: not possible in this state." in page


def test_lists_runs_with_their_totals(staff_client, scenario):
    run, other = draft(scenario.account), draft(scenario.account, currencies=["CHF"])

    rows = staff_client().get(LIST).context["cl"].result_list

    lines = [row.loaded[sum_lines] for row in rows]
    assert [(row.pk, it.count, it.totals.total) for row, it in zip(rows, lines, strict=True)] == [
        (other.pk, 0, {}),
        (run.pk, 2, {"EUR": Decimal(20), "USD": Decimal(5)}),
    ]


def test_pages_long_runs(staff_client, scenario, monkeypatch):
    monkeypatch.setattr(run_lines, "LINES_PER_PAGE", 1)
    client, run = staff_client(), draft(scenario.account)

    first, second = (get_section(open_run(client, run, page=n), "Lines") for n in "12")

    assert ("20.00 EUR" in first, "5.00 USD" in first) == (True, False)
    assert "The next 1" in first
    assert ("20.00 EUR" in second, "5.00 USD" in second) == (False, True)
    assert "The 1 before" in second


def test_lists_few_of_many_who_are_left_out(staff_client, scenario, monkeypatch):
    monkeypatch.setattr(run_detail, "MAX_LEFT_OUT", 0)
    client, run = staff_client(), draft(scenario.account)
    page = open_run(client, run)
    link = re.search(r'href="([^"]*)">and 1 more', page)[1].replace("&amp;", "&")

    rows = client.get(link).context["cl"].result_list

    assert [row.affiliate.slug for row in rows] == ["odettevarga"]


def test_lines_add_up_to_what_the_run_pays(staff_client, scenario):
    run, client = draft(scenario.account), staff_client()
    for query, text in (
        ({}, "Total of 2 without left out ones: <strong>20.00 EUR, 5.00 USD<"),
        ({"reason__exact": "no_method"}, "1 payout line · Total: <strong>3.00 EUR<"),
    ):
        url = reverse("admin:payouts_payoutline_changelist")
        page = client.get(url, {"run": f"{run}", **query}).content.decode()
        assert text in " ".join(page.replace("\u00a0", " ").split())


def test_exports_lines_in_the_words_of_the_page(staff_client, scenario):
    draft(scenario.account)
    url = reverse("admin:payouts_payoutline_export")

    text = staff_client().get(url).getvalue().decode().replace('"', "")

    assert "odettevarga,1,3,EUR,,,left out,no payout method" in text
    assert "minakessler,1,20,EUR,,PayPal,included," in text


@pytest.mark.parametrize("name", ["ledgeraccount", "payment"])
def test_lists_link_to_a_new_run(staff_client, scenario, name):
    for role, is_shown in ((Role.OWNER, True), (Role.MANAGER, False), (Role.VIEWER, False)):
        page = staff_client(role).get(reverse(f"admin:payouts_{name}_changelist"))
        assert bool(re.search(rf'<a href="{ADD}"', page.content.decode())) == is_shown


def test_shows_nothing_of_another_account(staff_client, scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_commission_type("all", 100)
    earn(theirs, "77")
    foreign = draft(other_account, note="zz-marker")
    client = staff_client()
    draft(scenario.account)

    assert "zz-marker" not in client.get(LIST).content.decode()
    url = reverse("admin:payouts_payoutline_changelist")
    listed = client.get(url, {"run": foreign.public_id})
    assert list(listed.context["cl"].result_list) == []


def test_shows_no_account_of_an_affiliate(staff_client, scenario):
    """Only files have it: masked or not, it is not needed here."""
    run = draft(scenario.account)
    confirm_run(scenario.account, pk=run.pk, at=timezone.now())
    line = scenario.account.payout_lines.filter(run=run).first()
    client = staff_client(role=Role.VIEWER)

    pages = [
        open_run(client, run),
        client.get(reverse("admin:payouts_payoutline_change", args=[line.pk])),
        client.get(reverse("admin:payouts_payoutline_export")),
    ]

    texts = [page if isinstance(page, str) else page.getvalue().decode() for page in pages]
    assert not any("notes.example.org" in text for text in texts)
    assert "20" in texts[1]


def test_the_statements_of_a_page_do_not_depend_on_the_lines(
    staff_client, scenario, capture_queries
):
    client, numbers = staff_client(), []
    client.get(LIST)
    for count in (1, 8):
        for number in range(count):
            affiliate = scenario.create_enrolled_affiliate("Ada", f"L{count}x{number}")
            earn(scenario, "9", affiliate=affiliate)
        run = draft(scenario.account)
        with capture_queries() as of_run:
            open_run(client, run)
        with capture_queries() as of_list:
            client.get(LIST)
        numbers.append((len(of_run), len(of_list)))
        discard_run(scenario.account, pk=run.pk, at=timezone.now())

    assert numbers[0] == numbers[1]
