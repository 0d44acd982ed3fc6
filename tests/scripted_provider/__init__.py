"""A local server that speaks OpenAI's chat and responses protocols and Anthropic's, and plays a script by model name.

`python -m tests.scripted_provider 9000` serves it by hand.
"""

from tests.scripted_provider.scripts import MIXED, behaviour_of
from tests.scripted_provider.server import ScriptedProvider

__all__ = ["MIXED", "ScriptedProvider", "behaviour_of"]
