"""Names handed on, so that Django finds them; code imports from their own modules."""

from tracking.models.programs import Program

__all__ = ["Program"]
