"""Pages to move in from tables: upload, columns, check, import, undo."""
