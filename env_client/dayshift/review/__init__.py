"""Review: what people say about recorded episodes, and who is to blame for a bad one."""
