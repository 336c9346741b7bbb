"""The statements of all affiliates of a payout run in a ZIP file."""

from io import BytesIO
from threading import local
from unittest.mock import Mock
from zipfile import ZipFile

import pytest
from django.urls import reverse

from affiliate_site import pdf, statement_files
from tests.latin_fonts import use_latin_fonts
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAYS = {"start": "2026-01-01", "end": "2026-12-31"}
NAMES = ["statement-minakessler-2026-01-01-to-2026-12-31"]
NAMES += [NAMES[0].replace("minakessler", "nilsberg")]


@pytest.fixture
def run(scenario):
    scenario.create_enrolled_affiliate("Nils", "Berg")
    scenario.create_enrolled_affiliate("Odette", "Varga")
    return create_run(
        scenario.account,
        Paid("20"),
        Paid("30", slug="nilsberg"),
        Paid("5", "USD", slug="nilsberg"),
        state="confirmed",
    )


def get_url(run):
    return reverse("admin:run_statements", args=[run.pk])


def download(client, run, file_format):
    response = client.get(get_url(run), DAYS | {"format": file_format})
    archive = ZipFile(BytesIO(b"".join(response.streaming_content)))
    assert archive.testzip() is None
    return archive, response


def test_downloads_a_statement_of_each_affiliate(staff_client, run):
    archive, response = download(staff_client("viewer"), run, "csv")

    assert sorted(archive.namelist()) == [f"{name}.csv" for name in NAMES]
    text = archive.read(f"{NAMES[1]}.csv").decode()
    assert all(f'-{amount},"' in text for amount in ("30", "5"))
    assert "-20" not in text
    assert response.headers["X-File-Count"] == "2"
    assert response.headers["Content-Disposition"] == (
        f'attachment; filename="statements-{run}-2026-01-01-to-2026-12-31.zip"'
    )


def test_says_in_the_file_what_cannot_be_printed(staff_client, run, monkeypatch):
    use_latin_fonts(monkeypatch)
    run.account.affiliates.filter(slug="nilsberg").update(lastname="李")
    archive, _ = download(staff_client(), run, "pdf")
    names = [f"{NAMES[0]}.pdf", f"{NAMES[1]}.pdf.txt"]
    assert sorted(archive.namelist()) == names
    assert "prints 李. An operator" in archive.read(names[1]).decode()


def test_offers_pdf_first_where_it_can_be_made(staff_client, run, monkeypatch):
    client = staff_client()
    page = client.get(get_url(run)).content.decode()
    assert page.index(">PDF<") < page.index(">CSV<")
    archive, _ = download(client, run, "pdf")
    assert archive.read(f"{NAMES[0]}.pdf").startswith(b"%PDF-")
    monkeypatch.setattr(statement_files, "find_weasyprint", lambda: None)

    page = client.get(get_url(run), DAYS | {"format": "pdf"}).content.decode()

    assert ">PDF<" not in page
    assert "pdf is not one of the available choices" in page


def test_loads_the_fonts_once(staff_client, run, monkeypatch):
    fonts = pdf.find_weasyprint().text.fonts
    load = Mock(wraps=fonts.FontConfiguration)
    monkeypatch.setattr(fonts, "FontConfiguration", load)
    monkeypatch.setattr(pdf, "thread", local())

    archive, _ = download(staff_client(), run, "pdf")

    assert len(archive.namelist()) == 2
    assert load.call_count == 1


def test_sends_each_statement_when_it_is_made(staff_client, run, capture_queries):
    response = staff_client().get(get_url(run), DAYS | {"format": "csv"})
    chunks = iter(response.streaming_content)
    next(chunks)

    with capture_queries() as captured:
        next(chunks)

    assert 0 < len(captured) <= 8  # of one statement
    list(chunks)  # so that no query stays open


def test_leads_to_the_statements_of_a_confirmed_run(staff_client, run):
    url = reverse("admin:payouts_payoutrun_change", args=[run.pk])

    assert get_url(run) in staff_client("viewer").get(url).content.decode()


def test_has_nothing_of_drafts_and_of_another_account(staff_client, scenario, other_account, run):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    theirs = create_run(other_account, Paid("7", slug=other.mina.slug))
    client = staff_client()
    assert client.get(get_url(theirs), DAYS | {"format": "csv"}).status_code == 404

    scenario.account.payout_runs.filter(pk=run.pk).update(confirmed_at=None)

    assert client.get(get_url(run)).status_code == 404
