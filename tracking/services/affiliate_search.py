"""Find affiliates by any part of a name, address, company, ID, code or coupon."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from accounts.models.accounts import Account, join_within_account
from tracking.models.affiliates import Affiliate, SearchSuffix
from tracking.search import fold_text, list_search_words, list_suffixes

SEARCHED_FIELDS = frozenset({"slug", "firstname", "lastname", "email", "company_name"})
MAX_FOUND_AFFILIATES = 1000
MAX_READ_SUFFIXES = 2000  # an affiliate may be found by several


@dataclass(frozen=True)
class FoundAffiliates:
    """The IDs of the rows that were found; not all of them if `has_more`."""

    pks: list[int]
    has_more: bool = False


def find_affiliates(account: Account, term: str) -> FoundAffiliates:
    """Find the affiliates, deleted ones too, that have each word of a search term.

    Words that begin like the search term are found first.
    """
    words = sorted(list_search_words(term), key=len, reverse=True)
    if not words:
        return FoundAffiliates([])
    first, *others = words
    rows = account.search_suffixes.filter(suffix__begins_with=first)
    for word in others:
        rows = rows.filter(
            affiliate__in=account.search_suffixes.filter(
                suffix__begins_with=word
            ).values("affiliate")
        )
    read = list(
        rows.order_by("suffix").values_list("affiliate", flat=True)[:MAX_READ_SUFFIXES]
    )
    pks = list(dict.fromkeys(read))
    return FoundAffiliates(
        pks[:MAX_FOUND_AFFILIATES],
        has_more=len(read) == MAX_READ_SUFFIXES or len(pks) > MAX_FOUND_AFFILIATES,
    )


def update_suffixes(account: Account, *, affiliate_id: int) -> None:
    """Store what an affiliate is found by; call it in the transaction of a change.

    The lock makes concurrent changes of an affiliate and its codes wait for each other.
    """
    affiliate = account.affiliates.select_for_update(no_key=True).get(pk=affiliate_id)
    codes_by_row = list_codes(account, [affiliate])
    suffixes = set(
        list_suffixes(
            [
                *(getattr(affiliate, name) for name in SEARCHED_FIELDS),
                *(text for _, *codes in codes_by_row for text in codes),
            ]
        )
    )
    rows = account.search_suffixes.filter(affiliate=affiliate)
    stored = dict(rows.values_list("suffix", "pk"))
    if obsolete := [pk for suffix, pk in stored.items() if suffix not in suffixes]:
        rows.filter(pk__in=obsolete).delete()
    account.search_suffixes.bulk_create(
        SearchSuffix(account=account, affiliate=affiliate, suffix=suffix)
        for suffix in sorted(suffixes - stored.keys())
    )


def list_codes(
    account: Account, affiliates: Collection[Affiliate]
) -> list[tuple[int, str | None, str | None]]:
    """The keys of these affiliates with their referral codes and coupons."""
    rows = account.enrollments.filter(affiliate__in=affiliates).annotate(
        code=join_within_account("referral_codes"),
        coupon=join_within_account("coupons"),
    )
    return list(rows.values_list("affiliate", "code__code", "coupon__code"))


def list_hidden_matches(
    account: Account, affiliates: Collection[Affiliate], term: str
) -> dict[int, list[str]]:
    """Map affiliates to what a search found them by, if a list does not show it.

    That is a company, a referral code or a coupon: `coupon HANA10`.
    """
    words = list_search_words(term)
    texts = defaultdict(list)
    for affiliate in affiliates:
        if affiliate.company_name:
            texts[affiliate.pk].append(("company", affiliate.company_name))
    for pk, *codes in list_codes(account, affiliates):
        texts[pk] += zip(("referral code", "coupon"), codes, strict=True)
    return {
        pk: [
            f"{kind} {text}"
            for kind, text in found_texts
            if text and any(word in fold_text(text) for word in words)
        ]
        for pk, found_texts in texts.items()
    }
