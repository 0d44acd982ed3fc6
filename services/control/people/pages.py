"""The HTML of the pages for people; no inline script or style, so that the browser can refuse any."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from dayshift import wire

from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.product import Product
from services.snippets import connect_by_mcp, console_url, install_sdks

# The default is in the README. A credential that somebody set is theirs to type in.
KNOWN_CREDENTIAL = "playground"
_HEADS = ("product", "address", "state", "credential", "API")
_INSTALL_CLIENT = "pip install ./env_client   # in the clone\ndayshift doctor"
_HIDDEN = "YOUR_PLAYGROUND_TOKEN"


def render_overview(
    playground: wire.Playground,
    products: dict[str, Product],
    settings: Settings,
    families: Sequence[wire.Family],
    host: str,
) -> str:
    """`host` is where the browser found control: in a container, control's own address is another."""
    rows = "".join(
        _render_row(
            escape(access.title),
            f"<code>{escape(access.base_url)}</code>",
            escape(access.state),
            _describe_credentials(access),
            f'<a href="/docs/{escape(name)}">try it</a>',
        )
        for name, access in playground.products.items()
    )
    snippets = "".join(
        f"<h3>{escape(access.title)}</h3>"
        f"{_render_lines(products[name].snippet.format(base=access.base_url, token=choose_shown_credential(access)))}"
        for name, access in playground.products.items()
    )
    task = next((family.id for family in families if "train" in family.split), None)
    client = f"import dayshift\n\nwith dayshift.Episode.open({task!r}, seed=8) as episode:\n    print(episode.brief)\n"
    return _render_page(
        "Dayshift",
        f"<p>Control runs at <code>http://{escape(host)}</code> and offers {len(families)} task families. "
        "Trainers open episodes here with the control token; the playground below needs none.</p>"
        f"<table><thead><tr>{''.join(f'<th>{head}</th>' for head in _HEADS)}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>{' '.join(_describe_other_services(settings))}</p>"
        "<h2>Lines to copy</h2>"
        f"<h3>Client</h3>{_render_lines(_INSTALL_CLIENT)}{_render_lines(client)}"
        f"<h3>The vendors' own SDKs</h3>{_render_lines(install_sdks(products.values()))}{snippets}"
        f"{_render_mcp(playground, settings)}"
        f"<h3>Roll the playground back</h3>{_render_lines('dayshift playground --reset')}",
    )


def render_api(name: str, playground: wire.Playground) -> str:
    """Swagger UI of one product; its requests go through control, because the products answer no other page."""
    access = playground.products[name]
    links = " ".join(
        f'<a href="/docs/{escape(other)}"{" aria-current=page" if other == name else ""}>{escape(other)}</a>'
        for other in playground.products
    )
    credential = access.credentials[0] if access.credentials[0] == KNOWN_CREDENTIAL else ""
    return _render_page(
        f"{access.title} · Dayshift",
        f'<nav><a href="/">overview</a> {links}</nav>'
        f"<p><label>credential of the playground <input id=credential value='{escape(credential)}'></label></p>"
        f'<div id="swagger" data-product="{escape(name)}"></div>',
        ("swagger-ui.css",),
        ("swagger-ui-bundle.js", "api.js"),
    )


def choose_shown_credential(access: wire.PlaygroundAccess) -> str:
    return KNOWN_CREDENTIAL if KNOWN_CREDENTIAL in access.credentials else _HIDDEN


def _render_row(*cells: str) -> str:
    """A narrow screen shows each cell on a line of its own, after the head of its column."""
    return f"<tr>{''.join(f'<td data-head={head}>{cell}</td>' for head, cell in zip(_HEADS, cells, strict=True))}</tr>"


def _describe_other_services(settings: Settings) -> Iterator[str]:
    if not catalog.is_left_out("mcp"):
        url = escape(settings.mcp_url)
        yield f"<code>{url}</code> serves the tools of all products to MCP clients, with the same credential."
    if (console := console_url(settings)) is not None:
        link = f'<a href="{escape(console)}">The console</a>'
        yield f"{link} shows episodes while they run and afterwards."
        yield "Its token is in the file <code>var/console.token</code>, on Docker Compose <code>laptop-console</code>."


def _render_mcp(playground: wire.Playground, settings: Settings) -> str:
    if catalog.is_left_out("mcp") or not playground.products:
        return ""
    token = choose_shown_credential(next(iter(playground.products.values())))
    lines = connect_by_mcp(settings.mcp_url, token)
    return f"<h3>All of them as tools, by MCP</h3>{_render_lines(chr(10).join(lines))}"


def _describe_credentials(access: wire.PlaygroundAccess) -> str:
    if choose_shown_credential(access) == _HIDDEN:
        return "as set in DAYSHIFT_PLAYGROUND_TOKEN"
    return " or ".join(f"<code>{escape(credential)}</code>" for credential in access.credentials)


def _render_lines(text: str) -> str:
    return f'<div class="lines"><pre>{escape(text.strip())}</pre><button type="button">copy</button></div>'


def _render_page(title: str, body: str, styles: Iterable[str] = (), scripts: Iterable[str] = ()) -> str:
    # A browser asks for an icon in any case, and the control API would refuse it.
    links = '<link rel="icon" href="/docs/assets/icon.svg">'
    links += "".join(f'<link rel="stylesheet" href="/docs/assets/{name}">' for name in (*styles, "page.css"))
    loaded = "".join(f'<script defer src="/docs/assets/{name}"></script>' for name in (*scripts, "page.js"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>{links}{loaded}</head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )
