"""What the judge knows of billing."""

from services.kernel.judging import Judging

judging = Judging(staged_fields=frozenset({"body.status"}))
