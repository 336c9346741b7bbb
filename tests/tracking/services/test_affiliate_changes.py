"""Updates and deletion of affiliates (docs/api-contract.md, 2.4.4 and 2.4.5)."""

from datetime import timedelta

import pytest

from tests.ledger_checks import assert_atomic, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.errors import AffiliateNotFound, DuplicateEmail
from tracking.services.affiliates import delete_affiliate, update_affiliate

pytestmark = pytest.mark.usefixtures("shared_scenario")


def apply_changes(account, slug="minakessler", **changes):
    return update_affiliate(account, affiliate_id=slug, changes=changes, at=CONVERSION_CREATED_AT)


def delete_by_slug(account, slug="minakessler", at=CONVERSION_CREATED_AT):
    delete_affiliate(account, affiliate_id=slug, at=at)


def test_finds_an_updated_address_case_insensitively(account, scenario):
    affiliate = apply_changes(account, email="MINA@Öre.example")

    assert affiliate.reload().email == "MINA@Öre.example"
    assert account.affiliates.with_email("mina@öre.EXAMPLE").get() == affiliate
    assert not account.affiliates.with_email("mina@notes.example.org").exists()


def test_writes_nothing_if_nothing_changes(account, scenario):
    with assert_unchanged(account):
        apply_changes(account, firstname="Mina", email="mina@notes.example.org", custom_fields={})


def test_rejects_a_duplicate_address_without_any_change(account, scenario):
    scenario.create_enrolled_affiliate("Odette", "Varga", email="odette@x.example")

    with assert_unchanged(account), pytest.raises(DuplicateEmail) as error:
        apply_changes(account, firstname="New", email="ODETTE@X.example")

    assert error.value.path == "email"


@pytest.mark.parametrize("operation", [apply_changes, delete_by_slug], ids=["update", "deletion"])
def test_is_atomic(account, scenario, operation):
    child = scenario.create_enrolled_affiliate("Inga", "Berg").affiliate
    child.update_row(parent=scenario.mina.affiliate)
    options = {"firstname": "New", "meta_data": {"a": "b"}}
    if operation is delete_by_slug:
        options = {}

    assert_atomic(account, lambda: operation(account, **options), least=3)

    subject = f"affiliate:{scenario.mina.affiliate.log_id}"
    assert account.audit_log.filter(subject=subject).count() == 3


def test_deletes_an_affiliate_only_once(account, scenario):
    delete_by_slug(account)

    with pytest.raises(AffiliateNotFound):
        delete_by_slug(account, at=CONVERSION_CREATED_AT + timedelta(days=1))

    assert scenario.mina.affiliate.reload().deleted_at == CONVERSION_CREATED_AT
    assert account.audit_log.filter(kind="affiliate.deleted").count() == 1


def test_deletion_removes_the_parent_only_from_direct_children(account, other_account, scenario):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    foreign = other.create_enrolled_affiliate("Inga", "Berg").affiliate
    foreign.update_row(parent=other.mina.affiliate)
    odette, inga, pia = (
        scenario.create_enrolled_affiliate(name, "X").affiliate
        for name in ("Odette", "Inga", "Pia")
    )
    odette.update_row(parent=scenario.mina.affiliate)
    scenario.mina.affiliate.update_row(parent=pia)
    inga.update_row(parent=odette)

    delete_by_slug(account)

    assert odette.reload().parent is None
    assert inga.reload().parent == odette
    assert foreign.reload().parent == other.mina.affiliate


@pytest.mark.parametrize("slug", ["nobody", "zzmarkerminakessler", "MinaKessler"])
def test_finds_only_affiliates_of_the_account(account, other_account, scenario, slug):
    ProgramScenario(other_account, prefix="zz-marker-")

    with assert_unchanged(other_account):
        for operation in (apply_changes, delete_by_slug):
            with pytest.raises(AffiliateNotFound):
                operation(account, slug)


def test_the_former_address_hears_of_a_new_one(account, other_account, scenario):
    affiliate = scenario.mina.affiliate
    old, new = "mina@notes.example.org", "mina@new.example.org"
    affiliate.update_row(email=old, email_folded=old)
    for email in (new, new.upper()):
        update_affiliate(
            account,
            affiliate_id=affiliate.slug,
            changes={"email": email},
            at=CONVERSION_CREATED_AT,
        )

    mail = account.mails.get(kind="email_change", recipient=old)

    assert mail.subject == f"Your e-mail address at {account.name} was changed"
    assert account.name in mail.text
    assert new not in mail.text
    assert not other_account.mails.exists()


def test_nobody_hears_of_other_changes_or_of_a_first_address(account, scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=None, email_folded=None)
    for changes in ({"email": "mina@notes.example.org"}, {"firstname": "Minna"}):
        update_affiliate(
            account,
            affiliate_id=affiliate.slug,
            changes=changes,
            at=CONVERSION_CREATED_AT,
        )
    assert not account.mails.exists()
