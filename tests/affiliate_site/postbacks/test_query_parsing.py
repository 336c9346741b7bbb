"""Query parsing of postbacks (docs/api-contract.md, section 4)."""

import pytest
from django.http import QueryDict
from django.test import RequestFactory
from rest_framework.exceptions import ValidationError

from affiliate_site.postbacks.query_parsing import parse_query, validate_query_text
from affiliate_site.user_agents import is_prefetch


def is_invalid_text(text):
    return "\x00" in text or "\ufffd" in text


def parse_present(query):
    """Parse a query; leave absent parameters out."""
    data = parse_query(QueryDict(query))
    return {name: value for name, value in data.items() if value is not None}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("amount=100", {"amount": "100"}, id="text"),
        pytest.param("coupon=a%20b+c%C3%A9", {"coupon": "a b cé"}, id="escaped"),
        pytest.param("amount=&status=", {}, id="empty"),
        *(
            pytest.param(f"{name}=", {name: "", full_name: ""}, id=f"empty {name}")
            for name, full_name in [
                *(("coupon", "coupon"), ("click_id", "click_id")),
                *(("ref", "referral_code"), ("a", "asset_id"), ("sid", "source_id")),
                *(("tracking_id", "tracking_id"), ("visitor_id", "visitor_id")),
            ]
        ),
        pytest.param(
            "commissions[0][sub_amount]=&commissions[1][sub_amount]=2",
            {"commissions": [{}, {"sub_amount": "2"}]},
            id="empty in a list",
        ),
        pytest.param("coupon=+", {"coupon": " "}, id="blank"),
        pytest.param("amount=1&amount=2", {"amount": "2"}, id="last value"),
        pytest.param(
            "meta_data[plan]=pro&meta_data[tier]=",
            {"meta_data": {"plan": "pro", "tier": ""}},
            id="map",
        ),
        pytest.param("meta_data%5Bplan%5D=pro", {"meta_data": {"plan": "pro"}}, id="encoded map"),
        pytest.param(
            "commissions[10][sub_amount]=3&commissions[9][sub_amount]=2"
            "&commissions[0][sub_amount]=1&commissions[0][comment]=lamp",
            {
                "commissions": [
                    {"sub_amount": "1", "comment": "lamp"},
                    {"sub_amount": "2"},
                    {"sub_amount": "3"},
                ]
            },
            id="list",
        ),
        pytest.param("click[id]=5b0f", {"click": {"id": "5b0f"}}, id="click object"),
        pytest.param("meta_data=pro", {"meta_data": "pro"}, id="text for map"),
        pytest.param("commissions=5", {"commissions": "5"}, id="text for list"),
        pytest.param(
            "commissions[a][sub_amount]=5",
            {"commissions": {"a": {"sub_amount": "5"}}},
            id="list with names",
        ),
        pytest.param("a[b=c&]d[=e&[x]=y&f[g]h=i", {}, id="invalid brackets"),
        *(
            pytest.param(f"{alias}=qv7kd2p", {alias: "qv7kd2p", name: "qv7kd2p"})
            for alias, name in [
                *(("ref", "referral_code"), ("refc", "referral_code")),
                *(("a", "asset_id"), ("aid", "asset_id")),
                *(("s", "source_id"), ("sid", "source_id")),
            ]
        ),
        pytest.param(
            "ref=theirs&referral_code=ours",
            {"ref": "theirs", "referral_code": "ours"},
            id="full name takes precedence",
        ),
        *(
            pytest.param(f"{name}={text}", {name: value}, id=f"{name} {text}")
            for name in ("override_max_cookie_time", "recalculate_commissions")
            for text, value in [
                *(("true", True), ("TRUE", True), ("1", True)),
                *(("False", False), ("0", False), ("yes", "yes")),
            ]
        ),
        pytest.param("coupon=true&amount=1", {"coupon": "true", "amount": "1"}),
    ],
)
def test_parses_query_into_object(query, expected):
    assert parse_present(query) == expected


@pytest.mark.parametrize("digits", [1, 20, 4301])
def test_accepts_list_index_of_any_length(digits):
    query = f"commissions[{'9' * digits}][sub_amount]=2&commissions[1][sub_amount]=1"

    data = parse_query(QueryDict(query))

    assert data["commissions"] == [{"sub_amount": "1"}, {"sub_amount": "2"}]


@pytest.mark.parametrize(
    "query",
    [
        *("coupon=%00", "colour=a%00b", "meta_data[a]=%00"),
        *(
            "coupon=%ff",
            "colour=a%c3",
            "meta_data[%fe]=b",
            "a=1&external_id=o%ffr&b=%20",
        ),
    ],
)
def test_rejects_invalid_text_in_any_parameter(query):
    with pytest.raises(ValidationError) as error:
        validate_query_text(RequestFactory().get(f"/?{query}"))

    [invalid_name] = [
        name for name, value in QueryDict(query).items() if is_invalid_text(name + value)
    ]
    assert error.value.detail == {invalid_name: ["This value is not valid text."]}


@pytest.mark.parametrize("query", ["", "coupon=%EF%BF%BD", "a=b+c%C3%A9&d", "&&=&"])
def test_accepts_text(query):
    validate_query_text(RequestFactory().get(f"/?{query}"))


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", {}, False),
        ("GET", {"Sec-Purpose": "prefetch"}, True),
        ("GET", {"Sec-Purpose": "prefetch;prerender"}, True),
        ("GET", {"Purpose": "Prefetch"}, True),
        ("GET", {"X-Moz": "prefetch"}, True),
        ("GET", {"Purpose": "preview"}, False),
        ("GET", {"Referer": "prefetch"}, False),
        ("POST", {"Sec-Purpose": "prefetch"}, True),
    ],
)
def test_detects_prefetch(method, headers, expected):
    request = RequestFactory().generic(method, "/1.7/pb/con/c/", headers=headers)

    assert is_prefetch(request) is expected
