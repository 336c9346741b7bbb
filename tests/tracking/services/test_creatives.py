"""Creatives: added, archived, and announced to those who may use them."""

import pytest

from accounts.errors import InvalidSetting
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.errors import ArchivedProgramReadOnly, CreativeNotFound, ProgramNotFound
from tracking.services.creatives import (
    StoredImage,
    archive_creative,
    create_creative,
    unarchive_creative,
)

IMAGE = StoredImage("a.png", "image/png", 468, 60)
URL = "https://aff.example.net/partners/harbor/creatives/"


@pytest.fixture
def scenario(account):
    return ProgramScenario(account)


def add(scenario, **values):
    values = {"program_id": scenario.program.slug, "title": "Spring"} | values
    return create_creative(scenario.account, **values, at=NOW)


def test_adds_an_image_and_a_text(account, scenario):
    image, text = add(scenario, image=IMAGE), add(scenario, text=" Lamps\n")

    assert (image.kind, image.width, image.height) == ("image", 468, 60)
    assert (text.kind, text.text, text.file_name) == ("text", "Lamps", "")
    kinds = account.audit_log.filter(kind="creative.created")
    assert [entry.subject for entry in kinds.order_by("id")] == [
        f"creative:{image.pk}",
        f"creative:{text.pk}",
    ]
    assert account.mails.count() == 0


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"text": " "},
        {"text": "Lamps", "image": IMAGE},
        {"text": "x" * 2001},
        {"text": "Lamps", "title": ""},
        {"text": "Lamps", "title": "x" * 256},
    ],
)
def test_refuses_what_is_neither_or_too_long(account, scenario, values):
    with pytest.raises(InvalidSetting):
        add(scenario, **values)
    assert account.creatives.count() == 0


def test_refuses_archived_and_unknown_programs(scenario):
    with pytest.raises(ProgramNotFound):
        add(scenario, text="Lamps", program_id="other")
    scenario.program.update_row(archived_at=NOW)
    with pytest.raises(ArchivedProgramReadOnly):
        add(scenario, text="Lamps")


def test_archives_and_unarchives(account, other_account, scenario):
    creative = add(scenario, text="Lamps")
    for _ in range(2):
        archive_creative(account, creative_id=creative.pk, at=NOW)
        assert creative.reload().archived_at == NOW
    for _ in range(2):
        unarchive_creative(account, creative_id=creative.pk, at=NOW)
        assert creative.reload().archived_at is None
    assert account.audit_log.filter(kind__contains="archived").count() == 2
    for change in (archive_creative, unarchive_creative):
        with pytest.raises(CreativeNotFound):
            change(other_account, creative_id=creative.pk, at=NOW)


def test_announces_it_to_approved_affiliates_with_an_address(account, scenario, capture_queries):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", email="o@example.org")
    odette.affiliate.update_row(language="de")
    for approved in (None, False):
        email = f"{approved}@example.org"
        scenario.create_enrolled_affiliate("Pia", "L", email=email, approved=approved)
    scenario.create_enrolled_affiliate("No", "Address")
    gone = scenario.create_enrolled_affiliate("Gone", "Away", email="g@example.org")
    gone.affiliate.update_row(deleted_at=NOW)

    with capture_queries() as captured:
        add(scenario, text="Lamps", announced_url=URL)

    mails = list(account.mails.order_by("id"))
    assert [mail.recipient for mail in mails] == [
        "mina@notes.example.org",
        "o@example.org",
    ]
    mail = mails[0]
    assert (mail.kind, mail.due_at) == ("creative", NOW)
    assert mail.affiliate == scenario.mina.affiliate
    assert mail.subject == f"New from {account.name}: Spring"
    assert mail.text == (
        f"Hello Mina,\n\n{account.name} has something new for Harbor Lamp Partners:"
        f" Spring\n\nYou find it here, with your link in it:\n{URL}\n"
    )
    assert len(captured) == 7
