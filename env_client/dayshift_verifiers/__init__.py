"""dayshift_verifiers: office work as a taskset of verifiers, and with it of prime-rl.

    vf-eval dayshift_verifiers -m MODEL

Control opens the episode of a rollout, the agent works through the episode's MCP endpoint, and the verdict is the
reward. An episode that the environment failed raises, so that its rollout is an error and not a zero.
"""

from dayshift_verifiers.taskset import OfficeConfig, OfficeData, OfficeTask, OfficeTaskset

__all__ = ["OfficeConfig", "OfficeData", "OfficeTask", "OfficeTaskset"]
