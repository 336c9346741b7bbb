from accounts.commands import TellingCommand
from accounts.models.accounts import Account
from accounts.services.days import forget_changed
from accounts.services.upkeep import (
    prune_deliveries,
    prune_kept_answers,
    prune_sign_ins,
    prune_windows,
)
from tracking.services.upkeep import cut_traces, prune_attempts


class Command(TellingCommand):
    help = "Forget what has done its work, in batches; cut old addresses short."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="count the rows, change nothing"
        )

    def work(self, *, at, dry_run, **options):
        accounts = list(Account.objects.order_by("id"))
        how = {"at": at, "dry_run": dry_run}
        counts = {
            "rate_windows": prune_windows(**how),
            "attempts": prune_attempts(accounts, **how),
            "idempotency_keys": prune_kept_answers(accounts, **how),
            "deliveries": prune_deliveries(accounts, **how),
            "changed_days": forget_changed(accounts, dry_run=dry_run),
            "sign_ins": prune_sign_ins(**how),
            "traces": cut_traces(accounts, **how),
        }
        lines = [f"{kind}: {rows}" for kind, rows in counts.items()]
        self.tell("\n".join(lines), **counts)
