"""The second factor of affiliates: codes of an app, each once, and recovery codes."""

from datetime import timedelta

import pyotp
import pytest
from django.contrib.auth.hashers import make_password

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.portal_sessions import find_signed_in
from tracking.errors import CodeRequired, LinkExpired, WrongCode, WrongPassword
from tracking.services.portal_access import (
    LinkPurpose,
    add_second_factor,
    enter_code,
    set_portal_password,
    sign_in,
)
from tracking.services.portal_links import LINK_LIFETIMES, invite_affiliate
from tracking.services.second_factor import (
    confirm_second_factor,
    delete_second_factor,
    get_second_factor,
    has_second_factor,
    remove_second_factor,
    start_second_factor,
    use_code,
)

EMAIL = "mina@notes.example.org"
PASSWORD = "lamps-at-the-harbor"
STEP = timedelta(seconds=30)


@pytest.fixture
def affiliate(account):
    return AffiliateFactory(account=account, email=EMAIL, password=make_password(PASSWORD))


@pytest.fixture
def app(affiliate):
    """The app of the affiliate, which is not confirmed yet."""
    return pyotp.TOTP(start_second_factor(affiliate).secret)


@pytest.fixture
def recovery_codes(affiliate, app):
    return confirm_second_factor(affiliate, secret=app.secret, code=app.at(NOW), at=NOW)


def enter(account, at=NOW):
    return sign_in(account, email=EMAIL, password=PASSWORD, at=at)


def get_step_token(account, at=NOW):
    with pytest.raises(CodeRequired) as error:
        enter(account, at=at)
    return error.value.params["token"]


def test_is_asked_for_only_once_it_is_confirmed(account, affiliate, app):
    assert find_signed_in(account, enter(account), at=NOW) == affiliate
    with pytest.raises(WrongCode):
        confirm_second_factor(affiliate, secret=app.secret, code="000000", at=NOW)
    assert not has_second_factor(affiliate)
    codes = confirm_second_factor(affiliate, secret=app.secret, code=app.at(NOW), at=NOW)
    assert len(set(codes)) == 10
    assert has_second_factor(affiliate)
    with pytest.raises(WrongCode):  # nobody replaces the recovery codes
        confirm_second_factor(affiliate, secret=app.secret, code=app.at(NOW + STEP), at=NOW + STEP)


def test_each_start_has_a_secret_of_its_own(account, affiliate, app):
    """Who started before, such as a thief of a session, has no working app."""
    own = pyotp.TOTP(start_second_factor(affiliate).secret)
    assert own.secret != app.secret
    for thief in (app.secret, own.secret):
        with pytest.raises(WrongCode):
            confirm_second_factor(affiliate, secret=thief, code=app.at(NOW), at=NOW)
    confirm_second_factor(affiliate, secret=own.secret, code=own.at(NOW), at=NOW)
    assert start_second_factor(affiliate).secret == own.secret


@pytest.mark.usefixtures("recovery_codes")
def test_signs_in_by_password_and_code(account, affiliate, app):
    at = NOW + STEP
    token = get_step_token(account, at=at)
    assert find_signed_in(account, token, at=at) is None
    with pytest.raises(WrongCode):
        enter_code(account, token, code="000000", at=at)
    session = enter_code(account, token, code=f" {app.at(at)} ", at=at)
    assert find_signed_in(account, session, at=at) == affiliate
    with pytest.raises(LinkExpired):
        enter_code(account, token, code=app.at(at + STEP), at=at + STEP)


@pytest.mark.usefixtures("recovery_codes")
def test_the_code_is_due_within_five_minutes(account, app):
    token, end = get_step_token(account), NOW + LINK_LIFETIMES["second_factor"]
    with pytest.raises(LinkExpired):
        enter_code(account, token, code=app.at(end), at=end)


@pytest.mark.usefixtures("recovery_codes")
@pytest.mark.parametrize("steps", [-2, 0, 2])
def test_refuses_codes_of_another_time_and_used_ones(affiliate, app, steps):
    """The code of step 0 confirmed the app."""
    with pytest.raises(WrongCode):
        use_code(affiliate, code=app.at(NOW + steps * STEP), at=NOW)


@pytest.mark.usefixtures("recovery_codes")
def test_accepts_a_clock_that_differs_by_a_step(affiliate, app):
    use_code(affiliate, code=app.at(NOW + STEP), at=NOW)


def test_each_recovery_code_works_once(account, affiliate, recovery_codes):
    token = get_step_token(account)
    code = recovery_codes[3].upper()
    session = enter_code(account, token, code=code, at=NOW)
    assert find_signed_in(account, session, at=NOW) == affiliate
    with pytest.raises(WrongCode):
        enter_code(account, get_step_token(account), code=code, at=NOW)
    assert len(get_second_factor(affiliate).recovery_codes) == 9
    kind = "affiliate.second_factor_code_used"
    assert account.audit_log.get(kind=kind).actor == f"affiliate {affiliate.log_id}"


@pytest.mark.usefixtures("recovery_codes")
def test_a_new_password_does_not_replace_it(account, affiliate):
    token = invite_affiliate(account, affiliate_id=affiliate.slug, at=NOW).token
    with pytest.raises(CodeRequired):
        set_portal_password(account, token, password="boats-at-the-harbor", at=NOW)
    with pytest.raises(CodeRequired):
        sign_in(account, email=EMAIL, password="boats-at-the-harbor", at=NOW)


def test_is_removed_by_a_code_or_by_staff(account, affiliate, app, recovery_codes):
    with pytest.raises(WrongCode):
        remove_second_factor(affiliate, code="000000", at=NOW)
    remove_second_factor(affiliate, code=recovery_codes[0], at=NOW)
    assert find_signed_in(account, enter(account), at=NOW) == affiliate

    app = pyotp.TOTP(start_second_factor(affiliate).secret)
    confirm_second_factor(affiliate, secret=app.secret, code=app.at(NOW), at=NOW)
    delete_second_factor(account, affiliate, at=NOW)
    assert not has_second_factor(affiliate)


def test_is_mailed_when_it_is_switched_on_and_off(account, affiliate, app, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    affiliate.update_row(language="de")
    delete_second_factor(account, affiliate, at=NOW)  # not confirmed
    assert not account.mails.exists()
    app = pyotp.TOTP(start_second_factor(affiliate).secret)
    codes = confirm_second_factor(affiliate, secret=app.secret, code=app.at(NOW), at=NOW)
    remove_second_factor(affiliate, code=codes[0], at=NOW)
    mails = account.mails.order_by("id").values_list("kind", "recipient", "subject")
    switched = f"Der zweite Faktor bei {account.name} wurde"
    assert list(mails) == [
        ("second_factor_on", EMAIL, f"{switched} eingeschaltet"),
        ("second_factor_off", EMAIL, f"{switched} ausgeschaltet"),
    ]


def test_ends_all_other_sessions_when_it_is_switched_on(account, affiliate, app):
    other = AffiliateFactory(
        account=account, email="nils@notes.example.org", password=affiliate.password
    )
    stays = sign_in(account, email=other.email, password=PASSWORD, at=NOW)
    token, elsewhere = enter(account), enter(account)

    def switch_on(password):
        return add_second_factor(
            affiliate,
            password=password,
            secret=app.secret,
            code=app.at(NOW),
            token=token,
            at=NOW,
        )

    with pytest.raises(WrongPassword):
        switch_on("wrong")
    assert find_signed_in(account, elsewhere, at=NOW) == affiliate
    assert len(switch_on(PASSWORD)) == 10
    assert find_signed_in(account, token, at=NOW) == affiliate
    assert find_signed_in(account, elsewhere, at=NOW) is None
    assert find_signed_in(account, stays, at=NOW) == other


@pytest.mark.usefixtures("recovery_codes")
def test_a_step_of_another_account_opens_nothing(account, other_account, app):
    token, at = get_step_token(account), NOW + STEP
    with pytest.raises(LinkExpired):
        enter_code(other_account, token, code=app.at(at), at=at)


def test_the_secret_is_encrypted(account, affiliate, app):
    rows = account.portal_second_factors.extra(select={"stored": "secret || ''"})
    (stored,) = rows.values_list("stored", flat=True)
    assert app.secret not in stored
    assert LinkPurpose.SECOND_FACTOR not in stored
