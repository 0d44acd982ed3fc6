"""langchain-mcp-adapters: the tools as LangChain agents get them."""

import asyncio
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from work import HEADERS, URL, do_work


async def main() -> None:
    client = MultiServerMCPClient({"office": {"transport": "streamable_http", "url": URL, "headers": HEADERS}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        message = await tools[tool].ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        text = message.content if isinstance(message.content, str) else message.content[0]["text"]
        return message.status == "error", text

    await do_work(list(tools), call)


asyncio.run(main())
