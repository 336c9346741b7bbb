"""Questions of affiliates in the back office: the list, a page, answer and close."""

import html
import re
from datetime import date

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import page_url
from tests.program_scenario import ProgramScenario
from tracking.services.questions import QuestionData, ask_question, close_question

CHANGELIST = "admin:tracking_question_changelist"


@pytest.fixture
def sale(scenario):
    return scenario.create_conversion("200", external_id="order-1")


@pytest.fixture
def question(scenario, sale):
    data = QuestionData("order-1", date(2026, 3, 4), "coupon_first", "Where <b>is</b> it?", sale)
    return ask_question(scenario.mina.affiliate, data=data, at=timezone.now())


def url_of(question, name="change"):
    return reverse(f"admin:tracking_question_{name}", args=[question.pk])


def submit(client, url, **entries):
    return client.post(url, get_form(client, url) | entries)


def read(response):
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def read_badge(page) -> str:
    """The number beside the entry of the sidebar; empty without one."""
    entry = re.search(r"<span>Questions</span>(.*?)</a>", page, re.DOTALL)
    return re.sub(r"<[^>]*>", "", entry[1]).strip()


def test_counts_open_questions_in_the_sidebar(
    staff_client, account, scenario, question, other_account
):
    foreign = ProgramScenario(other_account, prefix="far-")
    data = QuestionData("order-1", date(2026, 3, 4))
    for _ in range(2):
        ask_question(foreign.mina.affiliate, data=data, at=timezone.now())
    client = staff_client()
    page = read(client.get(reverse("admin:index")))
    assert read_badge(page) == "1"
    assert f'href="{reverse(CHANGELIST)}?state__exact=open"' in page
    close_question(account, question_id=question.public_id, at=timezone.now())
    assert read_badge(read(client.get(reverse("admin:index")))) == ""


def test_filters_by_state(staff_client, account, scenario, question):
    data = QuestionData("order-2", date(2026, 3, 5))
    closed = ask_question(scenario.mina.affiliate, data=data, at=timezone.now())
    close_question(account, question_id=closed.public_id, at=timezone.now())
    client = staff_client()
    for query, shown in [("", {1, 2}), ("open", {1}), ("closed", {2})]:
        filters = {"state__exact": query} if query else {}
        page = read(client.get(reverse(CHANGELIST), filters))
        found = {number for number in (1, 2) if f">order-{number}<" in page}
        assert found == shown


def test_shows_the_facts_with_links(staff_client, scenario, question, sale):
    page = read(staff_client().get(url_of(question)))
    for text in (
        "<dt>Order ID</dt><dd>order-1</dd>",
        "<dt>Day of the order</dt><dd>2026-03-04</dd>",
        "<dt>The portal answered</dt><dd>The shop reported this sale, but another"
        " referral won: the customer used a coupon, and a coupon counts before a"
        " link.</dd>",
        "<dt>Question</dt><dd>Where &lt;b&gt;is&lt;/b&gt; it?</dd>",
        reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk]),
        reverse("admin:tracking_conversion_change", args=[sale.pk]),
        url_of(question, "answer"),
        url_of(question, "close"),
        "Asked this question",
    ):
        assert text in page


def test_answers_by_mail(staff_client, account, scenario, question):
    client = staff_client()
    page = read(client.get(url_of(question, "answer")))
    assert "Shown in the portal, and mailed if the affiliate wants mail." in page
    assert "Where &lt;b&gt;is&lt;/b&gt; it?" in page
    response = submit(client, url_of(question, "answer"), answer="Tomorrow.")
    assert response["Location"] == url_of(question)
    mail = account.mails.get()
    assert mail.kind == "question_answer"
    assert f"{settings.PUBLIC_URL}/partners/harbor/questions/" in mail.text
    page = read(client.get(url_of(question)))
    assert "<p>Tomorrow.</p>" in page
    assert url_of(question, "answer") not in page
    assert url_of(question, "close") not in page


def test_needs_a_text(staff_client, account, question):
    response = submit(staff_client(), url_of(question, "answer"), answer=" ")
    assert "This field is required." in read(response)
    assert account.questions.get().state == "open"


def test_warns_of_a_missing_address(staff_client, scenario, question):
    scenario.mina.affiliate.update_row(email=None, email_folded=None)
    page = read(staff_client().get(url_of(question, "answer")))
    assert "The affiliate has no e-mail address: only the portal shows the answer." in page


def test_closes(staff_client, account, question):
    client = staff_client()
    assert submit(client, url_of(question, "close")).status_code == 302
    assert account.questions.get().state == "closed"
    assert not account.mails.exists()
    response = client.get(url_of(question, "answer"), follow=True)
    assert "Answer: not possible in this state." in read(response)


@pytest.fixture
def missing_question(scenario):
    """A question about an order that nobody reported."""
    data = QuestionData("order & 7", date(2026, 3, 4), "nothing", "Where is it?")
    return ask_question(scenario.mina.affiliate, data=data, at=timezone.now())


def test_leads_to_the_form_with_the_sale(staff_client, scenario, missing_question):
    client = staff_client()
    page = read(client.get(url_of(missing_question)))
    url = html.unescape(re.search(r'href="([^"]*)">Add this sale', page)[1])
    initial = client.get(url).context["form"].initial
    assert initial["affiliate"] == scenario.mina.affiliate.pk
    assert (initial["external_id"], initial["created_at"]) == ("order & 7", "2026-03-04")


def test_names_the_sale_that_was_recorded_since(staff_client, scenario, missing_question):
    sale = scenario.create_conversion("10", external_id=missing_question.order_id)
    client = staff_client()
    for page in ("change", "answer"):
        text = read(client.get(url_of(missing_question, page)))
        assert f'{page_url(sale, "change")}">order &amp; 7</a>, recorded since' in text
        assert "Add this sale" not in text


def test_who_may_not_add_sales_gets_no_link(staff_client, missing_question):
    page = read(staff_client(role="viewer").get(url_of(missing_question)))
    assert "none was found" in page
    assert "Add this sale" not in page


def test_names_no_affiliate_of_another_account(staff_client, other_account):
    foreign = ProgramScenario(other_account, prefix="far-").mina.affiliate
    url = reverse("admin:tracking_conversion_add")
    response = staff_client().get(url, {"affiliate": foreign.slug})
    assert "affiliate" not in response.context["form"].initial
