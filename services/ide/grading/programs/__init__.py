"""Programs of the grader's sandboxes. No other sandbox holds them: nothing that an agent can read mentions them."""
