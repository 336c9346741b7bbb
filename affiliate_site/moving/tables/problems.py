"""What can be wrong with a row, with a sentence that says what to change."""

from collections import defaultdict
from dataclasses import dataclass

from tracking.models.customers import CustomerStatus

SENTENCES = {
    "affiliate_of_payment": "The payment {value} has another affiliate or currency.",
    "amount_too_large": "The number {value} is too large.",
    "cell_error": "The cell holds the error {value}: correct it in the spreadsheet.",
    "closed_month": "{value} is closed: choose a later date, or an owner can reopen the month"
    " (Bookkeeping, Closing of a period).",
    "code_in_use": "The referral code {value} is in use: another affiliate or program"
    " has it. Choose another one, or leave it out.",
    "contradiction": "Another column of the row says {value}: correct one of them, or"
    " leave out one of the columns.",
    "control_character": "The text holds characters that nobody can see: remove them.",
    "coupon_in_use": "The coupon {value} belongs to another affiliate.",
    "date_out_of_range": "The date {value} lies in the future or before 1990.",
    "duplicate_address": "Row {value} has the same address, but not the same ID:"
    " correct one of the rows.",
    "duplicate_affiliate": "The same affiliate is in row {value}: remove one of the rows.",
    "duplicate_balance": "The same affiliate and currency are in row {value}: add the"
    " amounts up in one of the rows.",
    "duplicate_row": "The same is in row {value}: remove one of the rows, or give each its own ID.",
    "email_in_use": "The affiliate {value} has this address: correct the address, or"
    " edit that affiliate and leave out the row.",
    "example_row": "This is the example of the template: remove the row.",
    "erased": "{value} was erased here: take out the row.",
    "formula": "The cell holds the formula {value} without a result: save values.",
    "invalid_date": "{value} is no date in the style of this file.",
    "invalid_email": "{value} is not an e-mail address.",
    "invalid_number": "{value} is no number in the style of this file.",
    "invalid_payout_details": "{value}",
    "left_out": "{value} is left out, as you have answered.",
    "missing": "The cell is empty: enter a value, or choose one for all rows if the"
    " list of columns offers that.",
    "negative_amount": "The amount {value} is negative.",
    "not_storable": "The row cannot be stored: {value}",
    "other_currency": "The amount is marked {value}, which is not the currency of the row.",
    "other_email": "The affiliate of this ID has the address {value}: correct the"
    " address, or give a new affiliate another ID.",
    "other_opening_balance": "The affiliate has the opening balance {value} already:"
    " take it back first.",
    "parent_cycle": "The affiliate would be above itself: change the parent {value}.",
    "refused": "{value}",
    "removed_at_source": "It was removed there ({value}): take out the row.",
    "several_affiliates": "{value} is the ID of one affiliate and a code or address of"
    " another: name this one in another of these ways.",
    "several_codes": "{value} is not one code: a program has one for each affiliate."
    " Old referral codes go into the column of further ones.",
    "status_of_paid_sale": "A sale with a payment is approved or paid, not {value}.",
    "stored_by_another_run": "Another import has stored it meanwhile: start again.",
    "too_long": "The text is longer than {value} characters: shorten it.",
    "too_many_decimals": "{value} has more decimals than the currency: round it.",
    "unknown_affiliate": "No affiliate has the ID, e-mail address or code {value}:"
    " import the affiliates first.",
    "unknown_approval": "{value} does not say whether it is approved: use approved,"
    " pending or disapproved.",
    "unknown_country": "{value} is not a country: use its code, such as DE.",
    "unknown_currency": "{value} is not the code of a currency, such as EUR.",
    "unknown_custom_field": "The account has no custom field {value}: create it first.",
    "unknown_customer": "No customer has the ID {value}: import the customers first,"
    " or leave out the column.",
    "unknown_customer_status": "{value} is not the status of a customer: use"
    f" {', '.join(CustomerStatus.values)}.",
    "unknown_payment": "No payment has the ID {value}: import the payments first.",
    "unknown_paid": "{value} does not say whether it is paid: use paid or unpaid.",
    "unknown_payment_status": "{value} does not say whether the payment was made: use"
    " paid or canceled.",
    "unknown_payout_method": "{value} is not a payout method: use paypal, bank,"
    " wire_transfer, wise or other.",
    "unknown_program": "No program has the ID or title {value}: create it first.",
    "unknown_row_kind": "{value} is no kind of row that is known: use sale, or take out the row.",
    "unknown_tier": "{value} is not the tier of a sale, which is 1: take out the row.",
    "unknown_status": "{value} is not the status of a commission: use approved,"
    " pending, disapproved or paid.",
    "zero_amount": "The amount is 0: remove the row.",
    "wrong_number_of_cells": "The row has {value}, not one for each column: look for"
    " missing or stray separators and quotation marks.",
}
MAX_SHOWN_LENGTH = 80


@dataclass(frozen=True)
class Problem:
    """What is wrong with a cell: the row's number, the header of its column or empty,
    the code, and the value of the cell or what to compare it with."""

    row: int
    column: str
    code: str
    value: str

    @property
    def sentence(self) -> str:
        """What is wrong and what to change."""
        value = self.value
        if len(value) > MAX_SHOWN_LENGTH and self.code in SENTENCES:
            value = f"{value[:MAX_SHOWN_LENGTH]}…"
        text = SENTENCES.get(self.code, "{code}: {value}")
        return text.format_map(defaultdict(str, value=value, code=self.code))

    def serialize(self) -> dict[str, object]:
        """Return the keys `row`, `column`, `code`, `value` and `sentence`."""
        return vars(self) | {"sentence": self.sentence}
