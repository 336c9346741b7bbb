"""The pages of the back office, one module a section; importing them is what counts."""

import affiliate_site.backoffice.diary
import affiliate_site.backoffice.keys
import affiliate_site.backoffice.money
import affiliate_site.backoffice.people
import affiliate_site.backoffice.programs
import affiliate_site.backoffice.sales
import affiliate_site.backoffice.traffic
import affiliate_site.backoffice.webhooks  # noqa: F401
