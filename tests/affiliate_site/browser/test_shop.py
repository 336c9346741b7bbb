"""The shop to try the browser script with."""

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site import demo


@pytest.fixture
def lamps(db):
    return demo.make(scale=1, at=timezone.now(), progress=iter)


def test_sells_a_lamp_by_the_link_of_an_affiliate(lamps, settings):
    settings.DEMO = True

    answer = Client().get("/demo/")

    code = demo.first_code(lamps)
    assert answer.status_code == 200
    assert f'href="/demo/?ref={code}&amp;tm_subid1=spring"' in answer.content.decode()
    assert 'data-account="demo"' in answer.content.decode()


def test_is_not_there_unless_it_is_asked_for(lamps):
    assert Client().get("/demo/").status_code == 404


def test_is_not_there_without_the_demo_account(db, settings):
    settings.DEMO = True

    assert Client().get("/demo/").status_code == 404


def test_takes_no_other_method(db):
    answer = Client().post("/demo/")

    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
