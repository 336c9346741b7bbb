"""“A sale is missing” and questions to the company, as affiliates see them."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.services.staff import create_staff_user
from payouts.services.conversion_updates import delete_conversion
from tests.affiliate_site.portal.test_pages import earn, get_page
from tests.program_scenario import ProgramScenario
from tracking.errors import TooManyQuestions
from tracking.services.portal_links import create_view_link
from tracking.services.questions import (
    MAX_OPEN_QUESTIONS,
    QuestionData,
    answer_question,
    ask_question,
    close_question,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOTHING = (
    "The shop has reported no sale with this order ID that your links or coupons took part in."
)
DAY = "2026-03-04"


def read_main(response):
    text = re.search(r"<main.*</main>", response.content.decode(), re.DOTALL)[0]
    text = re.sub(r"<input type=\"hidden\" name=\"csrf[^>]*>", "", text)
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def look_up(client, portal, order_id, day=DAY):
    response = client.get(f"{portal}missing/", {"order_id": order_id, "day": day})
    return response


def test_asks_for_the_order(mina, portal):
    assert read_main(mina.get(f"{portal}missing/")) == (
        "A sale is missing A customer bought, but you see no sale? Enter the order to"
        " see why. Order ID As the shop wrote it to the customer. Day of"
        " the order Look it up"
    )


def test_answers_with_a_link_to_an_own_sale(mina, portal, scenario):
    sale = earn(scenario, external_id="ab7788")
    response = look_up(mina, portal, "ab7788")
    assert read_main(response) == (
        "A sale is missing Order ab7788 The shop reported this sale, and it is yours."
        " See this sale Your question Ask the company Look for another order"
        " Order ID As the shop wrote it to the customer. Day of the order Look it up"
    )
    assert f'href="{portal}sales/{sale.pk}/"' in response.content.decode()


def test_sales_of_others_and_unknown_ones_do_not_differ(
    mina, account, portal, scenario, other_account
):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    earn(scenario, affiliate=nils, external_id="others")
    removed = earn(scenario, affiliate=nils, external_id="removed", approve=False)
    at = timezone.now()
    delete_conversion(account, conversion_id=removed.pk, at=at)
    foreign = ProgramScenario(other_account, prefix="far-")
    foreign.create_conversion("10", external_id="foreign", at=at)
    pages = {
        read_main(look_up(mina, portal, order_id)).replace(order_id, "ID")
        for order_id in ("others", "removed", "foreign", "unknown")
    }
    (page,) = pages
    assert NOTHING in page


def test_ten_orders_an_hour_can_be_looked_up(mina, portal):
    statuses = [look_up(mina, portal, f"order-{n}").status_code for n in range(11)]
    assert statuses == [200] * 10 + [429]
    page = read_main(look_up(mina, portal, "another"))
    assert "You asked for many orders. Try again in an hour." in page


def test_questions_about_missing_sales_count_as_looked_up(mina, account, portal, scenario):
    sale = earn(scenario, external_id="ab7788")
    for n in range(9):
        look_up(mina, portal, f"order-{n}")
    asked = {"order_id": "missing", "day": DAY, "text": "Why?"}
    for _ in range(3):  # shows the form and looks nothing up
        assert mina.get(f"{portal}questions/ask/", asked).status_code == 200
    assert mina.post(f"{portal}questions/ask/", asked).status_code == 302
    response = mina.post(f"{portal}questions/ask/", asked | {"order_id": "ab7788"})
    assert response.status_code == 429
    page = read_main(response)
    assert "You asked for many orders. Try again in an hour." in page
    assert account.questions.get().order_id == "missing"
    own = {"sale": sale.pk, "text": "Why?"}
    assert mina.post(f"{portal}questions/ask/", own).status_code == 302
    assert NOTHING not in page


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"order_id": "", "day": DAY}, "This field is required."),
        ({"order_id": "a", "day": "2026-02-30"}, "Enter a valid date."),
        ({"order_id": "a", "day": "2999-01-01"}, "This day is still to come."),
        ({"order_id": "a\0b", "day": DAY}, "Null characters are not allowed."),
    ],
)
def test_refuses_wrong_entries_without_counting(mina, portal, values, error):
    for _ in range(12):
        response = mina.get(f"{portal}missing/", values)
        assert response.status_code == 200
        assert error in read_main(response)


def test_refuses_a_question_without_a_text(mina, account, portal, scenario):
    sale = earn(scenario, external_id="ab7788")
    for values in ({"order_id": "missing", "day": DAY}, {"sale": sale.pk}):
        response = mina.post(f"{portal}questions/ask/", values)
        assert "This field is required." in read_main(response)
    assert not account.questions.exists()


def test_one_click_makes_a_question_with_the_facts(mina, account, portal, scenario):
    values = {"order_id": "ab7788", "day": DAY, "text": "I saw <b>it</b>"}
    response = mina.post(f"{portal}questions/ask/", values)
    assert response["Location"] == f"{portal}questions/?sent=1"
    sent = f"Your question was sent to {account.name}."
    assert sent in read_main(mina.get(response["Location"]))
    question = account.questions.get()
    assert (question.affiliate, question.order_id, f"{question.day}") == (
        scenario.mina.affiliate,
        "ab7788",
        DAY,
    )
    assert (question.answer_given, question.conversion) == ("nothing", None)
    today = f"{account.get_day(timezone.now()):%-d %b %Y}"
    assert read_main(mina.get(f"{portal}questions/")) == (
        f"Questions Order ab7788 of 4 March 2026 Waits for an answer Asked on {today}"
        f" {NOTHING} I saw &lt;b&gt;it&lt;/b&gt; A sale is missing"
    )
    answer_question(
        account,
        question_id=question.public_id,
        answer="It comes\ntomorrow.",
        at=timezone.now(),
    )
    assert read_main(mina.get(f"{portal}questions/")) == (
        f"Questions Order ab7788 of 4 March 2026 Answered New Asked on {today}"
        f" {NOTHING} I saw &lt;b&gt;it&lt;/b&gt; {account.name} answered on {today} It"
        " comes tomorrow. A sale is missing"
    )


def test_asks_about_an_own_sale(mina, account, portal, scenario):
    sale = earn(scenario, external_id="ab7788")
    ask_url = f"{portal}questions/ask/?sale={sale.pk}"
    assert f'href="{ask_url}"' in get_page(mina, f"{portal}sales/{sale.pk}/")
    day = f"{account.get_day(timezone.now()):%-d %B %Y}"
    assert read_main(mina.get(ask_url)) == (
        f"Ask about a sale Order …7788 of {day} Your question Ask the company"
    )
    data = {"sale": sale.pk, "text": "Why pending?"}
    assert mina.post(f"{portal}questions/ask/", data).status_code == 302
    question = account.questions.get()
    assert (question.conversion, question.text) == (sale, "Why pending?")
    assert question.order_id == "…7788"
    assert question.answer_given == ""


def test_asks_nothing_about_sales_of_others(mina, account, portal, scenario):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    theirs = earn(scenario, affiliate=nils)
    for sale in (theirs.pk, 2**70, "x", "\u0661"):
        get_page(mina, f"{portal}questions/ask/?sale={sale}", status=404)
        response = mina.post(f"{portal}questions/ask/", {"sale": sale})
        assert response.status_code == 404
    get_page(mina, f"{portal}questions/ask/", status=404)
    assert not account.questions.exists()


def test_shows_no_questions_of_others(mina, account, portal, scenario, other_account):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    foreign = ProgramScenario(other_account, prefix="far-")
    data = QuestionData("zz-order", account.get_day(timezone.now()), text="zz-text")
    for affiliate in (nils.affiliate, foreign.mina.affiliate):
        ask_question(affiliate, data=data, at=timezone.now())
    assert read_main(mina.get(f"{portal}questions/")) == (
        f"Questions You have asked nothing yet. You can ask {account.name} about each"
        " of your sales, and about one that is missing. A sale is missing"
    )


def test_the_overview_marks_new_answers_until_they_are_opened(mina, account, portal, scenario):
    def read_overview():
        return read_main(mina.get(portal))

    at, affiliate = timezone.now(), scenario.mina.affiliate
    nils = scenario.create_enrolled_affiliate("Nils", "Berg").affiliate
    for person, number in ((affiliate, 1), (affiliate, 2), (affiliate, 3), (nils, 4)):
        data = QuestionData(f"order-{number}", account.get_day(at))
        pk = ask_question(person, data=data, at=at).public_id
        if number == 3:
            close_question(account, question_id=pk, at=at)
        else:
            answer_question(account, question_id=pk, answer="Yes.", at=at)
        if number == 1:
            assert "1 new answer to your questions. Read" in read_overview()
    assert "2 new answers to your questions. Read" in read_overview()

    owner, _ = create_staff_user(
        account, email="o@harbor.example.org", role="owner", password=None, at=at
    )
    token = create_view_link(account, affiliate_id=affiliate.slug, viewed_by=owner, at=at)
    staff = Client()
    staff.get(f"{portal}view/{token}/")
    assert read_main(staff.get(f"{portal}questions/")).count("Answered New") == 2
    assert "2 new answers" in read_overview()

    assert read_main(mina.get(f"{portal}questions/")).count("Answered New") == 2
    assert "new answer" not in read_overview()
    assert "New" not in read_main(mina.get(f"{portal}questions/"))
    assert account.questions.get(affiliate=nils).is_answer_new


def test_ten_questions_wait_at_a_time(mina, account, portal, scenario):
    day, at = account.get_day(timezone.now()), timezone.now()
    for number in range(MAX_OPEN_QUESTIONS):
        data = QuestionData(f"order-{number}", day)
        ask_question(scenario.mina.affiliate, data=data, at=at)
    values = {"order_id": "another", "day": DAY, "text": "Why?"}
    response = mina.post(f"{portal}questions/ask/", values)
    assert response.status_code == 200
    assert (
        "10 of your questions wait for an answer. Ask again once one of them is"
        " answered." in read_main(response)
    )
    assert account.questions.count() == MAX_OPEN_QUESTIONS
    assert TooManyQuestions.message.startswith("{limit}")


@pytest.mark.parametrize("page", ["missing/", "questions/", "questions/ask/?sale={}"])
def test_pages_are_small_and_take_few_statements(mina, portal, scenario, capture_queries, page):
    sale = earn(scenario, "10")
    data = QuestionData("x" * 255, sale.created_at.date(), text="y" * 2000)
    for number in range(MAX_OPEN_QUESTIONS):
        named = QuestionData(**vars(data) | {"order_id": f"{number}"})
        ask_question(scenario.mina.affiliate, data=named, at=timezone.now())
    with capture_queries() as captured:
        response = mina.get(portal + page.format(sale.pk))
    assert response.status_code == 200
    assert len(captured) <= 12
    assert len(response.content) < 60_000
