"""What mkdocs calls while it builds: the README becomes the first page, each product's API a page of its own.

Links are written for people who read the repository; here they are turned to where the same things are on the site.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from services.handbook.api_pages import api_page
from services.kernel import catalog

_ROOT = Path(__file__).resolve().parents[2]
# Code comes first: what looks like a link in it is none.
_LINK = re.compile(r"```.*?```|`[^`\n]*`(?!\])|(!?)\[([^\]]*)\]\(([^):#\s]*)(#[^)\s]*)?\)", re.DOTALL)
# Pages that lie elsewhere in the repository, by the place they have on the site.
_ELSEWHERE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    **{f"products/{name}.md": f"services/{name}/README.md" for name in catalog.declared()},
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page, source in _ELSEWHERE.items():
        files.append(File.generated(config, page, content=(_ROOT / source).read_text(encoding="utf-8")))
    for name, product in catalog.products().items():
        files.append(File.generated(config, f"api/{name}.md", content=api_page(product)))
    files.append(File.generated(config, "decisions/index.md", content=_decisions()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as mkdocs calls it
    here = page.file.src_uri
    source = _ELSEWHERE.get(here, f"docs/{here}")
    return _LINK.sub(lambda link: _turned(link, source, here), markdown)


def _turned(link: re.Match[str], source: str, here: str) -> str:
    picture, label, target, anchor = link[1] or "", link[2], link[3], link[4] or ""
    if not target or here.startswith("api/"):
        return link[0]
    place = _place(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))
    if place is None:
        # In the repository, not on the site: its path says where.
        return f"{label} (`{posixpath.normpath(posixpath.join(posixpath.dirname(source), target))}`)"
    return f"{picture}[{label}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"


def _place(path: str) -> str | None:
    """Where something of the repository is on the site."""
    if path == "docs/decisions":
        return "decisions/index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return next((page for page, source in _ELSEWHERE.items() if source == path), None)


def _decisions() -> str:
    lines = ["# Decisions", "", "Half a page each, with one line to quote.", ""]
    for path in sorted((_ROOT / "docs" / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines)
