"""Registers the pages of the back office by importing them."""

# ruff: noqa: F401 - importing them registers the pages
import affiliate_site.backoffice.account.access
import affiliate_site.backoffice.account.audit_log
import affiliate_site.backoffice.account.exchange_rates
import affiliate_site.backoffice.account.invitations
import affiliate_site.backoffice.account.webhooks
import affiliate_site.backoffice.affiliates.admin
import affiliate_site.backoffice.affiliates.custom_fields
import affiliate_site.backoffice.affiliates.notes
import affiliate_site.backoffice.affiliates.prospects
import affiliate_site.backoffice.affiliates.questions
import affiliate_site.backoffice.connections.admin
import affiliate_site.backoffice.conversions.admin
import affiliate_site.backoffice.conversions.claims
import affiliate_site.backoffice.conversions.clicks
import affiliate_site.backoffice.conversions.commissions
import affiliate_site.backoffice.imports.admin
import affiliate_site.backoffice.payouts.admin
import affiliate_site.backoffice.payouts.closed_months
import affiliate_site.backoffice.payouts.documents
import affiliate_site.backoffice.payouts.ledger
import affiliate_site.backoffice.payouts.runs
import affiliate_site.backoffice.programs.admin
import affiliate_site.backoffice.programs.creative_pages
import affiliate_site.backoffice.programs.scenarios
import affiliate_site.backoffice.risk.cases
import affiliate_site.backoffice.risk.rules
import affiliate_site.backoffice.watches.alerts
