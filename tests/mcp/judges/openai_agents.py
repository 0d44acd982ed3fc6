"""The OpenAI Agents SDK's MCP server object."""

import asyncio
from typing import Any

from agents.mcp import MCPServerStreamableHttp
from work import HEADERS, URL, do_work


async def main() -> None:
    async with MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}) as server:
        tools = await server.list_tools()

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            result = await server.call_tool(tool, arguments)
            is_error = getattr(result, "is_error", None)
            return bool(result.isError if is_error is None else is_error), result.content[0].text

        await do_work([tool.name for tool in tools], call)


asyncio.run(main())
