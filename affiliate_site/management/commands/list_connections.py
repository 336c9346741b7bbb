from accounts.commands import AccountCommand
from affiliate_site.links import build_connection_url
from tracking.services.connections import list_connections


class Command(AccountCommand):
    help = "List the connected shops of an account, oldest first."

    def run_for_account(self, account, *, at, **options):
        rows = [
            {
                "connection": row.public_id,
                "name": row.name,
                "kind": row.kind,
                "mode": row.mode,
                "program": row.program and row.program.slug,
                "secrets": len(row.secrets),
                "refused": row.refused_count,
                "refused_since": row.refused_since,
                "url": build_connection_url(row),
                "created_at": row.created_at,
            }
            for row in list_connections(account)
        ]
        self.write_table(
            (
                *("ID", "Name", "Kind", "Mode", "Program", "Secrets"),
                *("Refused", "Refused since", "Address", "Created"),
            ),
            [tuple(row.values()) for row in rows],
            connections=rows,
        )
