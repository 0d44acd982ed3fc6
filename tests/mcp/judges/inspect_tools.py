"""inspect_ai: the tools as its solvers get them."""

import asyncio
from typing import Any

from inspect_ai.tool import ToolDef, ToolError, mcp_connection, mcp_server_http
from work import HEADERS, URL, do_work


async def main() -> None:
    server = mcp_server_http(name="office", url=URL, headers=HEADERS)
    async with mcp_connection([server]):
        tools = {ToolDef(tool).name: tool for tool in await server.tools()}

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            try:
                result = await tools[tool](**arguments)
            except ToolError as error:
                return True, error.message
            return False, result if isinstance(result, str) else result[0].text

        await do_work(list(tools), call)


asyncio.run(main())
