"""Which spellings of an address are one mailbox."""

from contextlib import suppress

import pytest
from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address

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
        ('"Mina"@notes.example', "mina@notes.example"),
        (r'"\M\ina"@notes.example', "mina@notes.example"),
        (r'"a\"b\\"@notes.example', r'a"b\@notes.example'),
        ('"mina', '"mina'),
        ('"@notes.example', '"@notes.example'),
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
    "text",
    [
        *("a@xn--ü.example", "a@..ü", "=?utf-8?q?b=6Fmb?=@x.test", "ä@x.example"),
        *('"bomb"@x.test', r'"b\omb"@x.test', '"a b"@x.test', "a@[10.0.0.1]"),
        *("a@x\u00a8y.test", "a@x\uff3by.test", "\u0130@x.test", "\u017f@x.test"),
    ],
    ids=ascii,
)
def test_refuses_what_is_no_address(text):
    with pytest.raises(ValidationError, match="Enter a valid email address"):
        validate_address(text)


@pytest.mark.parametrize("text", ["a@münchen.example", ENCODED, "a@straße.example"])
def test_accepts_international_domains(text):
    validate_address(text)


@pytest.mark.parametrize(
    "template",
    [
        *("{}@x.test", "a{}@x.test", "{}a@x.test", "a{}b@x.test", "=?{}?=@x.test"),
        *('"{}"@x.test', r'"a\{}"@x.test', '"{}a"@x.test'),
        *("a@x{}y.test", "a@[10.0.0.{}]"),
    ],
)
def test_mail_goes_to_the_address_that_limits_compare(template):
    """Whatever character an accepted address has: others read it as it is folded."""
    accepted = 0
    for code in (*range(0x250), *range(0x2000, 0x2150), *range(0xFF00, 0xFF80)):
        text = template.format(chr(code))
        with suppress(ValidationError):
            validate_address(text)
            accepted += 1
            written = sanitize_address(encode_domain(text), "utf-8")
            assert fold_email(written) == fold_email(text), ascii(text)
            assert fold_email(sanitize_address(text, "utf-8")) == fold_email(text)
    assert bool(accepted) != any(it in template for it in '"[?')
