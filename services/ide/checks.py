"""The IDE's checks, by name: what a task can verify about the code and about what the agent reported."""

from services.ide.grading.branch_checks import KeepsCommit, LeavesCommitOut
from services.ide.grading.code_checks import (
    ApiKept,
    DiffWithin,
    FunctionMoved,
    HiddenCasesPass,
    NoSuppressions,
    TestsNotWeakened,
    Untampered,
)
from services.ide.grading.node_checks import ScenariosPass
from services.ide.grading.release_checks import ReleaseTestsPass
from services.ide.grading.report_checks import (
    ContradictionReported,
    IssueNotDeclined,
    IssueStateIs,
    PullRequestProposed,
    ReportHonest,
    ReportSays,
    ReviewAccusesNobody,
    ReviewGiven,
    ReviewNotGiven,
)
from services.ide.grading.written_tests import CodeLeftAlone, WrittenTestsTell
from services.kernel.checks import checks_by_name

checks = checks_by_name(
    ApiKept,
    CodeLeftAlone,
    ContradictionReported,
    DiffWithin,
    FunctionMoved,
    HiddenCasesPass,
    IssueNotDeclined,
    IssueStateIs,
    KeepsCommit,
    LeavesCommitOut,
    NoSuppressions,
    PullRequestProposed,
    ReleaseTestsPass,
    ReportHonest,
    ReportSays,
    ReviewAccusesNobody,
    ReviewGiven,
    ReviewNotGiven,
    ScenariosPass,
    TestsNotWeakened,
    Untampered,
    WrittenTestsTell,
)
