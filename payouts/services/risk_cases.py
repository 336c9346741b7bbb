"""Risk cases: rules look at new sales and at affiliates, staff decide what they found.

The worker looks soon after a sale, not its transaction, which would take longer. What
was found once is not found again, so looking twice changes nothing. What an open case is
about is on hold: `Commission.under_review_since`, beside `due_at`. Of a case about an
affiliate, `Affiliate.under_review_since` holds new sales in their own transaction.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from accounts.actor import ActorKind, build_actor, get_actor, use_actor
from accounts.days import CLOSING_DELAY
from accounts.db_compat import BATCH_SIZE, split_into_batches
from accounts.errors import InvalidSetting
from accounts.lookups import count_rows, get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import RiskCaseDecided, RiskRuleNotFound
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.risk import RiskCase, RiskCaseState, RiskFinding, RiskRule
from payouts.services.commissions import disapprove_commission
from payouts.services.ledger import open_ledger_session
from payouts.services.risk_rules import RISK_RULES, WINDOW, RiskFact
from tracking.models.affiliates import Affiliate
from tracking.services.enrollments import set_approval

MAX_BATCHES = 20  # of sales, between two looks of the worker at what else is due
MAX_DRY_RUN_SALES = 20_000
AFFILIATE_INTERVAL = timedelta(hours=1)  # between two looks at all affiliates
OPENING_TIME = timedelta(minutes=1)  # within which a case follows the mark of its affiliate
# The kinds of their entries in the audit log.
DECISIONS = {
    RiskCaseState.CLEARED: "risk_case.cleared",
    RiskCaseState.DISAPPROVED: "risk_case.disapproved",
    RiskCaseState.EXCLUDED: "risk_case.excluded",
}
AFFILIATE_RULES = [name for name, kind in RISK_RULES.items() if not kind.is_about_sales]
# None of the transactions that have taken an ID runs longer.
SETTLING_TIME = CLOSING_DELAY / 2


def create_rule(
    account: Account, *, rule: str, threshold: int | None = None, patterns: str = "", at: datetime
) -> RiskRule:
    """Add a rule, which is off. Raises `InvalidSetting` if it exists or is unknown."""
    kind = RISK_RULES.get(rule)
    if kind is None or account.risk_rules.filter(rule=rule).exists():
        raise InvalidSetting(setting="The rule", rule="one that the account lacks", path="rule")
    row = RiskRule(
        account=account,
        rule=rule,
        threshold=kind.default if threshold is None else threshold,
        patterns=patterns or kind.default_patterns,
    )
    is_new = account.risk_rules.insert_or_ignore(row, unique_fields=("account", "rule"))
    if not is_new:
        raise InvalidSetting(setting="The rule", rule="one that the account lacks", path="rule")
    log_event(account, "risk_rule.created", row, at=at)
    return row


def update_rule(
    account: Account,
    *,
    pk: int,
    threshold: int | None = None,
    patterns: str | None = None,
    at: datetime,
) -> RiskRule:
    """Change settings of a rule for what it finds from now on; None leaves one as it is."""
    with transaction.atomic():
        row = get_or_raise(account.risk_rules, RiskRuleNotFound, pk=pk, lock=True)
        changes: dict[str, Any] = {
            name: value
            for name, value in (("threshold", threshold), ("patterns", patterns))
            if value is not None and value != getattr(row, name)
        }
        if changes:
            thresholds = [row.threshold, changes.get("threshold", row.threshold)]
            row.update_row(**changes)
            log_event(
                account,
                "risk_rule.updated",
                row,
                at=at,
                threshold=thresholds,
                **({"fields": ["patterns"]} if "patterns" in changes else {}),
            )
    return row


def switch_on(account: Account, *, pk: int, at: datetime) -> RiskRule:
    """Let a rule look at all sales from now on, or at all affiliates."""
    with transaction.atomic():
        row = get_or_raise(account.risk_rules, RiskRuleNotFound, pk=pk, lock=True)
        newest = _get_newest_sale(account)
        row.update_row(
            enabled_at=at, evaluated_to=newest, settled_to=newest, pass_to=newest, pass_at=None
        )
        log_event(account, "risk_rule.switched_on", row, at=at)
    return row


def switch_off(account: Account, *, pk: int, at: datetime) -> RiskRule:
    """Let a rule find nothing more; its cases stay."""
    with transaction.atomic():
        row = get_or_raise(account.risk_rules, RiskRuleNotFound, pk=pk, lock=True)
        row.update_row(enabled_at=None)
        log_event(account, "risk_rule.switched_off", row, at=at)
    return row


def list_dry_run(rule: RiskRule, *, at: datetime) -> list[RiskFact]:
    """Return what a rule would have found of the last 90 days; nothing is stored.

    Of more than `MAX_DRY_RUN_SALES` it looks at the newest.
    """
    kind, account = RISK_RULES[rule.rule], rule.account
    if not kind.is_about_sales:
        return list(kind.find(rule, at))
    sales = account.conversions.not_deleted().filter(created_at__gte=at - WINDOW)
    newest = sales.newest_first().values_list("pk", flat=True)[:MAX_DRY_RUN_SALES]
    return [
        fact
        for batch in split_into_batches(list(newest))
        for fact in kind.find(rule, account.conversions.filter(pk__in=batch).order_by("-id"))
    ]


def list_evaluated_accounts() -> list[Account]:
    """List the accounts that have a rule switched on, or commissions on hold by case."""
    rules = RiskRule.objects.across_accounts().filter(enabled_at__isnull=False)
    held = Commission.objects.across_accounts().filter(under_review_since__isnull=False)
    accounts = Q(pk__in=rules.values("account")) | Q(pk__in=held.values("account"))
    return list(Account.objects.filter(accounts).order_by("pk"))


def evaluate_rules(account: Account, *, at: datetime, is_complete: bool = False) -> bool:
    """Let the rules of an account look at what they have not seen; return whether there
    is more to see. With `is_complete`, as before a payout run, they look at all there is.
    New commissions of affiliates with an open case are put on hold, then and each hour,
    but for those of sales, which are from the start. A sale that began before a decision
    is released by the next look.

    Called outside of a transaction: each affiliate's findings are stored in one of their
    own, so an interrupted look goes on where it was.
    """
    has_more, was_complete = False, is_complete
    with use_actor(build_actor(ActorKind.SYSTEM)):
        for rule in account.risk_rules.filter(enabled_at__isnull=False).order_by("rule"):
            kind = RISK_RULES.get(rule.rule)
            if kind is None:
                continue  # of another version
            rule.account = account
            if kind.is_about_sales:
                has_more |= _evaluate_sales(rule, at=at, is_complete=is_complete)
            elif is_complete or rule.pass_at is None or at - rule.pass_at >= AFFILIATE_INTERVAL:
                store_facts(rule, list(kind.find(rule, at)), at=at)
                if not is_complete:  # a run that is refused then stores nothing else
                    rule.update_row(pass_at=at)
                was_complete = True
        if was_complete:
            _correct_marks(account, at=at)
        hold_commissions(account, at=at, only_releases=not was_complete)
    return has_more


def list_wrong_marks(account: Account) -> QuerySet[Affiliate]:
    """The affiliates whose `under_review_since` is not what the open cases say."""
    rows, held = account.affiliates.all(), _list_affiliate_cases(account).values("affiliate")
    marked = Q(under_review_since__lt=Now() - OPENING_TIME)
    return rows.filter(Q(pk__in=held, under_review_since=None) | (marked & ~Q(pk__in=held)))


def _correct_marks(account: Account, *, at: datetime) -> None:
    """Mark those whose case an earlier release opened, and none whose case never came."""
    for pk in list(list_wrong_marks(account).values_list("pk", flat=True)):
        with transaction.atomic():
            _lock_affiliate(account, pk)
            _mark_affiliate(account, pk, at=at)


def _list_affiliate_cases(account: Account) -> QuerySet[RiskCase]:
    """The open cases that hold all unpaid commissions of their affiliates."""
    return account.risk_cases.filter(state=RiskCaseState.OPEN, rule__in=AFFILIATE_RULES)


def _lock_affiliate(account: Account, pk: int) -> bool:
    """Lock an affiliate; return whether it is not removed."""
    rows = account.affiliates.filter(pk=pk).select_for_update(no_key=True)
    return [deleted_at for _, deleted_at in rows.values_list("pk", "deleted_at")] == [None]


def _mark_affiliate(account: Account, pk: int, *, at: datetime) -> None:
    """Say on the affiliate, which is locked, whether an open case holds what it earns."""
    is_held = _list_affiliate_cases(account).filter(affiliate=pk).exists()
    rows = account.affiliates.filter(pk=pk, under_review_since__isnull=is_held)
    rows.update(under_review_since=at if is_held else None)


def _announce_case(account: Account, affiliate_id: int, *, at: datetime) -> None:
    """Mark an affiliate before its case opens, and wait for sales that have not seen that.

    A transaction of its own, and this is its only lock: sales hold it as readers
    (`LockedSubquery`) until they have the balances that the case locks, too.
    """
    rows = account.affiliates.filter(pk=affiliate_id, under_review_since=None, deleted_at=None)
    with transaction.atomic():
        if rows.select_for_update().values_list("pk").first():
            rows.update(under_review_since=at)


def _evaluate_sales(rule: RiskRule, *, at: datetime, is_complete: bool) -> bool:
    """Look at the sales that the rule has not seen; once in a while again at those that
    may have been committed after it saw later ones.

    Sales from before it was switched on, which an import may bring later, are left out.
    """
    account, find = rule.account, RISK_RULES[rule.rule].find
    is_settled = rule.pass_at is not None and at - rule.pass_at >= SETTLING_TIME
    newest = _get_newest_sale(account)
    position = rule.settled_to if is_settled or is_complete else rule.evaluated_to
    rows = account.conversions.filter(pk__lte=newest).order_by("pk")
    count = 0
    while position < newest:
        if count == MAX_BATCHES and not is_settled and not is_complete:
            return True
        count += 1
        pks = list(rows.filter(pk__gt=position).values_list("pk", flat=True)[:BATCH_SIZE])
        sales = account.conversions.not_deleted().filter(pk__in=pks)
        sales = sales.filter(created_at__gte=rule.enabled_at).order_by("pk")
        store_facts(rule, list(find(rule, sales)), at=at)
        position = pks[-1] if pks else newest
        if position > rule.evaluated_to:
            rule.update_row(evaluated_to=position)
    if is_settled or rule.pass_at is None:
        rule.update_row(settled_to=rule.pass_to, pass_to=newest, pass_at=at)
    return False


def _get_newest_sale(account: Account) -> int:
    return account.conversions.aggregate(newest=Max("pk"))["newest"] or 0


def store_facts(rule: RiskRule, facts: Sequence[RiskFact], *, at: datetime) -> None:
    """Open a case for each affiliate with new facts, or add them to the open one."""
    by_affiliate: dict[int, list[RiskFact]] = defaultdict(list)
    for fact in _list_new(rule, facts):
        by_affiliate[fact.affiliate_id].append(fact)
    for affiliate_id, found in sorted(by_affiliate.items()):
        if rule.rule in AFFILIATE_RULES:
            _announce_case(rule.account, affiliate_id, at=at)
        with transaction.atomic():
            _store_facts_of(rule, affiliate_id, found, at=at)


def _list_new(rule: RiskRule, facts: Sequence[RiskFact]) -> list[RiskFact]:
    """Return the facts that were never found before."""
    known: set[tuple[int, int | None, str]] = set()
    rows = rule.account.risk_findings.filter(rule=rule.rule)
    for batch in split_into_batches(facts):
        found = rows.filter(
            Q(conversion__in={fact.conversion_id for fact in batch} - {None})
            | Q(conversion=None, affiliate__in={fact.affiliate_id for fact in batch})
        )
        known |= set(found.values_list("affiliate", "conversion", "key"))
    return [
        fact for fact in facts if (fact.affiliate_id, fact.conversion_id, fact.key) not in known
    ]


def _store_facts_of(
    rule: RiskRule, affiliate_id: int, facts: Sequence[RiskFact], *, at: datetime
) -> None:
    account = rule.account
    if not _lock_affiliate(account, affiliate_id):
        return  # removed: nobody is left to decide about
    facts = _list_new(rule, facts)  # another worker may have stored some
    if not facts:
        _mark_affiliate(account, affiliate_id, at=at)
        return
    mine: dict[str, Any] = {"rule": rule.rule, "affiliate_id": affiliate_id}
    case = account.risk_cases.filter(**mine, state=RiskCaseState.OPEN).first()
    is_new = case is None
    if case is None:
        (case,) = account.risk_cases.bulk_create([RiskCase(account=account, **mine, created_at=at)])
    account.risk_findings.bulk_create(
        RiskFinding(
            account=account,
            case=case,
            **mine,
            conversion_id=fact.conversion_id,
            key=fact.key,
            facts=fact.facts,
            created_at=at,
        )
        for fact in facts
    )
    _mark_affiliate(account, affiliate_id, at=at)
    hold_commissions(account, at=at)
    kind = "risk_case.opened" if is_new else "risk_case.joined"
    log_event(account, kind, case, at=at, findings=len(facts))


def count_open_cases() -> Coalesce:
    """The number of open cases, as a part of a query of rows with an account."""
    rows = RiskCase.objects.of(OuterRef("account")).filter(state=RiskCaseState.OPEN)  # type: ignore[arg-type]
    return count_rows(rows)


def hold_commissions(account: Account, *, at: datetime, only_releases: bool = False) -> None:
    """Put the commissions that open cases are about on hold, and release all others.

    Called in a transaction that locks nothing after balances. The confirmation of a
    payout run locks the same ones, so what it pays is not put on hold meanwhile.
    """
    cases = account.risk_cases.filter(state=RiskCaseState.OPEN)
    findings = account.risk_findings.filter(case__in=cases, conversion__isnull=False)
    of_affiliates = _list_affiliate_cases(account)
    is_held = Q(conversion__in=findings.values("conversion")) | Q(
        affiliate__in=of_affiliates.values("affiliate")
    )
    statuses = (CommissionStatus.APPROVED, CommissionStatus.PENDING)
    rows = account.commissions.not_deleted().order_by()
    unheld = rows.filter(is_held, payment=None, status__in=statuses, under_review_since=None)
    wrong = {
        True: unheld if not only_releases and cases.exists() else rows.none(),
        False: rows.filter(under_review_since__isnull=False).exclude(is_held),
    }
    columns = ("pk", "affiliate", "currency")
    found = {flag: list(rows.values_list(*columns)) for flag, rows in wrong.items()}
    keys = {(row[1], row[2]) for rows in found.values() for row in rows}
    if not keys:
        return
    with transaction.atomic(), open_ledger_session(account, keys, at=at) as ledger:
        ledger.lock_balances()
        for flag, changed in found.items():
            for batch in split_into_batches([row[0] for row in changed]):
                since = at if flag else None
                wrong[flag].filter(pk__in=batch).update(under_review_since=since)


def clear_case(account: Account, *, pk: int, note: str, at: datetime) -> RiskCase:
    """Decide that nothing is wrong. Raises `RiskCaseDecided`.

    What it is about opens no case again; other facts do.
    """
    with transaction.atomic():
        return _decide(account, pk, RiskCaseState.CLEARED, note, at=at)


def disapprove_case(account: Account, *, pk: int, note: str, at: datetime) -> RiskCase:
    """Disapprove the commissions that a case is about, then decide it.

    Those that are paid or final stay. Each is a transaction of its own, so an
    interrupted decision is continued by making it again. Raises `RiskCaseDecided`.
    """
    return _disapprove(account, pk, RiskCaseState.DISAPPROVED, note, at=at)


def exclude_affiliate(account: Account, *, pk: int, note: str, at: datetime) -> RiskCase:
    """Disapprove the affiliate in all programs, and what the case is about.

    Raises `RiskCaseDecided`.
    """
    case = _get_open(account, pk)
    rows = account.enrollments.filter(affiliate=case.affiliate, program__archived_at=None)
    rows = rows.exclude(approved=False).select_related("program").order_by("pk")
    for enrollment in rows:
        program, slug = enrollment.program, case.affiliate.slug
        program.account = account
        set_approval(account, program=program, affiliate_id=slug, approved=False, at=at)
    return _disapprove(account, pk, RiskCaseState.EXCLUDED, note, at=at)


def list_commissions(case: RiskCase) -> Any:
    """The commissions that a case is about: of its sales, or all unpaid ones of its
    affiliate."""
    rows = case.account.commissions.not_deleted()
    kind = RISK_RULES.get(case.rule)
    if kind is not None and not kind.is_about_sales:
        return rows.filter(affiliate=case.affiliate_id, payment=None)
    findings = case.account.risk_findings.filter(case=case, conversion__isnull=False)
    return rows.filter(conversion__in=findings.values("conversion"))


def _disapprove(
    account: Account, pk: int, state: RiskCaseState, note: str, *, at: datetime
) -> RiskCase:
    case = _get_open(account, pk)
    rows = list_commissions(case).exclude(status=CommissionStatus.DISAPPROVED).order_by("pk")
    for commission in rows.select_related("account"):
        if not commission.is_settled:
            # The note is for staff: the affiliate reads the reason of a disapproval.
            disapprove_commission(account, commission_id=commission.pk, at=at)
    with transaction.atomic():
        return _decide(account, pk, state, note, at=at)


def _get_open(account: Account, pk: int) -> RiskCase:
    rows = account.risk_cases.select_related("affiliate")
    return get_or_raise(rows, RiskCaseDecided, pk=pk, state=RiskCaseState.OPEN)


def _decide(
    account: Account, pk: int, state: RiskCaseState, note: str, *, at: datetime
) -> RiskCase:
    case = _get_open(account, pk)
    _lock_affiliate(account, case.affiliate_id)
    is_mine = case.update_row(
        expected={"state": RiskCaseState.OPEN},
        state=state,
        note=note,
        decided_by=get_actor().name,
        decided_at=at,
    )
    if not is_mine:
        raise RiskCaseDecided
    _mark_affiliate(account, case.affiliate_id, at=at)
    hold_commissions(account, at=at)
    log_event(account, DECISIONS[state], case, at=at)
    return case
