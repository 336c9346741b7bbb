"""Tables of other systems, spreadsheets and our own exports, read into an account."""
