"""Who finds a program: everybody, who has its link, or who is invited."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.errors import InvalidSetting
from payouts.services.programs import delete_group
from tests.affiliate_site.portal.test_applications import ENTRIES, get_path, read
from tests.factories.tracking import ProgramFactory
from tracking.errors import InvitationEnded, ProgramClosed
from tracking.models.programs import Visibility
from tracking.services.hierarchy import create_group
from tracking.services.portal_applications import ApplicationData, apply_for_program
from tracking.services.portal_applications import send_application as send
from tracking.services.portal_settings import update_portal_settings
from tracking.services.program_invitations import create_invitation, end_invitation

pytestmark = pytest.mark.usefixtures("shared_scenario")

ENDED = "This invitation has ended. Ask for another one."


@pytest.fixture
def portal(portal, account):
    update_portal_settings(account, changes={"is_open": True}, at=timezone.now())
    return portal


@pytest.fixture
def club(account):
    """A private program beside the public one of the scenario."""
    return ProgramFactory(account=account, slug="club", title="Club", visibility=Visibility.PRIVATE)


def invite(account, program, **values):
    return create_invitation(
        account, program=program, title="Spring fair", at=timezone.now(), **values
    )


def build_url(portal, invitation):
    return f"{portal}apply/?invitation={invitation.public_id}"


def join(account, url, **entries):
    """Apply by a link and confirm; returns the last answer."""
    client, entries = Client(), ENTRIES | {"program": "club"} | entries
    assert client.post(url, entries).status_code == 200
    return client.post(get_path(account))


@pytest.mark.parametrize(
    ("visibility", "is_listed", "has_page"),
    [("public", True, True), ("unlisted", False, True), ("private", False, False)],
)
def test_shows_strangers_what_they_may_see(account, portal, club, visibility, is_listed, has_page):
    club.update_row(visibility=visibility)
    client = Client()

    for url in (portal, f"{portal}apply/"):
        assert ("Club" in read(client.get(url))) == is_listed
    assert client.get(f"{portal}club/").status_code == (200 if has_page else 404)
    page = client.get(f"{portal}apply/?program=club")
    assert ("Apply for Club" in page.content.decode()) == has_page
    page = client.post(f"{portal}apply/", ENTRIES | {"program": "club"})
    assert account.portal_applications.exists() == has_page


def test_affiliates_see_their_own_private_program(mina, account, portal, club, scenario):
    apply = {"program_slug": "club", "terms_version": None, "at": timezone.now()}
    affiliate = scenario.mina.affiliate
    assert mina.get(f"{portal}club/").status_code == 404
    for page in ("apply", "links", "recruits"):
        assert "Club" not in read(mina.get(f"{portal}{page}/")), page
    with pytest.raises(ProgramClosed):
        apply_for_program(affiliate, **apply)

    invitation = invite(account, club)
    mina.post(build_url(portal, invitation), {"program": "club"})

    assert account.enrollments.filter(affiliate=affiliate, program=club).exists()
    assert "Club" in mina.get(f"{portal}club/").content.decode()
    assert account.program_invitations.get().uses == 1


def test_an_invitation_brings_group_and_parent(account, portal, club, scenario):
    group = create_group(account, title="Partners", at=timezone.now())
    parent = scenario.mina.affiliate
    invitation = invite(account, club, group=group, parent=parent)
    url = build_url(portal, invitation)
    assert "Apply for Club" in Client().get(url).content.decode()

    assert join(account, url).status_code == 302

    affiliate = account.affiliates.get(email=ENTRIES["email"])
    assert (affiliate.group, affiliate.parent) == (group, parent)
    assert account.enrollments.get(affiliate=affiliate).program == club
    assert account.program_invitations.get().uses == 1


def test_affiliates_keep_their_group_and_parent(mina, account, portal, club, scenario):
    gold, other = (create_group(account, title=it, at=timezone.now()) for it in ("Gold", "Other"))
    affiliate, odette = scenario.mina.affiliate, scenario.create_enrolled_affiliate("Odette", "V")
    affiliate.update_row(group=gold, parent=odette.affiliate)
    invitation = invite(account, club, group=other, parent=affiliate)

    mina.post(build_url(portal, invitation), {"program": "club"})

    affiliate.refresh_from_db()
    assert (affiliate.group, affiliate.parent) == (gold, odette.affiliate)
    assert account.enrollments.filter(affiliate=affiliate, program=club).exists()


def test_as_many_join_as_may(account, portal, club):
    url = build_url(portal, invite(account, club, max_uses=1))
    entries = ENTRIES | {"program": "club", "email": "late@weld.example.org"}
    late = Client()
    late.post(url, entries)
    path = get_path(account)

    assert join(account, url).status_code == 302
    assert ENDED in read(late.post(path))
    assert not account.affiliates.filter(email=entries["email"]).exists()
    page = Client().get(url)
    assert (page.status_code, read(page)) == (404, f"Apply {ENDED} Overview")


def test_ends_on_its_day_and_by_staff(account, portal, club, time_machine):
    time_machine.move_to(datetime(2026, 3, 4, 12, tzinfo=UTC), tick=False)
    today = account.get_day(timezone.now())
    invitation = invite(account, club, last_day=today)
    ended = invite(account, club)
    end_invitation(account, pk=ended.pk, at=timezone.now())
    client = Client()

    assert client.get(build_url(portal, invitation)).status_code == 200
    assert client.get(build_url(portal, ended)).status_code == 404
    time_machine.move_to(datetime(2026, 3, 5, 12, tzinfo=UTC), tick=False)
    assert read(client.get(build_url(portal, invitation))) == f"Apply {ENDED} Overview"


def test_stays_when_its_group_is_deleted(account, portal, club):
    group = create_group(account, title="Partners", at=timezone.now())
    invitation = invite(account, club, group=group)
    delete_group(account, group_id=group.public_id, at=timezone.now())

    assert join(account, build_url(portal, invitation)).status_code == 302
    assert account.affiliates.get(email=ENTRIES["email"]).group is None


def test_is_for_its_program_and_account_only(account, other_account, portal, club, scenario):
    other = ProgramFactory(account=account, slug="den", visibility=Visibility.PRIVATE)
    foreign = invite(other_account, ProgramFactory(account=other_account))
    data = ApplicationData("nora@weld.example.org", "Nora", "Weld")
    values = {"data": data, "language": "en", "terms_version": None, "at": timezone.now()}

    for program, invitation, error in (
        ("den", invite(account, club), ProgramClosed),
        (scenario.program.slug, invite(account, club), ProgramClosed),  # a public one
        ("club", foreign, InvitationEnded),
    ):
        with pytest.raises(error):
            send(account, program_slug=program, invitation_id=invitation.public_id, **values)
    assert not account.portal_applications.exists()
    assert other.visibility == "private"


@pytest.mark.parametrize(
    ("values", "path"),
    [({"max_uses": 0}, "max_uses"), ({"last_day": -1}, "last_day"), ({"title": " "}, "title")],
)
def test_refuses_what_nobody_could_use(account, club, values, path):
    at = timezone.now()
    if "last_day" in values:
        values = {"last_day": account.get_day(at) + timedelta(days=values["last_day"])}
    with pytest.raises(InvalidSetting) as error:
        create_invitation(account, program=club, at=at, **({"title": "Fair"} | values))
    assert error.value.path == path
