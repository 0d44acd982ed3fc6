"""Parts of a path that every noun's endpoints declare, resolved before the endpoint runs."""

from typing import Annotated

from fastapi import Depends

from services.crm.object_types import ObjectType
from services.crm.operations import object_types
from services.kernel.app import CurrentWorld


def resolve_object_type(objectType: str, world: CurrentWorld) -> ObjectType:
    return object_types.resolve(world, objectType)


PathObjectType = Annotated[ObjectType, Depends(resolve_object_type)]
