"""The k best items of each user in one call: what recommending wants, and nothing about truth."""
