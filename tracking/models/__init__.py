"""Names handed on, so that Django finds them; code imports from their own modules."""

from tracking.models.affiliates import (
    Affiliate,
    AffiliateGroup,
    CustomField,
    Note,
)
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion, ConversionAttempt
from tracking.models.customers import Customer
from tracking.models.decisions import Decision
from tracking.models.enrolments import Enrolment, ReferralCode
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.models.sources import Asset, Coupon, Source

__all__ = [
    "Affiliate",
    "AffiliateGroup",
    "Asset",
    "Click",
    "Conversion",
    "ConversionAttempt",
    "Coupon",
    "CustomField",
    "Customer",
    "Decision",
    "Enrolment",
    "Note",
    "Program",
    "Prospect",
    "ReferralCode",
    "Source",
]
