"""Which spellings of an address are one mailbox."""

import pytest
from django.core.exceptions import ValidationError

from accounts.email_addresses import (
    MAX_FOLDED_LENGTH,
    encode_domain,
    fold_email,
    list_spellings,
    validate_address,
)

ENCODED = "a@xn--mnchen-3ya.example"


@pytest.mark.parametrize(
    "text",
    [
        ENCODED,
        ENCODED.upper(),
        "a@münchen.example",
        "A@MÜNCHEN.example",
        "a@mu\u0308nchen.example",
        "a@m\u00fcnchen\uff0eexample",
        "a@m\u00fcnchen\u3002example",
        "a@m\u00fcn\u00adchen.example",
        "\uff41@\uff4d\u00fcnchen.example",
    ],
    ids=ascii,
)
def test_all_spellings_of_a_domain_are_one(text):
    assert fold_email(text) == ENCODED
    assert "a@münchen.example" in list_spellings(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Mina+1@Notes.example", "mina+1@notes.example"),
        ("Zoë", "zoë"),
        (f"a@{'Ü' * 80}.example", f"a@{'ü' * 80}.example"),
        ("Ü@..", "ü@.."),
        ("Ü@", "ü@"),
    ],
    ids=ascii,
)
def test_other_text_loses_its_case(text, folded):
    assert fold_email(text) == folded
    assert folded in list_spellings(text)


def test_fits_into_its_column():
    for text in ("\ufdfa@ü.example", "\ufdfa" * 254, "ü" * 10**6):
        assert len(fold_email(text)) <= MAX_FOLDED_LENGTH
    assert len(fold_email("\ufdfa" * 250 + "@ü")) == MAX_FOLDED_LENGTH


def test_mail_goes_to_the_domain_in_ascii():
    assert encode_domain("Mina@MÜNCHEN.example") == "Mina@xn--mnchen-3ya.example"
    assert encode_domain("Mina@Notes.example") == "Mina@Notes.example"
    assert encode_domain("mïna") == "mïna"


@pytest.mark.parametrize(
    "text", ["a@xn--ü.example", "a@..ü", "=?utf-8?q?b=6Fmb?=@x.test", "ä@x.example"]
)
def test_refuses_what_is_no_address(text):
    with pytest.raises(ValidationError, match="Enter a valid email address"):
        validate_address(text)


@pytest.mark.parametrize("text", ["a@münchen.example", ENCODED, "a@straße.example"])
def test_accepts_international_domains(text):
    validate_address(text)
