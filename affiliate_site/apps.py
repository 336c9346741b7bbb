"""Django app configurations of the site and of its back office."""

from django.apps import AppConfig, apps
from django.contrib.admin.apps import SimpleAdminConfig


class AffiliateSiteConfig(AppConfig):
    """The site itself; it has no models."""

    name = "affiliate_site"
    default = True

    def ready(self):
        import affiliate_site.operations.checks  # noqa: PLC0415 - registers checks

        if apps.is_installed("anymail"):
            import affiliate_site.webhooks.bounces  # noqa: F401, PLC0415


class BackOfficeConfig(SimpleAdminConfig):
    """Django's admin with the project's own site and only the pages of admin.py."""

    default_site = "affiliate_site.backoffice.site.BackOfficeAdminSite"
    default = False

    def ready(self):
        super().ready()
        import affiliate_site.admin  # noqa: F401, PLC0415 - registers pages


class TwoFactorBackOfficeConfig(BackOfficeConfig):
    """The same with two-factor authentication, which each user may enable."""

    default_site = "affiliate_site.backoffice.second_factor.SecondFactorAdminSite"
    default = False
