"""Conversions, written by the stories of payouts alone: each one earns something."""

from datetime import datetime
from decimal import Decimal

from accounts.models.accounts import Account
from tracking.attribution import ASSET_ID, CLICK_ID
from tracking.errors import DuplicateConversion
from tracking.models.conversions import Conversion
from tracking.services.attribution import Finding, keep_decision
from tracking.services.clicks import first_address
from tracking.services.customers import PRESENT, buyer
from tracking.services.warnings import warnings_about

SOURCE_NAMES = {CLICK_ID: "click", ASSET_ID: "asset_source"}  # the others as they are


def create_conversion(
    account: Account,
    *,
    finding: Finding,
    external_id: str | None,
    customer_id: str | None,
    amount: Decimal,
    currency: str,
    meta_data: dict[str, str],
    user_agent: str | None,
    ip: str | None,
    at: datetime,
) -> Conversion:
    """Write a sale, its customer and the decision whose it is."""
    customer = buyer(account, finding, customer_id=customer_id, at=at)
    clue = finding.deciding_clue
    conversion = Conversion(
        account=account,
        external_id=external_id,
        program=finding.program,
        affiliate=finding.affiliate,
        customer=customer,
        click=finding.click,
        amount=amount,
        currency=currency,
        tracking_source=SOURCE_NAMES.get(clue, clue),
        meta_data=meta_data,
        warnings=warnings_about(finding.affiliate, customer_id=customer_id),
        user_agent=user_agent,
        ip=first_address(ip),
        created_at=at,
    )
    # The constraint decides: the second of two at once waits here for the first.
    if not account.conversions.insert_unless_taken(
        conversion, on=("account", "external_id"), among=PRESENT
    ):
        raise DuplicateConversion(external_id=external_id)
    keep_decision(account, finding, about=conversion)
    return conversion
