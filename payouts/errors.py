"""Business errors of payouts, with the messages of docs/api-contract.md."""

from collections.abc import Mapping

from accounts.errors import Conflict, InvalidInput, NotFound, gettext_noop


class CommissionNotFound(NotFound):
    """The account has no commission with this id."""

    message = "Commission not found"


class PaymentNotFound(NotFound):
    """The account has no payment with this id that is not canceled."""

    message = "Payment not found"


class PayoutMethodNotFound(NotFound):
    """The payout method does not exist, or the affiliate has not set it."""

    message = "Payout method not found"


class PayoutMethodIncomplete(InvalidInput):
    """Details of a payout method are missing or wrong: `problems` by their names."""

    message = gettext_noop("Details of the payout method are missing or wrong.")

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__()
        self.problems = problems


class InvalidPeriod(InvalidInput):
    """The days of a statement or of an export are in the wrong order or far away."""

    message = gettext_noop("Enter a first and a last day in this order, from 1970 to 2999.")
    property_path = "end"


class UnknownReportWord(InvalidInput):
    """A report is asked for a field, column or order that does not exist."""

    message = "{kind} of a report: '{word}'; possible: {words}"

    def __init__(self, **params: str) -> None:
        super().__init__(path=params["kind"], **params)


class UnknownReportValue(InvalidInput):
    """A report is filtered by an object that the account does not have."""

    message = "There is no {field} '{value}'"
    property_path = "filter"


class PeriodTooLong(InvalidInput):
    """The days of a report are in the wrong order, or too many."""

    message = "Enter a first and a last day in this order, of at most {days} days."
    property_path = "date_to"


class ReportTooLarge(InvalidInput):
    """A report would have more groups than a process can hold."""

    message = (
        "More than {groups} rows: take fewer days, weeks or months in place of days, or a filter."
    )
    property_path = "rows"


class ReportReadsTooMuch(InvalidInput):
    """A report would read more rows, one by one, than a request has time for."""

    message = (
        "This report would read {number} {what} one by one, at most {limit} are possible:"
        " take at most about {days} days{others}."
    )
    property_path = "date_to"


class StatisticsNotReady(Conflict):
    """More days that are over have to be counted than a request has time for.

    Those that it has counted are stored, so the next one goes on; so does the worker.
    """

    message = "Days whose statistics are still being counted: {days}. Try again in a few minutes."
    code = "statistics_not_ready"


class RateNotFound(NotFound):
    """The program has no such rate, or it has ended."""

    message = "Rate not found"


class InvalidRate(InvalidInput):
    """A part of a rate is wrong; `path` is its name in a file of rates."""

    message = "{rule}."


class PastDay(InvalidInput):
    """Rates are to count from a day that has begun."""

    message = "Rates count from a day that has not begun; without one they count from now"
    property_path = "starts_at"


class InvalidChange(InvalidInput):
    """A file of rules names something that does not exist, or has a wrong value."""

    message = "{place}: {rule}"

    def __init__(self, *, place: str, rule: str) -> None:
        super().__init__(place=place, rule=rule, path=place)


class NothingChanges(InvalidInput):
    """A what-if would change no rule."""

    message = "Nothing would change: enter a rule that differs from the present one."


class ChangedSince(Conflict):
    """Rules that a what-if would change are no longer as it was calculated with."""

    message = (
        "The rules have changed since this was calculated, so nothing was saved. Calculate"
        " again to see the figures of today."
    )


class NotARule(InvalidInput):
    """A what-if has changes that no setting holds."""

    message = "{what} cannot be made the rule."


class SubAmountNotEditable(InvalidInput):
    """Only regular commissions have a sub-amount that can change."""

    message = "The sub-amount of this commission cannot change"
    property_path = "conversion_sub_amount"


class CurrencyNotEditable(InvalidInput):
    """A conversion keeps its currency."""

    message = "The currency of a conversion cannot change"
    property_path = "currency"


class CommissionApproved(Conflict):
    """An approved commission is final if the account uses payouts."""

    message = "The commission is approved and cannot be changed."
    code = "commission_approved"


class DisputedSale(Conflict):
    """The shop has an open dispute about the sale."""

    message = "The shop has an open dispute about this sale: wait until it ends."
    code = "disputed_sale"


class NoOpenDispute(Conflict):
    """A dispute is ended that is not open."""

    message = "The shop has no open dispute about this sale."
    code = "no_open_dispute"


class InvalidRefund(InvalidInput):
    """A refund gives back something, of one line or more."""

    message = "Enter an amount above 0."
    property_path = "amount"


class RefundTooLarge(InvalidInput):
    """A refund cannot exceed what earlier refunds have left."""

    message = "Only {left} {currency} is left to refund."
    property_path = "amount"


class RefundOfFinalCommission(Conflict):
    """An approved commission is final if the account uses payouts."""

    message = (
        "Commission {commission} is approved for good and cannot be taken back. To"
        " lower the amount of the sale only, choose Correct on its page: final"
        " commissions keep their amounts."
    )
    code = "commission_approved"


class SameAffiliate(InvalidInput):
    """The conversion belongs to this affiliate already."""

    message = "The sale belongs to {affiliate} already."
    property_path = "affiliate"


class SettledCommission(Conflict):
    """A sale whose commissions are paid or final keeps its affiliate."""

    message = (
        "A commission of this sale is paid or final, so the sale keeps its affiliate."
        " Cancel the payment first; what is final cannot be taken back."
    )
    code = "commission_approved"


class CommissionChanged(Conflict):
    """The commission is not as it was when its change of status was confirmed."""

    message = "The commission is now {amount} {currency} and {status}"
    code = "commission_changed"


class CommentTooLong(InvalidInput):
    """A reason does not fit into the comment of the commission."""

    message = "This value is too long, {limit} characters at most."
    property_path = "reason"


class CommissionUnfunded(Conflict):
    """The payout balance is too low for all payables and this commission."""

    message = "The payout balance does not cover this commission."
    code = "commission_unfunded"


class PayoutFeatureRequired(InvalidInput):
    """Only accounts that pay through the service have a payout balance."""

    message = "Account '{slug}' does not pay through the service, so it has no payout balance"


class BalanceTooLarge(InvalidInput):
    """The amount would move a balance beyond `MAX_BALANCE`."""

    message = "This value has too many digits."
    property_path = "amount"


class BalanceChanged(Conflict):
    """The balance changed after the payment was prepared."""

    message = "The balance is now {balance} {currency}"
    code = "balance_changed"


class PayoutRunNotFound(NotFound):
    """The account has no such payout run, or the run no such line."""

    message = "Payout run not found"


class PayoutRunNotDraft(Conflict):
    """Only a draft can be changed, confirmed or discarded."""

    message = "Payout run {run} is {state} and can no longer be changed"


class PayoutRunEmpty(Conflict):
    """A payout run pays somebody."""

    message = "Payout run {run} has nobody to pay"


class Unprintable(Conflict):
    """A document or statement has characters that no font of the server prints."""

    message = (
        "No font of this server prints {texts}. An operator has to install fonts:"
        " apt-get install {packages}"
    )


class PayoutRunChanged(Conflict):
    """What a draft pays is not what it was when it was made."""

    message = (
        "Nothing was paid, because this changed since the draft was made: {changes}."
        " Re-make the draft"
    )


class SecondPersonRequired(Conflict):
    """The account wants two people for a payout run."""

    message = "You made this draft, so somebody else has to confirm it"


class PayoutDayOutOfRange(InvalidInput):
    """The day has no end that can be stored."""

    message = "The day is out of range"
    property_path = "due_until"


class PayoutLineInOtherState(Conflict):
    """Only who is in the draft can be taken out, and only who was, put back."""

    message = "{affiliate} is {state} in this payout run"


class BalanceNotWithheld(NotFound):
    """Nobody withholds the balance, or somebody has lifted it."""

    message = "The {currency} balance of {affiliate} is not withheld"


class CommissionTypeNotFound(NotFound):
    """The account has no such commission type."""

    message = "Commission type not found"


class DuplicateCommissionType(InvalidInput):
    """The identifiers of a program's commission types are unique."""

    message = "The program has a commission type '{identifier}' already"
    property_path = "identifier"


class DefaultCommissionType(InvalidInput):
    """A program always has one default commission type."""

    message = "This is the program's default: make another commission type the default"


class NoDefaultCommissionType(InvalidInput):
    """A program that was imported from a server which did not send a default type."""

    message = "Program {program} has no default commission type: make one the default."


class LevelNotFound(NotFound):
    """The account has no such level."""

    message = "Level not found"


class InnerLevel(InvalidInput):
    """Levels have no gaps: only the last one can be removed."""

    message = "Remove the levels above this one first"


class GroupRateNotFound(NotFound):
    """The account has no such group rate."""

    message = "Group rate not found"


class BonusNotFound(NotFound):
    """The account has no such bonus."""

    message = "Bonus not found"


class BonusGoalFixed(InvalidInput):
    """The goal of a bonus that was granted decides what was granted already."""

    message = "Affiliates were granted this bonus: end it and create another one"


class PersonNotFound(NotFound):
    """The account has no affiliate, prospect or customer with this ID or address."""

    message = (
        "Account '{account}' has no affiliate, prospect or customer (cu_…) with the ID or"
        " e-mail address '{person}'; an erased affiliate is found by the ID that"
        " erase_person printed"
    )


class PaymentsUnanswered(Conflict):
    """A bank file needs the name and the account of who is to be erased."""

    message = (
        "Nothing was erased: the bank has not answered yet about payments of {runs}."
        " Import its answers or cancel the payments first"
    )


class ReceiverErased(Conflict):
    """A file would pay nobody, or others than it paid when it was first made."""

    message = (
        "This file cannot be made again: the name and the account of who gets {payment} were erased"
    )


class PayoutRunNotConfirmed(Conflict):
    """Files are made of confirmed runs."""

    message = "Payout run {run} is not confirmed: a draft has no files"


class PayerIncomplete(Conflict):
    """A bank file names who pays, and from which account."""

    message = "Enter who pays, with name and IBAN, in the payer settings first"


class InvalidPayoutFile(Conflict):
    """The file would not be valid."""

    message = "{format} cannot be written: {reason}"


class InvalidResultsFile(InvalidInput):
    """A file with answers of a bank cannot be read."""

    message = "{reason}. Nothing of the file was applied"
    property_path = "file"


class ResultsOfOtherRun(InvalidInput):
    """The file has an answer about a payment that is not in the named run."""

    message = (
        "{payment} is not a payment of run {run}: the file belongs to another run or"
        " account. Nothing of it was applied. If it answers other runs, too, allow"
        " other payments: then each row that cannot be applied is listed"
    )
    property_path = "file"


class InvalidPayer(InvalidInput):
    """The IBAN, BIC or country of the payer is invalid."""

    message = "{reason}"


class InvalidTaxData(InvalidInput):
    """A country, a VAT ID or a day of consent is invalid."""

    message = "{reason}"


class InvalidTaxRule(InvalidInput):
    """The rate or the sentence of a tax rule is invalid."""

    message = "{reason}"


class TaxRuleNotFound(NotFound):
    """The account has no such tax rule."""

    message = "Tax rule not found"


class DuplicateOpeningBalance(Conflict):
    """An affiliate has one opening balance per currency."""

    message = (
        "{affiliate} has an opening balance of {amount} {currency} already: take it back first."
    )
    code = "duplicate_opening_balance"


class OpeningBalanceNotFound(NotFound):
    """The affiliate has no opening balance in this currency to take back."""

    message = "{affiliate} has no opening balance in {currency}"


class RiskRuleNotFound(NotFound):
    """The account has no such risk rule."""

    message = "Risk rule not found"


class RiskCaseDecided(Conflict):
    """Staff have decided about the case before, or there is none."""

    message = "Somebody has decided about this case."
    code = "risk_case_decided"


class AlertNotOpen(Conflict):
    """The alert is over, or somebody has dismissed it before."""

    message = "This alert is not open any more."
    code = "alert_not_open"


class DayInClosedMonth(InvalidInput):
    """A date in a month that staff have closed was chosen."""

    message = (
        "{month} is closed: choose a day from {first} on, or an owner can reopen the month"
        " (Bookkeeping, Closing of a period)."
    )
    property_path = "created_at"


class ClosedMonthNotFound(NotFound):
    """The account has no such closed month, or it was reopened."""

    message = "Somebody has reopened this month before."


class ClosedMonthConflict(Conflict):
    """A month cannot be closed or reopened now."""

    message = "{reason}"
    code = "closed_month_conflict"
