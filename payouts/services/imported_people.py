"""People of another system, stored as they stand there.

No rule of a program is applied, and no webhook, mail or limit. Each function stores one
object of the API 1.6 and returns its row; raises `ImportProblem` for what cannot be.
"""

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.db_compat import split_into_batches
from accounts.decimals import parse_decimal
from accounts.email_addresses import fold_email
from accounts.ids import SLUG_PATTERN, generate_public_id
from accounts.url_safety import read_parameters
from payouts.models.payments import PayoutMethod
from payouts.services.payout_methods import set_payout_method
from tracking.meta_data import mend_meta_data
from tracking.models.affiliates import ADDRESS_TEXTS, Affiliate, AffiliateGroup
from tracking.models.customers import (
    INITIAL_CUSTOMER_STATUSES,
    Customer,
    CustomerStatus,
)
from tracking.models.enrollments import Enrollment, ReferralCodeAlias
from tracking.models.programs import CODE_PARAMETERS, Program
from tracking.models.prospects import Prospect, SignupSource
from tracking.services.attribution import (
    attribute_by_import,
    build_attribution_record,
)
from tracking.services.imports import (
    ImportMap,
    ImportProblem,
    read_map,
    read_text,
    read_time,
)
from tracking.services.referral_codes import (
    create_referral_code,
    find_code_owner,
    is_code_taken,
    was_code_used,
)
from tracking.services.search import update_suffixes

NO_PASSWORD = "!"  # noqa: S105 - affiliates set one by the portal
MAX_SLUG_NUMBER = 1000
MAX_CODE_LENGTH = 64
PERSON_COLUMNS = {
    "company": {"company_name": "name", "company_description": "description"},
    "address": {name: name for name in ADDRESS_TEXTS},
}

Body = dict[str, Any]


def read_amount(body: Body, *names: str) -> Decimal:
    """Return the first amount that is there, not rounded."""
    for name in names:
        if body.get(name) is not None:
            try:
                return parse_decimal(str(body[name]))
            except ValueError:
                raise ImportProblem("invalid_amount", name, body[name]) from None
    raise ImportProblem("missing", names[0])


def import_group(imports: ImportMap, body: Body, _: Any = None) -> AffiliateGroup:
    """Store a group."""
    account, public_id = imports.account, read_text(body, "id", 32)
    known = account.affiliate_groups.filter(public_id=public_id).first()
    return known or account.affiliate_groups.create(
        public_id=public_id or generate_public_id("ag"),
        title=read_text(body, "title") or "Group",
        created_at=imports.at,
    )


def read_person(body: Body) -> dict[str, Any]:
    """Return the columns of name, company, address and meta data."""
    columns: dict[str, Any] = {
        "firstname": read_text(body, "firstname"),
        "lastname": read_text(body, "lastname"),
        "meta_data": mend_meta_data(read_map(body, "meta_data"))[0],
    }
    for key, names in PERSON_COLUMNS.items():
        values = read_map(body, key)
        for column, name in names.items():
            columns[column] = read_text(values, name) or None
    country = read_map(read_map(body, "address"), "country")
    columns["country"] = read_text(country, "code", 2).upper() or None
    return columns


def import_affiliate(
    imports: ImportMap, body: Body, _: Any = None, *, removed_at: datetime | None = None
) -> Affiliate:
    """Store an affiliate, who sets a password by the portal.

    An e-mail address that another affiliate has is left out. A removed affiliate is
    known only by what conversions say.
    """
    account, slug = imports.account, read_text(body, "id", 64)
    if not slug:
        raise ImportProblem("missing", "id")
    known = account.affiliates.filter(slug=slug).first()
    if known is not None:
        return known
    email = read_text(body, "email", 254) or None
    folded = fold_email(email) if email else None
    taken = account.affiliates.filter(email_folded=folded, deleted_at=None)
    if folded is not None and taken.exists():
        imports.add_note("affiliate", slug, "email_in_use", "email", email)
        email = folded = None
    affiliate = account.affiliates.create(  # type: ignore[misc]  # stubs: a `**` is no value
        slug=make_slug(imports, slug),
        password=NO_PASSWORD,
        email=email,
        email_folded=folded,
        custom_fields=read_map(body, "custom_fields"),
        group_id=imports.find("group", body.get("affiliate_group_id")),
        promotion_method=read_text(body, "promotion_method", 16) or None,
        promoted_at=read_time(body, "promoted_at", imports.at) if body.get("promoted_at") else None,
        created_at=read_time(body, "created_at", imports.at),
        deleted_at=removed_at,
        **read_person(body),
    )
    account.sources.create(affiliate=affiliate)
    update_suffixes(account, affiliate_id=affiliate.pk)
    imports.log("affiliate.created", affiliate)
    if affiliate.group is not None:
        group = affiliate.group.public_id
        imports.log("affiliate.added_to_group", affiliate, group=group)
    return affiliate


def make_slug(imports: ImportMap, text: str) -> str:
    """Return an ID of letters, digits and hyphens that nobody has yet."""
    if SLUG_PATTERN.fullmatch(text):
        return text
    imports.add_note("affiliate", text, "other_id", "id", text)
    base = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:56] or "affiliate"
    rows = imports.account.affiliates
    names = [base, *(f"{base}-{number}" for number in range(2, MAX_SLUG_NUMBER))]
    return next(name for name in names if not rows.filter(slug=name).exists())


def import_parent(imports: ImportMap, body: Body) -> None:
    """Set the parent of an affiliate, once all affiliates are stored."""
    parent = imports.find("affiliate", body.get("parent_id"))
    own = imports.find("affiliate", body.get("id"))
    if parent is not None and own is not None and parent != own:
        rows = imports.account.affiliates.filter(pk=own, parent=None)
        affiliate = rows.first()
        if affiliate is not None:
            affiliate.update_row(parent_id=parent)
            imports.log("affiliate.updated", affiliate, parent=parent)


def lock_affiliates(imports: ImportMap, bodies: Iterable[Body]) -> None:
    """Lock the known affiliates of enrollments, in the order of their ids."""
    ids = [(read_map(body, "affiliate") or body).get("id") for body in bodies]
    found = (imports.find("affiliate", each) for each in ids)
    pks = {pk for pk in found if pk is not None}
    for batch in split_into_batches(sorted(pks)):
        rows = imports.account.affiliates.filter(pk__in=batch).order_by("pk")
        list(rows.select_for_update(no_key=True).values_list("pk"))


def import_enrollment(imports: ImportMap, body: Body, program: Program) -> Enrollment:
    """Store an affiliate in a program, with the code of its link and its coupon."""
    account = imports.account
    person = read_map(body, "affiliate") or body
    affiliate = account.affiliates.get(
        pk=imports.get("affiliate", person.get("id"), "affiliate.id")
    )
    known = account.enrollments.filter(program=program, affiliate=affiliate).first()
    if known is not None:
        import_referral_codes(imports, body, known)
        return known
    approved = body.get("approved")
    enrollment = account.enrollments.create(
        program=program,
        affiliate=affiliate,
        approved=approved if isinstance(approved, bool) else None,
        applied_at=read_time(body, "applied_at", imports.at),
    )
    imports.log(
        "affiliate.added_to_program",
        affiliate,
        program=program.slug,
        approved=enrollment.approved,
    )
    link = read_map(body, "referral_link")
    code = find_code(read_text(link, "link", 2048))
    owner = find_code_owner(account, code) if code else None
    if isinstance(owner, ReferralCodeAlias) and not imports.switched_at:
        # It counts more than a further code that another affiliate had there.
        account.referral_code_aliases.filter(code=code).delete()
        owner = None
    if code and owner is None and not was_code_used(account, code, besides=enrollment):
        account.referral_codes.create(enrollment=enrollment, code=code)
    else:
        create_referral_code(account, enrollment=enrollment)
        path = "referral_link.link"
        imports.add_note("enrollment", affiliate.slug, "other_code", path, code)
    coupon = read_text(body, "coupon", 64)
    if coupon and account.coupons.filter(code=coupon).exists():
        imports.add_note("enrollment", affiliate.slug, "coupon_in_use", "coupon", coupon)
    elif coupon:
        account.coupons.create(enrollment=enrollment, code=coupon)
        imports.log("enrollment.updated", enrollment, fields=["coupon"])
    enrollment.affiliate = affiliate
    import_referral_codes(imports, body, enrollment)
    update_suffixes(account, affiliate_id=affiliate.pk)
    return enrollment


def import_referral_codes(imports: ImportMap, body: Body, enrollment: Enrollment) -> None:
    """Store further codes of an affiliate in a program, such as those of old links.

    They are the texts of the list `referral_codes`. One that another enrollment or a
    prospect has is listed as `code_in_use`, one that is too long as `invalid_code`.
    """
    account, sent = imports.account, body.get("referral_codes")
    for value in sent if isinstance(sent, list) else []:
        code, note = str(value).strip(), ""
        own = account.referral_codes.filter(enrollment=enrollment, code=code)
        if not code or own.exists():
            continue
        if len(code) > MAX_CODE_LENGTH or "\x00" in code:
            note = "invalid_code"
        elif is_code_taken(account, code, besides=enrollment):
            note = "code_in_use"
        if note:
            slug = enrollment.affiliate.slug
            imports.add_note("enrollment", slug, note, "referral_codes", code)
        elif not account.referral_code_aliases.filter(code=code).exists():
            account.referral_code_aliases.create(enrollment=enrollment, code=code)


def find_code(link: str) -> str:
    """Return the referral code of a link, under any of the known parameters."""
    query = read_parameters(link)
    found = [query[name] for name in CODE_PARAMETERS if query.get(name)]
    return found[0][:64] if found else ""


def import_payout_method(imports: ImportMap, body: Body, affiliate: Affiliate) -> PayoutMethod:
    """Store a payout method as the source has it."""
    return set_payout_method(
        imports.account,
        affiliate_id=affiliate.slug,
        kind=read_text(body, "type") or read_text(body, "id"),
        details={str(k): str(v) for k, v in read_map(body, "details").items()},
        is_primary=bool(body.get("primary")),
        at=imports.at,
        should_notify=False,
    )


def import_note(imports: ImportMap, body: Body, affiliate: Affiliate) -> Any:
    """Store a note about an affiliate."""
    account, public_id = imports.account, read_text(body, "id", 32)
    known = account.notes.filter(public_id=public_id).first()
    return known or account.notes.create(
        public_id=public_id or generate_public_id("no"),
        affiliate=affiliate,
        note=read_text(body, "note", 10_000),
        created_at=read_time(body, "created_at", imports.at),
    )


def load_customers(imports: ImportMap, bodies: Collection[Body]) -> None:
    """Read at once which customers and IDs of a page are here already.

    Without it, `import_customer` reads those of each one.
    """
    customer_ids = [read_text(body, "customer_id") for body in bodies]
    public_ids = [read_text(body, "id", 32) for body in bodies]
    rows = imports.account.customers
    known = rows.not_deleted().filter(customer_id__in=customer_ids)
    imports.customers |= dict.fromkeys(customer_ids)
    imports.customers |= {row.customer_id: row for row in known}
    taken = rows.filter(public_id__in=public_ids).values_list("public_id", flat=True)
    imports.public_ids |= set(taken)


def import_customer(imports: ImportMap, body: Body, _: Any = None) -> Customer:
    """Store a customer with the affiliate whom the source decided on."""
    account, public_id = imports.account, read_text(body, "id", 32)
    customer_id = read_text(body, "customer_id")
    if customer_id not in imports.customers:
        load_customers(imports, [body])
    known: Customer | None = imports.customers[customer_id]
    if known is not None:
        return known
    program, affiliate = get_owner(imports, body)
    status = read_text(body, "status")
    if status not in CustomerStatus.values:
        raise ImportProblem("unknown_status", "status", status)
    is_initial = status in INITIAL_CUSTOMER_STATUSES
    at = read_time(body, "created_at", imports.at)
    is_free = public_id and public_id not in imports.public_ids
    customer = account.customers.create(
        public_id=public_id if is_free else generate_public_id("cu"),
        customer_id=customer_id,
        program=program,
        affiliate=affiliate,
        status=status,
        initial_status=status if is_initial else CustomerStatus.NEW,
        meta_data=mend_meta_data(read_map(body, "meta_data"))[0],
        warnings=body.get("warnings") or None,
        created_at=at,
    )
    imports.customers[customer_id] = customer
    imports.public_ids.add(customer.public_id)
    attribution = attribute_by_import(program, affiliate, at)
    imports.attributions.append(build_attribution_record(account, attribution, subject=customer))
    imports.log("customer.created", customer)
    imports.past_rows.append(customer)
    return customer


def import_prospect(imports: ImportMap, body: Body, _: Any = None) -> Prospect:
    """Store a prospect; a server names no program, so its link or the only one counts.

    Who was promoted is an affiliate, and needs no prospect.
    """
    account, public_id = imports.account, read_text(body, "id", 32)
    link = read_text(read_map(body, "referral_link"), "link", 2048)
    programs = list(account.programs.order_by("id"))
    fitting = [it for it in programs if it.landing_page and it.landing_page in link]
    candidates = fitting or (programs if len(programs) == 1 else [])
    if not candidates:
        raise ImportProblem("unknown_program", "referral_link.link", link)
    email = read_text(body, "email", 254) or None
    signup_source = read_text(body, "signup_source")
    if signup_source not in SignupSource.values:
        signup_source = SignupSource.IMPORT
    prospect = account.prospects.create(  # type: ignore[misc]  # stubs: a `**` is no value
        public_id=public_id or generate_public_id("ap"),
        program=candidates[0],
        email=email,
        email_folded=fold_email(email) if email else None,
        signup_source=signup_source,
        created_at=read_time(body, "created_at", imports.at),
        **read_person(body),
    )
    account.sources.create(prospect=prospect)
    code = find_code(link)
    if code and not is_code_taken(account, code):
        account.referral_codes.create(prospect=prospect, code=code)
    else:
        create_referral_code(account, prospect=prospect)
        path = "referral_link.link"
        imports.add_note("prospect", prospect.public_id, "other_code", path, code)
    return prospect


def get_owner(imports: ImportMap, body: Body) -> tuple[Program, Affiliate]:
    """Return program and affiliate of a sale or customer.

    An affiliate who is in no list was removed at the source: it is stored as removed.
    """
    program = read_map(body, "program")
    pk = imports.get("program", program.get("id"), "program.id")
    person = read_map(body, "affiliate")
    known = imports.find("affiliate", person.get("id"))
    if known is None:
        removed = import_affiliate(imports, person, removed_at=imports.at)
        imports.remember("affiliate", person.get("id"), removed, person)
        known = removed.pk
    return imports.get_row("program", pk), imports.get_row("affiliate", known)
