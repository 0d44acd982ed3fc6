"""MCP for agents: `/mcp` at each product's agent API, and one endpoint for all products of an episode."""
