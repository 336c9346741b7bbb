"""A source that limits, breaks and lies: the import ends with a sentence."""

import json

import httpx
import pytest

from affiliate_site.moving import source as sources
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceError, SourceServer
from payouts.services.imported_people import import_enrollment
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.imports import ImportMap


def build_source(handler, waits=None, pauses=None):
    waits = [] if waits is None else waits
    return SourceServer(
        "https://old.example.net/1.6",
        "key",
        wait=waits.append,
        on_pause=([] if pauses is None else pauses).append,
        transport=httpx.MockTransport(handler),
    )


def answer_json(value, **headers):
    return httpx.Response(200, content=json.dumps(value), headers=headers)


def test_says_why_it_waits():
    answers = iter((httpx.Response(503), answer_json({"id": 1})))
    pauses = []

    assert build_source(lambda request: next(answers), pauses=pauses).get("x/1/")
    assert pauses == ["x/*/: answered 503; again in 4 s"]


def test_reads_the_oldest_page_first_and_follows_the_last_page():
    pages = {"1": [{"id": 5}, {"id": 4}], "2": [{"id": 3}, {"id": 2}], "3": [{"id": 1}]}

    def handler(request):
        page = request.url.params["page"]
        link = '<https://old.example.net/1.6/x/?page=3>; rel="last"'
        return answer_json(pages[page], Link=link)

    rows = build_source(handler).list_rows("x/")
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]


def test_reads_a_list_again_that_changed_meanwhile():
    readings = []

    def handler(request):
        page = request.url.params["page"]
        readings.append(page)
        newest = 7 if len(readings) > 2 else 6
        rows = [{"id": newest}] if page == "1" else [{"id": 1}]
        return answer_json(rows, Link='</x/?page=2>; rel="last"')

    ids = [row["id"] for row in build_source(handler).list_rows("x/")]
    assert set(ids) == {1, 6, 7}


def test_waits_as_long_as_the_source_asks():
    answers = [httpx.Response(429, headers={"Retry-After": "40"})] * 3
    waits = []

    def handler(request):
        return answers.pop() if answers else answer_json([{"id": 1}])

    assert build_source(handler, waits).get("x/") == [{"id": 1}]
    assert waits == [40, 40, 40]


def test_gives_up_when_the_source_limits_for_too_long():
    source = build_source(lambda _: httpx.Response(429, headers={"Retry-After": "600"}))
    with pytest.raises(SourceError, match="x/ could not be read: it limits requests"):
        source.get("x/")


def test_slows_down_before_the_limit():
    waits = []
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "12"}
    build_source(lambda _: answer_json([], **headers), waits).get("x/")
    assert waits == [12]


@pytest.mark.parametrize(
    "broken",
    [
        httpx.Response(503),
        httpx.Response(200, content="<html>Oops</html>"),
        httpx.Response(200, content='[{"id": 1'),
        httpx.Response(200, content="[" * 50_000),
    ],
    ids=["503", "HTML", "half an answer", "nested"],
)
def test_tries_again_then_says_what_is_wrong(broken):
    waits = []
    source = build_source(lambda _: broken, waits)
    with pytest.raises(SourceError, match="x/ could not be read: answered"):
        source.get("x/")
    assert len(waits) == sources.MAX_FAILURES - 1


def test_goes_on_after_a_broken_connection():
    answers = [httpx.ConnectError("refused"), httpx.ReadTimeout("slow")]

    def handler(request):
        if answers:
            raise answers.pop()
        return answer_json({"id": 1})

    assert build_source(handler).get("x/") == {"id": 1}


def test_follows_no_redirect_to_another_host():
    called = []

    def handler(request):
        called.append(request.url.host)
        return httpx.Response(302, headers={"Location": "https://evil.example/"})

    with pytest.raises(SourceError, match="leads to another address"):
        build_source(handler).get("x/")
    assert called == ["old.example.net"]


def test_reads_no_gigabyte(monkeypatch):
    monkeypatch.setattr(sources, "MAX_BODY_BYTES", 1000)
    source = build_source(lambda _: httpx.Response(200, content="x" * 2000))
    with pytest.raises(SourceError, match="more than 20 MB"):
        source.get("x/")


@pytest.mark.parametrize("name", ["levels", "bonuses"])
def test_reads_nothing_of_what_the_plan_of_the_source_lacks(name):
    source = build_source(lambda _: httpx.Response(403))
    assert list(source.list_rows(f"programs/spring/{name}/")) == []
    assert source.unstable == {f"programs/spring/{name}/"}


@pytest.mark.parametrize("status", [401, 403])
def test_names_the_answer_to_a_wrong_key(status):
    source = build_source(lambda _: httpx.Response(status))
    with pytest.raises(SourceError, match=f"x/ answered {status}"):
        source.get("x/")


@pytest.mark.parametrize("link", ['<x?page=99999999999>; rel="last"', "nonsense", "<>"])
def test_a_link_that_lies_reads_one_page(link):
    source = build_source(lambda _: answer_json([{"id": 1}], Link=link))
    assert list(source.list_rows("x/")) == [{"id": 1}]


def test_a_list_that_is_none_is_refused():
    source = build_source(lambda _: answer_json({"rows": []}))
    with pytest.raises(SourceError, match="x/ answered no list of objects"):
        list(source.list_rows("x/"))


@pytest.mark.parametrize("address", ["", "ftp://x/1.6", "not an address"])
def test_an_odd_address_is_refused(address):
    with pytest.raises(SourceError, match="is not an address like"):
        SourceServer(address, "key")


MAIN = {"id": "main"}
LISTS = {
    "programs/": [{"id": "main", "title": "<b>Main</b>", "currency": "EUR"}],
    "programs/main/commission-types/": [
        {
            "identifier": "default",
            "title": "Default",
            "type": "percentage",
            "commission_value": "10",
            "is_default": True,
        }
    ],
    "affiliates/": [
        {"id": "a-1", "firstname": "Ann", "lastname": "O", "email": None},
        {"id": "a-2", "firstname": "Bob", "lastname": "P", "email": "x@example.org"},
        {"id": "a-3", "firstname": "Cyd", "lastname": "Q", "email": "X@example.org"},
        {"id": "Ö 4", "firstname": 4, "meta_data": []},
    ],
    "conversions/": [
        {
            "id": 1,
            "amount": "100.00",
            "program": {"id": "main"},
            "affiliate": {"id": "a-1"},
            "created_at": "2025-05-01T10:00:00+00:00",
            "customer": None,
        },
        {
            "id": 2,
            "amount": "NaN",
            "program": {"id": "main"},
            "affiliate": {"id": "a-1"},
        },
        {"id": 3, "amount": 5, "program": {"id": "other"}, "affiliate": {"id": "a-1"}},
        {"id": 4, "amount": 5, "program": {"id": "main"}, "affiliate": {"id": "gone"}},
        {"id": 5, "amount": -5, "program": {"id": "main"}, "affiliate": {"id": "a-1"}},
    ],
    "commissions/": [
        {
            "id": 11,
            "conversion": {"id": 1},
            "affiliate": {"id": "a-1"},
            "amount": 10,
            "conversion_sub_amount": "100.00",
            "approved": True,
            "kind": "unheard_of",
            "commission_type": "vintage",
            "created_at": "2025-05-01T10:00:00",
        },
        {"id": 12, "conversion": {"id": 99}, "affiliate": {"id": "a-1"}, "amount": 1},
    ],
}


def test_stores_what_it_can_and_lists_the_rest(account):
    def handler(request):
        path = request.url.path.removeprefix("/1.6/")
        return answer_json(LISTS.get(path, []))

    moving = AccountImport(account, build_source(handler), CONVERSION_CREATED_AT)
    report = moving.run()
    problems = {(each["kind"], each["id"]): each for each in report.problems}
    assert {key: each["code"] for key, each in problems.items()} == {
        ("conversion", "2"): "invalid_amount",
        ("conversion", "3"): "unknown_program",
        ("conversion", "5"): "refused",
        ("commission", "12"): "unknown_conversion",
    }
    assert report.left_out == {"conversion": 3, "commission": 1}
    emails = account.affiliates.order_by("id").values_list("email", flat=True)
    assert [each for each in emails if each] == ["X@example.org"]
    assert account.affiliates.get(slug="gone").deleted_at == CONVERSION_CREATED_AT
    assert {(it["id"], it["code"]) for it in report.notes} == {
        ("a-2", "email_in_use"),
        ("Ö 4", "other_id"),
    }
    commission = account.commissions.get()
    assert (commission.status, commission.kind) == ("approved", "regular")
    assert (commission.commission_type, commission.rate) == ("vintage", 10)


def test_further_codes_of_an_enrollment_become_aliases(account):
    taken = {
        "programs/main/affiliates/": [
            {
                "affiliate": {"id": "a-2"},
                "referral_link": {"link": "https://shop.example/?ref=bob"},
                "referral_codes": ["ann", "ann-2019", "bob-2019"],
            },
            {
                "affiliate": {"id": "a-1"},
                "approved": True,
                "referral_link": {"link": "https://shop.example/?ref=ann"},
                "referral_codes": ["ann", "ann-2019", " old.ann ", "", "x" * 65, 7],
            },
        ]
    }

    def handler(request):
        path = request.url.path.removeprefix("/1.6/")
        return answer_json((LISTS | taken).get(path, []))

    moving = AccountImport(account, build_source(handler), CONVERSION_CREATED_AT)
    report = moving.run()
    rows = account.referral_code_aliases.order_by("code")
    assert list(rows.values_list("code", "enrollment__affiliate__slug")) == [
        ("7", "a-1"),
        ("ann-2019", "a-1"),
        ("bob-2019", "a-2"),
        ("old.ann", "a-1"),
    ]
    notes = [each for each in report.notes if each["path"] == "referral_codes"]
    assert [(it["id"], it["code"], it["value"][:8]) for it in notes] == [
        ("a-1", "invalid_code", "xxxxxxxx"),
        ("a-2", "code_in_use", "ann"),
        ("a-2", "code_in_use", "ann-2019"),
    ]


def test_a_code_counts_more_than_a_further_code_of_another(account, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    account.referral_code_aliases.create(enrollment=odette.enrollment, code="ann")
    imports = ImportMap(account, "old.example.net", CONVERSION_CREATED_AT)
    ann = scenario.create_enrolled_affiliate("Ann", "O").affiliate
    account.referral_codes.filter(enrollment__affiliate=ann).delete()
    account.coupons.filter(enrollment__affiliate=ann).delete()
    account.enrollments.filter(affiliate=ann).delete()
    imports.known["affiliate", "a-1"] = ann.pk
    body = {"id": "a-1", "referral_link": {"link": "https://shop.example/?ref=ann"}}

    import_enrollment(imports, body, scenario.program)

    assert account.referral_codes.get(code="ann").enrollment.affiliate == ann
    assert not account.referral_code_aliases.exists()


def test_names_no_person_in_messages_and_logs(captured_log):
    source = build_source(lambda _: httpx.Response(400))

    with pytest.raises(SourceError) as error:
        source.get("affiliates/hana-example/notes/")

    assert str(error.value) == "affiliates/*/notes/ answered 400"
    assert "hana" not in captured_log()
