"""The texts that staff search affiliates by, without case and accents.

An index finds only beginnings. So the end of each word from each of its letters on is
stored: `Hana` as `hana`, `ana`, `na` and `a`. Any part of a word then is the beginning
of one of them.
"""

import re
import unicodedata  # noqa: TID251 - `fold_text` cuts first
from collections.abc import Iterable

MAX_FOLDED_LENGTH = 2000  # characters; the time grows with the square of accents
MAX_SUFFIX_LENGTH = 64  # characters; more of a search term are ignored
# Letters without a Unicode decomposition; casefold() already turns ß into ss.
TRANSLITERATIONS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}  # noqa: RUF001 - intended letter
)

# What staff write before an order ID: `order `, `#`, `Order no. `.
LEADING_WORDS_PATTERN = re.compile(
    r"\A(?:(?:order|number|no|id)(?:[.:]|\b)\s*)*#?\s*(?=\w)", re.IGNORECASE
)
MAX_NAME_LENGTH = 255


def normalize_order_name(text: str) -> str:
    """Return an order's name as names are compared: `Order #HL-1001` is `hl-1001`."""
    plain = LEADING_WORDS_PATTERN.sub("", text.strip(), count=1)
    return plain.replace("\0", "").casefold()[:MAX_NAME_LENGTH]


def fold_text(text: str) -> str:
    """Return a text in lower case and without accents: `Háná` becomes `hana`."""
    plain = text[:MAX_FOLDED_LENGTH].casefold().translate(TRANSLITERATIONS)
    decomposed = unicodedata.normalize("NFKD", plain)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def list_search_words(term: str) -> list[str]:
    """Return the words of a search term as they are compared with suffixes."""
    words = fold_text(term.replace("\0", " ")).split()  # no database stores a NUL
    return [word[:MAX_SUFFIX_LENGTH] for word in words]


def list_suffixes(texts: Iterable[str | None]) -> list[str]:
    """Return the suffixes of all words, without those that begin another one."""
    words = {word for text in texts for word in fold_text(text or "").split()}
    suffixes = sorted(
        {word[start : start + MAX_SUFFIX_LENGTH] for word in words for start in range(len(word))}
    )
    return [
        suffix
        for suffix, following in zip(suffixes, [*suffixes[1:], ""], strict=True)
        if not following.startswith(suffix)
    ]
