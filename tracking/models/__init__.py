"""Models, imported here for Django; other code imports them from their modules."""

from tracking.models.affiliates import (
    Affiliate,
    AffiliateGroup,
    CustomField,
    Note,
)
from tracking.models.applications import (
    PortalApplication,
    PortalTerms,
    ProgramInvitation,
    TermsAcceptance,
)
from tracking.models.clicks import Click, FailedPageCall, PrunedClickCount
from tracking.models.conversions import (
    AttributionRecord,
    Conversion,
    ConversionAttempt,
    FormerExternalId,
    FormerIdDigest,
)
from tracking.models.creatives import Creative
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment, ReferralCode, ReferralCodeAlias
from tracking.models.imports import ImportedObject, TableImport, TableUpload
from tracking.models.late_changes import LateChange
from tracking.models.mails import Mail
from tracking.models.portal import PortalAddress, PortalLink, PortalSession, PortalSettings
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.models.questions import Question
from tracking.models.shops import (
    Connection,
    RefusedRequest,
    ShopCustomer,
    ShopEvent,
    ShopOrder,
    ShopReference,
)
from tracking.models.sources import Asset, Coupon, Source

__all__ = [
    "Affiliate",
    "AffiliateGroup",
    "Asset",
    "AttributionRecord",
    "Click",
    "Connection",
    "Conversion",
    "ConversionAttempt",
    "Coupon",
    "Creative",
    "CustomField",
    "Customer",
    "Enrollment",
    "FailedPageCall",
    "FormerExternalId",
    "FormerIdDigest",
    "ImportedObject",
    "LateChange",
    "Mail",
    "Note",
    "PortalAddress",
    "PortalApplication",
    "PortalLink",
    "PortalSession",
    "PortalSettings",
    "PortalTerms",
    "Program",
    "ProgramInvitation",
    "Prospect",
    "PrunedClickCount",
    "Question",
    "ReferralCode",
    "ReferralCodeAlias",
    "RefusedRequest",
    "ShopCustomer",
    "ShopEvent",
    "ShopOrder",
    "ShopReference",
    "Source",
    "TableImport",
    "TableUpload",
    "TermsAcceptance",
]
