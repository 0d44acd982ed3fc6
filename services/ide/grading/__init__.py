"""What a task verifies: hidden cases, signs of tampering, and what the agent reported."""
