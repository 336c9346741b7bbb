"""Imports the pages of the back office, which registers them."""

import affiliate_site.backoffice.access
import affiliate_site.backoffice.affiliates
import affiliate_site.backoffice.audit_log
import affiliate_site.backoffice.claims
import affiliate_site.backoffice.clicks
import affiliate_site.backoffice.conversions
import affiliate_site.backoffice.failed_page_calls
import affiliate_site.backoffice.invitations
import affiliate_site.backoffice.payouts
import affiliate_site.backoffice.programs
import affiliate_site.backoffice.webhooks  # noqa: F401
