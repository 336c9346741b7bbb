"""Programs of another system with their rates, stored as they stand there.

Each function stores one object of the API 1.6 and returns its row; raises
`ImportProblem` for what cannot be.
"""

from typing import Any

from accounts.ids import SLUG_PATTERN, generate_public_id
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commission_types import CommissionType, Level, RateKind
from payouts.services.imported_people import Body, read_amount
from tracking.models.programs import Program
from tracking.services.imports import ImportMap, ImportProblem, read_text
from tracking.services.programs import MAX_COOKIE_TIME_DAYS

DEFAULT_COOKIE_DAYS = 45


def read_kind(body: Body) -> str:
    """Return whether a rate is a percentage or a fixed amount."""
    kind = read_text(body, "type") or RateKind.PERCENTAGE
    return RateKind.FIXED if kind in ("fixed", "amount") else RateKind.PERCENTAGE


def import_program(imports: ImportMap, body: Body, _: Any = None) -> Program:
    """Store a program; its first commission type makes its rate."""
    account, slug = imports.account, read_text(body, "id", 64)
    known = account.programs.filter(slug=slug).first()
    if known is not None:
        return known
    if not SLUG_PATTERN.fullmatch(slug):
        raise ImportProblem("invalid_id", "id", slug)
    sent = body.get("cookie_time")
    is_number = isinstance(sent, int) and 1 <= sent <= MAX_COOKIE_TIME_DAYS
    cookie_time: int = sent if is_number else DEFAULT_COOKIE_DAYS  # type: ignore[assignment]
    program = account.programs.create(
        slug=slug,
        title=read_text(body, "title") or slug,
        currency=read_text(body, "currency", 3),
        cookie_time=cookie_time,
        landing_page=read_text(body, "default_landing_page_url", 2048),
        recurring=body.get("recurring") is not False,
        recurring_cap=body.get("recurring_cap") or None,
        recurring_period_days=body.get("recurring_period_days") or None,
        created_at=imports.at,
    )
    account.assets.create(program=program)
    imports.log("program.created", program)
    return program


def import_commission_type(imports: ImportMap, body: Body, program: Program) -> CommissionType:
    """Store a rate of a program with the rates of groups."""
    account, identifier = imports.account, read_text(body, "identifier", 64)
    known = account.commission_types.filter(program=program, identifier=identifier)
    row = known.first()
    if row is not None:
        return row
    types = account.commission_types.filter(program=program, is_default=True)
    row = account.commission_types.create(
        program=program,
        identifier=identifier,
        title=read_text(body, "title") or identifier,
        kind=read_kind(body),
        value=read_amount(body, "commission_value"),
        is_default=bool(body.get("is_default")) and not types.exists(),
        mlm=body.get("mlm") is not False,
    )
    for rate in body.get("affiliate_group_overrides") or []:
        group = imports.find("group", rate.get("affiliate_group_id"))
        if group is not None:
            account.group_rates.create(
                commission_type=row,
                group_id=group,
                kind=read_kind(rate),
                value=read_amount(rate, "commission_value"),
            )
    return row


def import_level(imports: ImportMap, body: Body, program: Program) -> Level:
    """Store the rate of a level."""
    account, number = imports.account, body.get("level")
    if not isinstance(number, int) or number < 2:
        raise ImportProblem("invalid_level", "level", number)
    known = account.levels.filter(program=program, level=number).first()
    return known or account.levels.create(
        program=program,
        level=number,
        title=read_text(body, "title") or f"Level {number}",
        kind=read_kind(body),
        value=read_amount(body, "commission_value", "percentage"),
    )


def import_bonus(imports: ImportMap, body: Body, program: Program) -> Bonus:
    """Store a bonus; the periods before the import are granted as the source did.

    If a mirror follows the source, so are those until the switch: `switch_bonuses`.
    """
    account, public_id = imports.account, read_text(body, "id", 32)
    known = account.bonuses.filter(public_id=public_id).first()
    goal_type, period = read_text(body, "goal_type"), read_text(body, "period")
    if goal_type not in GoalType.values or period not in BonusPeriod.values:
        raise ImportProblem("unknown_goal", "period", period)
    return known or account.bonuses.create(
        program=program,
        public_id=public_id or generate_public_id("bo"),
        title=read_text(body, "title") or read_text(body, "name") or "Bonus",
        goal_type=goal_type,
        goal=read_amount(body, "goal"),
        period=period,
        kind=read_kind(body),
        value=read_amount(body, "amount"),
        created_at=imports.at,
        granted_until=imports.at.date(),
    )


def switch_bonuses(imports: ImportMap) -> None:
    """Grant the bonuses of a source here, from the first period that is not over."""
    pks = [pk for (kind, _), pk in imports.known.items() if kind == "bonus"]
    for bonus in imports.account.bonuses.filter(pk__in=pks):
        bonus.update_row(created_at=imports.at, granted_until=imports.at.date())
