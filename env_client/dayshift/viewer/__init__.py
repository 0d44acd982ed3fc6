"""The viewer: pages that show recorded episodes, what they changed, and how they were judged."""
