"""The site itself: its checks, and what Django must know by name."""

from django.apps import AppConfig


class AffiliateSite(AppConfig):
    """The roof; it owns no model."""

    name = "affiliate_site"

    def ready(self):
        import affiliate_site.checks  # noqa: F401 - registering is its purpose
