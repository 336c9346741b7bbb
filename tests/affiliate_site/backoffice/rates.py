"""Rates and a bonus of an account's program."""

from decimal import Decimal

from accounts.ids import generate_public_id


def create_rates(account, marker: str) -> None:
    """Create rates of each kind, a bonus and an invitation with the marker in each text."""
    program = account.programs.first()
    rate = {"kind": "percentage", "value": Decimal(5)}
    account.group_rates.create(
        commission_type=account.commission_types.filter(program=program).first(),
        group=account.affiliate_groups.first(),
        **rate,
    )
    account.rates.create(
        program=program,
        conditions=[{"field": f"meta_data.{marker}", "is": marker}],
        counts_from=program.created_at,
        position=1,
        **rate,
    )
    account.levels.create(program=program, level=2, title=marker, **rate)
    invitation = {"public_id": generate_public_id("pi"), "title": marker}
    account.program_invitations.create(program=program, **invitation)
    account.bonuses.create(
        program=program,
        public_id=generate_public_id("bo"),
        title=marker,
        goal_type="conversions",
        goal=Decimal(10),
        period="month",
        **rate,
    )
