"""The page of the audit log: who changed what, and when."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import CharField, Q, Value
from django.db.models.functions import Cast, Concat
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from accounts.actor import ActorKind, build_actor
from accounts.events import EVENT_SENTENCES, summarize_kind
from accounts.models.audit_log import AuditLogEntry
from accounts.models.users import User
from accounts.tenant_admin import filter_for_user, get_user
from affiliate_site.backoffice.audit_changes import format_value
from affiliate_site.backoffice.audit_sentences import (
    AFFILIATE_SUFFIX,
    APPROVAL_DETAILS,
    APPROVAL_WORDS,
    LOGGED_MODELS,
    Names,
    describe_actor,
    find_names,
    group_actions,
    name_details,
    render_actions,
)
from affiliate_site.backoffice.base import PreparedChangeList, ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import format_key_values
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import MAX_CHOICES, SelectFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.columns import Column, load_columns
from tracking.models.affiliates import Affiliate
from tracking.services.search import find_affiliates, list_exact_orders

AFFILIATE_PREFIX = "affiliate:"
SUBJECT_SEPARATOR_PATTERN = re.compile(r"\s*:\s*|\s+")
# What belongs to an affiliate: the relation, and how entries call its rows.
OWN_SUBJECTS = (
    ("enrollments", "enrollment", ("program__slug", "affiliate__log_id")),
    ("conversions", "conversion", ("pk",)),
    ("commissions", "commission", ("pk",)),
    ("payments", "payment", ("public_id",)),
    ("customers", "customer", ("public_id",)),
    ("questions", "question", ("public_id",)),
    ("notes", "note", ("public_id",)),
    ("prospects", "prospect", ("public_id",)),
)
STAFF_KINDS = [kind for kind in EVENT_SENTENCES if kind.startswith("staff.")]


class ActorFilter(SelectFilter):
    """What one staff user did."""

    title = "done by"
    parameter_name = "actor"

    @cached_property
    def emails(self) -> dict[str, str]:
        """The addresses of staff, by their names in the audit log."""
        users = filter_for_user(User.objects.all(), get_user(self.request))
        rows = users.order_by("email", "pk")[:MAX_CHOICES]
        return {user.actor_name: user.email for user in rows}

    def list_options(self):
        return list(self.emails.items())

    def queryset(self, request, queryset):
        return queryset.filter(actor=self.value()) if self.value() else queryset


class KindFilter(SelectFilter):
    """What was done, in words."""

    title = "action"
    parameter_name = "kind"
    noun = "action"

    def list_options(self):
        options = ((kind, describe_kind(kind)) for kind in EVENT_SENTENCES)
        return sorted(options, key=lambda option: option[1])

    def filter_rows(self, queryset):
        return queryset.filter(kind=self.value())


class EntryGroup(NamedTuple):
    """What one action did to several objects, in one row."""

    entries: Sequence[AuditLogEntry]
    names: Names


def group_entries(request, entries) -> dict[int, EntryGroup]:
    """The groups by the primary keys of their first entries; those of others are empty."""
    names = find_names(request.user, entries)
    groups = {group[0].pk: group for group in group_actions(entries, names)}
    return {entry.pk: EntryGroup(groups.get(entry.pk, ()), names) for entry in entries}


def name_subject(entry, group: EntryGroup) -> str:
    row = group.names.rows.get(tuple(entry.subject.split(":", 1)))
    return f"{AFFILIATE_PREFIX}{row.slug}" if isinstance(row, Affiliate) else entry.subject


def name_actor(entry, group: EntryGroup) -> str:
    actor = describe_actor(entry.actor, group.names)
    is_named = "@" in actor or actor.endswith(AFFILIATE_SUFFIX)
    is_named = is_named and not isinstance(actor, SafeString)  # a link to a shop
    return f"{actor} ({entry.actor})" if is_named else entry.actor


def format_details(entry, group: EntryGroup) -> str:
    has_changes = not entry.kind.endswith(".created")
    details = name_details(entry, group.names)
    for name in details.keys() & APPROVAL_DETAILS:
        if isinstance(details[name], bool | None):
            details[name] = APPROVAL_WORDS[details[name]]
    return format_key_values(
        {name: format_value(value, has_changes=has_changes) for name, value in details.items()}
    )


SENTENCE = Column(
    "What happened",
    lambda entry, group: render_actions(group.entries, group.names),
    name="sentence",
    load=group_entries,
    is_exported=False,
)
DETAILS = (
    Column("Action", lambda entry: describe_kind(entry.kind), is_listed=False),
    Column("Subject", name_subject, name="named_subject", load=group_entries, is_listed=False),
    Column("Actor", name_actor, name="named_actor", load=group_entries, is_listed=False),
    Column(
        "Details", format_details, name="formatted_details", load=group_entries, is_listed=False
    ),
)


class AuditChangeList(PreparedChangeList):
    """The list without the entries that the row of another one shows, too."""

    def get_results(self, request):
        super().get_results(request)
        entries: list[Any] = list(self.result_list)  # type: ignore[has-type]
        shown = [entry for entry in entries if entry.loaded[group_entries].entries]
        if len(shown) < len(entries):
            request.count_note = (
                f"{len(entries)} of them on this page, in {len(shown)} rows: what one"
                " action did to several objects is one row"
            )
        self.count_on_page, self.result_list = len(entries), shown


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyBackOfficeAdmin):
    """One row per change."""

    menu = (MenuEntry("Integration", 70, "history"),)
    list_title = "Audit log"
    empty_state = "No audit log entries yet. Each change adds one."
    columns = ("created_at", SENTENCE, *DETAILS)
    list_filter = (ActorFilter, KindFilter, DateFilter)
    search_fields = ("subject__exact",)
    search_help_text = (
        "Search by a staff user's e-mail, an affiliate, an order, or the ID of a"
        " payment, conversion or commission"
    )
    ordering = ("-id",)
    fields = readonly_fields = (  # type: ignore[assignment]  # Django takes functions
        *(SENTENCE, "created_at", *DETAILS, "trace_id"),
    )

    def get_changelist(self, request, **kwargs):
        return AuditChangeList

    def get_object(self, request, object_id, from_field=None):
        entry = super().get_object(request, object_id, from_field)
        if entry is not None:
            load_columns([SENTENCE, *DETAILS], request, [entry])
        return entry

    def get_search_results(self, request, queryset, search_term):
        """Find the entries of an object by its kind and ID, `commission 84`, or by what
        staff know of it."""
        term = search_term.strip()
        if not term:
            return queryset, False
        subject = SUBJECT_SEPARATOR_PATTERN.sub(":", term, count=1)
        prefix, separator, slug = subject.partition(":")
        prefix = prefix.lower() + separator
        if prefix == AFFILIATE_PREFIX:
            rows = filter_for_user(Affiliate.objects.filter(slug=slug), request.user)
            found = Q(pk__in=[])
            for row in rows.select_related("account"):
                found |= Q(find_of_affiliates(row.account, [row.pk]), account=row.account)
            return queryset.filter(found), False
        found = Q(subject=prefix + slug) | find_by_name(request.user, term)
        return queryset.filter(found), False


def describe_kind(kind: str) -> str:
    """What was done, as a filter offers it; the kind of an older version itself."""
    return capfirst(summarize_kind(kind)) if kind in EVENT_SENTENCES else kind


def list_subjects(model_name: str, names) -> list[str]:
    """What entries call these objects."""
    return [f"{model_name}:{name}" for name in names]


def find_by_name(user, term: str) -> Q:
    """The condition for entries about what has this ID or name, and for those of the
    staff user with this e-mail address."""
    subjects = [f"{name}:{term}" for name in LOGGED_MODELS - {"affiliate"}]
    account, affiliates = user.account, []
    if account is not None and not term.isdecimal():
        affiliates = find_affiliates(account, term).pks
    if account is not None:
        subjects += list_order_subjects(account, term)
    found = Q(subject__in=subjects)
    if affiliates:
        found |= find_of_affiliates(account, affiliates)
    if "@" in term:
        users = filter_for_user(User.objects.filter(email__iexact=term), user)
        for each in users:
            found |= Q(actor=each.actor_name)
            found |= Q(kind__in=STAFF_KINDS, details__user_id=each.log_id)
    return found


def list_order_subjects(account, term: str) -> list[str]:
    """The sale of an order, its commissions and their payments, and questions about it."""
    questions = account.questions.filter(order_id=term).values_list("public_id", flat=True)
    orders = list_exact_orders(account, term)
    rows = account.commissions.filter(conversion__in=orders).values_list("pk", "payment__public_id")
    commissions, payments = zip(*rows, strict=True) if rows else ((), ())
    return [
        *list_subjects("conversion", orders),
        *list_subjects("commission", commissions),
        *list_subjects("payment", filter(None, payments)),
        *list_subjects("question", questions),
    ]


def find_of_affiliates(account, pks) -> Q:
    """The condition for entries about affiliates and what is theirs, and for those of
    what they did themselves in the portal."""
    names = list(account.affiliates.filter(pk__in=pks).values_list("log_id", flat=True))
    found = Q(subject__in=list_subjects("affiliate", names))
    found |= Q(actor__in=[build_actor(ActorKind.AFFILIATE, name) for name in names])
    for relation, model_name, columns in OWN_SUBJECTS:
        rows = getattr(account, relation).filter(affiliate__in=pks)
        found |= Q(subject__in=rows.values(subject=build_subject(model_name, columns)))
    return found


def build_subject(model_name: str, columns):
    """What entries call a row, as SQL."""
    parts = [Cast(column, CharField()) for column in columns]
    first, *others = parts
    separated = [each for part in others for each in (Value("/"), part)]
    return Concat(Value(f"{model_name}:"), first, *separated, output_field=CharField())
