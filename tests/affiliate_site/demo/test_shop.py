"""The demo shop for the browser script."""

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site.demo import loading
from affiliate_site.demo.history import DemoHistory


@pytest.fixture
def demo_account(db, monkeypatch):
    """The demo account with its programs and affiliates only."""

    def create_first_day(account, *, scale, at, progress):
        DemoHistory(account, scale=scale, first_day=at.date()).set_up_account()

    monkeypatch.setattr(loading, "create_history", create_first_day)
    return loading.create_demo_account(scale=1, at=timezone.now(), progress=iter)


def test_renders_shop_with_affiliate_link_if_demo_is_on(demo_account, settings):
    assert Client().get("/demo/").status_code == 404

    settings.DEMO = True
    response = Client().get("/demo/")

    code = loading.get_first_referral_code(demo_account)
    assert response.status_code == 200
    assert f'href="/demo/?ref={code}&amp;tm_subid1=spring"' in response.content.decode()
    assert 'data-account="demo"' in response.content.decode()


def test_not_found_without_demo_account(db, settings):
    settings.DEMO = True

    assert Client().get("/demo/").status_code == 404


def test_rejects_other_methods(db):
    response = Client().post("/demo/")

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
