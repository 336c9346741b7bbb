"""After every test that moves money: do the books agree?"""

from django.utils import timezone

from payouts.services.proof import prove


def books_agree(*accounts):
    """Every equation holds for these accounts."""
    report = prove(accounts, at=timezone.now())
    assert report.failures == []
    return report
