"""Hooks of mkdocs: README, changelog and command line become pages, and each product's API gets one.

Links are written for readers of the repository; the hooks rewrite them to the same pages on the site.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from services.docs_site.api_pages import api_page
from services.docs_site.command_line_page import describe_commands
from services.kernel import catalog

_ROOT = Path(__file__).resolve().parents[2]
# Code comes first, because something in it may look like a link.
_LINK = re.compile(r"```.*?```|`[^`\n]*`(?!\])|(!?)\[([^\]]*)\]\(([^):#\s]*)(#[^)\s]*)?\)", re.DOTALL)
_COMMANDS = "<!-- commands -->"
# In the repository a product's README lists its operations; on the site a page of their own has them.
_OPERATIONS = re.compile(r"^## Operations\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
# Sources outside docs/, by their path on the site.
_OTHER_SOURCES = {
    "overview.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    **{f"products/{name}.md": f"services/{name}/README.md" for name in catalog.all_names()},
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page, source in _OTHER_SOURCES.items():
        files.append(File.generated(config, page, content=(_ROOT / source).read_text(encoding="utf-8")))
    for name, product in catalog.products().items():
        files.append(File.generated(config, f"api/{name}.md", content=api_page(product)))
    files.append(File.generated(config, "decisions/index.md", content=_decisions()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as mkdocs calls it
    here = page.file.src_uri
    source = _OTHER_SOURCES.get(here, f"docs/{here}")
    rewritten = _LINK.sub(lambda link: _rewrite_link(link, source, here), markdown)
    if here.startswith("products/"):
        rewritten = _OPERATIONS.sub(
            f"## Operations\n\nThey stand in [the API](../api/{Path(here).name}).\n\n", rewritten
        )
    return rewritten.replace(_COMMANDS, describe_commands()) if _COMMANDS in rewritten else rewritten


def _rewrite_link(link: re.Match[str], source: str, here: str) -> str:
    picture, label, target, anchor = link[1] or "", link[2], link[3], link[4] or ""
    if not target or here.startswith("api/"):
        return link[0]
    site_path = _site_path(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))
    if site_path is None:
        # The file is not on the site, so the text names its path.
        return f"{label} (`{posixpath.normpath(posixpath.join(posixpath.dirname(source), target))}`)"
    return f"{picture}[{label}]({posixpath.relpath(site_path, posixpath.dirname(here) or '.')}{anchor})"


def _site_path(path: str) -> str | None:
    """Returns the path on the site of a file of the repository."""
    if path == "docs/decisions":
        return "decisions/index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return next((page for page, source in _OTHER_SOURCES.items() if source == path), None)


def _decisions() -> str:
    lines = ["# Decisions", "", "Half a page each, with one line to quote.", ""]
    for path in sorted((_ROOT / "docs" / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines)
