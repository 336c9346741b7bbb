"""Request bodies (docs/api-contract.md, section 1.2)."""

import json
from contextlib import nullcontext
from decimal import Decimal

import pytest
from django.test import RequestFactory

from affiliate_site.api.errors import PayloadTooLarge
from affiliate_site.api.parsing import InvalidBody, parse_json_body

pytestmark = [
    pytest.mark.engine_independent,  # bodies that a dummy endpoint returns, or refuses
    pytest.mark.urls("tests.dummy_endpoints"),
]

MIB = 1024 * 1024
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
INVALID_BODY = {"errors": [{"message": "Request body was not valid JSON"}]}


def build_post_request(body, content_type="application/json", **headers):
    if isinstance(body, str):
        body = body.encode()
    return RequestFactory().generic("POST", "/", body, content_type=content_type, headers=headers)


def is_rejected(response):
    """Whether it is the only answer to an invalid body."""
    return (response.status_code, response.json()) == (400, INVALID_BODY)


def nest(levels, opening, closing):
    return opening * levels + closing * levels


# Valid bodies


VALID_BODIES = {
    "an empty object": ("{}", {}),
    "white space around": (" \t\r\n{}\n ", {}),
    "text": ('{"a": "b"}', {"a": "b"}),
    "outer white space in text": ('{" a ": " b "}', {" a ": " b "}),
    "non-ASCII text": ('{"š": "日本 🙂"}', {"š": "日本 🙂"}),
    "an escaped pair of surrogates": (r'{"a": "\ud83d\ude42"}', {"a": "🙂"}),
    "escaped controls": (r'{"a": "\u0001\n\u007f"}', {"a": "\x01\n\x7f"}),
    "a BOM inside text": ('{"a": "\ufeff"}', {"a": "\ufeff"}),
    "decomposed letters": ('{"e\u0301": 1}', {"e\u0301": 1}),
    "keys that differ by case": ('{"a": 1, "A": 2}', {"a": 1, "A": 2}),
    "keys that differ by normalization": (
        '{"\u00e9": 1, "e\u0301": 2}',
        {"\u00e9": 1, "e\u0301": 2},
    ),
    "one key in two objects": (
        '{"a": {"k": 1}, "b": {"k": 1}}',
        {"a": {"k": 1}, "b": {"k": 1}},
    ),
    "null, true and false": (
        '{"a": null, "b": true, "c": false}',
        {"a": None, "b": True, "c": False},
    ),
    "brackets in text": (json.dumps({"a": "[" * 1000}), {"a": "[" * 1000}),
    "NaN and Infinity in text": (
        '{"a": "NaN", "Infinity": "-Infinity"}',
        {"a": "NaN", "Infinity": "-Infinity"},
    ),
}


@pytest.mark.parametrize(("body", "parsed"), VALID_BODIES.values(), ids=VALID_BODIES)
def test_parses_an_object_unchanged(body, parsed):
    assert parse_json_body(build_post_request(body)) == parsed


NUMBERS = [
    *("0", "-0", "20", "49.90", "0.30000000000000004", "90071992547409.93"),
    *("12345678901234567.89", "123456789012345678901234567890"),
    *("1e2", "1E+2", "1e-2", "1e99", "1e-99", "1E+99", "1e0000000000000000099"),
    *("-1.5e99", "0e99", "1" * 64, "-" + "1" * 63, "0." + "1" * 62),
    "1." + "0" * 59 + "e99",
]


@pytest.mark.parametrize("literal", NUMBERS)
def test_parses_a_number_exactly(literal):
    number = parse_json_body(build_post_request(f'{{"a": {literal}}}'))["a"]

    assert isinstance(number, int | Decimal)
    assert Decimal(number) == Decimal(literal)


@pytest.mark.parametrize("literal", ["49.90", "1e2", "0.1", "-0.0"])
def test_never_parses_a_float(literal):
    number = parse_json_body(build_post_request(f'{{"a": [{literal}]}}'))["a"][0]

    assert type(number) is Decimal
    assert str(number) == str(Decimal(literal))


@pytest.mark.parametrize(
    "body",
    [
        '{"a": ' + nest(31, "[", "]") + "}",
        nest(31, '{"a":', "}").replace("}", "1}", 1),
        nest(32, '{"a":', "}").replace("}", "1}", 1),
        '{"a": ' + nest(15, '[{"a":', "}]").replace("}", "[]}", 1) + "}",
    ],
    ids=["arrays", "31 objects", "32 objects", "both"],
)
def test_parses_32_levels(body):
    assert parse_json_body(build_post_request(body)) == json.loads(body)


@pytest.mark.parametrize(
    "content_type",
    [
        *("application/json", "application/json; charset=utf-8"),
        *("application/json;charset=UTF-8", 'application/json; charset="utf-8"'),
        *("application/json; charset=us-ascii", "application/json ; Charset = Utf-8"),
        *(FORM, f"{FORM}; charset=UTF-8", MULTIPART, f"{MULTIPART}; boundary=x"),
        *("text/plain;charset=UTF-8", "text/xml", "application/octet-stream"),
        *("application/vnd.api+json", "nonsense", ";;;", "*/*", ""),
    ],
)
def test_parses_json_of_any_content_type(api, content_type):
    response = api.post("/dummies/", '{"name": "š"}', content_type=content_type)

    assert response.status_code == 200
    assert response.json() == {"name": "š"}


@pytest.mark.parametrize("encoding", ["", "identity", "IDENTITY", " identity "])
def test_parses_an_uncompressed_body(encoding):
    request = build_post_request("{}", **{"Content-Encoding": encoding})

    assert parse_json_body(request) == {}


# Invalid bodies


NOT_UTF_8 = {
    "an invalid first byte": b'{"a": "\xff"}',
    "latin-1": '{"a": "š"}'.encode("iso-8859-2"),
    "an overlong form": b'{"a": "\xc0\xaf"}',
    "an incomplete character": b'{"a": "\xe2\x82"}',
    "above the last code point": b'{"a": "\xf4\x90\x80\x80"}',
    "a byte-order mark": b'\xef\xbb\xbf{"a": 1}',
    "UTF-16 with a byte-order mark": '{"a": 1}'.encode("utf-16"),
    "UTF-16": '{"a": 1}'.encode("utf-16-le"),
    "UTF-32": '{"a": 1}'.encode("utf-32-be"),
    "UTF-7": '{"a": "š"}'.encode("utf-7").replace(b"+", b"+\xff"),
}
REPEATED_KEYS = {
    "a key twice": '{"a": 1, "a": 1}',
    "a key twice, one escaped": r'{"a": 1, "\u0061": 2}',
    "the empty key twice": '{"": 1, "": 2}',
    "in an object": '{"a": {"k": 1, "k": 2}}',
    "in an array": '{"a": [[{"k": 1, "b": 0, "k": 2}]]}',
    "at depth": nest(31, '{"a":', "}").replace("}", '{"k": 1, "k": 1}}', 1),
    "null twice": '{"a": null, "a": null}',
}
TOO_DEEP = {
    "33 arrays": '{"a": ' + nest(32, "[", "]") + "}",
    "33 objects": nest(33, '{"a":', "}").replace("}", "1}", 1),
    "33 of both": '{"a": ' + nest(16, '[{"a":', "}]").replace("}", "1}", 1) + "}",
    "33 after a shallow one": '{"b": [], "a": ' + nest(32, "[", "]") + "}",
    "100,000 brackets": nest(100_000, "[", "]"),
    "100,000 open brackets": "[" * 100_000,
    "100,000 brackets in an object": '{"a": ' + nest(100_000, "[", "]") + "}",
    "100,000 braces": nest(100_000, '{"a":', "}").replace("}", "1}", 1),
    "100,000 open braces": '{"a":' * 100_000,
}
UNSTORABLE_TEXT = {
    "NUL in a value, escaped": r'{"a": "b\u0000c"}',
    "NUL in a key, escaped": r'{"a\u0000": 1}',
    "NUL in a value, raw": '{"a": "b\x00c"}',
    "NUL in a key, raw": '{"a\x00": 1}',
    "NUL in a list": r'{"a": ["b", "\u0000"]}',
    "NUL in an unknown map": r'{"zz": {"a": {"b\u0000": "c"}}}',
    "NUL after the object": "{}\x00",
    "a high surrogate in a value": r'{"a": "\ud800"}',
    "a low surrogate in a value": r'{"a": "\udfff"}',
    "a high surrogate in a key": r'{"\ud800": 1}',
    "a low surrogate in a key": r'{"a": {"b\udc00": 1}}',
    "a pair in the wrong order": r'{"a": "\ude42\ud83d"}',
    "a high surrogate before a letter": r'{"a": "\ud83dx"}',
    "a low surrogate after a pair": r'{"a": "\ud83d\ude42\ude42"}',
    "a raw surrogate in a value": b'{"a": "\xed\xa0\x80"}',
    "a raw surrogate in a key": b'{"\xed\xbf\xbf": 1}',
    "a raw surrogate pair": b'{"a": "\xed\xa0\xbd\xed\xb9\x82"}',
}
NON_NUMBERS = {
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": Infinity}',
    "-Infinity": '{"a": -Infinity}',
    "NaN in a list": '{"a": [1, NaN]}',
    "-NaN": '{"a": -NaN}',
    "nan": '{"a": nan}',
    "+1": '{"a": +1}',
    ".5": '{"a": .5}',
    "5.": '{"a": 5.}',
    "01": '{"a": 01}',
    "0x1": '{"a": 0x1}',
    "1_000": '{"a": 1_000}',
    "full-width": '{"a": \uff11}',
}
OVERSIZED_NUMBERS = {
    "65 digits": f'{{"a": {"1" * 65}}}',
    "64 digits and a sign": f'{{"a": -{"1" * 64}}}',
    "65 characters with a point": f'{{"a": 0.{"1" * 63}}}',
    "65 characters with an exponent": f'{{"a": 1.{"0" * 60}e99}}',
    "65 characters of exponent": f'{{"a": 1e{"0" * 61}99}}',
    "100,000 digits": f'{{"a": {"1" * 100_000}}}',
    "exponent 100": '{"a": 1e100}',
    "exponent +100": '{"a": 1E+100}',
    "exponent -100": '{"a": 1e-100}',
    "exponent 400": '{"a": 1e400}',
    "zero with exponent 100": '{"a": 0e100}',
    "exponent of twenty digits": f'{{"a": 1e{"9" * 20}}}',
    "in a list in an unknown field": '{"zz": [[1e100]]}',
}
NOT_AN_OBJECT = {
    "empty": "",
    "white space": " \n",
    "null": "null",
    "true": "true",
    "a number": "1",
    "a text": '"a"',
    "an array": "[]",
    "an array of objects": '[{"name": "a"}]',
}
NOT_JSON = {
    "an open object": '{"a": 1',
    "two objects": "{} {}",
    "a trailing comma": '{"a": 1,}',
    "a key without quotes": "{a: 1}",
    "single quotes": "{'a': 1}",
    "a comment": "{} // lamp",
    "a raw line break in text": '{"a": "b\nc"}',
    "a raw tab in text": '{"a": "b\tc"}',
    "an invalid escape": r'{"a": "\x41"}',
    "an incomplete escape": r'{"a": "\u12"}',
    "a form": "a=1&b=2",
    "many fields of a form": "&".join(f"a{n}=1" for n in range(2000)),
    "XML": "<a/>",
    "white space that is not JSON's": "\u00a0{}",
    "a compressed body": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
}
INVALID_BODIES = {
    f"{problem}: {name}": body
    for problem, bodies in {
        "not UTF-8": NOT_UTF_8,
        "repeated keys": REPEATED_KEYS,
        "nesting": TOO_DEEP,
        "NUL or surrogate": UNSTORABLE_TEXT,
        "non-numbers": NON_NUMBERS,
        "oversized numbers": OVERSIZED_NUMBERS,
        "not an object": NOT_AN_OBJECT,
        "not JSON": NOT_JSON,
    }.items()
    for name, body in bodies.items()
}


@pytest.mark.parametrize("body", INVALID_BODIES.values(), ids=INVALID_BODIES)
def test_rejects_an_invalid_body(body):
    with pytest.raises(InvalidBody):
        parse_json_body(build_post_request(body))


@pytest.mark.parametrize(
    "body",
    [
        *("", "[]", "null", '{"name": "a", "name": "b"}', r'{"name": "\ud800"}'),
        *(r'{"name": "a", "zz": "\u0000"}', b'{"name": "\xff"}', '{"name": NaN}'),
        *('{"name": 1e400}', "[" * 100_000),
    ],
    ids=lambda body: repr(body[:30]),
)
@pytest.mark.parametrize("content_type", ["application/json", FORM, MULTIPART])
def test_returns_the_same_error_for_every_invalid_body(api, body, content_type):
    response = api.post("/dummies/", body, content_type=content_type)

    assert is_rejected(response)


CHARSETS = ["utf-7", "utf-16", "iso-8859-1", "idna", "unicode_escape", "latin1", "x"]


@pytest.mark.parametrize(
    "content_type",
    [
        *(f"application/json; charset={name}" for name in CHARSETS),
        'application/json; charset="utf-16"',
        "application/json;CHARSET=UTF-16",
        "application/json; a=b; charset=utf-16",
        "application/json; charset = utf-16",
        "text/plain;charset=utf-16",
        f"{FORM}; charset=iso-8859-1",
    ],
)
def test_rejects_another_character_set(api, content_type):
    response = api.post("/dummies/", '{"name": "a"}', content_type=content_type)

    assert is_rejected(response)


@pytest.mark.parametrize(
    "encoding",
    ["gzip", "GZIP", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "nonsense"],
)
def test_rejects_a_compressed_body(api, encoding):
    response = api.post("/dummies/", '{"name": "a"}', **{"Content-Encoding": encoding})

    assert is_rejected(response)


# Arrays, where an operation accepts them


@pytest.mark.parametrize("body", ["[]", '[{"a": 1}]', "{}", "[1]", "[null]"])
def test_parses_an_array_where_one_is_allowed(body):
    assert parse_json_body(build_post_request(body), allow_array=True) == json.loads(body)


@pytest.mark.parametrize("body", ["", "null", "1", '"a"', "true", "[", "[NaN]"])
def test_rejects_other_types_where_an_array_is_allowed(body):
    with pytest.raises(InvalidBody):
        parse_json_body(build_post_request(body), allow_array=True)


@pytest.mark.parametrize(("levels", "is_invalid"), [(32, False), (33, True)], ids=["32", "33"])
def test_counts_the_outermost_array_as_a_level(levels, is_invalid):
    request = build_post_request(nest(levels, "[", "]"))

    with pytest.raises(InvalidBody) if is_invalid else nullcontext():
        parsed = parse_json_body(request, allow_array=True)
        assert parsed == json.loads(request.body)


# Size


def build_padded_body(size):
    body = b'{"name": "a"}'
    return body + b" " * (size - len(body))


def test_accepts_a_body_of_one_mebibyte(api):
    response = api.post("/dummies/", build_padded_body(MIB))

    assert response.status_code == 200


@pytest.mark.parametrize("content_type", ["application/json", FORM, MULTIPART])
def test_rejects_a_body_above_one_mebibyte(api, content_type):
    response = api.post("/dummies/", build_padded_body(MIB + 1), content_type=content_type)

    assert response.status_code == 413
    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "message": "Request Entity Too Large",
        "code": 413,
        "traceId": response["X-Trace-Id"],
    }


def test_checks_the_size_before_the_encoding(api):
    body = build_padded_body(MIB + 1)

    response = api.post("/dummies/", body, **{"Content-Encoding": "gzip"})

    assert response.status_code == 413


def test_rejects_a_large_body_while_reading_it():
    with pytest.raises(PayloadTooLarge):
        parse_json_body(build_post_request(build_padded_body(MIB + 1)))


@pytest.mark.parametrize("length", ["", "0", "-1", "x", "1e3", "\xb2", "9" * 30])
def test_handles_an_invalid_content_length(api, length):
    response = api.client.generic(
        "POST",
        "/1.6/dummies/",
        '{"name": "a"}',
        headers={"X-Api-Key": api.key},
        CONTENT_LENGTH=length,
    )

    assert response.status_code in (400, 413)


# Operations that do not read the body


@pytest.mark.parametrize("body", ["", "[]", "{}", "no JSON", b"\xff", "[" * 100_000])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/programs/", 200),
        ("HEAD", "/programs/", 200),
        ("GET", "/programs/harbor-lamp-partners/", 200),
        ("DELETE", "/dummies/any/", 204),
        ("OPTIONS", "/programs/", 204),
    ],
)
def test_ignores_the_body_of_other_methods(api, program, method, path, status, body):
    response = api.request(method, path, body, **{"Content-Encoding": "gzip"})

    assert response.status_code == status
