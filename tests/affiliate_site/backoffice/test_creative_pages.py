"""The pages of creatives: banners and texts of programs."""

from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = reverse("admin:tracking_creative_changelist")
ADD = reverse("admin:tracking_creative_add")


def make_upload(name="banner.png", content=None, *, size=(468, 60)):
    if content is None:
        file = BytesIO()
        Image.new("RGB", size, "red").save(file, format="PNG")
        content = file.getvalue()
    return SimpleUploadedFile(name, content)


def add(client, scenario, **values):
    """Send the form; return the messages and errors that are shown."""
    values = {"program": scenario.program.pk, "title": "Spring"} | values
    response = client.post(ADD, values, follow=True)
    assert response.status_code == 200
    errors = response.context.get("errors") or {}
    return [str(message) for message in response.context["messages"]] or dict(errors)


@pytest.fixture
def creatives_dir(settings, tmp_path):
    settings.CREATIVES_DIR = tmp_path / "creatives"
    return settings.CREATIVES_DIR


def list_files(directory):
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_adds_an_image(staff_client, scenario, account, creatives_dir, role):
    client = staff_client(role)
    assert 'enctype="multipart/form-data"' in client.get(ADD).content.decode()
    done = ["The creative Spring was added."]
    assert add(client, scenario, image=make_upload("banner.exe")) == done

    creative = account.creatives.get()
    assert (creative.width, creative.height) == (468, 60)
    assert list_files(creatives_dir) == [creative.file_name]
    url = f"/creatives/harbor/{creative.file_name}"
    for page in (LIST, reverse("admin:tracking_creative_change", args=[creative.pk])):
        assert f'<img src="{url}" alt="Spring"' in client.get(page).content.decode()
    assert Client().get(url).status_code == 200


def test_adds_a_text_and_archives_it(staff_client, scenario, account, creatives_dir):
    client = staff_client()
    add(client, scenario, text="Lamps <b>for all</b>")
    creative = account.creatives.get()
    page = client.get(reverse("admin:tracking_creative_change", args=[creative.pk]))
    assert "Lamps &lt;b&gt;for all&lt;/b&gt;" in page.content.decode()
    for name, is_archived in (("archive", True), ("unarchive", False)):
        client.post(reverse(f"admin:tracking_creative_{name}", args=[creative.pk]))
        assert bool(creative.reload().archived_at) is is_archived
    assert list_files(creatives_dir) == []


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        (
            "banner.png",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            "The image must be a PNG, JPEG, GIF or WebP; an SVG can hold scripts: export it as PNG",
        ),
        (
            "banner.png",
            b"<html><script>alert(1)</script>",
            "The image must be a PNG, JPEG, GIF or WebP that is not damaged",
        ),
        ("banner.png", bytes(2 * 1024 * 1024 + 1), "The image must be at most 2 MB"),
        ("banner.png", bytes(2_990_000), "The image must be at most 2 MB"),
        ("banner.png", b"", "The submitted file is empty."),
    ],
)
def test_refuses_other_files(staff_client, scenario, account, creatives_dir, name, content, error):
    shown = add(staff_client(), scenario, image=make_upload(name, content))
    assert shown["image"] == [error]
    assert account.creatives.count() == 0
    assert list_files(creatives_dir) == []


def test_answers_a_file_of_five_megabytes(staff_client, scenario, account):
    image = make_upload(content=bytes(5 * 1024 * 1024))
    client, headers = staff_client(), {"Accept": "text/html"}
    assert "2 MB or less" in client.get(ADD).content.decode()
    entries = {"title": "Spring", "image": image}
    response = client.post(ADD, entries, headers=headers)
    assert response.status_code == 413
    page = " ".join(response.content.decode().split())
    assert "The form and its file have more than 3 MB. Go back and choose a" in page
    assert account.creatives.count() == 0


def test_keeps_no_file_of_a_form_that_is_refused(staff_client, scenario, account, creatives_dir):
    shown = add(staff_client(), scenario, image=make_upload(), text="Lamps")
    assert shown["text"] == ["The creative must be an image or a text, not both"]
    assert list_files(creatives_dir) == []


def test_offers_no_other_programs(staff_client, scenario, account, other_account):
    scenario.program.update_row(archived_at=timezone.now())
    shown = add(staff_client(), scenario, text="Lamps")
    assert list(shown) == ["program"]


def test_announces_it_by_mail(staff_client, scenario, account, settings):
    client = staff_client()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.EMAIL_HOST = "mail.example.net"
    assert "announce" not in client.get(ADD).context["adminform"].form.fields
    update_portal_settings(account, changes={"is_on": True}, at=timezone.now())

    add(client, scenario, text="Lamps", announce="on")

    mail = account.mails.get()
    assert mail.recipient == scenario.mina.affiliate.email
    assert "/partners/harbor/creatives/" in mail.text
