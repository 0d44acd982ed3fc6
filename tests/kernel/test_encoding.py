"""Forms with brackets, and worlds that are only imagined."""

import pytest

from services.kernel.encoding import from_brackets, from_form, to_form
from services.kernel.errors import MalformedRequest, UnsupportedMediaType
from services.kernel.world import World
from tests.kernel.pantry import shelves


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"", {}),
        (b"a=1&b=", {"a": "1", "b": ""}),
        (b"a[b]=1&a[c][d]=2", {"a": {"b": "1", "c": {"d": "2"}}}),
        (b"e[0]=x&e[1]=y", {"e": ["x", "y"]}),
        (b"e[]=x&e[]=y", {"e": ["x", "y"]}),
        (b"e=x&e=y", {"e": ["x", "y"]}),
        (b"i[1][p]=b&i[0][p]=a", {"i": [{"p": "a"}, {"p": "b"}]}),
        (b"metadata%5B%C3%BC+k%5D=%C3%9F%26%3D%2B", {"metadata": {"ü k": "ß&=+"}}),
    ],
)
def test_brackets_nest(written: bytes, read: object) -> None:
    assert from_brackets(written) == read


@pytest.mark.parametrize(
    "written", [b"a=1&a[b]=2", b"a[b]=2&a=1", b"a[]=1&a[b]=2", b"a" + b"[b]" * 30 + b"=1", b"%ff=1"]
)
def test_a_form_that_contradicts_itself_is_refused(written: bytes) -> None:
    with pytest.raises(MalformedRequest):
        from_brackets(written)


def test_what_is_written_as_a_form_is_read_back() -> None:
    said = {"a": "1", "b": {"c": "ß&="}, "d": [{"e": "x"}, {"e": "y"}], "f": True}

    assert from_brackets(to_form(said)) == {**said, "f": "true"}


def test_a_form_is_no_json() -> None:
    with pytest.raises(UnsupportedMediaType):
        from_form(b"application/json", b"{}")


def test_what_is_imagined_leaves_no_trace(world: World) -> None:
    before = world.get(shelves, 1), world.clock.now_ms(), world.revision, world.ids.snapshot()

    with world.dry_run():
        world.clock.advance_to(world.clock.now_ms() + 1000)
        world.save(shelves, {"id": world.ids.next("shelf"), "label": "new", "contents": {}}, "made")
        world.remove(shelves, 1, "gone")

    assert (world.get(shelves, 1), world.clock.now_ms(), world.revision, world.ids.snapshot()) == before
    assert world.changes() == []
