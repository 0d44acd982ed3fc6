"""Exceptions cross the borders of processes: trainers raise them in workers."""

import inspect
import pickle

import pytest
from dayshift import errors

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DayshiftError)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_survives_the_way_out_of_a_process(kind: type[errors.DayshiftError]) -> None:
    error = kind.__new__(kind, "it said so")
    error.__dict__["status"] = 503
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is kind
    assert (str(copy), copy.args, copy.status) == ("it said so", ("it said so",), 503)


def test_a_missing_library_is_named_by_a_worker_as_well() -> None:
    copy = pickle.loads(pickle.dumps(errors.MissingExtra("TensorBoard", "trackers")))

    assert str(copy) == "this needs TensorBoard: pip install 'dayshift[trackers]'"
