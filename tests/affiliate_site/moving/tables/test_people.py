"""Whom a row means: an ID, an address or a code is nobody else's."""

import pytest

from payouts.services.erasure import erase_person
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.programs import ProgramSettings, create_program
from tests.affiliate_site.moving.tables.building import NOW, build, store
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

PEOPLE = """ID,E-mail,First name,Program,Referral code,Further referral codes
17,ines@notes.example.org,Ines,harbor-lamp-partners,23,24
"""
STRANGERS = """ID,E-mail,First name
23,olga@notes.example.org,Olga
24,,Otto
"""


def find_problems(report):
    return [(each.row, each.column, each.code) for each in report.problems]


def test_an_id_is_no_code_of_somebody_else(scenario):
    account = scenario.account
    store(account, "affiliates", PEOPLE)
    report = store(account, "affiliates", STRANGERS)
    assert report.counts == {"created": 2, "known": 0, "not_stored": 0}

    balances = """Affiliate,Balance,Currency
23,100,EUR
24,100,EUR
olga@notes.example.org,100,EUR
"""
    report = build(account, "opening_balances", balances, only_good=True).store()
    assert find_problems(report) == [
        (2, "Affiliate", "several_affiliates"),
        (3, "Affiliate", "several_affiliates"),
    ]
    assert get_payable_balances_by_slug(account) == {"23": {"EUR": 100}}
    assert_ledger_consistent(account)


def test_a_known_id_with_another_address_is_a_problem(scenario):
    account = scenario.account
    store(account, "affiliates", PEOPLE)
    text = """ID,E-mail
17,INES@notes.example.org
17,olga@notes.example.org
17,mina@notes.example.org
17,
,ines@notes.example.org
"""
    importer = build(account, "affiliates", text)
    found = []
    for row in list(importer.table.rows):
        importer.table.rows[:] = [row]
        [outcome] = importer.preview().rows
        found.append((outcome.outcome, [it.code for it in outcome.problems]))
    assert found == [
        ("known", []),
        ("not_stored", ["other_email"]),
        ("not_stored", ["email_in_use"]),
        ("known", []),
        ("known", []),
    ]


def test_a_parent_is_one_affiliate(scenario):
    account = scenario.account
    store(account, "affiliates", PEOPLE)
    text = """ID,E-mail,First name,Program,Referral code,Parent
23,olga@notes.example.org,Olga,,,
26,otto@notes.example.org,Otto,harbor-lamp-partners,27,
27,uta@notes.example.org,Uta,,,
kim,,Kim,,,23
lea,,Lea,,,27
mia,,Mia,,,olga@notes.example.org
zoe,,Zoe,,,17
17,ines@notes.example.org,Ines,no-program,,
"""
    report = build(account, "affiliates", text, only_good=True).store()
    assert find_problems(report) == [
        (5, "Parent", "several_affiliates"),
        (6, "Parent", "several_affiliates"),
        (9, "Program", "unknown_program"),
    ]
    parents = account.affiliates.exclude(parent=None).order_by("slug")
    assert list(parents.values_list("slug", "parent__slug")) == [
        ("mia", "23"),
        ("zoe", "17"),
    ]


@pytest.mark.parametrize("key", ["AB_12", "ab", ""])
def test_a_new_affiliate_enters_several_programs(scenario, key):
    account = scenario.account
    settings = ProgramSettings(title="Lamps", currency="EUR")
    other = create_program(account, slug="lamps", settings=settings, at=NOW)
    text = f"""ID,E-mail,Full name,Program,Referral code
{key},ida@notes.example.org,Ida Holm,harbor-lamp-partners,ida-1
{key},ida@notes.example.org,Ida Holm,lamps,ida-2
"""
    report = store(account, "affiliates", text)
    assert report.counts == {"created": 2, "known": 0, "not_stored": 0}
    ida = account.affiliates.get(email="ida@notes.example.org")
    assert account.affiliates.filter(firstname="Ida").get() == ida
    codes = account.referral_codes.filter(enrollment__affiliate=ida)
    assert list(codes.order_by("code").values_list("enrollment__program", "code")) == [
        (scenario.program.pk, "ida-1"),
        (other.pk, "ida-2"),
    ]
    again = build(account, "affiliates", text).store()
    assert again.counts == {"created": 0, "known": 2, "not_stored": 0}


def test_two_addresses_of_a_new_id_are_a_problem(scenario):
    text = """ID,E-mail,Program
ida,ida@notes.example.org,
ida,olga@notes.example.org,harbor-lamp-partners
"""
    report = build(scenario.account, "affiliates", text).preview()
    assert find_problems(report) == [(3, "E-mail", "other_email")]


def test_ids_that_become_the_same_are_two_affiliates(scenario):
    account = scenario.account
    text = """ID,E-mail,Program,Referral code
AB_12,ida@notes.example.org,harbor-lamp-partners,ida
ab-12,olga@notes.example.org,harbor-lamp-partners,olga
"""
    report = build(account, "affiliates", text, only_good=True).store()
    assert find_problems(report) == [(3, "ID", "stored_by_another_run")]
    assert not account.referral_codes.filter(code="olga").exists()


NAMED = """ID,E-mail,First name
zzperson,zzperson@notes.example.org,Zzperson
"""


@pytest.mark.parametrize("again", [NAMED, "E-mail,First name\nZZPERSON@notes.example.org,Zz\n"])
def test_who_was_erased_does_not_come_back(scenario, other_account, again):
    account = scenario.account
    for owner in (account, other_account):
        store(owner, "affiliates", NAMED)
    account.table_imports.update(file_name="zzperson.csv")
    account.refresh_from_db()
    number = account.affiliates.count()

    erase_person(account, identifier="zzperson@notes.example.org", at=NOW)

    for rows in (account.imported_objects, account.table_imports):
        assert "zzperson" not in str(list(rows.values())).lower()
    assert "zzperson" in str(list(other_account.imported_objects.values()))
    report = build(account, "affiliates", again, only_good=True).store()
    assert {each.code for each in report.problems} == {"erased"}
    assert account.affiliates.count() == number
    rows = account.imported_objects.count()
    erase_person(account, identifier="erased-" + str(get_last(account)), at=NOW)
    assert account.imported_objects.count() == rows


def get_last(account):
    return account.affiliates.filter(slug__startswith="erased-").get().pk


def test_a_customer_who_was_erased_does_not_come_back(scenario):
    account = scenario.account
    text = "Customer ID,Affiliate\nzz@shop.example.org,minakessler\n"
    defaults = {"program": "harbor-lamp-partners"}
    store(account, "customers", text, defaults=defaults)
    erase_person(account, identifier="zz@shop.example.org", at=NOW)
    assert "zz@" not in str(list(account.imported_objects.values()))
    report = build(account, "customers", text, only_good=True, defaults=defaults).store()
    assert [each.code for each in report.problems] == ["erased"]
    assert account.customers.not_deleted().count() == 0


def test_two_spellings_of_a_domain_are_one_address(scenario):
    account, typed, encoded = scenario.account, "a@münchen.example", "a@xn--mnchen-3ya"
    store(account, "affiliates", f"E-mail,First name\n{typed},Ines\n")
    rows = f"E-mail,First name\n{encoded}.example,Ines\no=?utf-8?q?b?=@x.test,Olga\n"
    report = build(account, "affiliates", rows, only_good=True).store()
    assert report.counts == {"created": 0, "known": 1, "not_stored": 1}
    assert find_problems(report) == [(3, "E-mail", "invalid_email")]
    assert account.affiliates.with_email(typed).get().email == typed


def test_an_erased_person_stays_out_in_the_other_spelling(scenario):
    account, typed = scenario.account, "a@münchen.example"
    store(account, "affiliates", f"ID,E-mail,First name\n17,{typed},Ines\n")
    person = account.affiliates.with_email(typed).get()
    erase_person(account, identifier="a@xn--mnchen-3ya.example", at=NOW)
    assert person.reload().email is None
    rows = "E-mail,First name\na@xn--mnchen-3ya.example,Ines\n"
    report = build(account, "affiliates", rows, only_good=True).store()
    assert find_problems(report) == [(2, "E-mail", "erased")]
