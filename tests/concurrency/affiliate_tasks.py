"""Tasks about affiliates: clicks, parents, deletions."""

from datetime import UTC, datetime

from tracking.attribution import TrackingParameters
from tracking.services.affiliates import delete_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.hierarchy import set_parent

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def create_click_task(account, **parameters):
    """Record a click on an affiliate link."""
    record_click(
        account, visit=Visit(parameters=TrackingParameters(**parameters)), at=AT
    )


def set_parent_task(account, *, affiliate_id, parent_id):
    """Set the parent of an affiliate."""
    set_parent(account, affiliate_id=affiliate_id, parent_id=parent_id, at=AT)


def delete_affiliate_task(account, *, affiliate_id):
    """Delete an affiliate."""
    delete_affiliate(account, affiliate_id=affiliate_id, at=AT)


AFFILIATE_TASKS = {
    "create_click": create_click_task,
    "set_parent": set_parent_task,
    "delete_affiliate": delete_affiliate_task,
}
