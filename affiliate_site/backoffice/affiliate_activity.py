"""Entries of the audit log about an affiliate as sentences."""

from dataclasses import dataclass
from datetime import datetime

from accounts.models.users import User
from affiliate_site.backoffice.audit_log import (
    find_names,
    list_affiliate_ids,
    list_user_ids,
    parse_id,
)
from affiliate_site.backoffice.audit_sentences import ACTOR_PATTERN
from tracking.models.affiliates import Affiliate

FIELD_NAMES = {
    "firstname": "first name",
    "lastname": "last name",
    "email": "e-mail",
    "email_folded": "",
    "company_name": "company",
    "company_description": "company",
    "meta_data": "metadata",
    "custom_fields": "custom fields",
    "referral_code": "referral code",
    **dict.fromkeys(("address", "address_two", "postal_code"), "address"),
    **dict.fromkeys(("city", "state", "country"), "address"),
}
APPROVAL_WORDS = {True: "approved", None: "pending", False: "disapproved"}


@dataclass(frozen=True)
class Event:
    """What somebody did, and when."""

    at: datetime
    actor: str
    text: str


def describe_entries(entries, user, affiliate) -> list[Event]:
    """The entries as sentences; names are looked up by one query for each kind."""
    account = affiliate.account
    emails = find_names(User, "email", user, list_user_ids(entries))
    slugs = find_names(Affiliate, "slug", user, list_affiliate_ids(entries))
    groups = {entry.details.get("group") for entry in entries} - {None}
    rows = account.affiliate_groups.filter(public_id__in=groups)
    titles = dict(rows.values_list("public_id", "title")) if groups else {}
    return [
        Event(
            entry.created_at,
            emails.get(parse_id(ACTOR_PATTERN, entry.actor) or 0) or entry.actor,
            describe_entry(entry.kind, entry.details, slugs, titles),
        )
        for entry in entries
    ]


def describe_entry(kind: str, details: dict, slugs: dict, groups: dict) -> str:
    """One entry as the end of a sentence that begins with who did it."""
    program = details.get("program", "")
    if kind == "affiliate.added_to_program":
        status = APPROVAL_WORDS.get(details.get("approved"), "pending")
        return f"added the affiliate to {program}: {status}"
    if kind == "affiliate.added_to_group":
        group = details.get("group")
        return f"put the affiliate into the group {groups.get(group, group)}"
    if kind == "affiliate.updated" and "parent" in details:
        parent = details["parent"]
        return (
            f"set the parent to {slugs.get(parent, parent)}"
            if parent
            else ("removed the parent")
        )
    if kind == "affiliate.updated" and "group" in details:
        return "took the affiliate out of its group"
    if kind in ("affiliate.updated", "enrollment.updated"):
        names = [FIELD_NAMES.get(name, name) for name in details.get("fields", ())]
        return f"changed {', '.join(dict.fromkeys(filter(None, names)))}"
    return {
        "affiliate.created": "created the affiliate",
        "affiliate.deleted": "removed the affiliate",
        "affiliate.approved": f"approved the affiliate for {program}",
        "affiliate.disapproved": f"disapproved the affiliate for {program}",
        "enrollment.reset_to_pending": f"set the affiliate in {program} to pending",
        "payout_method.set": f"set the payout method {details.get('method', '')}",
    }.get(kind, kind)
