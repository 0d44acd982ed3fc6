"""What a task can ask of the CRM."""

from services.crm.tables import objects
from services.kernel.checks import Check, Finding, named
from services.kernel.world import World


class RecordHasValues(Check):
    """The record is there and its properties read so."""

    record_id: int
    values: dict[str, str]

    def ask(self, world: World) -> Finding:
        row = world.get(objects, self.record_id)
        if row is None or row["archived_at"] is not None:
            return self.failed(f"record {self.record_id} is gone")
        wrong = {
            name: row["properties"].get(name)
            for name, value in self.values.items()
            if row["properties"].get(name) != value
        }
        if wrong:
            return self.failed(f"record {self.record_id} has {wrong}, not {self.values}")
        return self.held(f"record {self.record_id} has {self.values}")


checks = named(RecordHasValues)
