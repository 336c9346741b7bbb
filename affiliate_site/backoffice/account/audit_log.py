"""The page of the audit log: who changed what, and when."""

import re

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
    describe_actor,
    find_names,
    group_actions,
    name_details,
    render_actions,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.formatters import format_key_values
from affiliate_site.backoffice.lists.columns import ListColumn
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import MAX_CHOICES, SelectFilter
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
DETAILS = ("action", "named_subject", "named_actor", "formatted_details")
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


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyBackOfficeAdmin):
    """One row per change."""

    columns = (
        "created_at",
        ListColumn("sentence", is_exported=False),
        *(ListColumn(name, is_listed=False) for name in DETAILS),
    )
    list_filter = (ActorFilter, KindFilter, DateFilter)
    search_fields = ("subject__exact",)
    search_help_text = (
        "Search by a staff user's e-mail, an affiliate, an order, or the ID of a"
        " payment, conversion or commission"
    )
    ordering = ("-id",)
    fields = readonly_fields = ("sentence", "created_at", *DETAILS, "trace_id")

    def get_object(self, request, object_id, from_field=None):
        entry = super().get_object(request, object_id, from_field)
        if entry is not None:
            self.prepare_rows(request, [entry])
        return entry

    def prepare_rows(self, request, rows):
        """Look up what the entries name, and fold those of one action into one row."""
        names = find_names(request.user, rows)
        groups = group_actions(rows, names)
        if len(groups) < len(rows):
            request.count_note = (
                f"{len(rows)} of them on this page, in {len(groups)} rows: what one"
                " action did to several objects is one row"
            )
        for first, *others in groups:
            first.names, first.others = names, others
            for entry in others:
                entry.names, entry.others, entry.is_folded = names, [], True

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

    @display(description="What happened")
    def sentence(self, entry):
        return render_actions([entry, *entry.others], entry.names)

    @display(description="Action")
    def action(self, entry):
        return describe_kind(entry.kind)

    @display(description="Subject")
    def named_subject(self, entry):
        row = entry.names.rows.get(tuple(entry.subject.split(":", 1)))
        is_affiliate = isinstance(row, Affiliate)
        return f"{AFFILIATE_PREFIX}{row.slug}" if is_affiliate else entry.subject

    @display(description="Actor")
    def named_actor(self, entry):
        actor = describe_actor(entry.actor, entry.names)
        is_named = "@" in actor or actor.endswith(AFFILIATE_SUFFIX)
        is_named = is_named and not isinstance(actor, SafeString)  # a link to a shop
        return f"{actor} ({entry.actor})" if is_named else entry.actor

    @display(description="Details")
    def formatted_details(self, entry):
        has_changes = not entry.kind.endswith(".created")
        details = name_details(entry, entry.names)
        for name in details.keys() & APPROVAL_DETAILS:
            if isinstance(details[name], bool | None):
                details[name] = APPROVAL_WORDS[details[name]]
        return format_key_values(
            {name: format_value(value, has_changes=has_changes) for name, value in details.items()}
        )


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
