"""Audit log entries as sentences: who did what to which object, with a link to it.

The sentences of the kinds are in `accounts/events.py`. Entries name users and affiliates
by IDs of the audit log, programs by their IDs. A page looks up the names and objects of
all its entries with one query per model.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any

from django.apps import apps
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from accounts.actor import ActorKind, parse_actor
from accounts.audit_details import IDS, drop_odd_details
from accounts.events import EVENT_SENTENCES
from accounts.models.users import User
from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.audit_changes import (
    describe_fields_change,
    describe_parent_change,
    format_amounts,
    format_value,
    is_change,
    name_rates,
    render_details,
)
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_money,
)
from affiliate_site.backoffice.theme import get_object_url
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from payouts.models.risk import RiskCase
from payouts.models.runs import PayoutLine, PayoutLineState, PayoutRun
from payouts.services.payout_runs import find_payments_in
from tracking.models.affiliates import Affiliate, AffiliateGroup, Note
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.imports import TableImport
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.models.questions import Question
from tracking.models.shops import Connection
from tracking.models.sources import Coupon

# Models of subjects whose rows are looked up: model, the field with the name by which
# entries call a row, and the relations to load.
SUBJECT_MODELS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "affiliate": (Affiliate, "log_id", ()),
    "commission": (Commission, "pk", ("affiliate",)),
    "connection": (Connection, "public_id", ()),
    "conversion": (Conversion, "pk", ()),
    "customer": (Customer, "public_id", ()),
    "note": (Note, "public_id", ("affiliate",)),
    "payment": (Payment, "public_id", ("affiliate",)),
    "payoutrun": (PayoutRun, "public_id", ()),
    "prospect": (Prospect, "public_id", ()),
    "question": (Question, "public_id", ("affiliate",)),
    "riskcase": (RiskCase, "pk", ("affiliate",)),
    "tableimport": (TableImport, "public_id", ()),
}
# Other subjects: the list that finds them by their name, and what staff call them.
SUBJECT_LISTS = {
    "affiliategroup": ("tracking_affiliategroup", "affiliate group"),
    "apikey": ("accounts_apikey", "API key"),
    "creative": ("tracking_creative", "creative"),
    "document": ("payouts_document", "document"),
    "program": ("tracking_program", "program"),
    "signingsecret": ("accounts_signingsecret", "signing secret"),
    "webhookendpoint": ("accounts_webhookendpoint", "webhook"),
}
LOGGED_MODELS = {*SUBJECT_MODELS, *SUBJECT_LISTS}

# What an update of a commission did, by its new status.
STATUS_PREDICATES = {
    "approved": "approved {}",
    "disapproved": "disapproved {}",
    "pending": "set {} back to pending",
}
APPROVAL_WORDS = {True: "approved", None: "pending", False: "disapproved"}
APPROVAL_DETAILS = ("approved", "previous_approved")
AFFILIATE_SUFFIX = " (affiliate)"  # of an actor
OWN_PATTERN = re.compile(r"\bthe ([^{}]+) of \{\}")  # what a subject changed of itself
SENTENCE_PARAMETER_PATTERN = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Names:
    """The names and rows that the entries of a page refer to and the user may see."""

    emails: dict[str, str]  # of users, by ID in the log
    slugs: dict[str, str]  # of affiliates, by ID in the log
    programs: dict[tuple[int, str], str]  # titles, by account and ID
    rates: dict[tuple[int, str], str]  # in words, by account and subject
    groups: dict[str, str]  # titles, by public ID
    coupons: dict[tuple[int, str], str]  # of today, by account and enrollment
    # Of subjects and actors, by model name or kind and name in the entry.
    rows: dict[tuple[str | None, str], Any]
    returned: set[str]  # IDs of canceled payments that the bank refused or returned


def find_names(user, entries, actors=()) -> Names:
    """Look up what the entries refer to, and the e-mails of further `actors`."""
    actors = {*actors, *(entry.actor for entry in entries)}
    rows = find_named_rows(user, entries, actors)
    user_ids = {parse_actor_id(actor) for actor in actors}
    details = [drop_odd_details(entry.details) for entry in entries]
    user_ids |= {each.get("user_id") for each in details}
    users = filter_for_user(User.objects.filter(log_id__in=user_ids - {None}), user)
    groups = {it for each in details if isinstance(it := each.get("group"), str)}
    return Names(
        emails=dict(users.values_list("log_id", "email")),
        slugs={row.log_id: row.slug for row in rows.values() if isinstance(row, Affiliate)},
        programs=find_programs(user, entries, details),
        rates=name_rates(user, entries),
        groups=dict(
            filter_for_user(AffiliateGroup.objects.all(), user)
            .filter(public_id__in=groups)
            .values_list("public_id", "title")
        )
        if groups
        else {},
        coupons=find_coupons(user, entries),
        rows=rows,
        returned=find_returned(rows, entries),
    )


def find_returned(rows: dict[tuple[str | None, str], Any], entries) -> set[str]:
    """Return the IDs of payments of entries that came back, not canceled by staff."""
    found = {entry.subject for entry in entries if entry.kind == "payment.canceled"}
    payments = {
        row.pk: row for (model_name, name), row in rows.items() if f"{model_name}:{name}" in found
    }
    if not payments:
        return set()
    accounts = {row.account_id for row in payments.values()}
    lines = PayoutLine.objects.filter(account__in=accounts)
    returned = find_payments_in(lines, payments, PayoutLineState.RETURNED)
    return {payments[pk].public_id for pk in returned}


def parse_enrollment(entry) -> tuple[str, str] | None:
    """Return program and affiliate of an entry about an enrollment."""
    model_name, _, name = entry.subject.partition(":")
    program, separator, affiliate = name.partition("/")
    return (program, affiliate) if model_name == "enrollment" and separator else None


def find_coupons(user, entries) -> dict[tuple[int, str], str]:
    """Map enrollments whose coupon changed to the coupon that they have now: the log
    has none, because it may name a person who is erased."""
    pairs = [
        pair
        for entry in entries
        if "coupon" in (drop_odd_details(entry.details).get("fields") or ())
        and (pair := parse_enrollment(entry))
    ]
    if not pairs:
        return {}
    programs, affiliates = zip(*pairs, strict=True)
    rows = Coupon.objects.filter(
        enrollment__program__slug__in=programs, enrollment__affiliate__log_id__in=affiliates
    )
    keys = ("account", "enrollment__program__slug", "enrollment__affiliate__log_id", "code")
    return {
        (account, f"enrollment:{program}/{affiliate}"): code
        for account, program, affiliate, code in filter_for_user(rows, user).values_list(*keys)
    }


def find_programs(user, entries, details) -> dict[tuple[int, str], str]:
    """Map the accounts and IDs of programs that entries name to their titles."""
    slugs = {pair[0] for entry in entries if (pair := parse_enrollment(entry))}
    for each in details:
        value = each.get("program")
        slugs |= {it for it in (value if isinstance(value, list) else [value]) if it}
    subjects = map(parse_subject, entries)
    slugs |= {name for model_name, name in subjects if model_name == "program"}
    if not slugs:
        return {}
    rows = filter_for_user(Program.objects.filter(slug__in=slugs), user)
    return {
        (account, slug): title
        for account, slug, title in rows.values_list("account", "slug", "title")
    }


def parse_actor_id(actor: str | None) -> str | None:
    """Return the ID in the log of the user who is the actor; None if it is no user."""
    kind, key = parse_actor(actor)
    return key if kind in (ActorKind.STAFF, ActorKind.OPERATOR) and key else None


def parse_id(text: str) -> int | None:
    """Return a primary key; None for a text or number that no row has."""
    is_number = text.isdecimal() and len(text) <= len(str(IDS.stop))
    return pk if is_number and (pk := int(text)) in IDS else None


def find_named_rows(user, entries, actors) -> dict[tuple[str | None, str], Any]:
    """Map subjects, and affiliates and shops that are actors, to the rows that the user
    may see, by (model name, name)."""
    names: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        names["affiliate"] |= set(list_named_affiliates(entry))
    for model_name, name in (*map(parse_actor, actors), *map(parse_subject, entries)):
        if model_name in SUBJECT_MODELS:
            has_key = SUBJECT_MODELS[model_name][1] == "pk"
            if not has_key or parse_id(name) is not None:
                names[model_name].add(name)
    rows: dict[tuple[str | None, str], Any] = {}
    for model_name, model_names in names.items():
        model, field, relations = SUBJECT_MODELS[model_name]
        found = model.objects.filter(**{f"{field}__in": model_names})
        for row in filter_for_user(found, user).select_related(*relations):
            rows[model_name, str(getattr(row, field))] = row
    return rows


def list_named_affiliates(entry) -> list[str]:
    """Return the IDs of affiliates in the details of an entry: the parent, the old and
    the new affiliate, and who is in a payout run or not."""
    details = drop_odd_details(entry.details)
    affiliate = details.get("affiliate")
    names = affiliate if isinstance(affiliate, list) else [affiliate]
    return [name for name in (details.get("parent"), *names) if isinstance(name, str)]


def name_details(entry, names: Names) -> dict[str, Any]:
    """Return a copy of the details with names instead of IDs, and with what an
    enrollment is part of."""
    details = drop_odd_details(entry.details)
    if pair := parse_enrollment(entry):
        details.setdefault("program", pair[0])
    enrollment = entry.account_id, entry.subject
    if enrollment in names.coupons and "coupon" in details.get("fields", ()):
        details["coupon now"] = names.coupons[enrollment]
    if "until" in details:  # of a released commission
        details["until"] = format_datetime(datetime.fromisoformat(details["until"]))
    programs = {slug: it for (pk, slug), it in names.programs.items() if pk == entry.account_id}
    for name, known in (
        ("user_id", names.emails),
        ("parent", names.slugs),
        ("program", programs),
        ("affiliate", names.slugs),
    ):
        if name in details:
            details[name] = name_each(details[name], known)
    return details


def name_each(value: Any, names) -> Any:
    """Return a name instead of a key, or of each key of a list; else the value."""
    if isinstance(value, list):
        return [name_each(each, names) for each in value]
    return names.get(value, value) if isinstance(value, int | str) else value


def parse_subject(entry) -> tuple[str, str]:
    """Return model name and name of the subject; for an enrollment, its affiliate's."""
    model_name, _, name = entry.subject.partition(":")
    if model_name == "enrollment":
        return "affiliate", name.rpartition("/")[2]
    return model_name, name


# Objects whose IDs are not what staff call them.
DESCRIPTIONS: dict[type, Callable[[Any], str]] = {
    Commission: lambda row: f"commission {row} of {row.affiliate}",
    Connection: lambda row: f"shop {row.name}",
    Conversion: lambda row: f"conversion {row.external_id or row.pk}",
    Customer: lambda row: f"customer {row.customer_id or row.public_id}",
    Note: lambda row: f"a note about {row.affiliate}",
    Payment: lambda row: (
        f"payment {row} to {row.affiliate}: {format_money(row.amount, row.currency)}"
    ),
    Prospect: lambda row: f"prospect {row.firstname} {row.lastname}",
    Question: lambda row: f"a question of {row.affiliate}",
    RiskCase: lambda row: f"risk case {row} of {row.affiliate}",
    TableImport: lambda row: f"the import of {row.file_name}",
}


def describe_row(row, *, has_amount: bool) -> str:
    """Return an object in words: `commission 84 of adastone (now 37.48 EUR)`.

    The amount of a conversion or commission is its present amount, because entries do
    not store it; it is left out without `has_amount`.
    """
    describe = DESCRIPTIONS.get(type(row))
    text = describe(row) if describe else f"{row._meta.verbose_name} {row}"
    if has_amount and isinstance(row, Conversion | Commission):
        text += f" (now {format_money(row.amount, row.currency)})"
    return text


def link_subject(entry, names: Names, *, has_amount: bool) -> SafeString | str:
    """Return the subject of an entry in words, linked to its page or list."""
    model_name, name = parse_subject(entry)
    row = names.rows.get((model_name, name))
    if row is not None:
        text = describe_row(row, has_amount=has_amount)
        return format_html('<a href="{}">{}</a>', get_object_url(row), text)
    if model_name in SUBJECT_LISTS:
        list_name, title = SUBJECT_LISTS[model_name]
        url, term = reverse(f"admin:{list_name}_changelist"), name.rstrip("…")
        if model_name == "program":
            name = names.programs.get((entry.account_id, name), name)
        return format_html('<a href="{}?q={}">{} {}</a>', url, term, title, name)
    if rate := names.rates.get((entry.account_id, entry.subject)):
        return rate
    if name.replace(" ", "") == model_name:  # the only one of an account
        return name
    return f"{name_models().get(model_name, model_name)} {name}"


@cache
def name_models() -> dict[str, str]:
    """Map what entries call models to what staff call them: `tax rule`."""
    found = (model._meta for model in apps.get_models())
    return {str(each.model_name): str(each.verbose_name) for each in found}


def describe_actor(actor: str | None, names: Names) -> str:
    """Return the actor in words, a shop with a link; "" if it is not known."""
    if not actor:
        return ""
    user_id = parse_actor_id(actor)
    kind, key = parse_actor(actor)
    if user_id is not None:
        unknown = "An operator" if kind == ActorKind.OPERATOR else actor
        return names.emails.get(user_id) or unknown
    if kind is not None and (kind, key) in names.rows:
        row = names.rows[kind, key]
        if isinstance(row, Connection):
            return format_html('<a href="{}">{}</a>', get_object_url(row), row.name)
        return f"{row.firstname} {row.lastname}{AFFILIATE_SUFFIX}"
    texts: dict[ActorKind | None, str] = {
        ActorKind.KEY: f"API key {key}…",
        ActorKind.COMMAND: f"The command {key}",
        ActorKind.UNKNOWN: "A page or form",
        ActorKind.SYSTEM: "The system",
    }
    return texts.get(kind, actor)


def render_sentence(entry, names: Names) -> SafeString:
    """Return `anna@example.org approved commission 84 of adastone (now 37.48 EUR)`."""
    actor = describe_actor(entry.actor, names)
    if "@" not in actor and not isinstance(actor, SafeString):
        actor = capfirst(actor)  # addresses stay as they are
    return format_html("{} {}", actor, render_action(entry, names))


def render_action(entry, names: Names, *, is_line: bool = False, subject: str = "") -> SafeString:
    """Return `approved commission 84 of adastone (now 37.48 EUR)`.

    With `is_line`, for a history whose page shows the amounts, return
    `Approved commission 84 of adastone`; with a `subject`, `Approved this commission`.
    """
    details = name_details(entry, names)
    row = names.rows.get(tuple(entry.subject.split(":", 1)))
    currency = row.currency if isinstance(row, Conversion | Commission) else ""
    format_amounts(details, currency)
    text = describe_event(entry, details, names)
    for name in SENTENCE_PARAMETER_PATTERN.findall(text):
        value = format_value(details.pop(name, ""), has_changes=False)
        text = text.replace(f"{{{name}}}", value.replace("{", "(").replace("}", ")"))
    for name in APPROVAL_DETAILS:
        details.pop(name, None)
    own = OWN_PATTERN.search(text)
    if row and own and names.rows.get(parse_actor(entry.actor)) is row:
        text = OWN_PATTERN.sub("{}", text)
        link = '<a href="{}">their {}</a>'
        subject = subject or format_html(link, get_object_url(row), own[1])
    before, placeholder, after = text.partition("{}")
    subject = subject or link_subject(entry, names, has_amount=not is_line)
    return format_html(
        "{}{}{}{}",
        capfirst(before) if is_line else before,
        subject if placeholder else "",
        after,
        render_details(details, has_changes=not entry.kind.endswith(".created")),
    )


def render_actions(entries, names: Names) -> SafeString:
    """Return what one request did: the sentence of the first entry; the other entries
    are folded, each with a link to its page."""
    first, *others = entries
    sentence = render_sentence(first, names)
    if not others:
        return sentence
    url_name = "admin:accounts_auditlogentry_change"
    lines = [
        (render_action(entry, names, is_line=True), reverse(url_name, args=[entry.pk]))
        for entry in others
    ]
    return format_html(
        '{}<details class="subtext"><summary>and {} more</summary>{}</details>',
        sentence,
        f"{len(others):,}",
        format_html_join("", '<div>{} (<a href="{}">entry</a>)</div>', lines),
    )


def group_actions(entries, names: Names) -> list[list[Any]]:
    """Group neighboring entries in which one request did the same."""

    def get_action(entry):
        predicate = describe_event(entry, name_details(entry, names), names)
        request = entry.trace_id or entry.created_at  # a command has no request
        return entry.account_id, request, entry.actor, entry.kind, predicate

    return [list(group) for _, group in groupby(entries, get_action)]


def describe_event(entry, details, names: Names) -> str:
    """Return the sentence of an entry's event, with `{}` for the subject.

    Removes from `details` what the sentence says.
    """
    if entry.kind == "affiliate.added_to_program":
        details["approved"] = APPROVAL_WORDS[details.get("approved")]
    if entry.kind == "affiliate.added_to_group":
        group = details.get("group")
        details["group"] = names.groups.get(str(group), group)
    if entry.kind == "commission.updated" and "status" in details:
        details.pop("fields", None)  # the comment, which is the reason, or `payout`
        return STATUS_PREDICATES.get(details.pop("status")[-1], "changed {}")
    if entry.kind == "affiliate.updated" and "group" in details:
        details.pop("group")
        return "took {} out of its group"
    if entry.kind == "affiliate.updated" and "parent" in details:
        return describe_parent_change(details.pop("parent"))
    if entry.kind.endswith((".updated", ".set")):
        named = details.pop("fields", [])
        changed = [name for name, value in details.items() if is_change(value)]
        if fields := [*named, *changed]:
            return describe_fields_change(fields, details)
    return get_sentence(entry, names)


def get_sentence(entry, names: Names) -> str:
    """Return the sentence of the kind; the kind itself for one of an older version."""
    if entry.kind == "payment.canceled" and parse_subject(entry)[1] in names.returned:
        return "recorded that {} was refused or returned"
    if entry.kind == "tax_rule.set" and "withholding" in drop_odd_details(entry.details):
        return "set {} to {rate} % VAT and {withholding} % withholding tax"
    return EVENT_SENTENCES.get(entry.kind, f"{entry.kind} {{}}")
