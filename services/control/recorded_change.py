"""Changes as the products report them: the images of a row stay text until somebody reads them."""

from typing import Any

import orjson

from services.kernel.harness_replies import ChangeReply

RowImage = dict[str, Any]


class RecordedChange:
    """One write of an episode. Few images are ever read, and parsing all of them would cost more than the verdict."""

    __slots__ = ("_after", "_before", "actor", "at", "event", "id", "revision", "table")

    def __init__(self, record: ChangeReply) -> None:
        self.revision = record["revision"]
        self.at = record["at"]
        self.actor = record["actor"]
        self.event = record["event"]
        self.table = record["table"]
        self.id = record["id"]
        self._before: RowImage | str | None = record["before"]
        self._after: RowImage | str | None = record["after"]

    @property
    def before(self) -> RowImage | None:
        image = self._before
        if isinstance(image, str):
            image = self._before = _parse(image)
        return image

    @property
    def after(self) -> RowImage | None:
        image = self._after
        if isinstance(image, str):
            image = self._after = _parse(image)
        return image

    @property
    def is_new(self) -> bool:
        """Whether it made the row. It costs no parsing."""
        return self._before is None


def _parse(image: str) -> RowImage:
    parsed: RowImage = orjson.loads(image)
    return parsed
