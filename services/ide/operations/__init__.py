"""What the IDE does, without HTTP: one module per noun."""
