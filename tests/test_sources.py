"""The list of sources that rules cite."""

from __future__ import annotations

from typer.testing import CliRunner

from isr_pipeline.cli import app
from isr_pipeline.conformance import sources
from tests.saying import refused

FILE = '''"""A file (KIP-1).

Sources: a/One.scala, b/Two.java @ 2.8.2, 3.6 and
1eb7644349.
"""

LIMIT = 3
"""As KAFKA-2 has it."""

# KIP-3 changed this.
# Other.scala grow @ 3.7
OTHER = 4


def rule():
    """What a leader does (Leader.act @ 0.8.2.2 ... 3.6)."""
    text = "KIP-9"
    return text  # KIP-4
'''


def cited(rule: str) -> list[str]:
    """What a part of the file above cites."""
    return [one.text for one in sources.cited_in(FILE, "f.py") if one.rule == rule]


class TestCitations:
    """One file."""

    def test_of_a_module(self) -> None:
        """Files in a row share the releases behind the last of them."""
        releases = "2.8.2, 3.6 and 1eb7644349"
        assert cited(sources.MODULE) == [
            "KIP-1", f"a/One.scala @ {releases}", f"b/Two.java @ {releases}",
        ]  # fmt: skip

    def test_of_a_constant(self) -> None:
        """The text below a constant and the comment above it are the constant's."""
        assert cited("LIMIT") == ["KAFKA-2"]
        assert cited("OTHER") == ["KIP-3", "Other.scala grow @ 3.7"]

    def test_of_a_function(self) -> None:
        """Docstrings and comments count, other texts do not."""
        assert sorted(cited("rule")) == ["KIP-4", "Leader.act @ 0.8.2.2 ... 3.6"]


class TestCommand:
    """``isr-pipeline sources``."""

    def run(self, *arguments: str) -> str:
        """Run the command; its output."""
        done = CliRunner().invoke(app, ["sources", *arguments], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    def test_every_file_of_rules_cites_something(self) -> None:
        """No file that decides what a broker does is without a source."""
        files = {one.module for one in sources.citations(("kafka",))}
        rules = {"election", "fetcher", "kip501", "partition", "releases", "replica", "session"}
        assert files >= {f"kafka/{name}.py" for name in rules}

    def test_text(self) -> None:
        """A text narrows the list: a proposal, a file of Kafka, a release, a rule."""
        assert "kafka/partition.py: next_high_watermark" in self.run("maybeIncrementLeaderHW")
        assert "kafka/replica.py: note_broker_epoch\n    KIP-903\n" in self.run("KIP-903")

    def test_by_source(self) -> None:
        """The list can be turned round."""
        lines = self.run("KIP-461", "--by-source").splitlines()
        assert lines[0] == "KIP-461"
        assert "kafka/fetcher.py: reaction" in lines[1]

    def test_nothing_found(self) -> None:
        """A text that nothing contains is refused in one line."""
        assert refused(lambda: self.run("KIP-99999")) == (
            "sources: TEXT: KIP-99999; allowed: part of a source's or a rule's name"
        )


class TestVersion:
    """``isr-pipeline --version``."""

    def test_version_and_commit(self) -> None:
        """It names the package's number, and the commit in a checkout."""
        done = CliRunner().invoke(app, ["--version"])
        assert done.exit_code == 0
        assert done.output.startswith("isr-pipeline 0.")
