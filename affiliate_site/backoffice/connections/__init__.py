"""Pages of shops that report sales by themselves, and of what they sent."""
