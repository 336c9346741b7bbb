"""Files that pay a confirmed payout run, and what is read of the answers to them."""
