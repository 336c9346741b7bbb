"""Risk rules, and the cases that they open."""
