"""What `up` leaves for people and clients: lines to paste into a terminal, and the token in a file of the user's."""

from collections.abc import Iterable
from contextlib import suppress

from services.kernel import catalog
from services.kernel.config import Settings, reachable_host
from services.kernel.product import Product

CONSOLE = "console"
CONSOLE_PORT = 8705


def welcome(settings: Settings) -> str:
    lines = [
        "",
        f"Dayshift is up: control at {control_url(settings)}, its token in {settings.var / 'control.token'}",
    ]
    if (console := console_url(settings)) is not None:
        lines.append(f"The console is at {console}, its token in {settings.var / 'console.token'}")
    lines += [
        "",
        "# The vendors' own SDKs, for the lines of Python below",
        install_sdks(catalog.products().values()),
        "",
    ]
    for name, product in sorted(catalog.products().items(), key=lambda pair: pair[1].port):
        base = settings.url(name, product.port)
        # At the margin: an indented line of Python cannot be pasted.
        snippet = product.snippet.format(base=base, token=settings.playground_token)
        lines += [f"# {product.title} at {base}", *snippet.splitlines(), ""]
    if not catalog.is_left_out("mcp"):
        lines += [
            f"# All of them as tools, by MCP, at {settings.mcp_url}",
            *connect_by_mcp(settings.mcp_url, settings.playground_token),
            "",
        ]
    return "\n".join([*lines, "Clients of this user find the stack by themselves. Ctrl-C stops everything."])


def install_sdks(products: Iterable[Product]) -> str:
    """The line that installs the vendors' SDKs for whoever tries the APIs."""
    by_port = sorted(products, key=lambda product: product.port)
    return " ".join(["pip install", *(product.sdk for product in by_port if product.sdk)])


def console_url(settings: Settings) -> str | None:
    """Where people reach the console, unless it is left out."""
    if catalog.is_left_out(CONSOLE):
        return None
    own = f"http://{reachable_host(settings.harness_host)}:{settings.port(CONSOLE, CONSOLE_PORT)}"
    return settings.console_url or own


def connect_by_mcp(url: str, token: str) -> list[str]:
    """The lines that connect agents to the playground; other surfaces are chosen in the URL (`?surface=search`)."""
    return [
        f"claude mcp add --transport http office {url} --header 'Authorization: Bearer {token}'",
        f"export OFFICE_TOKEN={token}; codex mcp add office --url {url} --bearer-token-env-var OFFICE_TOKEN",
        f"npx @modelcontextprotocol/inspector --cli {url} --header 'Authorization: Bearer {token}' --method tools/list",
    ]


def control_url(settings: Settings) -> str:
    return f"http://{reachable_host(settings.host)}:{settings.control_port}"


def leave_token(settings: Settings) -> None:
    """Write the token where clients in any folder look for it; one that cannot be written is in `var` all the same."""
    # Late: the client is not needed before the services have started, and importing it takes a while.
    from dayshift.control_token import write_user_token

    with suppress(OSError, RuntimeError):  # no home, or one that cannot be written
        write_user_token(control_url(settings), settings.control_token)


def take_token_away(settings: Settings) -> None:
    from dayshift.control_token import remove_user_token

    with suppress(OSError, RuntimeError):
        remove_user_token(control_url(settings), settings.control_token)
