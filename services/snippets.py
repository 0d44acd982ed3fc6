"""Lines to paste into a terminal: how to reach what `up` has started."""

from services.kernel import catalog
from services.kernel.config import Settings, reachable_host


def welcome(settings: Settings) -> str:
    control = f"http://{reachable_host(settings.host)}:{settings.control_port}"
    lines = ["", f"Dayshift is up: control at {control}, its token in {settings.var / 'control.token'}", ""]
    for name, product in sorted(catalog.products().items(), key=lambda pair: pair[1].port):
        base = settings.url(name, product.port)
        lines += [f"  {product.title} at {base}"]
        lines += [
            f"    {line}" for line in product.snippet.format(base=base, token=settings.playground_token).splitlines()
        ]
        lines += [""]
    return "\n".join([*lines, "Ctrl-C stops everything."])
