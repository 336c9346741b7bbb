"""After the final run of a mirror, the source changes nothing that is ours."""

import io
import json
from datetime import date, timedelta
from functools import partial

import httpx
import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from affiliate_site.management.commands import import_account
from affiliate_site.moving import progress
from affiliate_site.moving.balances import compare_balances, explain_differences
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceServer
from payouts.services.commissions import approve_commission
from payouts.services.erasure import erase_person
from payouts.services.payments import cancel_payment
from tests.affiliate_site.moving.conftest import read, write
from tests.affiliate_site.moving.test_importing import LATER, answer
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.document_scenario import bill
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tracking.services.notes import create_note

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def sales(scenario):
    """Six sales of Mina, the first three approved, and a payment."""
    rows = [
        scenario.create_conversion(
            "100", external_id=f"order-{number}", customer_id=f"member-{number}"
        )
        for number in range(6)
    ]
    for row in rows[:3]:
        scenario.approve(scenario.get_commission(row))
    scenario.pay("5")
    return rows


@pytest.fixture
def source_key(scenario, sales):
    return create_api_key(scenario.account, name="", role=Role.VIEWER, at=LATER)[1]


@pytest.fixture
def target():
    return AccountFactory(slug="moved", plan__name="enterprise")


@pytest.fixture
def run(source_key, target):
    """Run an import some days later; return it with its report."""

    def run(days=0, **options):
        transport = httpx.MockTransport(answer)
        source = SourceServer("http://testserver/1.6", source_key, transport=transport)
        options.setdefault("is_mirror", True)
        moving = AccountImport(target, source, LATER + days * DAY, **options)
        moving.run()
        return moving

    return run


def change_source(scenario, sales):
    """An amount, a decision, a removed sale, a canceled payment, a parent."""
    at = LATER + DAY
    scenario.change_amount(sales[3], "300", at=at)
    scenario.set_status(scenario.get_commission(sales[4]), "approved", at=at)
    scenario.delete(sales[5], at=at)
    payment = scenario.account.payments.get()
    cancel_payment(scenario.account, payment_id=payment.public_id, at=at)
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(parent, scenario.mina)


def list_money(account):
    return [
        list(rows.order_by("id").values())
        for rows in (account.conversions, account.commissions, account.payments)
    ]


def test_a_mirror_changes_and_ends_nothing_that_is_ours(scenario, sales, run, target):
    run(is_final=True)
    before = list_money(target)
    change_source(scenario, sales)

    report = run(days=2).report

    assert list_money(target) == before
    assert report.updated == report.removed == {}
    assert report.problems == []
    # The sale of 300, its commission, the one that was approved; the gone payment,
    # sale and its commission, which no list shows.
    assert report.kept_ours == {"conversion": 3, "commission": 2, "payment": 1}
    assert target.affiliates.get(slug=scenario.mina.slug).parent is None
    assert run(days=3).report.kept_ours == report.kept_ours


def test_a_late_sale_still_comes(scenario, run, target):
    run(is_final=True)
    late = scenario.create_conversion("70", external_id="late", at=LATER + DAY)
    scenario.approve(scenario.get_commission(late), at=LATER + DAY)
    report = run(days=2).report
    assert report.created == {"conversion": 1, "commission": 1}
    assert target.conversions.filter(external_id="late").exists()
    assert_ledger_consistent(target)

    scenario.change_amount(late, "700", at=LATER + 3 * DAY)
    run(days=4)
    assert target.conversions.get(external_id="late").amount == 70


def test_the_rates_of_our_programs_are_ours(scenario, run, target):
    run(is_final=True)
    scenario.create_level(2, "3")
    scenario.create_commission_type("flat", "2.5", kind="fixed")
    run(days=2)
    assert not target.levels.exists()
    assert not target.commission_types.filter(identifier="flat").exists()


def test_a_commission_of_a_sale_that_was_removed_here_is_listed(scenario, sales, run, target):
    run(is_final=True)
    gone = target.conversions.get(external_id="order-1")
    target.conversions.filter(pk=gone.pk).update(deleted_at=LATER)
    commission = scenario.get_commission(sales[1])
    target.imported_objects.filter(kind="commission", source_id=str(commission.pk)).delete()
    (problem,) = run(days=2).report.problems
    assert (problem["kind"], problem["code"]) == ("commission", "removed_here")


def test_a_difference_of_balances_has_its_reasons(scenario, sales, run, target):
    moving = run(is_final=True)
    assert explain_differences(moving, compare_balances(target, moving.source)) == []
    scenario.set_status(scenario.get_commission(sales[4]), "approved", at=LATER + DAY)
    moving = run(days=2)
    differences = compare_balances(target, moving.source)
    (each,) = explain_differences(moving, differences)
    assert each == differences[0] | {"reasons": ["kept_ours"]}

    for commission in target.commissions.filter(status="pending")[:2]:
        approve_commission(target, commission_id=commission.pk, at=LATER + 3 * DAY)
    moving = run(days=4)
    (each,) = explain_differences(moving, compare_balances(target, moving.source))
    assert each["reasons"] == ["kept_ours", "worked_here"]


def test_a_difference_without_a_switch_has_no_reason(scenario, sales, run, target):
    run()
    scenario.set_status(scenario.get_commission(sales[4]), "approved", at=LATER + DAY)
    moving = run(days=2, is_mirror=False)
    (each,) = explain_differences(moving, compare_balances(target, moving.source))
    assert each["reasons"] == []


def test_a_second_final_run_is_no_error_and_keeps_the_time(run, target):
    run(is_final=True)
    before = snapshot_account(target)
    assert run(days=2, is_final=True).switched_at == LATER
    assert snapshot_account(target) == before


def test_a_dry_or_stopped_final_run_is_no_switch(run, target):
    run(is_final=True, is_dry_run=True)
    assert run(days=1).switched_at is None

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(days=2, is_final=True, on_progress=stop)
    assert run(days=3).switched_at is None


def test_the_switch_of_another_source_is_another_one(run, target, source_key):
    run(is_final=True)
    transport = httpx.MockTransport(answer)
    other = SourceServer("http://other.example/1.6", source_key, transport=transport)
    moving = AccountImport(target, other, LATER)
    moving.imports.load()
    assert moving.switched_at is None


def test_the_switch_moves_with_the_account(run, target, tmp_path):
    run(is_final=True)
    write(target, tmp_path / "account.jsonl")
    copy = read(tmp_path / "account.jsonl", "copied")
    switch = copy.imported_objects.get(kind="switch")
    assert (switch.source, switch.created_at) == ("testserver", LATER)


@pytest.fixture
def command(source_key, monkeypatch):
    """The arguments of the command, which reads this service."""
    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(import_account, "SourceServer", partial(SourceServer, transport=transport))
    monkeypatch.setenv("SOURCE_API_KEY", source_key)
    return ("import_account", "moved", "--from", "http://testserver/1.6", "--mirror")


def test_the_command_switches(scenario, sales, target, command):
    result = run_json_command(*command, "--final")
    assert (result["kept_ours"], result["differences"]) == ({}, [])
    assert target.imported_objects.get(kind="switch").created_at.strftime("%Y-%m-%d") in str(
        result["switched_at"]
    )

    change_source(scenario, sales)
    lines = run_command(*command).splitlines()  # differs, and says why: no error
    assert "kept ours 3" in next(line for line in lines if line.startswith("conv"))
    (balance,) = [line for line in lines if line.startswith("balance of mina")]
    assert balance.endswith("there (changed there since the switch)")
    assert lines[-1].startswith("Ours since 20")


def test_the_command_names_months_with_documents(scenario, sales, target, command):
    """Documents are made here: the next run of the mirror adds to a month of one."""
    run_json_command(*command)
    bill(target.payments.get(), date(2026, 3, 1), date(2026, 3, 31))
    sale = scenario.create_conversion("100")
    scenario.set_status(scenario.get_commission(sale), "approved")

    lines = run_command(*command).splitlines()

    (line,) = [each for each in lines if "already_billed" in each]
    assert line == (
        "affiliate minakessler: already_billed 2026-03 Documents were issued for these"
        " months already: minakessler 2026-03 (1). What is added there is not in them."
    )


def test_the_command_fails_for_a_difference_that_it_cannot_explain(
    scenario, sales, target, command, capsys
):
    run_json_command(*command)
    scenario.set_status(scenario.get_commission(sales[4]), "approved", at=LATER)
    with pytest.raises(SystemExit):
        call_command(*[each for each in command if each != "--mirror"], "--json")
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    assert difference["reasons"] == []


def test_final_needs_mirror(target):
    error = run_failing_command("import_account", "moved", "--from", "x", "--final")
    assert error == "--final needs --mirror: it ends the last mirror."


def test_progress_goes_to_standard_error(target, command, monkeypatch):
    monkeypatch.setattr(progress, "MIN_SECONDS", 0)
    out, err = io.StringIO(), io.StringIO()
    call_command(*command, "--json", stdout=out, stderr=err)
    assert json.loads(out.getvalue())["read"]["conversion"] == 6
    assert "conversions: 6 of about 6" in err.getvalue().splitlines()


def lose_sales(scenario, sales):
    """Three of four sales or more are gone at the source."""
    for sale in sales[:5]:
        scenario.delete(sale, at=LATER)


def test_a_final_run_does_not_switch_while_something_is_left_out(scenario, sales, run, target):
    run()
    lose_sales(scenario, sales)
    moving = run(days=1, is_final=True)
    assert [it["code"] for it in moving.report.problems] == ["too_many_gone"]
    assert not moving.has_switched
    again = run(days=2)
    assert again.switched_at is None
    assert again.report.kept_ours == {}

    accepted = run(days=3, is_final=True, accepts_problems=True)
    assert accepted.has_switched
    assert run(days=4).switched_at == LATER + 3 * DAY
    assert_ledger_consistent(target)


def test_a_final_run_does_not_switch_while_balances_differ(sales, run, target):
    run()
    commission = target.commissions.filter(status="pending").first()
    approve_commission(target, commission_id=commission.pk, at=LATER)
    moving = run(days=1, is_final=True)
    assert moving.report.problems == []
    assert len(moving.differences) == 1
    assert run(days=2).switched_at is None
    assert_ledger_consistent(target)


def test_the_command_says_that_it_has_not_switched(scenario, sales, target, command, capsys):
    run_json_command(*command)
    lose_sales(scenario, sales)
    with pytest.raises(SystemExit):
        call_command(*command, "--final")
    assert capsys.readouterr().out.splitlines()[-1].startswith("Not switched: mend")
    with pytest.raises(SystemExit):
        call_command(*command, "--final", "--json")
    assert json.loads(capsys.readouterr().out)["switched_at"] is None
    with pytest.raises(SystemExit):  # it still says what is left out
        call_command(*command, "--final", "--accept-problems", "--json")
    assert json.loads(capsys.readouterr().out)["switched_at"]


def test_accept_problems_needs_final(target):
    error = run_failing_command(
        "import_account", "moved", "--from", "x", "--mirror", "--accept-problems"
    )
    assert error == "--accept-problems needs --final."


def test_links_that_are_ours_stay_ours(scenario, run, target):
    run(is_final=True)
    mina = target.enrollments.get(affiliate__slug=scenario.mina.slug)
    for code in ("old-mina", "mina-shop"):
        target.referral_code_aliases.create(enrollment=mina, code=code)
    late = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.account.referral_codes.filter(enrollment=late.enrollment).update(code="old-mina")
    scenario.program.update_row(landing_page="https://shop.example/")
    target.programs.update(landing_page="https://shop.example/")
    prospect = scenario.account.prospects.create(
        public_id="ap_late", program=scenario.program, created_at=LATER
    )
    scenario.account.sources.create(prospect=prospect)
    scenario.account.referral_codes.create(prospect=prospect, code="mina-shop")

    report = run(days=1).report

    assert report.problems == []
    assert report.created["enrollment"] == report.created["prospect"] == 1
    aliases = target.referral_code_aliases.filter(enrollment=mina)
    assert {each.code for each in aliases} == {"old-mina", "mina-shop"}
    assert not target.referral_codes.filter(code__in=["old-mina", "mina-shop"]).exists()
    assert [(it["kind"], it["code"], it["value"]) for it in report.notes] == [
        ("enrollment", "other_code", "old-mina"),
        ("prospect", "other_code", "mina-shop"),
    ]


def test_a_mirror_does_not_bring_back_who_was_erased(scenario, sales, run, target, settings):
    """Also after another key was added: the digests of the earlier one are known."""
    create_note(scenario.account, affiliate=scenario.mina.affiliate, text="x", at=LATER)
    run()
    slug = scenario.mina.slug
    people = target.affiliates.count(), target.customers.count()
    erase_person(target, identifier=slug, at=LATER)
    for customer in target.customers.all():
        erase_person(target, identifier=customer.public_id, at=LATER)
    assert slug not in str(list(target.imported_objects.values()))
    change_source(scenario, sales)
    settings.ENCRYPTION_KEYS = [
        Fernet.generate_key().decode(),
        *settings.ENCRYPTION_KEYS,
    ]

    for day in (2, 3):
        report = run(days=day).report
        assert report.problems == []

    # Odette joined there.
    assert (target.affiliates.count() - 1, target.customers.count()) == people
    assert not target.affiliates.filter(slug=slug).exists()
    assert not target.notes.exists()
    assert set(target.customers.values_list("customer_id", flat=True)) == {""}
    assert_ledger_consistent(target)
