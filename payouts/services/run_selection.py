"""What a payout run may pay: balances, their commissions, and payout methods."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import Any

from accounts.db_compat import BATCH_SIZE, split_into_batches
from accounts.encryption import calculate_blind_index
from accounts.models.accounts import Account
from payouts.models.commissions import BalanceKey
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.models.runs import PayoutLine, PayoutRun
from payouts.payout_details import normalize_details
from payouts.services.documents import (
    calculate_withholding,
    describe_problems,
    find_billing_settings,
    list_problems,
)
from payouts.services.payout_methods import find_obstacle
from payouts.services.tax_data import Taxes, load_taxes
from tracking.models.affiliates import ADDRESS_COLUMNS, Affiliate
from tracking.money import ZERO

# The choices of a basis, and the kinds of payout methods that each of them means.
METHODS = {
    "bank": (PayoutMethodKind.BANK, PayoutMethodKind.WIRE_TRANSFER),
    "paypal": (PayoutMethodKind.PAYPAL,),
    "wise": (PayoutMethodKind.WISE,),
    "other": (PayoutMethodKind.OTHER,),
}
# What files say of an affiliate, with its ID.
RECEIVER_COLUMNS = (
    *("account", "slug", "firstname", "lastname", "company_name"),
    *ADDRESS_COLUMNS,
)
EMPTY_DIGEST = hashlib.sha256().hexdigest()


@dataclass
class RunCandidate:
    """A balance that a run may pay, and its approved commissions that are not paid.

    `due` and `on_hold` are those of the basis, `unpaid` is the sum of all.
    """

    balance_key: BalanceKey
    balance: Decimal
    due: Decimal = ZERO
    on_hold: Decimal = ZERO
    unpaid: Decimal = ZERO
    count: int = 0  # of those that are due
    digest: str = EMPTY_DIGEST  # of those, too
    commission_ids: list[int] = field(default_factory=list)

    @property
    def amount(self) -> Decimal:
        """What is due, with an opening balance that no payment has paid, minus what
        earlier payments paid beyond their commissions."""
        return self.due - (self.unpaid - self.balance)


class Selection:
    """The balances of the basis of a run, and how their affiliates are paid."""

    def __init__(self, run: PayoutRun) -> None:
        account, basis = run.account, run.basis
        self.account, self.run = account, run
        self.has_programs = bool(basis["programs"])
        programs = account.programs.filter(slug__in=basis["programs"])
        self.programs = set(programs.values_list("pk", flat=True))
        self.kinds = {kind for name in basis["methods"] for kind in METHODS[name]}
        self.conditions: dict[str, Any] = {}
        if basis["currencies"]:
            self.conditions["currency__in"] = basis["currencies"]
        if basis["groups"]:
            self.conditions["affiliate__group__public_id__in"] = basis["groups"]

    def list_candidates(
        self, balances: Mapping[BalanceKey, Decimal], *, keeps_ids: bool = False
    ) -> Iterator[RunCandidate]:
        """Yield balances with unpaid commissions, sorted; then those without any."""
        left = dict(balances)
        rows = self.account.commissions.unpaid().filter(**self.conditions)
        columns = ["affiliate_id", "currency", "pk", "amount", "due_at", "under_review_since"]
        if self.has_programs:
            columns += ["conversion__program_id", "bonus__program_id"]
        ordered = rows.order_by("affiliate_id", "currency", "created_at", "id")
        found = ordered.values_list(*columns).iterator(BATCH_SIZE)
        for key, group in groupby(found, key=lambda row: row[:2]):
            candidate = RunCandidate(key, left.pop(key, ZERO))
            digest = hashlib.sha256()
            for pk, amount in self._sort_out(candidate, group):
                digest.update(f"{pk} {amount}\n".encode())
                if keeps_ids:
                    candidate.commission_ids.append(pk)
            candidate.digest = digest.hexdigest()
            if not self.has_programs or candidate.count or candidate.on_hold:
                yield candidate
        if not self.has_programs:
            for key, balance in sorted(left.items()):
                yield RunCandidate(key, balance)

    def _sort_out(
        self, candidate: RunCandidate, rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Decimal]]:
        """Yield the commissions that are due, and add up all in the candidate."""
        for _, _, pk, amount, due_at, under_review_since, *programs in rows:
            candidate.unpaid += amount
            if programs and self.programs.isdisjoint(programs):
                continue
            is_early = due_at is not None and due_at >= self.run.due_before
            if is_early or under_review_since is not None:
                candidate.on_hold += amount
                continue
            candidate.due += amount
            candidate.count += 1
            yield pk, amount


class Recipients:
    """How affiliates are paid on a day: their primary payout methods, who is removed,
    and what documents lack, by affiliate, if the account pays nobody without one."""

    def __init__(self, account: Account, day: date) -> None:
        removed = account.affiliates.exclude(deleted_at=None)
        self.removed = set(removed.values_list("pk", flat=True))
        methods = account.payout_methods.filter(is_primary=True).order_by()
        self.methods = {method.affiliate_id: method for method in methods.iterator(BATCH_SIZE)}
        # Digests only: the names of all would take much memory.
        named = account.affiliates.filter(pk__in=methods.values("affiliate")).order_by()
        self.receivers = {}
        self.document_problems: dict[int, str] = {}
        settings = find_billing_settings(account, day)
        self.taxes = Taxes({}, {}, "")
        if settings:
            country = settings.payer_country
            self.taxes = load_taxes(account, self.methods, payer_country=country)
        requires_documents = settings is not None and settings.requires_documents
        for affiliate in named.only(*RECEIVER_COLUMNS).iterator(BATCH_SIZE):
            if affiliate.pk not in self.methods:
                continue
            receiver = build_receiver(affiliate, self.methods[affiliate.pk])
            index = calculate_blind_index(f"{affiliate} {receiver}")
            self.receivers[affiliate.pk] = index
            if settings and requires_documents:
                problems = list_problems(affiliate, settings, self.taxes)
                text = describe_problems(problems)
                self.document_problems |= {affiliate.pk: text} if text else {}

    def calculate_withholding(
        self, affiliate_id: int, amount: Decimal, currency: str
    ) -> Decimal | None:
        """Return the tax that a payment withholds; None without any."""
        if affiliate_id not in self.taxes.data:
            return None
        rule = self.taxes.find_rule(affiliate_id)
        return calculate_withholding(amount, rule, currency) if rule else None

    def get_kind(self, affiliate_id: int) -> str:
        """Return the kind of the payout method; empty without one."""
        method = self.methods.get(affiliate_id)
        return method.kind if method else ""

    def find_reason(self, affiliate_id: int) -> str:
        """Return why the affiliate cannot be paid; empty if it can."""
        return find_obstacle(self.methods.get(affiliate_id))

    def calculate_digest(self, affiliate_id: int) -> str:
        """Return digests of all that must stay as it is until the confirmation.

        The first half is of the payout method, the second one of all that files say of
        the receiver. Nobody finds an account number by it: it depends on a key.
        """
        method = self.methods.get(affiliate_id)
        details = sorted(method.details.items()) if method else []
        of_method = calculate_blind_index(
            f"{self.get_kind(affiliate_id)} {details}"
            f" {self.find_reason(affiliate_id)} {affiliate_id in self.removed}"
        )
        return of_method[:16] + self.receivers.get(affiliate_id, "")[:16]


def build_receiver(affiliate: Affiliate, method: PayoutMethod) -> dict[str, Any]:
    """Return the `receiver` of a line: name, address and payout method of now."""
    details = normalize_details(method.kind, method.details)
    person = f"{affiliate.firstname} {affiliate.lastname}".strip()
    street = " ".join(filter(None, (affiliate.address, affiliate.address_two)))
    return {
        "name": details.get("account_holder") or affiliate.company_name or person,
        "kind": method.kind,
        "details": details,
        "address": {
            "street": street,
            "postal_code": affiliate.postal_code or "",
            "city": affiliate.city or "",
            "country": affiliate.country or "",
        },
    }


def add_receivers(account: Account, lines: Sequence[PayoutLine]) -> None:
    """Set the `receiver` of lines of a draft as a confirmation would; not stored.

    Empty without a primary payout method.
    """
    methods = account.payout_methods.filter(is_primary=True)
    by_affiliate = {
        method.affiliate_id: method
        for batch in split_into_batches(sorted({line.affiliate_id for line in lines}))
        for method in methods.filter(affiliate__in=batch)
    }
    for line in lines:
        method = by_affiliate.get(line.affiliate_id)
        line.receiver = build_receiver(line.affiliate, method) if method else {}


def calculate_fingerprint(candidate: RunCandidate, recipients: Recipients) -> str:
    """Return digests of the commissions and of how the affiliate is paid."""
    affiliate_id, _ = candidate.balance_key
    return candidate.digest[:32] + recipients.calculate_digest(affiliate_id)
