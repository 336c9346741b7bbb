"""Programs, their rates, levels and bonuses, and the snippet for shops."""
