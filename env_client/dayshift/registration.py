"""Makes `gymnasium.make("dayshift/…")` work without importing Gymnasium, which alone costs half a second."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

ENVIRONMENTS = {"Crm": ("crm",), "Desk": ("desk",), "Billing": ("billing",), "Ide": ("ide",), "Office": ()}
# Without a task these draw only families whose ids begin so; the others draw all that their products can serve.
FAMILIES = {"Office": "office/"}
# The two levels of a team; see dayshift.orchestrator.
LEVELS = {"Orchestrator": "OrchestratorEnv", "Specialist": "SpecialistEnv"}


def register_with_gymnasium() -> None:
    """At once if Gymnasium is there, else in the moment it is imported."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _GymnasiumWatch())


def _register() -> None:
    from gymnasium.envs.registration import register, registry  # late: see the module's first line

    for name, products in ENVIRONMENTS.items():
        if (env_id := f"dayshift/{name}-v0") not in registry:
            register(
                env_id,
                entry_point="dayshift.env:DayshiftEnv",
                vector_entry_point="dayshift.vector:DayshiftVectorEnv",
                kwargs={"products": products, "families": FAMILIES.get(name, "")},
            )
    for name, kind in LEVELS.items():
        if (env_id := f"dayshift/{name}-v0") not in registry:
            register(env_id, entry_point=f"dayshift.orchestrator:{kind}")


class _GymnasiumWatch(MetaPathFinder):
    """Stands in the import path until Gymnasium comes by, then steps aside."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(Loader):
    """Gymnasium's own loader, followed by our registration."""

    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        _register()
