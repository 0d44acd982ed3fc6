"""Objects as they are on their first day: every field the vendor shows, nothing decided yet."""
