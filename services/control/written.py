"""Changes as products tell of them: the images of a row are text until somebody looks at them."""

from typing import Any

import orjson

_IMAGES = ("before", "after")


class Written(dict[str, Any]):
    """One change of a history; its images are read at the first look."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name in _IMAGES and isinstance(value, str):
            value = orjson.loads(value)
            self[name] = value
        return value
