"""What operations and rules share: finding people, and the one way in which a ticket changes."""
