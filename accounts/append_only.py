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


class MakeAppendOnly(TableOperation):
    """Create triggers that reject UPDATE and DELETE.

    SQLite rebuilds a table when a column changes and silently drops its triggers:
    a migration that alters such a table must end with this operation again.
    """

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        statements = self.get_backward_sql(table, vendor)
        if vendor != "sqlite":
            statements.append(
                f"CREATE OR REPLACE FUNCTION {table}_append_only() RETURNS trigger"
                f" LANGUAGE plpgsql AS $${_get_function_body(table)}$$"
            )
        return [*statements, *get_trigger_definitions(table, vendor).values()]

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        suffix = "" if vendor == "sqlite" else f" ON {table}"
        return [
            f"DROP TRIGGER IF EXISTS {name}{suffix}"
            for name in get_trigger_names(table)
        ]


def get_trigger_names(table: str) -> dict[str, str]:
    """Map the two triggers of an append-only table to the statement each rejects."""
    return {
        f"{table}_no_update": "UPDATE",
        f"{table}_no_delete": "DELETE",
    }


def get_trigger_definitions(table: str, vendor: str) -> dict[str, str]:
    """Map the two triggers of an append-only table to their CREATE TRIGGER."""
    action_sql = (
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        if vendor == "sqlite"
        else f" FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )
    return {
        name: f"CREATE TRIGGER {name} BEFORE {action} ON {table}{action_sql}"
        for name, action in get_trigger_names(table).items()
    }


def _get_function_body(table: str) -> str:
    return f" BEGIN RAISE EXCEPTION '{table} is append-only'; END "


def list_invalid_triggers(table: str) -> dict[str, str]:
    """Map each trigger of an append-only table that does not protect it to the reason.

    A trigger must have the table, the event and the body that `MakeAppendOnly` gives
    it, and fire.
    """
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS_SQL[connection.vendor], [table])
        found = {name: rest for name, *rest in cursor.fetchall()}
    body = "" if connection.vendor == "sqlite" else _get_function_body(table)
    invalid = {}
    for name, definition in get_trigger_definitions(table, connection.vendor).items():
        if name not in found:
            invalid[name] = "no trigger"
        elif found[name][:2] != [definition, body]:
            invalid[name] = "another trigger"
        elif not found[name][2]:
            invalid[name] = "disabled"
    return invalid


def try_forbidden_changes(table: str) -> list[str]:
    """Try to change and to delete the last row of an append-only table, and roll back.

    Returns the statements that the database accepted. For an empty table it returns
    none, because no trigger fires without a row.
    """
    last_row = f"WHERE id = (SELECT max(id) FROM {table})"  # noqa: S608 - our own name
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
