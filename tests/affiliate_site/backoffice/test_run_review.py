"""The sales of a payout run that somebody should look at: on its page, and as a file."""

import csv
import re
from datetime import timedelta
from io import BytesIO

import pytest
from django.urls import reverse
from django.utils import timezone
from openpyxl import load_workbook

from accounts.models.api_keys import Role
from payouts.services.bonuses import grant_bonuses
from payouts.services.payout_runs import create_draft
from payouts.services.risk_cases import create_rule, evaluate_rules, switch_on
from payouts.services.run_confirmation import confirm_run
from payouts.services.run_review import filter_doubtful, find_findings
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE, ODD_COMMISSION_TYPE

TITLE = "To look at before it is paid"
ODD_TEXT = "The page sent an unknown commission type; the default one was used."
ODD = {"extra_warnings": (ODD_COMMISSION_TYPE,)}
OWN = {"extra_warnings": (CUSTOMER_IS_AFFILIATE,)}


@pytest.fixture
def scenario(scenario):
    """Mina, who can be paid, and Odette, who cannot."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
    return scenario


def earn(scenario, name, **conversion):
    sale = scenario.create_conversion("200", external_id=name, **conversion)
    commission = scenario.get_commission(sale)
    scenario.approve(commission)
    return commission


def draft(account, **basis):
    now = timezone.now()
    return create_draft(account, due_until=now.date(), at=now, **basis)


def evaluate(account, *names):
    at = timezone.now()
    for name in names:
        rule = create_rule(account, rule=name, at=at)
        switch_on(account, pk=rule.pk, at=at)
        row = account.risk_rules.get(pk=rule.pk)
        row.update_row(evaluated_to=0, settled_to=0, enabled_at=at - timedelta(days=2000))
    evaluate_rules(account, at=at, is_complete=True)


def read_section(client, run):
    """The texts of the section; None without one."""
    url = reverse("admin:payouts_payoutrun_change", args=[run.pk])
    page = client.get(url).content.decode()
    found = re.search(rf"{TITLE}</h2>(.*?)</section>", page, re.DOTALL)
    return found and " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def build_url(run, file_format="csv"):
    return reverse("admin:run_review", args=[run.pk]) + f"?format={file_format}"


def read_file(client, run):
    content = client.get(build_url(run)).getvalue().decode("utf-8-sig")
    return [*csv.reader(content.splitlines())]


def list_orders(run):
    return [it.conversion and it.conversion.external_id for it in filter_doubtful(run)]


def test_lists_what_a_draft_pays_and_what_it_leaves_out(staff_client, scenario):
    account = scenario.account
    earn(scenario, "plain")
    earn(scenario, "odd", **ODD)
    earn(scenario, "own", **OWN)
    earn(scenario, "nobody-is-paid", affiliate=scenario.odette, **ODD)
    evaluate(account, "customer_is_affiliate")
    run, client = draft(account), staff_client(Role.VIEWER)

    text = read_section(client, run)
    lines = read_file(client, run)

    assert "plain" not in text
    assert "nobody" not in text
    why = "Customer is the affiliate (E-mail address: that of the affiliate)"
    fates = {
        "odd": (ODD_TEXT, "paid"),
        "own": (why, "left out until the case is decided"),
    }
    assert {line[0]: tuple(line[-2:]) for line in lines[1:]} == fates
    assert lines[1][:6] == ["odd", "minakessler", lines[1][2], "200", "20", "EUR"]
    for name, (reason, fate) in fates.items():
        assert re.search(rf"{name} Mina Kessler .*20.00 EUR {re.escape(reason)} {fate}", text)
    page = client.get(build_url(run, "xlsx"))
    assert page["Content-Disposition"] == f'attachment; filename="payout-run-{run}-to-look-at.xlsx"'


def test_a_case_about_an_affiliate_is_named_beside_all_that_it_earned(staff_client, scenario):
    scenario.create_bonus(goal=1, value="5", period="week")
    earn(scenario, "plain")
    grant_bonuses(scenario.account, at=timezone.now())
    scenario.approve(scenario.account.commissions.get(kind="bonus"))
    for affiliate, email in ((scenario.mina, "a"), (scenario.odette, "a")):
        scenario.account.payout_methods.filter(affiliate=affiliate.affiliate).delete()
        scenario.account.payout_methods.create(
            affiliate=affiliate.affiliate,
            kind="paypal",
            details={"email": email},
            is_primary=True,
            blind_index="same",
        )
    evaluate(scenario.account, "shared_payout_detail")
    run, client = draft(scenario.account), staff_client()

    lines = read_file(client, run)[1:]

    assert {(line[0], line[4]) for line in lines} == {("plain", "20"), ("", "5")}
    assert all("Affiliates with it: 2" in line[-2] for line in lines)
    assert "Affiliates with it: 2" in read_section(client, run)


def test_keeps_to_the_programs_of_the_run(scenario):
    account = scenario.account
    other = ProgramScenario(account, slug="other", email=None)
    mina = other.enroll(scenario.mina.affiliate)
    earn(scenario, "odd", **ODD)
    earn(other, "odd-too", affiliate=mina, **ODD)

    assert list_orders(draft(account, programs=["other"])) == ["odd-too"]
    assert list_orders(draft(account, currencies=["USD"])) == []
    assert list_orders(draft(account)) == ["odd", "odd-too"]


def test_a_draft_without_any_says_so_and_a_confirmed_run_says_nothing(staff_client, scenario):
    earn(scenario, "plain")
    run, client = draft(scenario.account), staff_client()

    assert read_section(client, run).startswith("No sale of this run has a warning")
    assert find_findings(run, []) == []
    confirm_run(scenario.account, pk=run.pk, at=timezone.now())
    assert read_section(client, run) is None


def test_a_confirmed_run_lists_what_it_has_paid(staff_client, scenario):
    earn(scenario, "odd", **ODD)
    run = draft(scenario.account)
    confirm_run(scenario.account, pk=run.pk, at=timezone.now())

    [line] = read_file(staff_client(), run)[1:]

    assert line[-2:] == [ODD_TEXT, "paid"]


def test_shows_a_dispute(staff_client, scenario):
    commission = earn(scenario, "odd", **ODD)
    commission.conversion.update_row(disputed_at=timezone.now())

    text = read_section(staff_client(), draft(scenario.account))

    assert f"{ODD_TEXT} Disputed by the customer paid" in text


def test_the_page_shows_the_first_and_the_file_all(staff_client, scenario, monkeypatch):
    monkeypatch.setattr("affiliate_site.backoffice.payouts.run_review.MAX_SHOWN", 1)
    for name in ("odd-1", "odd-2"):
        earn(scenario, name, **ODD)
    run, client = draft(scenario.account), staff_client()

    text = read_section(client, run)

    assert "The first 1: files have all." in text
    assert "odd-2" not in text
    assert len(read_file(client, run)) == 3


def test_other_accounts_and_formats_find_nothing(staff_client, scenario):
    other = ProgramScenario(AccountFactory(), slug="elsewhere", prefix="other-", email=None)
    run, others_run = draft(scenario.account), draft(other.account)
    client = staff_client()

    assert client.get(build_url(run)).status_code == 200
    assert client.get(build_url(run, "pdf")).status_code == 404
    assert client.get(build_url(others_run)).status_code in (403, 404)


def test_the_file_is_read_in_parts_and_a_workbook_has_an_end(staff_client, scenario, monkeypatch):
    monkeypatch.setattr("affiliate_site.backoffice.lists.exports.CHUNK_SIZE", 2)
    for number in range(3):
        earn(scenario, f"odd-{number}", **ODD)
    run, client = draft(scenario.account), staff_client()

    assert [it[0] for it in read_file(client, run)[1:]] == ["odd-0", "odd-1", "odd-2"]
    [sheet] = load_workbook(BytesIO(client.get(build_url(run, "xlsx")).content))
    assert [(row[0].value, row[4].value, row[4].number_format) for row in sheet.iter_rows(2)] == [
        (f"odd-{number}", 20, "#,##0.00") for number in range(3)
    ]
    monkeypatch.setattr("affiliate_site.workbooks.MAX_ROWS", 2)
    page = client.get(build_url(run, "xlsx"), follow=True)
    text = "Excel exports hold at most 2 rows. Filter the list, or export as CSV."
    assert [str(it) for it in page.context["messages"]] == [text]
