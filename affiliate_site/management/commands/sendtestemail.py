"""Django's `sendtestemail`, which fails where no mail is sent."""

from django.core.mail import get_connection
from django.core.mail.backends import dummy
from django.core.management.base import CommandError
from django.core.management.commands import sendtestemail


class Command(sendtestemail.Command):
    def handle(self, *args, **options):
        if isinstance(get_connection(), dummy.EmailBackend):
            raise CommandError(
                "No mail is sent: set EMAIL_URL, or ANYMAIL_PROVIDER (deploy/env.example)."
            )
        super().handle(*args, **options)
        self.stdout.write("The mail server has taken the message.")
