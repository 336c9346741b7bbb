"""What the details of payout methods mean, by kind. No database."""

import pytest

from payouts.payout_details import (
    find_problems,
    get_identifier,
    list_problems,
    mask_changes,
    mask_details,
    normalize_details,
)

IBAN = "SI56191000000123438"
US_ACCOUNT = {"account_number": "12345678", "routing_number": "021000021"}
US_ACCOUNT |= {"country": "us"}


@pytest.mark.parametrize(
    ("kind", "details", "expected"),
    [
        (
            "bank",
            {"IBAN": " si56 1910 0000 0123 438", "BIC/SWIFT": "lj basi2x"},
            {"iban": IBAN, "bic": "LJBASI2X"},
        ),
        ("bank", {"Konto": f"{IBAN[:4]} {IBAN[4:]}"}, {"iban": IBAN}),
        ("bank", {"Name": "Odette", "Ref": "7"}, {"account_holder": "Odette"}),
        ("wire_transfer", {"Sort code": "20-20-15"}, {"routing_number": "20-20-15"}),
        ("wire_transfer", {"country": "us"}, {"country": "US"}),
        ("paypal", {"paypal_address": " p@a.example "}, {"email": "p@a.example"}),
        ("paypal", {"email": "", "PayPal": "p@a.example"}, {"email": "p@a.example"}),
        ("paypal", {"PayPal e-mail": "p@a.example"}, {"email": "p@a.example"}),
        ("wise", {"Recipient ID": "4711"}, {"recipient": "4711"}),
        ("other", {"iban": "anything"}, {"iban": "anything"}),
    ],
)
def test_reads_usual_names_as_ours(kind, details, expected):
    normalized = normalize_details(kind, details)

    assert normalized | expected == normalized
    assert normalize_details(kind, normalized) == normalized


def test_keeps_what_it_does_not_know_and_what_comes_twice():
    details = {"account": "1", "swift": "A", "bic": "LJBASI2X", "Ref. no": " 7"}

    assert normalize_details("bank", details) == {
        "bic": "LJBASI2X",
        "account_number": "1",
        "swift": "A",
        "Ref. no": "7",
    }


COMPLETE = [
    ("bank", {"iban": IBAN}),
    ("bank", {"iban": IBAN, "swift": "LJBASI2X", "account_holder": "Odette Varga"}),
    ("bank", {"account": IBAN}),
    ("bank", US_ACCOUNT),
    ("bank", {"iban": "AE070331234567890123456", "bic": "EBILAEAD"}),
    ("wire_transfer", {"account": "1", "country": "US", "bic": "CHASUS33"}),
    ("paypal", {"paypal_address": "odette@notes.example.org"}),
    ("paypal", {"email": "odétte+shop@nötes.example"}),
    ("wise", {"email": "odette@notes.example.org"}),
    ("wise", {"recipient": "4711"}),
    ("other", {"how": "cash"}),
]
PROBLEMS = [
    ("bank", {}, "iban", "Enter the IBAN"),
    ("bank", {"iban": "SI56 1910 0000 0123 439"}, "iban", "check digits do not match"),
    ("bank", {"iban": "SI56"}, "iban", "is not an IBAN"),
    ("bank", {"iban": "XX99 nonsense"}, "iban", "is not an IBAN"),
    ("bank", {"iban": "ŠI56191000001"}, "iban", "is not an IBAN"),
    ("bank", {"iban": "S" * 500}, "iban", "is not an IBAN"),
    ("bank", {"iban": IBAN, "bic": "LJ"}, "bic", "is not a BIC"),
    ("bank", {"iban": "AE070331234567890123456"}, "bic", "outside of SEPA"),
    (
        "bank",
        {"account_number": "1", "bic": "CHASUS33"},
        "country",
        "Choose the country",
    ),
    ("wire_transfer", US_ACCOUNT | {"country": "USA"}, "country", "Choose the country"),
    ("bank", {"account": "1", "country": "US"}, "routing_number", "routing number"),
    ("paypal", {}, "email", "Enter the e-mail address"),
    ("paypal", {"id": "7"}, "email", "Enter the e-mail address"),
    ("paypal", {"paypal_address": "notanemail"}, "email", "is not an e-mail address"),
    ("paypal", {"email": "odette@"}, "email", "is not an e-mail address"),
    ("paypal", {"email": "a b@notes.example"}, "email", "is not an e-mail address"),
    ("paypal", {"email": f"{'o' * 250}@a.example"}, "email", "not an e-mail address"),
    ("wise", {"email": "x", "recipient": "1"}, "email", "is not an e-mail address"),
    ("wise", {"account_holder": "Odette"}, "email", "recipient ID"),
    ("other", {}, "", "Enter the details"),
    ("other", {"how": " "}, "", "Enter the details"),
]


@pytest.mark.parametrize(("kind", "details"), COMPLETE)
def test_finds_nothing_missing(kind, details):
    assert list_problems(kind, details) == []


@pytest.mark.parametrize(("kind", "details", "name", "sentence"), PROBLEMS)
def test_says_what_is_wrong_at_the_detail(kind, details, name, sentence):
    problems = find_problems(kind, details)

    assert sentence in problems[name]
    assert list_problems(kind, details) == list(problems.values())
    assert all(text.endswith(".") for text in problems.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("bank", {"iban": IBAN}), ("wire_transfer", {"Account": "si56 " + IBAN[4:]})),
        (("bank", US_ACCOUNT), ("wire_transfer", US_ACCOUNT | {"country": "US"})),
        (
            ("paypal", {"email": "Odette@A.example"}),
            ("wise", {"email": "odette@a.example"}),
        ),
    ],
)
def test_equal_accounts_have_one_identifier(one, other):
    assert get_identifier(*one) == get_identifier(*other) != ""


@pytest.mark.parametrize(
    ("kind", "details"),
    [("bank", {"bic": "LJBASI2X"}), ("paypal", {}), ("other", {"how": IBAN})],
)
def test_what_names_no_account_has_no_identifier(kind, details):
    assert get_identifier(kind, details) == ""


@pytest.mark.parametrize(
    ("kind", "details", "expected"),
    [
        ("bank", {"iban": IBAN, "account_holder": "Odette Varga"}, "SI56…3438"),
        ("bank", US_ACCOUNT, "…5678"),
        ("bank", {"account": "1234"}, "…"),
        ("paypal", {"paypal_address": "odette@notes.example"}, "o…@notes.example"),
        ("paypal", {"email": "odette"}, "…"),
        ("wise", {"recipient": "471147114711"}, "…4711"),
        ("other", {"how": "cash at noon"}, "…"),
        ("bank", {}, ""),
    ],
)
def test_masks_what_names_an_account(kind, details, expected):
    assert mask_details(kind, details) == expected


def test_masks_old_and_new_values():
    old = {"IBAN": "SI56 1910 0000 0123 438", "account_holder": "Mina"}
    new = {"account": "123", "country": "US"}
    assert mask_changes("bank", old, new) == {
        "iban": ["•••• 3438", None],
        "account_number": [None, "••••"],
    }
    assert mask_changes("bank", old, {"iban": "SI56191000000123438"}) == {}
    assert mask_changes("wise", {}, {"email": "m@notes.example"}) == {"email": [None, "m•••@•••"]}
