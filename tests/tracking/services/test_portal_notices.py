"""Which mails affiliates want: all but the daily one, until they choose."""

from tests.factories.tracking import AffiliateFactory
from tracking.models.portal import Notice
from tracking.services.portal_profiles import set_notices, wants_notice


def list_wanted(affiliate):
    return [kind for kind in Notice if wants_notice(affiliate, kind)]


def test_affiliates_get_all_but_the_daily_mail_at_first(account):
    affiliate = AffiliateFactory(account=account)
    assert list_wanted(affiliate) == [
        *(Notice.APPROVED, Notice.PAID, Notice.NEW_CREATIVE, Notice.ANSWER)
    ]


def test_keeps_what_they_chose(account):
    affiliate = AffiliateFactory(account=account)
    set_notices(affiliate, {"new_sales": True, "paid": False, "gold": True})
    assert affiliate.reload().notices == {"new_sales": True, "paid": False}
    set_notices(affiliate, {"paid": True, "answer": False})
    assert list_wanted(affiliate.reload()) == [
        *(Notice.APPROVED, Notice.NEW_SALES, Notice.PAID, Notice.NEW_CREATIVE)
    ]
