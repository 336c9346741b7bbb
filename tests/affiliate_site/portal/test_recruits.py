"""“Tell others”: the recruiting link, recruits, and what their sales earn."""

import pytest
from django.conf import settings
from django.utils import timezone

from tests.affiliate_site.portal.test_pages import earn, get_page
from tests.affiliate_site.portal.test_question_pages import read_main
from tests.program_scenario import ProgramScenario, mark_deleted
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def recruits(scenario):
    """Nils with a sale, Eve without, and Olaf, who was removed."""
    scenario.create_level(2, "1")
    found = [
        scenario.create_enrolled_affiliate(name, "Zz-Berg") for name in ("Nils", "Eve", "Olaf")
    ]
    for each in found:
        scenario.add_child(each, scenario.mina)
    earn(scenario, "200", affiliate=found[0], external_id="zz-order", approve=False)
    mark_deleted(found[2].affiliate)
    scenario.create_enrolled_affiliate("Stranger", "Zz-Berg")
    return found


def test_shows_the_link_the_recruits_and_the_sums(mina, account, portal, recruits):
    response = mina.get(f"{portal}recruits/")
    assert read_main(response) == (
        "Tell others Your link for new affiliates Send it to people who may want to"
        " take part. If they apply by this link, you earn from their sales, too. Link"
        " Copy You earn from the sales of your recruits Of all time, with what waits for"
        " approval. Level 1: recruited by you 2.00 EUR Your recruits First"
        " name Eve Nils Download all of them as CSV"
    )
    link = f"{settings.PUBLIC_URL}/partners/{account.slug}/apply/?by=minakessler"
    assert f'value="{link}"' in response.content.decode()


def test_names_the_programs_where_recruits_earn(mina, account, portal, scenario):
    scenario.create_level(2, "1")
    other = ProgramScenario(account, slug="other", email="b@example.org", title="Two")
    text = f"If they apply to {scenario.program.title} by this link, you earn from"
    assert text in read_main(mina.get(f"{portal}recruits/"))
    other.program.update_row(archived_at=timezone.now())
    assert "If they apply by this link" in read_main(mina.get(f"{portal}recruits/"))


def test_shows_their_sales_if_the_account_allows(mina, account, portal, recruits):
    changes = {"shows_recruit_sales": True}
    update_portal_settings(account, changes=changes, at=timezone.now())
    page = read_main(mina.get(f"{portal}recruits/"))
    assert "First name Sales of all time Eve 0 sales Nils 1 sale" in page
    assert "zz" not in page.casefold()


def test_names_the_levels(mina, portal, scenario, recruits):
    scenario.create_level(3, "2")
    scenario.create_level(4, "5")
    above = recruits[0]
    for name in ("Ada", "Bo"):
        below = scenario.create_enrolled_affiliate(name, "Zz-Berg")
        scenario.add_child(below, above)
        earn(scenario, "100", affiliate=below, approve=False)
        above = below
    recruits[1].affiliate.update_row(firstname="")
    page = read_main(mina.get(f"{portal}recruits/"))
    assert (
        "Level 1: recruited by you 2.00 EUR"
        " Level 2: recruited by your recruits 2.00 EUR"
        " Level 3: recruited by affiliates of level 2 5.00 EUR Your recruits"
    ) in page
    assert "First name without a name Nils" in page


def test_says_what_is_missing_at_first(mina, portal, scenario):
    scenario.create_level(2, "1")
    page = read_main(mina.get(f"{portal}recruits/"))
    assert "Nothing yet. Your recruits Nobody has applied by your link yet." in page


def test_needs_a_plan_with_levels(mina, account, portal):
    assert "Tell others" in get_page(mina, portal)
    account.plan.mlm = False
    account.plan.save()
    get_page(mina, f"{portal}recruits/", status=404)
    assert "Tell others" not in get_page(mina, portal)


def test_takes_few_statements(mina, portal, recruits, capture_queries):
    with capture_queries() as captured:
        mina.get(f"{portal}recruits/")
    assert len(captured) <= 12


def test_promises_nothing_where_recruits_earn_nothing(mina, portal):
    page = read_main(mina.get(f"{portal}recruits/"))
    assert "who may want to take part. Link" in page
    assert "earn" not in page
