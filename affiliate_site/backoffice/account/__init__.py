"""The account: users and API keys, settings, invitations, webhooks, audit log."""
