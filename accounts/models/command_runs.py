"""When commands ran last."""

from django.db import models


class CommandRun(models.Model):
    """The last success of a nightly command, or sign of life of a webhook worker."""

    name = models.CharField(max_length=64, primary_key=True)  # of the command
    succeeded_at = models.DateTimeField()

    def __str__(self) -> str:
        name: str = self.name
        return name
