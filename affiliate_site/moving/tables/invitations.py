"""Invitations to the portal of the affiliates whom the import of a table made."""

from collections.abc import Callable, Collection
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext_lazy

from accounts.errors import Conflict
from accounts.models.accounts import Account
from accounts.services.notifications import can_send_mail
from affiliate_site.moving.tables.undo import TableImportUndone, get_table_import
from tracking.models.affiliates import Affiliate
from tracking.models.imports import TableImport
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import get_portal_settings

MAX_INVITED = 200  # at once, in one transaction
MOVED = gettext_lazy(
    "{account} has moved its affiliate program here from its former system, and your"
    " account with it: it is yours already, you need not apply again. Old links go on"
    " working if the portal shows their code."
)


class PortalOff(Conflict):
    """Nobody can set a password."""

    message = "The portal is off: nobody could set a password"


class NoMailServer(Conflict):
    """Nobody would get the mail."""

    message = "No mail can be sent until your operator sets EMAIL_URL and DEFAULT_FROM_EMAIL"


def list_obstacles(account: Account) -> list[Conflict]:
    """Return what keeps everybody from being invited."""
    obstacles: list[Conflict] = []
    if not get_portal_settings(account).is_on:
        obstacles.append(PortalOff())
    if not can_send_mail():
        obstacles.append(NoMailServer())
    return obstacles


def list_made_affiliates(table_import: TableImport) -> QuerySet[Affiliate]:
    """Return the affiliates whom an import made, in its order."""
    account = table_import.account
    made = account.imported_objects.filter(source=table_import.source, kind="affiliate")
    rows: QuerySet[Affiliate] = account.affiliates.not_deleted().filter(
        pk__in=made.values("local_id")
    )
    return rows.order_by("pk")


def list_not_invited(table_import: TableImport) -> QuerySet[Affiliate]:
    """Return those who were not invited, never signed in, and whom mail reaches."""
    rows = list_made_affiliates(table_import).filter(invited_at=None, signed_in_at=None)
    reachable = rows.filter(email_folded__gt="")
    return reachable.exclude(bounced_email=F("email_folded"))


def invite_imported_affiliates(
    account: Account,
    *,
    public_id: str,
    affiliate_pks: Collection[int],
    mail_url: Callable[[str], str],
    language: str = "",
    at: datetime,
) -> int:
    """Mail affiliates whom an import made a link to set a password, and why.

    Those who were invited meanwhile, or whom this import did not make, are left out;
    returns how many are invited. `language` is for those who have chosen none. Raises
    `PortalOff`, `NoMailServer`, `TableImportNotFound` and `TableImportUndone`.
    """
    for obstacle in list_obstacles(account):
        raise obstacle
    with transaction.atomic():
        table_import = get_table_import(account, public_id, lock=True)
        if table_import.undone_at is not None:
            raise TableImportUndone(id=public_id)
        rows = list_not_invited(table_import).filter(pk__in=affiliate_pks)
        locked = list(rows.select_for_update(no_key=True, of=("self",)))
        for affiliate in locked:
            invite_affiliate(
                account,
                affiliate_id=affiliate.slug,
                mail_url=mail_url,
                may_show=False,
                reason=MOVED,
                language=language,
                at=at,
            )
    return len(locked)
