"""Payout methods (docs/api-contract.md, section 2.4.8)."""

from datetime import timedelta

import pytest

from payouts.errors import PayoutMethodNotFound
from payouts.services.payout_methods import (
    list_equal_methods,
    release_payout_method,
    remove_payout_method,
    set_payout_method,
)
from tests.ledger_checks import assert_atomic, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.errors import AffiliateNotFound

pytestmark = pytest.mark.usefixtures("shared_scenario")


def put(account, kind, details=None, *, primary=False, affiliate="minakessler"):
    return set_payout_method(
        account,
        affiliate_id=affiliate,
        kind=kind,
        details=details,
        is_primary=primary,
        at=CONVERSION_CREATED_AT,
    )


def list_stored_payout_methods(account):
    rows = account.payout_methods.in_definition_order()
    return [(row.kind, row.details, row.is_primary) for row in rows]


def test_has_one_primary_payout_method_at_any_time(account, scenario):
    put(account, "bank", {"iban": "1"})
    put(account, "paypal", {"address": "m"}, primary=True)
    put(account, "bank", primary=False)

    assert list_stored_payout_methods(account) == [
        ("bank", {"iban": "1"}, False),
        ("paypal", {"address": "m"}, True),
    ]


def test_changes_the_primary_payout_method_in_one_transaction(account, scenario):
    put(account, "bank", {"iban": "1"})

    def change():
        put(account, "paypal", {"address": "m"}, primary=True)

    assert_atomic(account, change, least=5)
    assert [primary for _, _, primary in list_stored_payout_methods(account)] == [
        False,
        True,
    ]


def test_keeps_payout_methods_of_other_affiliates(account, other_account, scenario):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    put(other_account, "paypal", {"a": "zz"}, affiliate=other.mina.slug)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    put(account, "other", {"a": "b"}, affiliate=odette.slug)
    before = snapshot_account(other_account)

    put(account, "paypal", {"a": "b"})
    put(account, "bank", primary=True)

    assert snapshot_account(other_account) == before
    assert account.payout_methods.get(affiliate=odette.affiliate).is_primary


@pytest.mark.parametrize(
    ("kind", "affiliate", "error_class"),
    [
        ("cash", "minakessler", PayoutMethodNotFound),
        ("PayPal", "minakessler", PayoutMethodNotFound),
        ("paypal", "nobody", AffiliateNotFound),
        ("paypal", "zzmarkerminakessler", AffiliateNotFound),
    ],
)
def test_rejects_unknown_kinds_and_affiliates(
    account, other_account, scenario, kind, affiliate, error_class
):
    ProgramScenario(other_account, prefix="zz-marker-")

    with pytest.raises(error_class):
        put(account, kind, {"a": "b"}, affiliate=affiliate)

    assert list_stored_payout_methods(account) == list_stored_payout_methods(other_account) == []


IBAN = {"iban": "SI56 1910 0000 0123 438"}


def test_knows_when_details_changed(account, scenario):
    method = put(account, "bank", IBAN)
    account.payout_methods.update(details_changed_at=None)

    put(account, "bank", dict(IBAN))
    put(account, "bank", primary=True)
    assert account.payout_methods.get().details_changed_at is None

    put(account, "bank", {"iban": "SI56"})
    assert account.payout_methods.get().details_changed_at == CONVERSION_CREATED_AT
    assert account.payout_methods.get().blind_index != method.blind_index


def test_other_details_end_the_hold(account, scenario):
    put(account, "bank", IBAN)
    account.payout_methods.update(on_hold_reason="Account closed")

    put(account, "bank", IBAN, primary=True)
    assert account.payout_methods.get().on_hold_reason == "Account closed"

    put(account, "bank", {"iban": "SI56"})
    assert account.payout_methods.get().on_hold_reason == ""


def test_staff_end_the_hold(account, other_account, scenario):
    foreign = ProgramScenario(other_account, prefix="other-")
    put(account, "bank", IBAN)
    put(other_account, "bank", IBAN, affiliate=foreign.mina.affiliate.slug)
    for each in (account, other_account):
        each.payout_methods.update(on_hold_reason="Account closed")

    def release(kind="bank"):
        return release_payout_method(
            account, affiliate_id="minakessler", kind=kind, at=CONVERSION_CREATED_AT
        )

    release()

    assert account.payout_methods.get().on_hold_reason == ""
    assert other_account.payout_methods.get().on_hold_reason == "Account closed"
    event = account.audit_log.latest("id")
    assert (event.kind, event.details) == ("payout_method.released", {"method": "bank"})
    for kind in ("bank", "paypal"):
        with pytest.raises(PayoutMethodNotFound):
            release(kind)


def test_the_hold_of_a_removed_affiliate_can_be_ended(account, scenario):
    """Its balance stays payable: the hold must not stay for ever."""
    put(account, "bank", IBAN)
    account.payout_methods.update(on_hold_reason="Account closed")
    mark_deleted(scenario.mina.affiliate)
    method = release_payout_method(
        account, affiliate_id="minakessler", kind="bank", at=CONVERSION_CREATED_AT
    )
    assert method.on_hold_reason == ""


def test_finds_equal_accounts_of_others(account, other_account, scenario):
    foreign = ProgramScenario(other_account, prefix="other-")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga").affiliate
    removed = scenario.create_enrolled_affiliate("Otto", "Varga").affiliate
    put(other_account, "bank", IBAN, affiliate=foreign.mina.affiliate.slug)
    mine = [put(account, "bank", IBAN), put(account, "other", {"how": "cash"})]
    same = put(
        account,
        "wire_transfer",
        {"Konto": "SI56191000000123438"},
        affiliate=odette.slug,
    )
    put(account, "other", {"how": "cash"}, affiliate=odette.slug)
    put(account, "bank", IBAN, affiliate=removed.slug)
    removed.update_row(deleted_at=CONVERSION_CREATED_AT)

    assert list_equal_methods(account, mine) == [same]
    assert list_equal_methods(account, mine[1:]) == []
    assert list_equal_methods(account, []) == []


def test_removes_a_method_and_pays_by_the_next(account, scenario):
    own = {"affiliate_id": scenario.mina.slug, "at": CONVERSION_CREATED_AT}
    for kind in ("paypal", "wise", "bank"):
        put(account, kind)
    assert_atomic(account, lambda: remove_payout_method(account, kind="paypal", **own), least=3)
    assert list_stored_payout_methods(account) == [
        ("wise", {}, True),
        ("bank", {}, False),
    ]
    remove_payout_method(account, kind="bank", **own)
    assert list_stored_payout_methods(account) == [("wise", {}, True)]
    event = account.audit_log.order_by("pk").last()
    assert (event.kind, event.details) == ("payout_method.removed", {"method": "bank"})
    with pytest.raises(PayoutMethodNotFound):
        remove_payout_method(account, kind="bank", **own)


def test_affiliates_hear_of_each_change(account, other_account, scenario):
    """By the API, the back office and the portal, which all come here."""
    affiliate = scenario.mina.affiliate
    email = "mina@notes.example.org"
    affiliate.update_row(email=email, email_folded=email, language="de")
    at, mails = (
        affiliate.created_at + timedelta(days=1),
        account.mails.filter(kind="payout_change"),
    )
    named = {"affiliate_id": affiliate.slug, "kind": "bank"}
    details = {"account_holder": "Mina", "iban": "DE89370400440532013000"}
    for number, (service, values) in enumerate(
        (
            (set_payout_method, {"details": details, "is_primary": False}),
            (set_payout_method, {"details": details, "is_primary": True}),  # as it is
            (set_payout_method, {"details": None, "is_primary": False}),
            (
                set_payout_method,
                {"details": details | {"bic": "X"}, "is_primary": False},
            ),
            (remove_payout_method, {}),
        )
    ):
        service(account, **named, **values, at=at + number * timedelta(days=1))
    assert [mail.created_at for mail in mails.order_by("id")] == [
        at + number * timedelta(days=1) for number in (0, 3, 4)
    ]
    mail = mails.first()
    assert (mail.recipient, mail.affiliate) == (email, affiliate)
    assert "Auszahlungsdaten" in mail.subject
    assert "auszahlt: Bankkonto DE89…3000." in mail.text
    assert "Entfernt wurde: Bankkonto DE89…3000." in mails.last().text
    assert not other_account.mails.exists()
    # A method that comes with a new affiliate is no change.
    set_payout_method(account, **named, details=details, is_primary=True, at=affiliate.created_at)
    assert mails.count() == 3
