"""Registers the pages of the back office by importing them, and labels their fields."""

import affiliate_site.backoffice.access
import affiliate_site.backoffice.affiliates
import affiliate_site.backoffice.audit_log
import affiliate_site.backoffice.claims
import affiliate_site.backoffice.clicks
import affiliate_site.backoffice.conversions
import affiliate_site.backoffice.custom_fields
import affiliate_site.backoffice.failed_page_calls
import affiliate_site.backoffice.invitations
import affiliate_site.backoffice.payouts
import affiliate_site.backoffice.programs
import affiliate_site.backoffice.webhooks  # noqa: F401
from affiliate_site.backoffice.labels import set_field_labels

set_field_labels()
