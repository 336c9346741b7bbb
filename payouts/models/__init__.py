"""Names handed on, so that Django finds them; code imports from their own modules."""

from payouts.models.commission_types import CommissionType

__all__ = ["CommissionType"]
