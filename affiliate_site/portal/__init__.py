"""The affiliates' side: plain pages at /partners/<account>/ on services that exist."""
