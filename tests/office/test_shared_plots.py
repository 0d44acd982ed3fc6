"""A task's plot is worked out once for all of its rollouts: none of them may leave a trace in it."""

import pytest

from fixtures.tasks.registry import families, family
from services.validate import policies
from services.validate.attempt import Place
from services.validate.promises import Trial

_ONE_OF_EACH = ["crm/merge-duplicates", "desk/angry-thread", "desk/refund-above-limit", "ide/fix-boundary"]


@pytest.mark.parametrize("family_id", [*_ONE_OF_EACH, *(one for one in families() if one.startswith("office/"))])
def test_an_episode_leaves_the_plot_that_others_share_as_it_found_it(place: Place, family_id: str) -> None:
    found, trial = family(family_id), Trial(place, family(family_id), 3)
    soil, asked = place.household.control.soil, place.request(family(family_id), 3)
    plot = soil.plot(found, asked)
    told = repr(plot)

    verdicts = [trial.play(policy)[0] for policy in (policies.oracle, policies.harm(1), policies.oracle)]

    assert verdicts[0].reward == verdicts[2].reward == 1
    assert soil.plot(found, asked) is plot
    assert repr(plot) == told
