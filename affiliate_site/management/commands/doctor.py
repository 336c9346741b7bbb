import sys
from dataclasses import asdict

from accounts.commands import JsonCommand
from affiliate_site.operations.doctor import run_doctor
from affiliate_site.operations.findings import FAILURE, OK, Finding


class Command(JsonCommand):
    help = (
        "Check this installation: settings, database, clock, worker, nightly commands."
        " Changes nothing; exits 1 if a check fails."
    )
    requires_system_checks = []  # its own first check

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--probe",
            metavar="URL",
            help="also request the service at this address, as its clients do, and"
            " check what it sees of scheme, host and address",
        )
        parser.add_argument(
            "--startup",
            action="store_true",
            help="only what must hold before the service starts",
        )

    def run(self, *, at, probe=None, startup=False, **options):
        findings = run_doctor(at=at, probe_url=probe, only_startup=startup)
        is_ok = all(finding.status != FAILURE for finding in findings.values())
        self.write_result(
            "\n".join(format_finding(name, found) for name, found in findings.items()),
            ok=is_ok,
            checks=[{"name": name, **asdict(finding)} for name, finding in findings.items()],
        )
        if not is_ok:
            sys.exit(1)


def format_finding(name: str, finding: Finding) -> str:
    """`failure  static_files: 12 files are not collected -> run manage.py …`"""
    status = "OK" if finding.status == OK else finding.status
    parts = [finding.detail, finding.advice] if finding.advice else [finding.detail]
    return f"{status:<8} {name}: {' '.join(' -> '.join(parts).split())}"
