"""An MCP server on Python's SDK, which speaks the protocol of 2026-07-28 and older ones with a handshake.

Its tool `grow` adds the tool `grown` and reports that.
"""

import anyio
from mcp.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server

server = MCPServer("py")


@server.tool()
def echo(text: str) -> str:
    return f"py: {text}"


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(lambda: "grown", name="grown", description="A new one")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "done"


async def main() -> None:
    # MCPServer.run() does not announce to older clients that its tools change.
    inner = server._lowlevel_server
    async with stdio_server() as (reads, writes):
        await inner.run(reads, writes, inner.create_initialization_options(NotificationOptions(tools_changed=True)))


anyio.run(main)
