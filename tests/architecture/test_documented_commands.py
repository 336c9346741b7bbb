"""What Makefile and documents tell people to type exists, and somebody runs it."""

import re
import shlex

import pytest
from django.core.management import get_commands, load_command_class

from tests.architecture.syntax_trees import ROOT

# Targets that .ci/run runs, itself or as a part of another one.
RUN_BY_CI = {"setup", "static", "coverage", "test", "test-integration", "check-all"}
# Targets that others run, at their smallest size.
RUN_BY_TESTS = {
    "help": "tests/architecture/test_documented_commands.py",
    "run": "tests/affiliate_site/test_run.py",
    "worker": "tests/affiliate_site/webhooks/test_deliver_webhooks.py",
    "e2e": "part of test-integration",
    "bench": "tests/benchmarks/test_smallest_size.py",
    "bench-back-office": "tests/benchmarks/test_smallest_size.py",
    "bench-page-calls": "tests/benchmarks/test_smallest_size.py",
    "check": "part of check-all",
    "script": "compared by script-difference",
    "messages": "compared by messages-difference",
    "openapi": "compared by openapi-difference",
    "lock": "compared by lock-difference",
    "release": "tests/deploy/test_release.py",
}
NOT_RUN = {
    "slow": "takes hours: before a release",
    "race": "the long form of a test that test-integration runs",
    "screenshots": "writes committed images, by pages that the browser tests open",
    "clean": "would remove the environment that runs this test",
}
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (?! )(.+)$", re.MULTILINE)
INLINE = re.compile(r"`(make [^`\n]+)`")
COMMAND = re.compile(r"(?:\bmanage|manage\.py)[ \t]+([a-z_]+)([^\n|;&)`#<>]*)")
TARGET = re.compile(r"\bmake[ \t]+((?:[a-z][a-z-]*[ \t]*)+)")


def read_makefile():
    return (ROOT / "Makefile").read_text()


def list_targets():
    (line,) = re.findall(r"^\.PHONY: (.+)$", read_makefile(), re.MULTILINE)
    return set(line.split())


def list_parts_of_check_all():
    makefile = read_makefile()
    (checks,) = re.findall(r"^CHECKS := (.+)$", makefile, re.MULTILINE)
    (others,) = re.findall(r"^check-all:.*\n.*\$\(CHECKS\) (.+)$", makefile, re.MULTILINE)
    return {*checks.split(), *others.split()}


def test_each_target_is_run_or_has_a_reason():
    script = (ROOT / ".ci" / "run").read_text()
    for target in RUN_BY_CI - {"test"}:
        assert re.search(rf"\b{target}\b", script), target
    named = [RUN_BY_CI, list_parts_of_check_all(), {*RUN_BY_TESTS}, {*NOT_RUN}]

    assert set().union(*named) == list_targets()
    assert sum(map(len, named)) == len(list_targets())
    for place in RUN_BY_TESTS.values():
        assert (ROOT / place).is_file() or "/" not in place, place


def list_shell_lines():
    for document in DOCUMENTS:
        text = document.read_text()
        blocks = [*BLOCK.findall(text), *INDENTED.findall(text)]
        for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
            yield document.name, line.strip()


def parse(name, rest):
    """Parse the arguments of a documented command, in the way of `manage.py`."""
    command = load_command_class(get_commands()[name], name)
    return command.create_parser("manage.py", name).parse_args(shlex.split(rest))


COMMANDS = sorted(
    {
        (document, name, rest.strip())
        for document, line in list_shell_lines()
        for name, rest in COMMAND.findall(line)
    }
)


@pytest.mark.parametrize(("document", "name", "rest"), COMMANDS)
def test_parsers_accept_the_documented_commands(document, name, rest):
    parse(name, rest)


def test_commands_that_nobody_can_answer_do_not_ask():
    lines = [line for _, line in list_shell_lines() if "</dev/null" in line]
    found = [parse(*command) for line in lines for command in COMMAND.findall(line)]

    assert found
    assert all(options.yes for options in found)


def test_finds_the_documented_commands():
    assert len(COMMANDS) > 20
    assert {"restore", "import_account", "erase_person"} <= {it[1] for it in COMMANDS}


def test_documented_targets_exist():
    lines = [line for _, line in list_shell_lines()]
    for document in DOCUMENTS:
        lines += INLINE.findall(document.read_text())
    found = {
        target for line in lines for targets in TARGET.findall(line) for target in targets.split()
    }
    assert len(found) > 5
    assert found <= list_targets()
