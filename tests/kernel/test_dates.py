"""The date that every answer carries."""

from email.utils import formatdate

from hypothesis import given
from hypothesis import strategies as st

from services.kernel.agent_api import _http_date


@given(st.integers(min_value=0, max_value=4_102_444_800_000))
def test_a_date_is_spelt_as_the_standard_library_spells_it(ms: int) -> None:
    assert _http_date(ms).decode() == formatdate(ms // 1000, usegmt=True)
