"""The version, the licence and the workflow stand in one place each, and everything else follows them."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml
from dayshift.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
VERSION_FILE = ROOT / "env_client" / "dayshift" / "version.py"


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def workflow() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    return loaded


def test_the_version_is_written_once_and_both_packages_read_it() -> None:
    assert f'VERSION = "{VERSION}"' in VERSION_FILE.read_text()
    for folder in (".", "env_client"):
        metadata = project(folder)
        assert metadata["project"]["dynamic"] == ["version"]
        assert metadata["tool"]["setuptools"]["dynamic"]["version"]["attr"].endswith("dayshift.version.VERSION")


def test_the_changelog_begins_with_this_version_and_its_date() -> None:
    first = re.search(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())

    assert first is not None
    assert first[1] == citation["version"] == VERSION
    assert first[2] == citation["date-released"].isoformat()


def test_the_licence_is_named_alike_everywhere() -> None:
    licence = (ROOT / "LICENSE").read_text()

    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "Dayshift contributors" in licence
    assert project(".")["project"]["license"] == project("env_client")["project"]["license"] == "Apache-2.0"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["license"] == "Apache-2.0"


def test_both_packages_have_complete_metadata() -> None:
    for folder in (".", "env_client"):
        metadata = project(folder)["project"]
        missing = {"description", "readme", "license", "authors", "keywords", "classifiers", "urls"} - set(metadata)
        assert missing == set(), folder


def test_every_family_and_every_cheat_is_tried_each_night() -> None:
    loaded: dict[Any, Any] = workflow()
    nightly = loaded["jobs"]["nightly"]
    commands = [step.get("run", "") for step in nightly["steps"]]

    # YAML 1.1 reads the key `on` as a truth.
    assert loaded[True]["schedule"]
    assert "schedule" in nightly["if"]
    assert {"make validate", "make redteam"} <= set(commands)


def test_the_workflow_runs_the_commands_of_the_readme() -> None:
    jobs = workflow()["jobs"]
    run = {
        re.split(r" (?:CLIENT_)?PYTHON=", step["run"])[0]
        for job in jobs.values()
        for step in job["steps"]
        if "run" in step
    }

    assert {"make demo", "make test", "make check", "make docs", "make compose-test", "make client-test"} <= run
    assert {command for command in run if command.startswith("make ")} - {"make image", "make client-test"} <= set(
        re.findall(r"make [a-z-]+", README)
    )


def test_the_workflow_tries_the_client_on_every_version_that_it_names() -> None:
    classifiers = project("env_client")["project"]["classifiers"]
    named = [text.rsplit(" ", 1)[1] for text in classifiers if text.startswith("Programming Language :: Python :: 3.")]

    assert workflow()["jobs"]["client"]["strategy"]["matrix"]["python"] == named


def test_the_workflow_runs_the_demo_on_every_version_that_the_services_name() -> None:
    classifiers = project(".")["project"]["classifiers"]
    named = [text.rsplit(" ", 1)[1] for text in classifiers if text.startswith("Programming Language :: Python :: 3.")]
    jobs = workflow()["jobs"]

    assert [jobs["services"]["name"][-4:], *jobs["demo"]["strategy"]["matrix"]["python"]] == named


def test_ci_needs_nothing_outside_the_repository() -> None:
    scripts = [path for folder in (".ci", "tests/e2e") for path in (ROOT / folder).rglob("*") if path.suffix != ".pyc"]
    outside = re.compile(r"\.\./shared|ROOT\.parent")

    assert {path.name for path in scripts} >= {"run", "docker-engine", "client-test", "engine.py"}
    assert [path.name for path in scripts if path.is_file() and outside.search(path.read_text())] == []


def test_hooks_and_templates_are_valid_yaml_and_name_files_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    named = {word for hook in hooks for word in hook["entry"].split() if word.startswith("tests/")}
    forms = [yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]

    assert named
    assert all((ROOT / name).exists() for name in named)
    assert sum("body" in form for form in forms) >= 3
