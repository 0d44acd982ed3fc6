"""Programs that run in a virtual environment of their own: one for each MCP client that is tried."""
