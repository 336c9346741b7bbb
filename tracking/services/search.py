"""Search of staff: affiliates by parts of texts, orders by parts of their IDs."""

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account, join_within_account
from accounts.text_parts import MIN_PART_LENGTH
from tracking.models.affiliates import Affiliate, SearchSuffix
from tracking.models.enrollments import Enrollment
from tracking.models.sources import Coupon
from tracking.search import (
    LEADING_WORDS_PATTERN,
    fold_text,
    list_search_words,
    list_suffixes,
    normalize_order_name,
)

SEARCHED_FIELDS = frozenset({"slug", "firstname", "lastname", "email", "company_name"})
MAX_FOUND_AFFILIATES = 1000
MAX_READ_SUFFIXES = 20_000  # of each word, if there are several words


@dataclass(frozen=True)
class FoundRows:
    """The IDs of the rows that were found; not all of them if `has_more`."""

    pks: list[int]
    has_more: bool = False


def find_affiliates(account: Account, term: str) -> FoundRows:
    """Find the affiliates, deleted ones too, that have each word of a search term.

    Of several words, each reads at most `MAX_READ_SUFFIXES` rows; matches beyond these
    are missed, and `has_more` is true.
    """
    words = sorted(set(list_search_words(term)), key=lambda word: (-len(word), word))
    if not words:
        return FoundRows([])
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
    return FoundRows(pks[:MAX_FOUND_AFFILIATES], has_more or len(pks) > MAX_FOUND_AFFILIATES)


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


RECENT_CONVERSIONS = 50  # whose order IDs show how the shop begins them
MAX_PREFIXES = 3
MAX_FOUND_ORDERS = 1000
MAX_EXACT_ORDERS = 100  # of one ID: all but one are deleted, as a rule
PREFIX_PATTERN = re.compile(r"[^0-9]{1,32}(?=[0-9])")


def list_order_terms(account: Account, term: str) -> list[str]:
    """Return the beginnings of order IDs that a search term may stand for.

    Words before the ID, such as `order #`, are left out unless an ID begins with them.
    """
    without_words = LEADING_WORDS_PATTERN.sub("", term, count=1)
    if without_words != term and not _has_order(account, term):
        term = without_words
    spellings = (_spell(term, prefix) for prefix in _list_prefixes(account))
    return list(dict.fromkeys([term, *filter(None, spellings)]))


def find_orders(account: Account, term: str) -> FoundRows:
    """Find the conversions, deleted ones too, by a part of their order IDs.

    Those of shops are also found by the beginning of the order's name.

    A term of fewer than `MIN_PART_LENGTH` characters finds beginnings. Words before the
    ID, such as `order #`, are left out if nothing has them.
    """
    pks = _list_orders(account, term)
    without_words = LEADING_WORDS_PATTERN.sub("", term, count=1)
    if not pks and without_words != term:
        pks = _list_orders(account, without_words)
    if name := normalize_order_name(term):
        named = account.shop_orders.filter(name__begins_with=name, conversion__isnull=False)
        rows = named.order_by("name", "-id").values_list("conversion", flat=True)
        pks = list(dict.fromkeys([*pks, *rows[: MAX_FOUND_ORDERS + 1]]))
    return FoundRows(pks[:MAX_FOUND_ORDERS], len(pks) > MAX_FOUND_ORDERS)


def _list_orders(account: Account, text: str) -> list[int]:
    """The conversions with this part, newest first, or with this beginning."""
    rows = account.conversions.values_list("pk", flat=True)
    limit = MAX_FOUND_ORDERS + 1
    # No index has the parts of e-mail addresses.
    if len(text) >= MIN_PART_LENGTH and "@" not in text:
        with_part = rows.filter(external_id__has_part=text)
        return list(with_part.order_by("-created_at", "-id")[:limit])
    pks: list[int] = []
    for spelling in list_order_terms(account, text):
        beginning_so = rows.filter(external_id__begins_with=spelling)
        pks += beginning_so.order_by("external_id", "-id")[: limit - len(pks)]
    return list(dict.fromkeys(pks))


def list_exact_orders(account: Account, term: str) -> list[int]:
    """Return the conversions with this whole order ID or name, deleted ones too."""
    rows = account.conversions.filter(external_id__in=list_order_terms(account, term))
    pks = rows.values_list("pk", flat=True)[:MAX_EXACT_ORDERS]
    if not (name := normalize_order_name(term)):
        return list(pks)
    named = account.shop_orders.filter(name=name, conversion__isnull=False)
    others = named.values_list("conversion", flat=True)[:MAX_EXACT_ORDERS]
    return list(dict.fromkeys([*pks, *others]))


def _has_order(account: Account, beginning: str) -> bool:
    return account.conversions.filter(external_id__begins_with=beginning).exists()


def _spell(term: str, prefix: str) -> str:
    """Write a term with this prefix, in its case if the term begins with it.

    Empty for another word of letters alone: that is a name, no part of an ID.
    """
    length = min(len(term), len(prefix))
    if term[:length].casefold() == prefix[:length].casefold():
        return prefix[:length] + term[length:]
    return "" if term.isalpha() else prefix + term


def _list_prefixes(account: Account) -> list[str]:
    """Return what stands before the first digit of recent order IDs."""
    rows = account.conversions.order_by("-created_at", "-id")
    recent = rows.values_list("external_id", flat=True)[:RECENT_CONVERSIONS]
    matches = [PREFIX_PATTERN.match(external_id or "") for external_id in recent]
    prefixes = dict.fromkeys(match[0] for match in matches if match)
    return list(prefixes)[:MAX_PREFIXES]
