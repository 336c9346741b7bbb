"""What somebody should look at before a payout run pays it, and why."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q

from payouts.models.commissions import Commission, CommissionQuerySet
from payouts.models.risk import RiskCaseState, RiskFinding
from payouts.models.runs import LEFT_OUT_STATES, PayoutRun, PayoutRunState
from payouts.services.run_selection import Selection
from tracking.claims import ClaimStatus

DOUBTFUL = (
    Q(conversion__warnings__isnull=False)
    | Q(conversion__claim_status=ClaimStatus.OPEN)
    | Q(conversion__disputed_at__isnull=False)
)


@dataclass(frozen=True)
class DoubtfulCommission:
    """A commission with what risk rules found of its sale or its affiliate."""

    commission: Commission
    findings: list[RiskFinding] = field(default_factory=list)


def filter_doubtful(run: PayoutRun) -> CommissionQuerySet:
    """The commissions of sales with a warning, an open claim or a dispute that a run
    pays, and of a draft those that it leaves out because a risk case is open."""
    account = run.account
    lines = account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    if run.state != PayoutRunState.DRAFT:
        rows = account.commissions.filter(DOUBTFUL, payment__in=lines.values("payment"))
    else:
        selection = Selection(run)
        rows = account.commissions.unpaid().filter(
            Q(due_at=None) | Q(due_at__lt=run.due_before), **selection.conditions
        )
        if selection.has_programs:
            rows = rows.filter(
                Q(conversion__program__in=selection.programs)
                | Q(bonus__program__in=selection.programs)
            )
        is_paid = Exists(
            lines.filter(affiliate=OuterRef("affiliate"), currency=OuterRef("currency"))
        )
        rows = rows.filter(Q(under_review_since__isnull=False) | (DOUBTFUL & is_paid))
    return rows.select_related("affiliate", "conversion").order_by("affiliate", "created_at", "pk")


def find_findings(run: PayoutRun, commissions: Sequence[Commission]) -> list[DoubtfulCommission]:
    """Find what the open cases about these commissions are of."""
    sales = {it.conversion_id for it in commissions} - {None}
    affiliates = {it.affiliate_id for it in commissions if it.is_under_review}
    rows = run.account.risk_findings.filter(case__state=RiskCaseState.OPEN).filter(
        Q(conversion__in=sales) | Q(conversion=None, affiliate__in=affiliates)
    )
    by_sale = defaultdict[int | None, list[RiskFinding]](list)
    by_affiliate = defaultdict[int | None, list[RiskFinding]](list)
    for row in rows.order_by("rule", "pk") if commissions else ():
        found = by_affiliate if row.conversion_id is None else by_sale
        found[row.conversion_id or row.affiliate_id].append(row)
    return [
        DoubtfulCommission(
            it,
            [
                *by_sale.get(it.conversion_id, ()),
                *(by_affiliate.get(it.affiliate_id, ()) if it.is_under_review else ()),
            ],
        )
        for it in commissions
    ]
