"""Registers Dayshift's environments with Gymnasium."""

from gymnasium.envs.registration import register, registry

# Trainers install the client without the services, so it cannot look for the products' packages.
# tests/client/test_package.py fails when this tuple differs from the products of the services' catalogue.
PRODUCTS = ("billing", "crm", "desk", "ide")
# Further products that a product's families need: work at the desk is done in billing as often as on the ticket.
# tests/client/test_package.py compares them with the families.
ALSO_NEEDED = {"desk": ("billing",)}


def register_environments() -> None:
    """Registers one environment for each product, the office, the menu, and the two levels of a team."""
    for product in PRODUCTS:
        register_product(product, *ALSO_NEEDED.get(product, ()))
    # The office serves every product; without a task it draws only families that span products.
    _register_once("dayshift/Office-v0", products=(), families="office/")
    # Numbers in, a number out: candidate calls of any family that every product of the stack can serve.
    if (menu_id := "dayshift/Menu-v0") not in registry:
        register(
            menu_id, entry_point="dayshift.menu:make_menu", vector_entry_point="dayshift.menu_vector:MenuVectorEnv"
        )
    for name in ("Orchestrator", "Specialist"):
        if (env_id := f"dayshift/{name}-v0") not in registry:
            register(env_id, entry_point=f"dayshift.orchestrator:{name}Env")


def register_product(product: str, *also_needed: str) -> str:
    """Registers `dayshift/<Product>-v0` for a product that the stack serves, and returns that id.

    Without a task it samples the product's own families; `also_needed` are the other products that they use.
    """
    products = (product, *also_needed)
    return _register_once(f"dayshift/{product.capitalize()}-v0", products=products, families=f"{product}/")


def _register_once(env_id: str, *, products: tuple[str, ...], families: str) -> str:
    if env_id not in registry:
        register(
            env_id,
            entry_point="dayshift.env:DayshiftEnv",
            vector_entry_point="dayshift.vector:DayshiftVectorEnv",
            kwargs={"products": products, "families": families},
        )
    return env_id
