"""Pages that import tables, in tests: files that are uploaded and stored."""

import csv
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

ADD = "admin:tracking_tableimport_add"
PEOPLE = "ID,E-mail,Name,Joined\nmina,mina@x.example,Mina Kessler,2026-03-04\n"


def url_of(row, name="change"):
    return reverse(f"admin:tracking_{row._meta.model_name}_{name}", args=[row.pk])


def read(response):
    assert response.status_code == 200
    text = re.sub(r"(?s)<script.*?</script>|<[^>]*>", " ", response.content.decode())
    return " ".join(text.split())


def list_cells(data):
    return list(csv.reader(data.decode("utf-8-sig").splitlines()))


def list_row(page):
    """The titles and cells of the first row."""
    (cells, *_) = page.context["rows"].cells
    return [f"{column.title} {cell}" for column, cell in cells]


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
        response = client.post(reverse(ADD), {"kind": kind, "system": system, "file": file})
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
    outcome = page.context["outcome"]
    return client.post(page.request["PATH_INFO"], {"outcome": outcome, button: "1"})


@pytest.fixture
def people(client, upload, choose):
    """Two affiliates."""
    rows = PEOPLE + "olga,olga@x.example,Olga Novak,2026-03-05\n"
    return store(client, choose(upload("affiliates", rows)))
