"""A task's setup is computed once for all of its rollouts: none of them may change it."""

import pytest

from fixtures.tasks.registry import families, family
from services.validate import policies
from services.validate.attempt import TrialContext
from services.validate.promises import Trial

_ONE_OF_EACH = ["crm/merge-duplicates", "desk/angry-thread", "desk/refund-above-limit", "ide/fix-boundary"]


@pytest.mark.parametrize("family_id", [*_ONE_OF_EACH, *(name for name in families() if name.startswith("office/"))])
def test_an_episode_does_not_change_the_setup_that_others_share(context: TrialContext, family_id: str) -> None:
    chosen, trial = family(family_id), Trial(context, family(family_id), 3)
    setup = context.stack.build_setup(chosen, context.request(chosen, 3))
    content = repr(setup)

    verdicts = [trial.play(policy)[0] for policy in (policies.oracle, policies.harm(1), policies.oracle)]

    assert verdicts[0].reward == verdicts[2].reward == 1
    assert context.stack.build_setup(chosen, context.request(chosen, 3)) is setup
    assert repr(setup) == content
