"""The sidebar and the tabs above lists, which pages declare."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from django.contrib import admin
from django.db.models import Model
from django.http import QueryDict
from django.urls import reverse

from affiliate_site.backoffice.theme import reverse_changelist

GROUPS = ("Affiliates", "Tracking", "Payouts", "Integration", "Account")


@dataclass(frozen=True)
class MenuEntry:
    """An entry of the sidebar, which leads to the list or page that declares it.

    It is shown to users who may open that, and sorted by `place` within its group:
    those of every day first, the others folded below them.
    """

    group: str
    place: int
    icon: str
    title: str = ""  # by default that of the list or page
    query: str = ""  # the filters that it leads to
    badge: str = ""  # the attribute of the user with a number
    is_daily: bool = False  # whether staff see it without unfolding anything
    synonyms: str = ""  # what staff may call it in the command palette
    parameter: str = ""  # of the list: if it is `yes`, this entry is marked, no other one
    url_names: tuple[str, ...] = ()  # pages below the list that it leads to instead


@dataclass(frozen=True)
class SubList:
    """A list without an entry: that of another list is marked on its pages."""

    model: type[Model]
    tab: str = ""  # the title of its tab, beside that of the other list


@dataclass(frozen=True)
class ListAction:
    """What staff do on the list that declares it, as the command palette finds it."""

    place: int  # among all of them
    title: str
    query: str = ""  # the filters that it leads to
    permission: str = ""  # by default to change what the list shows


def list_navigation(request) -> list[dict]:
    """The groups of the sidebar."""
    items = [*iterate_list_items(request), *iterate_settings_items()]
    items.sort(key=lambda item: item["place"])
    dashboard = {"title": "Dashboard", "icon": "dashboard", "link": reverse("admin:index")}
    return [
        {"items": [dashboard]},
        *(
            {"title": group, "items": [item for item in items if item["group"] == group]}
            for group in GROUPS
        ),
    ]


def fold_group(group: dict) -> dict:
    """The entries of a group that the user may open: of every day, and the rest. A group
    that has none of every day is folded itself; what has the present page is open."""
    items = [item for item in group["items"] if item["has_permission"]]
    daily = [item for item in items if item.get("is_daily")]
    rest = [item for item in items if not item.get("is_daily")]
    has_place = any(item["active"] for item in rest)
    return group | {
        "daily": daily,
        "rest": rest,
        "is_open": bool(daily) or has_place,
        "is_rest_open": has_place,
    }


def iterate_model_admins() -> Iterator[tuple[str, Any]]:
    """The pages of all models, by the names of their URLs."""
    for model, model_admin in admin.site._registry.items():  # noqa: SLF001 - no other way
        yield get_model_name(model), model_admin


def get_model_name(model: type[Model]) -> str:
    return model._meta.label_lower.replace(".", "_")


def iterate_list_items(request) -> Iterator[dict]:
    sub_lists = group_sub_lists()
    for name, model_admin in iterate_model_admins():
        url, is_marked = reverse_changelist(name), False
        below = [other for other, _ in sub_lists[model_admin.model]]
        # The entry of the list itself comes first, and is marked if no other one is.
        for entry in reversed(model_admin.menu):
            paths = tuple(reverse(f"admin:{it}") for it in entry.url_names)
            is_active = not is_marked
            if paths:
                is_active = is_marked = request.path.startswith(paths)
            elif entry.parameter:
                is_list = request.path == url
                is_active = is_marked = is_list and request.GET.get(entry.parameter) == "yes"
            item = build_item(entry, (paths or (url,))[0], model_admin.list_title)
            yield item | {
                "paths": paths or tuple(map(reverse_changelist, (name, *below))),
                "is_active": is_active,
                "permission": get_list_permission(model_admin, needs_account=bool(paths)),
                **({"badge": getattr(request.user, entry.badge, 0)} if entry.badge else {}),
                **({"badge_variant": "warning"} if entry.badge else {}),
            }


def get_list_permission(model_admin, *, needs_account: bool):
    opts = model_admin.opts
    permission = f"{opts.app_label}.view_{opts.model_name}"

    def is_allowed(request) -> bool:
        has_account = request.user.account_id is not None
        return (has_account or not needs_account) and request.user.has_perm(permission)

    return is_allowed


def iterate_settings_items() -> Iterator[dict]:
    """Entries of the pages of the account, which operators have not."""
    for page in admin.site.settings_pages.values():  # type: ignore[attr-defined]
        url = reverse(f"admin:{page.url_name}")

        def is_allowed(request, page=page) -> bool:
            return request.user.account_id is not None and page.is_allowed(request.user)

        yield build_item(page.menu, url, page.title) | {"paths": (url,), "permission": is_allowed}


def build_item(entry: MenuEntry, url: str, title: str) -> dict:
    return {
        "title": entry.title or title,
        "icon": entry.icon,
        "link": f"{url}?{entry.query}" if entry.query else url,
        "group": entry.group,
        "place": entry.place,
        "is_daily": entry.is_daily,
        "synonyms": entry.synonyms,
    }


def group_sub_lists() -> dict[type[Model], list[tuple[str, str]]]:
    """The lists on whose pages the entry of a model is marked, with their tabs."""
    found: dict[type[Model], list[tuple[str, str]]] = defaultdict(list)
    for name, model_admin in iterate_model_admins():
        if sub_list := model_admin.sub_list:
            found[sub_list.model].append((name, sub_list.tab))
    return found


# The theme compares all these URLs on each page, so each is a text, not lazy.
def list_tabs(request) -> list[dict]:
    """The tabs above lists: filters of a list, or lists that belong together."""
    tabs, sub_lists = [], group_sub_lists()
    for name, model_admin in iterate_model_admins():
        if queries := model_admin.get_tabs(request):
            tabs.append(build_tabs(request, name, queries))
        if lists := [each for each in sub_lists[model_admin.model] if each[1]]:
            lists.insert(0, (name, model_admin.list_title))
            tabs.append(
                {
                    "models": [it.replace("_", ".", 1) for it, _ in lists],
                    "items": [{"title": tab, "link": reverse_changelist(it)} for it, tab in lists],
                }
            )
    return tabs


def build_tabs(request, model_name: str, queries: dict[str, str]) -> dict:
    """Tabs above a list: their titles and the filters they link to, with the others
    that are set."""
    url = reverse_changelist(model_name)
    parameters = {name for query in queries.values() for name, _ in parse_qsl(query)}
    kept = request.GET.copy() if request.path == url else QueryDict(mutable=True)
    for name in (*parameters, "p", "e"):
        kept.pop(name, None)
    others = kept.urlencode()
    parameters.discard("deleted_at__isnull")
    return {
        "models": [model_name.replace("_", ".", 1)],
        "items": [
            {
                "title": title,
                "link": f"{url}?{'&'.join(filter(None, [query, others]))}",
                "active": build_active_check(parameters, query),
            }
            for title, query in queries.items()
        ],
    }


def build_active_check(parameters: set[str], query: str):
    """A check whether a request has, of these parameters, those of this query."""
    filters = dict.fromkeys(parameters) | dict(parse_qsl(query))

    def is_active(request) -> bool:
        return all(request.GET.get(name) == it for name, it in filters.items())

    return is_active
