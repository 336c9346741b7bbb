"""Links that are used at once work once, and no session outlives a new password."""

from collections import Counter

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password

from tests.concurrency.worker import PROCESSES
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tests.portal_links import create_portal_link
from tests.portal_sessions import find_signed_in
from tracking.errors import SignInRefused
from tracking.models.portal import LinkPurpose
from tracking.services.portal_applications import ApplicationData, send_application
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.integration

ROUNDS = 4
EMAIL = "mina@notes.example.org"
OLD, NEW = "lamps-at-the-harbor", "boats-at-the-harbor"

HASHER = Argon2PasswordHasher()  # that of the processes


def hash_password(password):
    return make_password(password, hasher=HASHER)


@pytest.fixture
def affiliate(scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=EMAIL, email_folded=EMAIL, password=hash_password(OLD))
    return affiliate


def build_task(name, account, **values):
    return {"task": name, "account": account.slug} | values


def test_a_link_that_is_used_at_once_signs_in_once(workers, scenario, affiliate):
    account = scenario.account
    for number in range(ROUNDS):
        token = create_portal_link(affiliate, purpose=LinkPurpose.SIGN_IN, at=NOW)
        task = build_task("use_sign_in_link", account, token=token)

        results = Counter(workers.run(*[task] * PROCESSES))

        assert results == {"done": 1, "LinkExpired": PROCESSES - 1}
        assert account.portal_sessions.count() == number + 1


def test_a_link_that_is_used_at_once_sets_one_password(workers, scenario, affiliate):
    account = scenario.account
    passwords = [f"{NEW}-{number}" for number in range(PROCESSES)]
    for _ in range(ROUNDS):
        token = create_portal_link(affiliate, purpose=LinkPurpose.SET_PASSWORD, at=NOW)
        tasks = [
            build_task("set_portal_password", account, token=token, password=password)
            for password in passwords
        ]

        results = workers.run(*tasks)

        assert Counter(results) == {"done": 1, "LinkExpired": PROCESSES - 1}
        kept = affiliate.reload().password
        assert HASHER.verify(passwords[results.index("done")], kept)
        assert account.portal_sessions.count() == 1


def test_an_address_that_is_used_at_once_is_one_row(workers, scenario, affiliate):
    account = scenario.account
    for number in range(ROUNDS):
        address = f"192.88.99.{number + 1}"
        names = {"affiliate_id": affiliate.slug, "address": address}

        results = workers.run(*[build_task("record_address", account, **names)] * PROCESSES)

        assert results == ["done"] * PROCESSES
        assert account.portal_addresses.count() == number + 1


def test_links_that_are_made_at_once_leave_one(workers, scenario, affiliate):
    account = scenario.account
    task = build_task("create_portal_link", account, affiliate_id=affiliate.slug)
    for _ in range(ROUNDS):
        workers.run(*[task] * PROCESSES)

        assert account.portal_links.filter(used_at=None).count() == 1


def test_no_session_outlives_a_new_password(workers, scenario, affiliate):
    account = scenario.account
    for _ in range(ROUNDS):
        affiliate.update_row(password=hash_password(OLD))
        sign_in = build_task("sign_in", account, email=EMAIL, password=OLD)
        change = build_task(
            "change_portal_password",
            account,
            affiliate_id=affiliate.slug,
            old_password=OLD,
            password=NEW,
        )

        tokens = workers.run(sign_in, change, sign_in, sign_in)

        assert tokens.pop(1) == "done"
        for token in tokens:
            is_refused = token == SignInRefused.__name__
            assert is_refused or find_signed_in(account, token, at=NOW) is None
        assert account.portal_sessions.count() == 1


def send(account, program, email):
    """Apply for a program; returns the token in the mail."""
    send_application(
        account,
        program_slug=program.slug,
        data=ApplicationData(email=email, firstname="Nora", lastname="Weld"),
        language="en",
        terms_version=None,
        at=NOW,
    )
    text = account.mails.order_by("-pk").first().text
    return text.partition("/apply/")[2].partition("/")[0]


def test_a_link_that_is_used_at_once_creates_one_affiliate(workers, scenario):
    account = scenario.account
    update_portal_settings(account, changes={"is_open": True}, at=NOW)
    for number in range(ROUNDS):
        email = f"nora{number}@weld.example.org"
        token = send(account, scenario.program, email)
        task = build_task("confirm_application", account, token=token)

        results = Counter(workers.run(*[task] * PROCESSES))

        assert results == {"done": 1, "ApplicationExpired": PROCESSES - 1}
        affiliate = account.affiliates.get(email=email)
        assert account.enrollments.filter(affiliate=affiliate).count() == 1


def test_links_to_one_address_create_one_affiliate(workers, scenario):
    account = scenario.account
    update_portal_settings(account, changes={"is_open": True}, at=NOW)
    email = "nora@weld.example.org"
    tokens = [send(account, scenario.program, email) for _ in range(3)]

    tasks = [
        build_task("confirm_application", account, token=token) for token in (*tokens, tokens[0])
    ]
    results = workers.run(*tasks)

    assert results.count("done") == 1
    assert set(results) <= {"done", "AddressTaken", "ApplicationExpired"}
    assert account.affiliates.filter(email=email).count() == 1


def test_applications_at_once_enroll_once(workers, scenario, affiliate):
    account = scenario.account
    update_portal_settings(account, changes={"is_open": True}, at=NOW)
    for _ in range(ROUNDS):
        program = ProgramFactory(account=account)
        names = {"affiliate_id": affiliate.slug, "slug": program.slug}
        task = build_task("apply_for_program", account, **names)

        results = Counter(workers.run(*[task] * PROCESSES))

        assert results == {"done": 1, "AlreadyApplied": PROCESSES - 1}


def ask_for_another_address(affiliate, email):
    """The tokens of the links at the new and at the present address."""
    account = affiliate.account
    tokens = [
        create_portal_link(affiliate, purpose=purpose, at=NOW)
        for purpose in (LinkPurpose.ENTER_EMAIL, LinkPurpose.LEAVE_EMAIL)
    ]
    account.portal_links.filter(affiliate=affiliate, used_at=None).update(new_email=email)
    return tokens


def test_an_address_changes_once_both_links_are_used_at_once(workers, scenario, affiliate):
    account = scenario.account
    for number in range(ROUNDS):
        email = f"mina{number}@lamps.example.org"
        tokens = ask_for_another_address(affiliate, email)
        tasks = [build_task("confirm_email_change", account, token=token) for token in tokens * 2]

        results = Counter(map(str, workers.run(*tasks)))

        assert results == {"True": 1, "done": 1, "LinkExpired": 2}
        assert affiliate.reload().email == email


def test_an_address_that_is_canceled_at_once_changes_or_stays(workers, scenario, affiliate):
    account = scenario.account
    for number in range(ROUNDS):
        before = affiliate.reload().email
        email = f"mina{number}@boats.example.org"
        new, present = ask_for_another_address(affiliate, email)
        confirm = build_task("confirm_email_change", account, token=new)
        cancel = build_task("cancel_email_change", account, token=present)

        results = workers.run(confirm, cancel, confirm, cancel)

        assert "done" in results
        assert True not in results
        assert affiliate.reload().email == before
