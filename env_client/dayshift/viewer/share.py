"""Share: a selection of episodes as one HTML file that needs no server and no network."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from dayshift.errors import UsageError
from dayshift.redacted_trajectory import redact_trajectory
from dayshift.redaction import Redactor
from dayshift.review.store import Review
from dayshift.review.taxonomy import Taxonomy
from dayshift.trajectory import Trajectory
from dayshift.viewer.model import EpisodeSummary
from dayshift.viewer.summarise import as_record, detail, find_submitted, row_changes, step_bodies, summarise

MAX_SHARED = 50
MAX_BYTES = 200_000_000
# In the order in which they depend on each other; the console's own modules are not part of a shared file.
MODULES = (
    "dom.js",
    "format.js",
    "align.js",
    "bundle.js",
    "api.js",
    "render.js",
    "rows.js",
    "list.js",
    "verdict.js",
    "review.js",
    "episode.js",
    "compare.js",
    "taxonomy.js",
    "dashboard.js",
    "app.js",
)
_IMPORT = re.compile(r"^import\s[^;]*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_ASSETS = files("dayshift.viewer") / "assets"


def render_share(
    episodes: Sequence[tuple[EpisodeSummary, Trajectory]],
    reviews: Sequence[Review],
    taxonomy: Taxonomy,
    *,
    title: str,
    redact: bool,
) -> str:
    """Returns the page; with `redact`, names, addresses, card numbers and tokens are replaced by placeholders."""
    redactor = Redactor() if redact else None
    rendered = [_share_episode(summary, trajectory, redactor) for summary, trajectory in episodes]
    texts = [review.model_dump() for review in reviews]
    data = {
        "title": "shared episodes" if redact else title,
        "redacted": redact,
        "episodes": rendered,
        "reviews": texts if redactor is None else redactor.value(texts),
        "taxonomy": taxonomy.model_dump(),
    }
    page = _render_page(data)
    if len(page) > MAX_BYTES:
        raise UsageError(f"the file would have {len(page) // 1_000_000} MB: choose fewer episodes")
    return page


def _share_episode(summary: EpisodeSummary, trajectory: Trajectory, redactor: Redactor | None) -> dict[str, Any]:
    shown = trajectory if redactor is None else redact_trajectory(trajectory, redactor)
    record = as_record(shown)
    row = summarise(record, key=summary["key"], run=summary["run"])
    last = len(record["steps"])
    return {
        "detail": detail(record, row, submitted=find_submitted(record["steps"])),
        "steps": step_bodies(record, 0, last),
        "changes": row_changes(record, 0, last),
    }


def _render_page(data: dict[str, Any]) -> str:
    """The policy names the hashes of the one script and the one style, and allows nothing else."""
    script, style = bundle_scripts(), (_ASSETS / "style.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # A `<` inside of JSON could end the element that holds it.
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    data_element = f'<script type="application/json" id="shared">{embedded}</script>'
    page = (_ASSETS / "index.html").read_text(encoding="utf-8")
    page = _replace_between(page, "<!-- assets -->", "<!-- /assets -->", f"{meta}\n<style>{style}</style>")
    return _replace_between(
        page, "<!-- scripts -->", "</body>", f'{data_element}\n<script type="module">{script}</script>\n</body>'
    )


def _replace_between(page: str, start: str, end: str, content: str) -> str:
    return page[: page.index(start)] + content + page[page.index(end) + len(end) :]


def bundle_scripts() -> str:
    """All modules in one: imports go, because every exported name is unique (a test keeps it so)."""
    sources = ((_ASSETS / name).read_text(encoding="utf-8") for name in MODULES)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
