"""The HTML of the pages for people; no inline script or style, so that the browser can refuse any."""

from collections.abc import Iterable, Sequence
from html import escape

from dayshift import wire

from services.kernel.product import Product
from services.snippets import install_sdks

# The default is in the README. A credential that somebody set is theirs to type in.
KNOWN_CREDENTIAL = "playground"
_INSTALL_CLIENT = "pip install ./env_client   # in the clone\ndayshift doctor"
_HIDDEN = "YOUR_PLAYGROUND_TOKEN"


def render_overview(
    playground: wire.Playground, products: dict[str, Product], control_url: str, families: Sequence[wire.Family]
) -> str:
    rows = "".join(
        f"<tr><td>{escape(access.title)}</td><td><code>{escape(access.base_url)}</code></td>"
        f"<td>{escape(access.state)}</td><td>{_describe_credentials(access)}</td>"
        f'<td><a href="/docs/{escape(name)}">try it</a></td></tr>'
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
        f"<p>Control runs at <code>{escape(control_url)}</code> and offers {len(families)} task families. "
        "Trainers open episodes here with the control token; the playground below needs none.</p>"
        '<div class="wide"><table><thead><tr><th>product</th><th>address</th><th>state</th><th>credential</th>'
        f"<th>API</th></tr></thead><tbody>{rows}</tbody></table></div>"
        "<h2>Lines to copy</h2>"
        f"<h3>Client</h3>{_render_lines(_INSTALL_CLIENT)}{_render_lines(client)}"
        f"<h3>The vendors' own SDKs</h3>{_render_lines(install_sdks(products.values()))}{snippets}"
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
