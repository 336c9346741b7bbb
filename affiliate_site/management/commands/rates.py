from accounts.commands import AccountCommand
from payouts.calculation import write_rate
from payouts.services.program_rates import list_program_rates
from tracking.services.programs import get_program


class Command(AccountCommand):
    help = "Print the rates of a program that hold now or begin later, as set_rates takes them."
    json_help = "rates"
    arguments = {"program": "the program's slug"}

    def run_for_account(self, account, *, at, **options):
        row = get_program(account, options["program"])
        rates = list_program_rates(account, row, at=at)
        table = [
            (write_rate(each), each.get("starts_at", ""), each.get("ends_at", "")) for each in rates
        ]
        self.write_table(("Rate", "From", "Until, not included"), table, rates=rates)
