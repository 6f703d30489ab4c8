"""Documents lead somewhere: links resolve, changelog and decision records keep their shape, nothing is left to do."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

import pytest

from tests.tidy.sources import ROOT, Finding, Source, findings, hold, sources

RECORD_LINES_MAX: Final = 70
RECORD_SECTIONS: Final = ("Context", "Decision", "Consequences", "Refused alternatives")
RECORDS: Final = "docs/adr/"

_LINK: Final = re.compile(r"(?<!\\)\[(?:[^\]\[]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING: Final = re.compile(r"#{1,6}\s+(?P<text>.+?)\s*#*$")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_RELEASE: Final = re.compile(r"## (Unreleased|\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)? - \d{4}-\d{2}-\d{2})")
_ENTRY: Final = re.compile(r"- \*\*[^*]+[.!?]\*\* \S.*[.!?)]")
_STATUS: Final = re.compile(r"Status: (accepted|proposed|replaced by ADR \d+)")
_RECORD: Final = re.compile(r"(?P<number>\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md")
_CITED: Final = re.compile(r"\bADR[ -]0*(?P<number>\d+)\b|docs/adr/(?P<file>\d{4})")
_LEFT: Final = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")


def broken_links(source: Source) -> Iterator[Finding]:
    for number, line in _prose(source):
        for link in _LINK.finditer(line):
            target = link["target"].strip("<>")
            if not _ELSEWHERE.match(target) and (why := _broken(source, target)):
                yield Finding(path=source.path, line=number, why=f"{target}: {why}")


def _broken(source: Source, target: str) -> str | None:
    path, _, anchor = target.partition("#")
    if path.startswith("/"):
        return "a link is relative, so that it works in a clone too"
    place = (ROOT / PurePosixPath(source.path).parent / path).resolve() if path else ROOT / source.path
    if not place.is_relative_to(ROOT) or not (place.exists() or not path):
        return "there is no such file"
    if anchor and place.suffix == ".md":
        text = source.text if not path else place.read_text("utf-8")
        if anchor not in _anchors(Source(path=target, text=text)):
            return "there is no such heading"
    return None


def _anchors(source: Source) -> set[str]:
    headings = (found["text"] for _, line in _prose(source) if (found := _HEADING.fullmatch(line)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _prose(source: Source) -> Iterator[tuple[int, str]]:
    """Give the lines outside of code, with code spans blanked: what looks like a link there is none."""
    fenced = False
    for number, line in enumerate(source.lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line) if not line.startswith("#") else line


def shapeless_changelog(source: Source) -> Iterator[Finding]:
    for number, text in _blocks(source):
        if text.startswith("## ") and not _RELEASE.fullmatch(text):
            yield Finding(path=source.path, line=number, why="a heading is `## Unreleased` or `## 1.2.3 - 2026-01-31`")
        if text.startswith("- ") and not _ENTRY.fullmatch(text):
            yield Finding(path=source.path, line=number, why="an entry is `- **A title.** And a reason.`")
    if "## Unreleased" not in source.lines:
        yield Finding(path=source.path, line=1, why="there is no `## Unreleased`")


def _blocks(source: Source) -> Iterator[tuple[int, str]]:
    """Join each entry with the indented lines that continue it."""
    start, text = 1, ""
    for number, line in enumerate([*source.lines, ""], 1):
        if line.startswith("  ") and text:
            text += " " + line.strip()
            continue
        yield start, text
        start, text = number, line.rstrip()
    yield start, text


def shapeless_records(source: Source) -> Iterator[Finding]:
    name = _RECORD.fullmatch(PurePosixPath(source.path).name)
    if name is None:
        yield Finding(path=source.path, line=1, why="a record is named NNNN-slug.md")
        return
    if not source.lines or not source.lines[0].startswith(f"# {int(name['number'])}. "):
        yield Finding(path=source.path, line=1, why=f"it opens with `# {int(name['number'])}. The decision`")
    if not any(_STATUS.fullmatch(line) for line in source.lines[:4]):
        yield Finding(path=source.path, line=3, why="its status is accepted, proposed, or replaced by ADR n")
    sections = tuple(line.removeprefix("## ") for line in source.lines if line.startswith("## "))
    if sections != RECORD_SECTIONS:
        yield Finding(path=source.path, line=1, why=f"its sections are {', '.join(RECORD_SECTIONS)}, and no others")
    if len(source.lines) > RECORD_LINES_MAX:
        yield Finding(path=source.path, line=RECORD_LINES_MAX, why="a record is one page")


def unnumbered(paths: list[str]) -> list[str]:
    """List what is missing or doubled when records are counted from one on."""
    numbers = sorted(int(PurePosixPath(path).name[:4]) for path in paths)
    return [f"expected {due}, found {number}" for due, number in enumerate(numbers, 1) if due != number]


def what_is_left_to_do(source: Source) -> Iterator[Finding]:
    for number, line in enumerate(source.lines, 1):
        if found := _LEFT.search(line):
            yield Finding(path=source.path, line=number, why=f"{found[0]}: do it, or open an issue with an owner")


def _records() -> list[Source]:
    return [source for source in sources((".md",), RECORDS) if source.path != f"{RECORDS}README.md"]


def test_every_relative_link_resolves() -> None:
    hold(broken_links, sources((".md",)))


def test_the_changelog_keeps_its_shape() -> None:
    hold(shapeless_changelog, sources((".md",), "CHANGELOG.md"))


def test_decision_records_keep_their_shape() -> None:
    hold(shapeless_records, _records())


def test_decision_records_are_numbered_without_gaps_and_listed() -> None:
    index = (ROOT / RECORDS / "README.md").read_text("utf-8")

    assert not unnumbered([record.path for record in _records()])
    assert not [record.path for record in _records() if f"({PurePosixPath(record.path).name})" not in index]


def test_every_decision_record_that_is_cited_exists() -> None:
    there = {int(PurePosixPath(record.path).name[:4]) for record in _records()}

    cited = {
        (source.path, int(found["number"] or found["file"]))
        for source in sources((".py", ".sql", ".md", ".toml", ".c"), "src/", "tests/", "docs/", "README.md")
        if source.path not in (f"{RECORDS}README.md", "tests/tidy/test_docs.py")
        for found in _CITED.finditer(source.text)
    }

    assert not {(path, number) for path, number in cited if number not in there}


def test_nothing_is_left_to_do() -> None:
    hold(what_is_left_to_do, sources())


@pytest.mark.parametrize(
    "text",
    [
        "[a](nowhere.md)",
        "[a](../nowhere/)",
        "[a](/README.md)",
        "[a](#nowhere)",
        "[a](../README.md#nowhere)",
        "[![b](x.svg)](no.md)",
    ],
)
def test_a_broken_link_is_caught(text: str) -> None:
    assert findings(broken_links, [Source.sample(text, "docs/sample.md")])


@pytest.mark.parametrize(
    "text",
    [
        "[a](../README.md)",
        "[a](adr/)",
        "# A heading, with `code`\n[a](#a-heading-with-code)",
        "[a](https://example.org/x)",
        "```\n[a](nowhere.md)\n```",
        "`[a](nowhere.md)`",
    ],
)
def test_a_link_that_leads_somewhere_passes(text: str) -> None:
    assert not findings(broken_links, [Source.sample(text, "docs/sample.md")])


@pytest.mark.parametrize(
    "entry",
    [
        "- Fixed a bug.",
        "- **No reason.**",
        "- **No stop** because.",
        "- **A title.** Half a reason",
        "## 1.0",
        "## v1.0.0",
    ],
)
def test_a_shapeless_changelog_is_caught(entry: str) -> None:
    assert findings(shapeless_changelog, [Source.sample(f"# Changelog\n\n## Unreleased\n\n{entry}\n", "CHANGELOG.md")])


def test_a_changelog_without_unreleased_is_caught() -> None:
    assert findings(shapeless_changelog, [Source.sample("# Changelog\n", "CHANGELOG.md")])


def test_a_shapely_changelog_passes() -> None:
    text = "# Changelog\n\n## Unreleased\n\n- **A title.** A reason over\n  two lines.\n\n## 0.1.0 - 2026-01-31\n"

    assert not findings(shapeless_changelog, [Source.sample(text, "CHANGELOG.md")])


RECORD: Final = (
    "# 7. We decide\n\nStatus: accepted\n\n## Context\n## Decision\n## Consequences\n## Refused alternatives\n"
)


def test_a_shapely_record_passes() -> None:
    assert not findings(shapeless_records, [Source.sample(RECORD, "docs/adr/0007-we-decide.md")])


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (RECORD, "docs/adr/0008-we-decide.md"),
        (RECORD, "docs/adr/we-decide.md"),
        (RECORD.replace("accepted", "perhaps"), "docs/adr/0007-we-decide.md"),
        (RECORD.replace("## Context\n", ""), "docs/adr/0007-we-decide.md"),
        (RECORD + "## Notes\n", "docs/adr/0007-we-decide.md"),
        (RECORD + "\n" * RECORD_LINES_MAX, "docs/adr/0007-we-decide.md"),
    ],
)
def test_a_shapeless_record_is_caught(text: str, path: str) -> None:
    assert findings(shapeless_records, [Source.sample(text, path)])


def test_a_gap_and_a_double_in_the_numbers_are_caught() -> None:
    assert not unnumbered(["docs/adr/0001-a.md", "docs/adr/0002-b.md"])
    assert unnumbered(["docs/adr/0001-a.md", "docs/adr/0003-b.md"])
    assert unnumbered(["docs/adr/0001-a.md", "docs/adr/0001-b.md"])


def test_what_is_left_to_do_is_caught() -> None:
    assert findings(what_is_left_to_do, [Source.sample("# " + "TO" + "DO: later")])
    assert not findings(what_is_left_to_do, [Source.sample("# a todo list is what a shop has")])
