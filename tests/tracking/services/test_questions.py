"""Questions of affiliates: limits, answers with mail, and who may see them."""

from datetime import date

import pytest

from accounts.actor import use_actor
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.errors import (
    AffiliateNotFound,
    QuestionNotFound,
    QuestionNotOpen,
    TooManyQuestions,
)
from tracking.services.portal_access import act_as
from tracking.services.questions import (
    MAX_OPEN_QUESTIONS,
    QuestionData,
    answer_question,
    ask_question,
    close_question,
)

NOW = CONVERSION_CREATED_AT
DATA = QuestionData("order-1", date(2026, 3, 4), "nothing", "Where is it?")


@pytest.fixture
def question(scenario):
    with act_as(scenario.mina.affiliate):
        return ask_question(scenario.mina.affiliate, data=DATA, at=NOW)


def list_events(account):
    rows = account.audit_log.filter(kind__startswith="question.").order_by("id")
    return [(row.kind, row.subject, row.actor) for row in rows]


def test_stores_the_facts(account, scenario, question):
    stored = account.questions.get()
    assert {name: getattr(stored, name) for name in vars(DATA)} == vars(DATA)
    assert (stored.state, stored.created_at) == ("open", NOW)
    actor = f"affiliate {scenario.mina.affiliate.log_id}"
    assert list_events(account) == [("question.asked", f"question:{stored}", actor)]


def test_does_not_repeat_an_open_question(account, scenario, question):
    with assert_unchanged(account):
        again = ask_question(scenario.mina.affiliate, data=DATA, at=NOW)
    assert again == question
    close_question(account, question_id=question.public_id, at=NOW)
    assert ask_question(scenario.mina.affiliate, data=DATA, at=NOW) != question


def test_limits_the_open_questions_of_an_affiliate(account, scenario):
    def ask(number, affiliate=scenario.mina):
        data = QuestionData(f"order-{number}", DATA.day)
        return ask_question(affiliate.affiliate, data=data, at=NOW)

    asked = [ask(number) for number in range(MAX_OPEN_QUESTIONS)]
    with assert_unchanged(account), pytest.raises(TooManyQuestions):
        ask("more")
    ask("more", scenario.create_enrolled_affiliate("Nils", "Berg"))
    close_question(account, question_id=asked[0].public_id, at=NOW)
    ask("more")


def test_removed_affiliates_ask_nothing(scenario):
    scenario.mina.affiliate.update_row(deleted_at=NOW)
    with pytest.raises(AffiliateNotFound):
        ask_question(scenario.mina.affiliate, data=DATA, at=NOW)


def test_mails_the_answer(account, scenario, question):
    with use_actor("user 7"):
        answer_question(
            account,
            question_id=question.public_id,
            answer="It comes\ntomorrow.",
            page_url="https://aff.example/questions/",
            at=NOW,
        )
    stored = account.questions.get()
    assert (stored.state, stored.answer, stored.answered_at, stored.answered_by) == (
        "answered",
        "It comes\ntomorrow.",
        NOW,
        "user 7",
    )
    mail = account.mails.get()
    assert (mail.kind, mail.about, mail.recipient) == (
        "question_answer",
        question.public_id,
        scenario.mina.affiliate.email,
    )
    assert mail.subject == f"Answer of {account.name}"
    assert mail.text == (
        "Hello Mina,\n\n"
        f"{account.name} answers your question about order order-1:\n\n"
        "It comes\ntomorrow.\n\n"
        "You can read it again here:\nhttps://aff.example/questions/\n"
    )
    assert list_events(account)[1:] == [("question.answered", f"question:{question}", "user 7")]


def test_closes_without_mail(account, question):
    close_question(account, question_id=question.public_id, at=NOW)
    stored = account.questions.get()
    assert (stored.state, stored.answer, stored.answered_at) == ("closed", "", NOW)
    assert not account.mails.exists()


def test_answers_without_an_address_in_the_portal_only(account, scenario, question):
    scenario.mina.affiliate.update_row(email=None, email_folded=None)
    answer_question(account, question_id=question.public_id, answer="x", at=NOW)
    assert account.questions.get().state == "answered"
    assert not account.mails.exists()


@pytest.mark.parametrize("state", ["answered", "closed"])
def test_ends_a_question_once(account, question, state):
    question.update_row(state=state)
    with assert_unchanged(account), pytest.raises(QuestionNotOpen) as error:
        answer_question(account, question_id=question.public_id, answer="x", at=NOW)
    assert str(error.value) == f"This question is {state} already."
    with assert_unchanged(account), pytest.raises(QuestionNotOpen):
        close_question(account, question_id=question.public_id, at=NOW)


def test_does_not_find_questions_of_other_accounts(account, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="far-")
    theirs = ask_question(foreign.mina.affiliate, data=DATA, at=NOW)
    for call in (close_question, answer_question):
        options = {"answer": "x"} if call is answer_question else {}
        with pytest.raises(QuestionNotFound):
            call(account, question_id=theirs.public_id, at=NOW, **options)
