"""No search that people make every day reads all tickets: an index gives the set of ids."""

import pytest

from services.desk.language.context import SearchContext
from services.desk.language.plans import make_plans
from services.desk.language.syntax import parse
from services.desk.rules.selection import Selection
from services.desk.rules.subjects import Viewer
from services.desk.rules.vocabulary import Conditions
from services.desk.tables import views
from services.kernel.documents import Binder
from services.kernel.world import World
from tests.desk.office import MARA, NOW
from tests.desk.rulebook import furnish, user

READS_ALL = ("SCAN tickets", "SCAN users", "SCAN comments", "SCAN organizations")


def read_whole(world: World, table: str, where: str, parameters: dict) -> list[str]:
    told = world.rows(f"EXPLAIN QUERY PLAN SELECT count(*) FROM {table} WHERE {where}", parameters)
    return [line for *_, line in told if line in READS_ALL]


@pytest.mark.parametrize(
    "query",
    [
        "status:open", "status<solved", "status:open assignee:me", "assignee:none", "requester:lena.brandt@corvane.eu",
        "requester:lena", "group:billing status<solved", 'organization:"Halden Marine"', "tags:billing", "tags:bill*",
        "created>3days", "updated>2026-11-01", "external_id:x", "late", "late status<solved", '"charged twice"', "subject:late",
        "comment:late", "satisfaction:bad", "problem_id:7", "custom_field_3002:x", "status:open status:pending tags:outage",
        "has_attachment:true", "has_attachment:false", "commenter:lena", "commenter:me",
    ],
)  # fmt: skip
def test_everyday_searches_read_no_table_from_end_to_end(world: World, query: str) -> None:
    binder = Binder()
    (plan,) = make_plans(SearchContext(binder, NOW, MARA), parse(f"type:ticket {query}"))

    assert read_whole(world, plan.table, plan.where, binder.parameters) == []


def test_a_search_that_no_index_answers_is_noticed(world: World) -> None:
    binder = Binder()
    (plan,) = make_plans(SearchContext(binder, NOW, MARA), parse("type:ticket satisfaction:offered"))

    assert read_whole(world, plan.table, plan.where, binder.parameters) == ["SCAN tickets"]


def test_the_companys_views_read_no_table_from_end_to_end(world: World) -> None:
    furnish(world)
    viewer = Viewer.of_user(world, user(world, MARA))
    read = {
        view["body"]["title"]: read_whole(world, "tickets", asked.sql, dict(asked.parameters))
        for view in views.find(world)
        if (asked := Selection(world, Conditions.from_body(view["body"]["conditions"]), viewer).where)
    }

    assert {title: found for title, found in read.items() if found} == {}
