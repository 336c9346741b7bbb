"""Contract 7.8 and 2.4.6: prospects and parents, when several processes act at once.

Real commits: each test makes an account of its own and leaves it behind.
"""

from collections import Counter

from tests.concurrency.worker import PROCESSES
from tests.shop import JOINED
from tracking.attribution import Clues
from tracking.services.affiliates import Application
from tracking.services.clicks import Visit, record_click
from tracking.services.prospects import Invitation, invite

ROUNDS = 5


def invited(shop, *, lastname="Lang", email=None):
    """A prospect's clues: by its code, and by its pair."""
    person = Application(firstname="Pia", lastname=lastname, email=email)
    prospect = invite(shop.account, invitation=Invitation(person), at=JOINED)
    source = shop.account.sources.get(prospect=prospect)
    code = shop.account.referral_codes.get(prospect=prospect).code
    pair = {"asset_id": shop.mina.asset_id, "source_id": str(source)}
    return {"referral_code": code}, pair


def selling(shop, clues):
    return {"act": "sell", "account": shop.account.slug, "amount": "200"} | clues


def test_promotes_once_when_all_sell_at_once(workers, shop):
    account = shop.account
    for number in range(ROUNDS):
        by_code, by_pair = invited(shop, lastname=f"Lang{'x' * number}")
        click = {"click_id": str(click_of(shop, by_code))}
        clues = [by_code, by_pair, click, by_code]

        told = workers.do(*[selling(shop, it) for it in clues])

        assert told == ["done"] * PROCESSES
    promoted = account.affiliates.exclude(promoted_at=None)
    assert promoted.count() == account.prospects.exclude(affiliate=None).count()
    assert promoted.count() == account.enrolments.count() - 1 == ROUNDS
    earned = account.commissions.values_list("affiliate__slug", flat=True)
    assert set(Counter(earned).values()) == {PROCESSES}
    events = Counter(account.events.values_list("kind", flat=True))
    assert events["affiliate_prospect.promoted"] == ROUNDS
    assert events["affiliate.created"] == ROUNDS + 1


def click_of(shop, clues):
    return record_click(shop.account, visit=Visit(clues=Clues(**clues)), at=JOINED)


def test_lets_one_of_several_namesakes_have_the_address(workers, shop):
    account = shop.account
    for number in range(ROUNDS):
        email = f"pia{number}@notes.example.org"
        clues = [invited(shop, email=email)[0] for _ in range(PROCESSES)]

        told = workers.do(*[selling(shop, it) for it in clues])

        assert told == ["done"] * PROCESSES
        assert account.affiliates.with_email(email).count() == 1
    promoted = account.affiliates.exclude(promoted_at=None)
    assert promoted.count() == ROUNDS * PROCESSES
    assert promoted.filter(email=None).count() == ROUNDS * (PROCESSES - 1)


def test_gives_every_click_to_the_affiliate_that_came_of_it(workers, shop):
    account = shop.account
    for _ in range(ROUNDS * 4):
        by_code, _pair = invited(shop)
        click = {"act": "click", "account": account.slug} | by_code

        told = workers.do(selling(shop, by_code), click, click, click)

        assert told == ["done"] * PROCESSES
    assert account.clicks.filter(affiliate=None).count() == 0


def test_closes_no_circle_of_parents(workers, shop):
    account = shop.account
    for number in range(ROUNDS):
        ring = [shop.join(f"Ring{number}", name).slug for name in "ABCD"]
        moves = zip(ring, [*ring[1:], ring[0]], strict=True)
        tasks = [
            {
                "act": "place",
                "account": account.slug,
                "affiliate_id": below,
                "parent": above,
            }
            for below, above in moves
        ]

        told = Counter(workers.do(*tasks))

        assert told == {"done": PROCESSES - 1, "OwnAncestor": 1}
        parents = dict(account.affiliates.values_list("slug", "parent__slug"))
        above, steps = ring[0], 0
        while above is not None:
            above, steps = parents[above], steps + 1
            assert steps <= PROCESSES


def test_leaves_nobody_below_somebody_who_was_removed(workers, shop):
    account = shop.account
    children = [shop.join("Child", name).slug for name in "ABC"]
    for number in range(ROUNDS * 4):
        parent = shop.join("Parent", "x" * (number + 1)).slug
        tasks = [
            {
                "act": "place",
                "account": account.slug,
                "affiliate_id": child,
                "parent": parent,
            }
            for child in children
        ]
        removal = {"act": "remove", "account": account.slug, "affiliate_id": parent}

        told = workers.do(tasks[0], removal, *tasks[1:])

        assert told[1] == "done"
        assert set(told) <= {"done", "UnknownAffiliate"}
        orphans = account.affiliates.filter(parent__removed_at__isnull=False)
        assert list(orphans.values_list("slug", "parent__slug")) == []
