"""Programs of the grader's sandboxes. No other sandbox holds them: what an agent can read does not speak of them."""
