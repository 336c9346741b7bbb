"""The file of an account that was filled and exported in another installation."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest
from django.test import override_settings
from PIL import Image

from accounts.models.accounts import Account
from affiliate_site.moving.account_export import export_account
from affiliate_site.moving.account_files import AccountFileReader
from affiliate_site.moving.account_import import import_account_file
from payouts.services.explanation import explain_conversion
from tests.conftest import create_account
from tests.moving_account import (
    fill_account,
    read_balances,
    read_lists,
    rolled_back,
)


@dataclass
class Moved:
    """The file, and what the account answered where it was written."""

    folder: Path
    file: Path
    key: str
    lists: dict
    balances: dict
    explanations: dict
    names: list = field(default_factory=list)  # of images


@pytest.fixture(scope="module")
def moved(shared_rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("moved")
    image = BytesIO()
    Image.new("RGB", (8, 4), "red").save(image, format="PNG")
    with rolled_back(), override_settings(CREATIVES_DIR=folder / "source"):
        account = create_account()
        key = fill_account(account, image=image.getvalue())
        account.mails.update(due_at=None)  # mail that waits is not moved
        write(account, folder / "account.jsonl")
        return Moved(
            folder,
            folder / "account.jsonl",
            key,
            read_lists(key),
            read_balances(account),
            explain_all(account),
            [each.name for each in (folder / "source" / "harbor").iterdir()],
        )


@pytest.fixture(autouse=True)
def creatives(settings, tmp_path):
    settings.CREATIVES_DIR = tmp_path / "creatives"
    return settings.CREATIVES_DIR


def write(account, path):
    return export_account(account, path, on_rows=lambda number: None)


def read(path, slug="harbor", *, is_dry_run=False):
    """Import a file; return the account, or what a dry run found."""
    result = import_account_file(
        slug, AccountFileReader(path), is_dry_run=is_dry_run, on_rows=lambda _: None
    )
    return result if is_dry_run else Account.objects.get(slug=slug)


def explain_all(account):
    """Explain and verify each conversion."""
    found = {}
    for pk in account.conversions.order_by("pk").values_list("pk", flat=True):
        explanation = explain_conversion(account, conversion_id=pk)
        assert explanation.differences == []
        found[pk] = vars(explanation)
    return found
