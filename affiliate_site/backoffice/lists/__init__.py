"""What all lists share: filters, order, totals, search, saved views, exports."""
