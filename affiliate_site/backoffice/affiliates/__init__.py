"""Affiliates, groups, prospects, program affiliates, notes, custom fields."""
