"""The pages of watches and of what they found."""
