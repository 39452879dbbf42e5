"""The code blocks of a page of documentation, and how the tests run them."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.M | re.S)
_COMMAND = re.compile(r"podium (?P<arguments>[^>|;&]+)(?:> (?P<file>\S+))?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DOCTEST = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_REMOTE = ("http:", "https:", "mailto:")


class Block(NamedTuple):
    """A block of a page: its language, its text, and its first line as its name."""

    language: str
    text: str

    @property
    def name(self) -> str:
        """The first line of the block."""
        return self.text.partition("\n")[0].strip()

    @property
    def kind(self) -> str:
        """Return "session", "doctest", "text", the name of a directive, or the language."""
        if self.language == "" and self.text.startswith("$ "):
            return "session"
        if self.language == "python" and self.text.startswith(">>>"):
            return "doctest"
        return self.language.partition(" ")[0]


def paths() -> list[str]:
    """Return the pages, relative to docs, without the generated ones and the notebooks."""
    files = sorted(DOCS.rglob("*.md"))
    names = [path.relative_to(DOCS).as_posix() for path in files]
    return ["../README.md", *(n for n in names if not n.startswith(("_generated/", "notebooks/")))]


def guides() -> list[str]:
    """Return the pages that lead from one to the next: all but the README and the index."""
    return [name for name in paths() if name not in ("../README.md", "index.md")]


def page(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """Return a section of a page, with its title."""
    (text,) = re.findall(rf"^## {title}\n.*?(?=^## |\Z)", page(name), re.M | re.S)
    return text


def blocks(text: str) -> list[Block]:
    """Return the blocks of a text."""
    return [Block(language, textwrap.dedent(body)) for _, language, body in _BLOCK.findall(text)]


def code(text: str, language: str) -> list[str]:
    """Return the texts of the blocks in a language."""
    return [block.text for block in blocks(text) if block.language == language]


def commands(text: str) -> list[tuple[list[str], str]]:
    """Return the commands of the sessions in a text, each with the output that is shown."""
    sessions = [block.text for block in blocks(text) if block.kind == "session"]
    return [call for session in sessions for call in calls(session)]


def calls(session: str) -> Iterator[tuple[list[str], str]]:
    """Yield the commands of a session as lists of words, each with the output that is shown."""
    for call in re.split(r"^\$ ", session.replace("\\\n", " "), flags=re.M)[1:]:
        line, _, shown = call.partition("\n")
        yield shlex.split(line), shown


@dataclass
class Runner:
    """Runs the blocks of a page in order, in the working folder and with one set of names.

    Attributes
    ----------
    podium : callable
        The fixture that runs a command in this process.
    capsys : pytest.CaptureFixture
        What reads the printed lines.
    names : dict
        The names that the Python of the page sees, and then those that it defined.
    tolerance : float
        How much numbers in outputs may differ: a number x by tolerance · (1 + |x|). With 0, the
        texts are compared.
    is_own_data : bool
        Whether the outputs of the page are of other data than those in the working folder.
    """

    podium: Callable[..., Any]
    capsys: pytest.CaptureFixture[str]
    names: dict[str, Any]
    tolerance: float = 0.0
    is_own_data: bool = False

    def run(self, block: Block) -> None:
        """Run a block, and compare what it prints with what the page shows."""
        runs = {
            "session": self.session,
            "doctest": self.doctest,
            "python": self.python,
            "sh": self.script,
        }
        runs[block.kind](block.text)

    def session(self, text: str) -> None:
        """Run the commands of a session."""
        for argv, shown in calls(text):
            if argv[0] == "cd":
                os.chdir(argv[1])
            else:
                out = self.output(argv, shown)
                is_compared = shown.strip() and not self.is_own_data
                assert not is_compared or self.same_output(shown, out), f"{argv}\n{out}"

    def output(self, argv: list[str], shown: str) -> str:
        """Return the output of `podium …` or `cat FILE`, with the messages if they are shown."""
        if argv[0] == "cat":
            return Path(argv[1]).read_text(encoding="utf-8")
        assert argv[0] == "podium", argv
        done = self.podium(*argv[1:])
        has_messages = "podium: " in shown
        is_error = "podium: error" in shown
        assert done.status in ((2,) if is_error else (0, 1, 3)), done.err
        return done.err + done.out if has_messages else done.out

    def same_output(self, shown: str, out: str) -> bool:
        """Return whether the output is the one shown, in which … stands for any text."""
        shown, out = " ".join(shown.split()), " ".join(out.split())
        if self.tolerance:
            return _NUMBER.sub("#", shown) == _NUMBER.sub("#", out) and all(
                abs(float(a) - float(b)) <= self.tolerance * (1 + abs(float(b)))
                for a, b in zip(_NUMBER.findall(shown), _NUMBER.findall(out), strict=True)
            )
        pattern = ".*".join(re.escape(part.strip()) for part in shown.split("…"))
        return re.fullmatch(pattern, out, re.S) is not None

    def doctest(self, text: str) -> None:
        """Run a block with prompts."""
        test = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
        test.globs = self.names
        lines: list[str] = []
        runner = doctest.DocTestRunner(optionflags=_DOCTEST, verbose=False)
        assert runner.run(test, out=lines.append, clear_globs=False).failed == 0, "".join(lines)

    def python(self, text: str) -> None:
        """Run Python without prompts; `print(…)  # text` promises a line of output."""
        if '__name__ == "__main__"' in text:
            Path("page.py").write_text(text, encoding="utf-8")
            subprocess.run([sys.executable, "page.py"], check=True)
            return
        self.capsys.readouterr()
        exec(compile(text, "page.md", "exec"), self.names)
        for test in re.findall(r"^def (test_\w+)\(\):", text, re.M):
            self.names[test]()
        promised = re.findall(r"^print\(.*\)  # (.*)$", text, re.M)
        if promised:
            printed = self.capsys.readouterr().out
            assert self.same_output("\n".join(promised), printed), printed

    def script(self, text: str) -> None:
        """Run a shell script; lines of podium alone, also `> FILE`, run in this process."""
        commands = [_COMMAND.fullmatch(line) for line in text.replace("\\\n", " ").splitlines()]
        if all(commands):
            for command in filter(None, commands):
                done = self.podium(*shlex.split(command["arguments"]))
                decides = command["arguments"].startswith("gate ")  # on data that may differ
                assert done.status in ((0, 1, 3) if decides else (0,)), done.err
                if command["file"]:
                    Path(command["file"]).write_text(done.out, encoding="utf-8")
        else:
            done = shell(text)
            assert done.returncode == 0, done.stderr


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub Actions does, with podium from this environment."""
    function = f'podium() {{ {shlex.quote(sys.executable)} -m podium "$@"; }}\n'
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", function + script],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "GITHUB_STEP_SUMMARY": "summary.md"},
    )


def prose(text: str) -> str:
    """Return a text without its blocks."""
    return _BLOCK.sub("", text)


def links(name: str) -> list[tuple[str, Path, str]]:
    """Return the links of a page to files: the text, the file and the anchor."""
    found: list[tuple[str, Path, str]] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page(name))):
        path, _, anchor = link.partition("#")
        if not link.startswith(_REMOTE) and "_generated/" not in link:
            found.append((link, (DOCS / name).parent / path if path else DOCS / name, anchor))
    return found


def linked(name: str) -> set[str]:
    """Return the pages to which a page links."""
    targets = {target.resolve() for _, target, _ in links(name)}
    return {path for path in paths() if (DOCS / path).resolve() in targets}


def lost_links(name: str) -> list[str]:
    """Return the links of a page to files or titles that do not exist."""
    return [
        link
        for link, target, anchor in links(name)
        if not target.exists() or (anchor and anchor not in _anchors(target))
    ]


def sections(text: str) -> list[str]:
    """Return the anchors of the sections of a page, without those of subsections."""
    return [_anchor(title) for title in re.findall(r"^## (.+)$", prose(text), re.M)]


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {_anchor(title) for title in titles}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
