"""RLlib (new API stack): menus as its environment, and callbacks that drop episodes without a reward.

config = PPOConfig().environment(MENU, env_config={"task": "crm/correct-contact", "max_steps": 12})
config = config.callbacks(EpisodeCallbacks)
"""

from collections.abc import Mapping
from typing import Any

import gymnasium

from dayshift.errors import MissingExtra
from dayshift.metrics import EpisodeMetrics, is_learnable

try:
    from ray.rllib.callbacks.callbacks import RLlibCallback
    from ray.tune.registry import register_env
except ImportError as error:
    raise MissingExtra("ray[rllib]", "rllib") from error

# The name under which RLlib knows the environment, once this module is imported.
MENU = "dayshift-menu"


def make_menu(config: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes a menu whose observation is one vector; the options are those of `dayshift/Menu-v0`."""
    options = {"on_fault": "quarantine", **config}
    return gymnasium.wrappers.FlattenObservation(gymnasium.make("dayshift/Menu-v0", **options))


register_env(MENU, make_menu)


class EpisodeCallbacks(RLlibCallback):  # type: ignore[misc]  # its types are not installed where this is checked
    """Drops unscored episodes before the learner sees them, and logs reward, pass rate, unscored rate and flags."""

    def on_sample_end(self, *, metrics_logger: Any = None, samples: list[Any], **_rest: Any) -> None:
        metrics = EpisodeMetrics(every=0)
        ended = [episode for episode in samples if episode.is_done]
        for episode in ended:
            metrics.add_info(episode.get_infos(-1))
        dropped = {id(episode) for episode in ended if not is_learnable(episode.get_infos(-1))}
        samples[:] = [episode for episode in samples if id(episode) not in dropped]
        if metrics_logger is not None:
            for name, value in metrics.values().items():
                metrics_logger.log_value(name.replace("/", "_"), value, window=20)
