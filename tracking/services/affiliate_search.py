"""Find affiliates by any part of a name, address, company, ID, code or coupon."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account, join_within_account
from tracking.models.affiliates import Affiliate, SearchSuffix
from tracking.models.enrollments import Enrollment
from tracking.models.sources import Coupon
from tracking.search import fold_text, list_search_words, list_suffixes

SEARCHED_FIELDS = frozenset({"slug", "firstname", "lastname", "email", "company_name"})
MAX_FOUND_AFFILIATES = 1000
MAX_READ_SUFFIXES = 20_000  # of each word, if there are several words


@dataclass(frozen=True)
class FoundAffiliates:
    """The IDs of the rows that were found; not all of them if `has_more`."""

    pks: list[int]
    has_more: bool = False


def find_affiliates(account: Account, term: str) -> FoundAffiliates:
    """Find the affiliates, deleted ones too, that have each word of a search term.

    Of several words, each reads at most `MAX_READ_SUFFIXES` rows; matches beyond these
    are missed, and `has_more` is true.
    """
    words = sorted(set(list_search_words(term)), key=lambda word: (-len(word), word))
    if not words:
        return FoundAffiliates([])
    first, *others = words  # the longest one is the rarest, as a rule
    limit = MAX_READ_SUFFIXES if others else 2 * MAX_FOUND_AFFILIATES
    pks, has_more = _list_with_word(account, first, limit)
    for word in others:
        if len(pks) <= MAX_FOUND_AFFILIATES:
            rows = account.search_suffixes.filter(affiliate__in=pks)
            rows = rows.filter(suffix__begins_with=word)
            with_word = set(rows.values_list("affiliate", flat=True))
        else:
            found, is_cut = _list_with_word(account, word, MAX_READ_SUFFIXES)
            with_word, has_more = set(found), has_more or is_cut
        pks = [pk for pk in pks if pk in with_word]
    return FoundAffiliates(
        pks[:MAX_FOUND_AFFILIATES], has_more or len(pks) > MAX_FOUND_AFFILIATES
    )


def list_affiliates_by_text(account: Account, text: str, most: int) -> list[Affiliate]:
    """Return the affiliates that `find_affiliates` finds, `most` of them at most."""
    pks = find_affiliates(account, text).pks[:most]
    rows = account.affiliates.in_bulk(pks) if pks else {}
    return [rows[pk] for pk in pks if pk in rows]


def find_coupon(account: Account, text: str) -> Coupon | None:
    """Find the coupon with this code, or with it in upper or lower case, if any."""
    codes = [text, text.upper(), text.lower()]
    rows = account.coupons.filter(code__in=codes)
    found = rows.select_related("enrollment__affiliate", "enrollment__program")
    return min(found, key=lambda coupon: codes.index(coupon.code), default=None)


def _list_with_word(account: Account, word: str, limit: int) -> tuple[list[int], bool]:
    """The affiliates with a word, and whether there are more.

    They are read in the order of the index: PostgreSQL would sort all of them.
    """
    rows = account.search_suffixes.filter(suffix__begins_with=word)
    pks = list(rows.values_list("affiliate", flat=True)[: limit + 1])
    return list(dict.fromkeys(pks[:limit])), len(pks) > limit


@compiled
def locked_affiliates_by_pk(account: Account, pk: int) -> QuerySet[Affiliate]:
    """An affiliate, locked until the transaction ends."""
    return Affiliate.objects.of(account).filter(pk=pk).select_for_update(no_key=True)


@compiled
def suffixes_of_affiliate(
    account: Account, affiliate: Affiliate
) -> QuerySet[SearchSuffix, tuple[str, int]]:
    """The stored suffixes of an affiliate with their keys."""
    rows = SearchSuffix.objects.of(account).filter(affiliate=affiliate)
    return rows.values_list("suffix", "pk")


@compiled
def enrollments_of_affiliates(
    account: Account, affiliates: list[int]
) -> QuerySet[Enrollment, tuple[int, bool | None, str | None, str | None]]:
    """Primary keys of affiliates with their approvals, referral codes and coupons."""
    rows = Enrollment.objects.of(account).filter(affiliate__pk__in=affiliates)
    return rows.annotate(
        code=join_within_account("referral_codes"),
        coupon=join_within_account("coupons"),
    ).values_list("affiliate", "approved", "code__code", "coupon__code")


def update_suffixes(account: Account, *, affiliate_id: int) -> None:
    """Store what an affiliate is found by; call it in the transaction of a change.

    The lock makes concurrent changes of an affiliate and its codes wait for each other.
    """
    (affiliate,) = locked_affiliates_by_pk.all(account=account, pk=affiliate_id)
    enrollments = list_search_codes(account, [affiliate])
    suffixes = set(
        list_suffixes(
            [
                *(getattr(affiliate, name) for name in SEARCHED_FIELDS),
                *(text for _, _, *codes in enrollments for text in codes),
            ]
        )
    )
    stored = dict(suffixes_of_affiliate.all(account=account, affiliate=affiliate))
    if obsolete := [pk for suffix, pk in stored.items() if suffix not in suffixes]:
        account.search_suffixes.filter(pk__in=obsolete).delete()
    account.search_suffixes.bulk_create(
        SearchSuffix(account=account, affiliate=affiliate, suffix=suffix)
        for suffix in sorted(suffixes - stored.keys())
    )


def list_search_codes(
    account: Account, affiliates: Collection[Affiliate]
) -> list[tuple[int, bool | None, str | None, str | None]]:
    """The rows of `enrollments_of_affiliates` for these affiliates."""
    pks = [affiliate.pk for affiliate in affiliates]
    return enrollments_of_affiliates.all(account=account, affiliates=pks)


def list_hidden_matches(
    affiliates: Collection[Affiliate],
    enrollments: Collection[tuple[int, bool | None, str | None, str | None]],
    term: str,
) -> dict[int, list[str]]:
    """Map affiliates to what a search found them by, if a list does not show it.

    That is a company, a referral code or a coupon: `coupon HANA10`. `enrollments` are
    those of `list_search_codes`.
    """
    words = list_search_words(term)
    texts: dict[int, list[tuple[str, str | None]]] = defaultdict(list)
    for affiliate in affiliates:
        if affiliate.company_name:
            texts[affiliate.pk].append(("company", affiliate.company_name))
    for pk, _, *codes in enrollments:
        texts[pk] += zip(("referral code", "coupon"), codes, strict=True)
    return {
        pk: [
            f"{kind} {text}"
            for kind, text in found_texts
            if text and any(word in fold_text(text) for word in words)
        ]
        for pk, found_texts in texts.items()
    }
