"""The site itself: its checks, and what Django must know by name."""

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class AffiliateSite(AppConfig):
    """The roof; it owns no model."""

    name = "affiliate_site"
    default = True

    def ready(self):
        import affiliate_site.checks  # noqa: F401 - registering is its purpose


class BackOffice(SimpleAdminConfig):
    """Django's admin with our own site and no pages but those that admin.py names."""

    default_site = "affiliate_site.backoffice.seam.StaffSite"
    default = False

    def ready(self):
        super().ready()
        import affiliate_site.admin  # noqa: F401 - registering is its purpose


class GuardedBackOffice(BackOffice):
    """The same, with a second factor for whoever uses one."""

    default_site = "affiliate_site.backoffice.second_factor.GuardedSite"
    default = False
