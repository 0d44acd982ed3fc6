"""The HTTP edge, one module per protocol and noun."""

from services.ide.routes import (
    code_host,
    contents,
    files,
    git,
    language,
    processes,
    pulls,
    runtime,
    sandboxes,
    smart_http,
    terminals,
)
from services.kernel.app import product_router

router = product_router()
for edge in (sandboxes, processes, terminals, files, git, language, code_host, pulls, contents, runtime, smart_http):
    router.include_router(edge.router)
