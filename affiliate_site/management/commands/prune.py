from accounts.commands import JsonCommand
from accounts.services.accounts import list_accounts
from accounts.services.command_runs import record_command_run
from accounts.services.retention import (
    delete_expired_deliveries,
    delete_expired_idempotency_keys,
    delete_expired_invitations,
    delete_expired_rate_windows,
    delete_expired_sessions,
)
from accounts.services.row_counts import merge_count_changes, store_row_counts
from affiliate_site.backoffice.conversions.saved_reports import queue_report_mails
from payouts.services.erasure import erase_again
from payouts.services.mails import queue_sale_digests
from payouts.services.scenarios import delete_expired_scenarios
from payouts.services.statistics import store_past_days
from payouts.services.stored_days import refresh_stale_days
from tracking.services.click_retention import delete_expired_clicks
from tracking.services.connections import delete_expired_refusals
from tracking.services.inbox import delete_expired_events
from tracking.services.mails import delete_expired_mails
from tracking.services.portal_access import delete_expired_portal_rows
from tracking.services.portal_settings import build_portal_url
from tracking.services.retention import (
    anonymize_visitor_data,
    delete_expired_attempts,
    delete_expired_failed_page_calls,
    delete_expired_visitors,
    delete_refused_claims,
)
from tracking.services.table_uploads import delete_expired_table_uploads


class Command(JsonCommand):
    help = (
        "Delete expired records in batches, anonymize old IP addresses, and store the"
        " row counts of long lists and the statistics of past days ahead. Affiliates who"
        " want it get mail about the sales of yesterday, staff the reports that they"
        " have saved for it."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count the rows, change nothing")

    def run(self, *, at, dry_run=False, **options):
        accounts = list_accounts()
        kwargs = {"at": at, "dry_run": dry_run}

        def sum_up(service):
            total = 0
            name = service.__name__.replace("_", " ")
            for account in self.track(accounts, name):
                with self.go_on_after_errors(account):
                    total += service(account, **kwargs)
            return total

        def refresh_days(account, **kwargs):
            return refresh_stale_days([account], **kwargs)

        counts = {
            "rate_windows": delete_expired_rate_windows(**kwargs),
            "attempts": sum_up(delete_expired_attempts),
            "failed_page_calls": sum_up(delete_expired_failed_page_calls),
            "idempotency_keys": sum_up(delete_expired_idempotency_keys),
            "invitations": sum_up(delete_expired_invitations),
            "deliveries": sum_up(delete_expired_deliveries),
            "mails": sum_up(delete_expired_mails),
            "shop_events": sum_up(delete_expired_events),
            "refused_requests": sum_up(delete_expired_refusals),
            "table_uploads": sum_up(delete_expired_table_uploads),
            "scenarios": sum_up(delete_expired_scenarios),
            "portal": sum_up(delete_expired_portal_rows),
            "changed_days": sum_up(refresh_days),
            "sign_ins": delete_expired_sessions(**kwargs),
            "visitors": sum_up(delete_expired_visitors),
            "refused_claims": sum_up(delete_refused_claims),
            "clicks": sum_up(delete_expired_clicks),
            "traces": sum_up(anonymize_visitor_data),
            "erased": sum_up(erase_again),
        }
        if not dry_run:
            for account in self.track(accounts, "count ahead"):
                with self.go_on_after_errors(account):
                    merge_count_changes([account])
                    store_row_counts([account], at=at)
                with self.go_on_after_errors(account):
                    for _ in store_past_days(account, at=at):
                        pass
                with self.go_on_after_errors(account):
                    url = build_portal_url(account, "sales/")
                    queue_sale_digests(account, url=url, at=at)
                with self.go_on_after_errors(account):
                    queue_report_mails(account, at=at)
            if not self.failed_accounts:
                record_command_run(self.command_name, at=at)
        lines = [f"{kind}: {rows}" for kind, rows in counts.items()]
        self.write_result("\n".join(lines), **counts)
