"""Contract 2.8: visits recorded, and what of them is kept."""

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    EnrolmentFactory,
)
from tracking.attribution import Clues
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    InvalidAssetOrSource,
    NoClue,
    ProgramArchived,
    UnknownReferralCode,
)
from tracking.services.clicks import Visit, first_address, record_click, web_address
from tracking.services.programs import archive


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    return EnrolmentFactory(
        account=account, program=program, affiliate=affiliate, code="qv7kd2p"
    )


def pair_of(program, affiliate):
    """The asset of the one with the source of the other."""
    account = program.account
    return {
        "asset_id": str(account.assets.get(program=program)),
        "source_id": str(account.sources.get(affiliate=affiliate)),
    }


def clicked(account, clues=None, **visit):
    clues = {"referral_code": "qv7kd2p"} if clues is None else clues
    return record_click(account, visit=Visit(clues=Clues(**clues), **visit), at=NOW)


ADDRESSES = [
    ("https://shop.example.net/?ref=qv7kd2p", True),
    ("http://shop.example.net", True),
    ("HTTPS://Shop.Example.NET/Lamps", True),
    ("https://shop.example.net:8443/a?b=c&d=%20#e", True),
    ("https://müller.example/lämp", True),
    ("https://[2001:db8::1]/", True),
    (None, False),
    ("", False),
    (" ", False),
    ("shop.example.net", False),
    ("/lamps", False),
    ("//shop.example.net/lamps", False),
    ("ftp://shop.example.net/", False),
    ("javascript:alert(1)", False),
    ("data:text/html,https://shop.example.net", False),
    ("android-app://com.example", False),
    ("https://", False),
    ("https:///lamps", False),
    ("https:shop.example.net", False),
    ("http://[", False),
    ("http://[nonsense]/", False),
    ("x" * 3000, False),
]


@pytest.mark.parametrize(
    ("sent", "kept"), ADDRESSES, ids=[ascii(it[0])[:40] for it in ADDRESSES]
)
def test_keeps_absolute_web_addresses_alone(sent, kept):
    assert web_address(sent) == (sent if kept else None)


@pytest.mark.parametrize("length", [2048, 2049, 9000])
def test_cuts_an_address_at_2048_characters(length):
    sent = "https://shop.example.net/🛶".ljust(length, "x")

    assert web_address(sent) == sent[:2048]


FORWARDED = [
    (None, None),
    ("", None),
    (" , ,", None),
    ("203.0.113.7", "203.0.113.7"),
    (" 203.0.113.7 ", "203.0.113.7"),
    ("203.0.113.7, 198.51.100.2", "203.0.113.7"),
    ("unknown, 198.51.100.2,203.0.113.7", "198.51.100.2"),
    ("203.0.113.700, 198.51.100.2", "198.51.100.2"),
    ("2001:DB8::1", "2001:db8::1"),
    ("2001:0db8:0000::0001, 203.0.113.7", "2001:db8::1"),
    ("203.0.113", None),
    ("3405803783", None),
    ("localhost", None),
]


@pytest.mark.parametrize(("sent", "kept"), FORWARDED, ids=repr)
def test_keeps_the_first_valid_address_of_a_list(sent, kept):
    assert first_address(sent) == kept


def test_keeps_a_visit(account, odette):
    click = clicked(
        account,
        referrer="https://notes.example.org/lamps",
        landing_page="https://shop.example.net/?ref=qv7kd2p",
        user_agent=" agent ",
        ip="unknown, 203.0.113.7",
        meta_data={"subid1": "newsletter-12"},
    ).again()

    assert click.enrolment == odette
    assert (click.program, click.affiliate) == (odette.program, odette.affiliate)
    assert click.referrer == "https://notes.example.org/lamps"
    assert click.landing_page == "https://shop.example.net/?ref=qv7kd2p"
    assert click.user_agent == " agent "
    assert click.ip == "203.0.113.7"
    assert click.meta_data == {"subid1": "newsletter-12"}
    assert click.created_at == NOW


@pytest.mark.parametrize(
    "ip", ["fe80::1%eth0", "::ffff:203.0.113.7", "::", "240.0.0.1"], ids=str
)
def test_never_fails_for_an_address(account, odette, ip):
    assert clicked(account, ip=ip).again().enrolment == odette


def test_keeps_nothing_where_nothing_or_nonsense_was_sent(account, odette):
    click = clicked(account, referrer="notes", landing_page="/", ip="nowhere").again()

    assert (click.referrer, click.landing_page, click.ip) == (None, None, None)
    assert (click.user_agent, click.meta_data) == (None, {})


def test_makes_a_new_click_of_every_visit(account, odette):
    first, second = clicked(account), clicked(account)

    assert first.public_id != second.public_id
    assert account.clicks.count() == 2


def test_orders_the_ids_of_clicks_by_time(account, odette):
    ids = [str(clicked(account)) for _ in range(5)]

    assert [it[:8] for it in ids] == sorted(it[:8] for it in ids)
    assert {it[14] for it in ids} == {"7"}


def test_takes_an_asset_with_a_source(account, odette):
    clues = pair_of(odette.program, odette.affiliate)

    assert clicked(account, clues).enrolment == odette


def test_prefers_the_referral_code(account, odette):
    rival = EnrolmentFactory(account=account)
    clues = pair_of(rival.program, rival.affiliate) | {"referral_code": "qv7kd2p"}

    assert clicked(account, clues).enrolment == odette


@pytest.mark.parametrize(
    "clues",
    [
        {},
        {"referral_code": ""},
        {"referral_code": " "},
        {"asset_id": "1-000000"},
        {"source_id": "1-000000"},
        {"asset_id": "", "source_id": "1-000000"},
        {"asset_id": "1-000000", "source_id": ""},
        {"coupon": "ODETTE10"},
        {"click_id": "5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"},
    ],
    ids=[
        "nothing",
        "empty-code",
        "blank-code",
        "asset-alone",
        "source-alone",
        "blank-asset",
        "blank-source",
        "coupon",
        "click",
    ],
)
def test_misses_a_link(account, odette, clues):
    with pytest.raises(NoClue) as refusal:
        clicked(account, clues)

    assert str(refusal.value) == "Missing mandatory parameter(s)"


@pytest.mark.parametrize("code", ["unknown", "QV7KD2P", "qv7kd2"])
def test_refuses_an_unknown_code(account, odette, code):
    with pytest.raises(UnknownReferralCode):
        clicked(account, {"referral_code": code})


def test_refuses_a_code_of_another_account(account, other_account, odette):
    EnrolmentFactory(account=other_account, code="foreign")

    with pytest.raises(UnknownReferralCode):
        clicked(account, {"referral_code": "foreign"})


def test_refuses_an_unknown_pair(account, odette):
    clues = pair_of(odette.program, odette.affiliate)

    for half in clues:
        with pytest.raises(InvalidAssetOrSource):
            clicked(account, clues | {half: "999999-000000"})


def test_refuses_an_affiliate_that_never_joined_the_program(account, odette):
    elsewhere = EnrolmentFactory(account=account)

    with pytest.raises(AffiliateNotApproved):
        clicked(account, pair_of(odette.program, elsewhere.affiliate))


@pytest.mark.parametrize("way", ["code", "pair"])
def test_refuses_in_the_order_deleted_not_approved_archived(account, odette, way):
    clues = {"referral_code": "qv7kd2p"}
    if way == "pair":
        clues = pair_of(odette.program, odette.affiliate)
    archive(account, slug=odette.program.slug, at=NOW)

    with pytest.raises(ProgramArchived):
        clicked(account, clues)
    odette.change(approved=False)
    with pytest.raises(AffiliateNotApproved):
        clicked(account, clues)
    odette.affiliate.change(removed_at=NOW)
    with pytest.raises(AffiliateDeleted):
        clicked(account, clues)
    assert account.clicks.count() == 0
