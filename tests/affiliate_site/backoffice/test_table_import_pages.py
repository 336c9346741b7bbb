"""Pages that import tables: upload, columns, check, import, undo."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.models.api_keys import Role
from affiliate_site.backoffice.imports import upload_page
from tests.ledger_checks import assert_ledger_consistent
from tracking.models.imports import TableImport

ADD = "admin:tracking_tableimport_add"
LIST = "admin:tracking_tableimport_changelist"
PEOPLE = "ID,E-mail,Name,Joined\nmina,mina@x.example,Mina Kessler,2026-03-04\n"


def url_of(row, name="change"):
    return reverse(f"admin:tracking_{row._meta.model_name}_{name}", args=[row.pk])


def read(response):
    assert response.status_code == 200
    text = re.sub(r"(?s)<script.*?</script>|<[^>]*>", " ", response.content.decode())
    return " ".join(text.split())


def get_entries(client, url):
    """The fields of a page as a browser would send them back."""
    form = client.get(url).context["form"]
    return {it.name: it.value() for it in form if it.value()}


@pytest.fixture
def client(staff_client):
    return staff_client()


@pytest.fixture
def upload(client, account):
    """A function that uploads a table."""

    def send(kind, data, *, system="", name="table.csv"):
        content = data.encode() if isinstance(data, str) else data
        file = SimpleUploadedFile(name, content)
        response = client.post(
            reverse(ADD), {"kind": kind, "system": system, "file": file}
        )
        assert response.status_code == 302, response.context["form"].errors
        found = account.table_uploads.latest("pk")
        assert response.url == url_of(found, "columns")
        return found

    return send


@pytest.fixture
def choose(client):
    """A function that saves the columns of an upload."""

    def send(found, **entries):
        url = url_of(found, "columns")
        response = client.post(url, get_entries(client, url) | entries)
        assert response.status_code == 302, response.context["form"].errors
        return client.get(response.url)

    return send


def store(client, page, button="_save"):
    """Press a button of the page with the rows."""
    outcome = page.context["form"]["outcome"].value()
    return client.post(page.request["PATH_INFO"], {"outcome": outcome, button: "1"})


def test_imports_a_table(client, account, upload, choose):
    found = upload("affiliates", PEOPLE)
    page = choose(found)
    assert "Import all 1 row" in read(page)
    response = store(client, page)
    stored = TableImport.objects.get()
    assert response.url == url_of(stored)
    assert account.affiliates.get().email == "mina@x.example"
    assert "The rows were imported: 1 new." in read(client.get(response.url))
    found = found.reload()
    assert (found.content, found.table_import) == ("", stored)
    assert "Mina" not in read(client.get(reverse(LIST)))
