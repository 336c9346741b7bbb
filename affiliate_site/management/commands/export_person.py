from accounts.commands import AccountCommand
from accounts.exact_json import serialize_exact_json
from affiliate_site.privacy.person_export import export_person


class Command(AccountCommand):
    help = "Print everything that is kept about a person as one JSON object."
    arguments = {"id": "an affiliate's ID, cu_…, ap_… or e-mail address"}

    def run_for_account(self, account, *, at, **options):
        result = export_person(account, identifier=options["id"], at=at)
        self.write_result(serialize_exact_json(result).decode(), **result)
