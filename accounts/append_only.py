"""Append-only tables: the triggers that reject changes, and checks of the triggers."""

from django.db import DatabaseError, connection, transaction

from accounts.migration_operations import TableOperation

# Selects four columns for each trigger of a table: its name, its CREATE TRIGGER, the
# body of its function (PostgreSQL), and whether it fires (tgenabled is O or A).
TRIGGERS_SQL = {
    "sqlite": (
        "SELECT name, replace(sql, '\"', ''), '', 1 FROM sqlite_master"
        " WHERE type = 'trigger' AND tbl_name = %s"
    ),
    "postgresql": (
        "SELECT tgname, pg_get_triggerdef(pg_trigger.oid, true), prosrc,"
        " tgenabled IN ('O', 'A')"
        " FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
        " WHERE NOT tgisinternal AND tgrelid = %s::regclass"
    ),
}


# Append-only tables that give up the rows of an account that is being deleted
# (`AccountDeletion`).
DELETED_WITH_ACCOUNT = ("accounts_auditlogentry", "payouts_transfer")
IS_BEING_DELETED = "EXISTS (SELECT 1 FROM accounts_accountdeletion WHERE account_id = {}account_id)"


class MakeAppendOnly(TableOperation):
    """Create triggers that reject UPDATE and DELETE.

    SQLite rebuilds a table when a column changes and silently drops its triggers:
    a migration that alters such a table must end with this operation again.
    """

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        return self.get_triggers_sql(table, vendor)

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        suffix = "" if vendor == "sqlite" else f" ON {table}"
        return [f"DROP TRIGGER IF EXISTS {name}{suffix}" for name in get_trigger_names(table)]

    def get_triggers_sql(self, table: str, vendor: str, *, with_account: bool = False) -> list[str]:
        """Return the statements that replace the triggers."""
        statements = MakeAppendOnly.get_backward_sql(self, table, vendor)
        if vendor != "sqlite":
            body = _get_function_body(table, with_account=with_account)
            statements.append(
                f"CREATE OR REPLACE FUNCTION {table}_append_only() RETURNS trigger"
                f" LANGUAGE plpgsql AS $${body}$$"
            )
        definitions = get_trigger_definitions(table, vendor, with_account=with_account)
        return [*statements, *definitions.values()]


class AllowDeletionWithAccount(MakeAppendOnly):
    """Let a table give up the rows of an account that is being deleted.

    A later migration that makes SQLite rebuild the table ends with this operation.
    """

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        return self.get_triggers_sql(table, vendor, with_account=True)

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        return self.get_triggers_sql(table, vendor)


def get_trigger_names(table: str) -> dict[str, str]:
    """Map the two triggers of an append-only table to the statement each rejects."""
    return {
        f"{table}_no_update": "UPDATE",
        f"{table}_no_delete": "DELETE",
    }


def get_trigger_definitions(table: str, vendor: str, *, with_account: bool) -> dict[str, str]:
    """Map the two triggers of an append-only table to their CREATE TRIGGER.

    `with_account`: rows of an account that is being deleted can be deleted. On
    PostgreSQL the function of the triggers decides that.
    """
    action_sql = (
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        if vendor == "sqlite"
        else f" FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )
    conditions = dict.fromkeys(("UPDATE", "DELETE"), "")
    if with_account and vendor == "sqlite":
        conditions["DELETE"] = f" WHEN NOT {IS_BEING_DELETED.format('OLD.')}"
    return {
        name: f"CREATE TRIGGER {name} BEFORE {action} ON {table}{conditions[action]}{action_sql}"
        for name, action in get_trigger_names(table).items()
    }


def _get_function_body(table: str, *, with_account: bool) -> str:
    exception = ""
    if with_account:
        exception = (
            f" IF TG_OP = 'DELETE' AND {IS_BEING_DELETED.format('OLD.')} THEN RETURN OLD; END IF;"
        )
    return f" BEGIN{exception} RAISE EXCEPTION '{table} is append-only'; END "


def list_invalid_triggers(table: str) -> dict[str, str]:
    """Map each trigger of an append-only table that does not protect it to the reason.

    A trigger must have the table, the event and the body that `MakeAppendOnly` gives
    it, and fire.
    """
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS_SQL[connection.vendor], [table])
        found = {name: rest for name, *rest in cursor.fetchall()}
    with_account = table in DELETED_WITH_ACCOUNT
    body = ""
    if connection.vendor != "sqlite":
        body = _get_function_body(table, with_account=with_account)
    definitions = get_trigger_definitions(table, connection.vendor, with_account=with_account)
    invalid = {}
    for name, definition in definitions.items():
        if name not in found:
            invalid[name] = "no trigger"
        elif found[name][:2] != [definition, body]:
            invalid[name] = "another trigger"
        elif not found[name][2]:
            invalid[name] = "disabled"
    return invalid


def try_forbidden_changes(table: str) -> list[str]:
    """Try to change and to delete the last row of an append-only table, and roll back.

    Rows of accounts that are being deleted do not count. Returns the statements that
    the database accepted. For an empty table it returns none, because no trigger fires
    without a row.
    """
    kept = ""
    if table in DELETED_WITH_ACCOUNT:
        kept = f" WHERE NOT {IS_BEING_DELETED.format(f'{table}.')}"
    last_row = f"WHERE id = (SELECT max(id) FROM {table}{kept})"  # noqa: S608 - our own names
    statements = {
        "UPDATE": f"UPDATE {table} SET id = id {last_row}",  # noqa: S608
        "DELETE": f"DELETE FROM {table} {last_row}",  # noqa: S608
    }
    accepted = []
    for action, statement in statements.items():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)
                if cursor.rowcount > 0:
                    accepted.append(action)
                transaction.set_rollback(True)
        except DatabaseError as error:
            if "append-only" not in str(error):
                raise
    return accepted
