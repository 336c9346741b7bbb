"""Django app configurations of the site and of its back office."""

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class AffiliateSiteConfig(AppConfig):
    """The site itself; it has no models."""

    name = "affiliate_site"
    default = True

    def ready(self):
        import affiliate_site.operations.checks  # noqa: F401 - the import registers the checks


class BackOfficeConfig(SimpleAdminConfig):
    """Django's admin with the project's own site and only the pages of admin.py."""

    default_site = "affiliate_site.backoffice.site.BackOfficeAdminSite"
    default = False

    def ready(self):
        super().ready()
        import affiliate_site.admin  # noqa: F401 - the import registers the pages


class TwoFactorBackOfficeConfig(BackOfficeConfig):
    """The same with two-factor authentication, which each user may enable."""

    default_site = "affiliate_site.backoffice.second_factor.SecondFactorAdminSite"
    default = False
