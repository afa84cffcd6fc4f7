"""What changed since the baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.kernels.source import read_package
from isr_pipeline.night.show import changed_lines, show
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.terminal import baseline_lines
from isr_pipeline.verdicts import acceptance, baseline, changes
from isr_pipeline.verdicts.baseline import BaselineDamaged, baseline_plan, baseline_source
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.judge import judge_night
from tests.approved import Approved
from tests.verdicts.synthetic import LATER, NIGHT, World

LAG = "replica.lag.time.max.ms"


def accepted(world: World) -> baseline.BaselineRecord:
    """A world whose first night is the baseline."""
    judge_night(world.write(NIGHT))
    return acceptance.accept("synthetic", NIGHT, "Ada", "first", version=world.code_version)


def judged_later(world: World) -> None:
    """The second night of a world."""
    judge_night(world.write(LATER))
    write_status(folder_of("synthetic", LATER), Status("ok"))


@pytest.mark.usefixtures("home")
class TestChanges:
    """What is listed, for which configuration."""

    def test_nothing_changed(self) -> None:
        """The same settings and code: nothing is listed."""
        world = World()
        accepted(world)
        judged_later(world)
        changes = read_changes(folder_of("synthetic", LATER))
        assert changes.baseline == NIGHT
        assert changes.shared == ()
        assert changes.configurations == {}

    def test_a_key(self) -> None:
        """A key of one configuration is listed there, with both values, and nowhere else."""
        world = World()
        accepted(world)
        world.values["lag-20s"] = {LAG: 45_000}
        judged_later(world)
        told = show("synthetic", LATER)
        (change,) = next(one for one in told["configs"] if one["name"] == "lag-20s")["changed"]
        assert (change["kind"], change["name"]) == ("key", LAG)
        assert (change["before"], change["after"]) == (12_000, 45_000)
        assert told["changed"] == []
        assert [one["changed"] for one in told["configs"] if one["name"] != "lag-20s"] == [[], []]
        assert changed_lines(folder_of("synthetic", LATER), 12) == [
            f"lag-20s: {LAG}: 12000 to 45000"
        ]

    def test_a_rule_and_a_service_time(self) -> None:
        """Switches and service times have kinds of their own."""
        world = World()
        accepted(world)
        world.values["lag-20s"] = {
            LAG: 12_000,
            "rules.isr_lock": "none",
            "service.send_us": 77.0,
        }
        judged_later(world)
        changes = read_changes(folder_of("synthetic", LATER)).of("id-lag-20s")
        assert {one.kind: one.name for one in changes} == {
            "rule": "rules.isr_lock",
            "service": "service.send_us",
        }

    def test_a_configuration_that_comes_and_one_that_goes(self, approved: Approved) -> None:
        """Neither is silent."""
        accepted(World())
        names = ("today", "kip-501-s1", "newcomer")
        judged_later(World(names=names, values={"newcomer": {"replica.lag.time.max.ms": 2}}))
        changes = read_changes(folder_of("synthetic", LATER))
        approved(one.text for one in (*changes.shared, *changes.of("id-newcomer")))

    def test_a_configuration_that_was_renamed(self, approved: Approved) -> None:
        """Another name for the same values is compared, and said."""
        accepted(World())
        judged_later(World(names=("today", "kip-501-s1", "newcomer")))
        changes = read_changes(folder_of("synthetic", LATER))
        assert [one.text for one in changes.shared] == []
        approved(one.text for one in changes.of("id-newcomer"))

    def test_code_whose_files_nobody_has(self, approved: Approved) -> None:
        """Code versions are told where no sources are found."""
        accepted(World())
        judged_later(World(code_version="5678def"))
        (change,) = read_changes(folder_of("synthetic", LATER)).shared
        approved(change.text)

    def test_a_file_with_another_import(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An import is no part of its own, and no text: the line allows for both."""
        file = "kafka/session.py"
        today = read_package()
        then = replace(today, files={**today.files, file: b"import math\n" + today.files[file]})
        monkeypatch.setattr(changes, "baseline_source", lambda _: then)
        accepted(World())
        judged_later(World(code_version=code_version()))
        *_, change = read_changes(folder_of("synthetic", LATER)).shared
        assert change.text == f"isr_pipeline/{file}: texts and imports only"

    def test_first_night(self) -> None:
        """Without a baseline nothing has changed: the page says why and has no such section."""
        judged_later(World())
        assert read_changes(folder_of("synthetic", LATER)).baseline == ""
        page = render(read_night(World().plan(LATER)))
        header = page.partition("<header>")[2].partition("</header>")[0]
        assert header.count("no baseline was accepted before") == 1
        assert "No baseline is accepted yet." not in page
        assert "What changed" not in page

    def test_in_the_report(self) -> None:
        """The page lists the change under its configuration."""
        world = World()
        accepted(world)
        world.values["lag-20s"] = {LAG: 45_000}
        judged_later(world)
        page = render(read_night(world.plan(LATER)))
        section = page.split('<section id="changed"')[1].split("</section>")[0]
        assert '<th scope="row">lag-20s</th><td>Kafka key</td>' in section
        assert f"{LAG}: 12000 to 45000" in section

    def test_many_lines_are_cut(self) -> None:
        """The last line says how many more there are."""
        world = World()
        accepted(world)
        world.values = {name: {LAG: 50_000 + len(name)} for name in world.names}
        judged_later(world)
        lines = changed_lines(folder_of("synthetic", LATER), 2)
        assert len(lines) == 2
        assert lines[1] == "and 2 more"


@pytest.mark.usefixtures("home")
class TestKept:
    """What a baseline keeps of its code."""

    def test_source_and_plan(self) -> None:
        """A night of the present code is accepted with its sources and its plan."""
        record = accepted(World(code_version=code_version()))
        assert baseline_source(record).digest == read_package().digest
        plan = baseline_plan(record)
        assert plan is not None
        assert plan.night == NIGHT
        assert (home_of(record) / "source.tar.xz").stat().st_size < 500_000

    def test_a_plan_that_cannot_be_read_any_more(self) -> None:
        """What else changed is told, and nobody refuses the baseline."""
        world = World()
        record = accepted(world)
        kept = (home_of(record) / "plan.json").read_text().replace('"pause"', '"slow_read"')
        (home_of(record) / "plan.json").write_text(kept)
        digests = {**record.digests, "plan": baseline.content_digest(kept.encode())}
        record = record.model_copy(update={"digests": digests})
        (home_of(record) / "baseline.json").write_text(record.model_dump_json())
        assert baseline_plan(record) is None
        assert baseline.refused_today(record) == []
        world.values["lag-20s"] = {LAG: 45_000}
        judged_later(world)
        lines = changed_lines(folder_of("synthetic", LATER), 12)
        assert lines == [f"lag-20s: {LAG}: 12000 to 45000"]

    def test_without_source(self, approved: Approved) -> None:
        """A night of unknown code is accepted without; asking for it says what to do."""
        record = accepted(World())
        assert "source" not in record.digests
        with approved.refusal(Refused):
            baseline_source(record)

    def test_half_written(self, approved: Approved) -> None:
        """A cut archive is damaged, and said so."""
        record = accepted(World(code_version=code_version()))
        file = home_of(record) / "source.tar.xz"
        file.write_bytes(file.read_bytes()[:1000])
        with approved.refusal(BaselineDamaged):
            baseline_source(record)

    def test_missing(self, approved: Approved) -> None:
        """An archive that was removed is said to be missing; the numbers still stand."""
        record = accepted(World(code_version=code_version()))
        (home_of(record) / "source.tar.xz").unlink()
        with approved.refusal(BaselineDamaged):
            baseline_source(record)
        assert baseline.load("synthetic") is not None


def home_of(record: baseline.BaselineRecord) -> Path:
    """Folder of a baseline."""
    return Path(str(Home.from_environment().baseline_dir(record.experiment)))


@pytest.mark.usefixtures("home")
class TestRefusedToday:
    """A baseline of an experiment that an older release of this program took."""

    def test_what_no_broker_starts_with(self, approved: Approved) -> None:
        """`baseline show` has a line for the configuration, with the reason."""
        world = World(values={"lag-20s": {"replica.socket.timeout.ms": 400}})
        approved([*baseline_lines("synthetic", accepted(world))][1:])

    def test_what_brokers_start_with(self) -> None:
        """Nothing is said of any other."""
        assert baseline.refused_today(accepted(World())) == []
