"""The filters of a list that are set, each with a link that removes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Chip:
    """A filter that is set, and the query of the list without it."""

    title: str
    value: str
    remove_query: str
    choices: Sequence[tuple[str, str]] = ()  # texts and queries, if it is not clear


def list_chips(changelist, request) -> list[Chip]:
    """The filters and the search that are set."""
    chips = []
    if changelist.query:
        chips.append(build_chip(request, "search", changelist.query, ["q"]))
    seen = {"q", "o", "p", "e"}
    for spec in changelist.filter_specs:
        names = spec.expected_parameters()
        seen.update(names)
        if not any(request.GET.get(name) for name in names):
            continue
        chip = build_chip(request, spec.title, spec.value_text, names)
        choices = getattr(spec, "choice_links", ())
        chips.append(replace(chip, choices=choices))
    for name, value in request.GET.items():
        if name not in seen:
            title = name.partition("__")[0].replace("_", " ")
            chips.append(build_chip(request, title, value, [name]))
    return chips


def build_chip(request, title, value, names) -> Chip:
    """A chip that removes these parameters.

    Django's `get_query_string` would remove all that begin like them, too.
    """
    query = request.GET.copy()
    for name in (*names, "p"):
        query.pop(name, None)
    return Chip(str(title).capitalize(), str(value), f"?{query.urlencode()}")
