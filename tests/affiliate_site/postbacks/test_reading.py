"""Contract 4: a query with brackets, read as the JSON that a POST sends."""

import pytest
from django.http import QueryDict
from django.test import RequestFactory
from rest_framework.exceptions import ValidationError

from affiliate_site.postbacks.reading import from_query, is_prefetch, refuse_odd_text


def is_odd(text):
    return "\x00" in text or "\ufffd" in text


def read(query):
    """What a query says; what it does not name is not there."""
    said = from_query(QueryDict(query))
    return {name: value for name, value in said.items() if value is not None}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("amount=100", {"amount": "100"}, id="text"),
        pytest.param("coupon=a%20b+c%C3%A9", {"coupon": "a b cé"}, id="escaped"),
        pytest.param("amount=&status=", {}, id="empty"),
        *(
            pytest.param(f"{name}=", {name: "", proper: ""}, id=f"empty {name}")
            for name, proper in [
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
        pytest.param("amount=1&amount=2", {"amount": "2"}, id="the last counts"),
        pytest.param(
            "meta_data[plan]=pro&meta_data[tier]=",
            {"meta_data": {"plan": "pro", "tier": ""}},
            id="a map",
        ),
        pytest.param(
            "meta_data%5Bplan%5D=pro", {"meta_data": {"plan": "pro"}}, id="a coded map"
        ),
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
            id="a list by its numbers",
        ),
        pytest.param(
            "click[id]=5b0f", {"click": {"id": "5b0f"}}, id="the object of a click"
        ),
        pytest.param("meta_data=pro", {"meta_data": "pro"}, id="a map that is none"),
        pytest.param("commissions=5", {"commissions": "5"}, id="a list that is none"),
        pytest.param(
            "commissions[a][sub_amount]=5",
            {"commissions": {"a": {"sub_amount": "5"}}},
            id="a list with names",
        ),
        pytest.param("a[b=c&]d[=e&[x]=y&f[g]h=i", {}, id="odd brackets"),
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
            id="the proper name counts",
        ),
        *(
            pytest.param(f"{name}={word}", {name: flag}, id=f"{name} {word}")
            for name in ("override_max_cookie_time", "recalculate_commissions")
            for word, flag in [
                *(("true", True), ("TRUE", True), ("1", True)),
                *(("False", False), ("0", False), ("yes", "yes")),
            ]
        ),
        pytest.param("coupon=true&amount=1", {"coupon": "true", "amount": "1"}),
    ],
)
def test_reads_a_query_as_an_object(query, said):
    assert read(query) == said


@pytest.mark.parametrize("digits", [1, 20, 4301])
def test_takes_the_number_of_a_part_however_long(digits):
    query = f"commissions[{'9' * digits}][sub_amount]=2&commissions[1][sub_amount]=1"

    said = from_query(QueryDict(query))

    assert said["commissions"] == [{"sub_amount": "1"}, {"sub_amount": "2"}]


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
def test_refuses_what_is_no_text_in_whatever_parameter(query):
    with pytest.raises(ValidationError) as refused:
        refuse_odd_text(RequestFactory().get(f"/?{query}"))

    [name] = [it for it, value in QueryDict(query).items() if is_odd(it + value)]
    assert refused.value.detail == {name: ["This value is not valid text."]}


@pytest.mark.parametrize("query", ["", "coupon=%EF%BF%BD", "a=b+c%C3%A9&d", "&&=&"])
def test_lets_text_pass(query):
    refuse_odd_text(RequestFactory().get(f"/?{query}"))


@pytest.mark.parametrize(
    ("method", "headers", "prefetch"),
    [
        ("GET", {}, False),
        ("GET", {"Sec-Purpose": "prefetch"}, True),
        ("GET", {"Sec-Purpose": "prefetch;prerender"}, True),
        ("GET", {"Purpose": "Prefetch"}, True),
        ("GET", {"X-Moz": "prefetch"}, True),
        ("GET", {"Purpose": "preview"}, False),
        ("GET", {"Referer": "prefetch"}, False),
        ("POST", {"Sec-Purpose": "prefetch"}, False),
    ],
)
def test_knows_who_only_looks_ahead(method, headers, prefetch):
    request = RequestFactory().generic(method, "/1.7/pb/con/c/", headers=headers)

    assert is_prefetch(request) is prefetch
