"""A run becomes the night of its date when it is whole, on this machine and in an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import names_below
from isr_pipeline.base.storage.remote import StoreError
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.night import life, publication, status
from isr_pipeline.night.claim import claim_night
from isr_pipeline.night.publication import find_experiment
from isr_pipeline.night.status import (
    Status,
    check_not_replaced,
    later_run,
    nights,
    read_status,
    whole_run,
    write_status,
)
from isr_pipeline.tables import store
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import load_verdict
from tests.verdicts.synthetic import LATER, NIGHT, World, decided, home

if TYPE_CHECKING:
    from pathlib import Path

    from tests.storage.server import Server

__all__ = ["home"]

WORLD = World(scenarios=8, seed=1)
OTHER = World(scenarios=8, seed=2)


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose nights lie in it, or in an object store."""
    if request.param == "store":
        server: Server = request.getfixturevalue("server")
        assert server
        monkeypatch.setenv("ISR_PIPELINE_STORE", str(request.getfixturevalue("prefix")))
    return home


def work(world: World, run: str, began: str = "2026-11-19T01:00:00Z") -> Plan:
    """All that a run's steps do before the gate."""
    plan = world.write(NIGHT, run=run)
    write_status(plan.place, Status("running", "", run, began))
    store.write_table("events", plan.experiment, NIGHT, world.summary_rows([])[:0], root=plan.root)
    judge_night(plan)
    decided(plan)
    return plan


def end(world: World, run: str, *broken: str) -> str:
    """What the gate does."""
    return life.finish(
        world.experiment, NIGHT, broken=list(broken), fail_on_regression=True, dag_run_id=run
    )


def outcomes() -> str:
    """Digest of the night's outcomes, as a reader finds them."""
    find_experiment(NIGHT, WORLD.experiment)
    return store.table_digest("outcomes", WORLD.experiment, NIGHT)


@pytest.mark.usefixtures("place")
class TestWhole:
    """A run that came to its end."""

    def test_is_the_night(self) -> None:
        """Folder and tables lie in the layout by date, and nothing is left among the runs."""
        work(WORLD, "first")
        assert whole_run(WORLD.experiment, NIGHT) is None
        end(WORLD, "first")
        plan = Plan.of_night(WORLD.experiment, NIGHT)
        assert (plan.run, plan.root, plan.folder) == ("first", Home.from_environment().root, "")
        assert load_verdict(WORLD.experiment, NIGHT).status == "baseline"
        assert set(store.TABLES) == {
            name for name in store.TABLES if store.has_table(name, WORLD.experiment, NIGHT)
        }
        assert later_run(WORLD.experiment, NIGHT) is None
        assert names_below(Home.from_environment().made / "tables" / "_runs") == []

    def test_takes_the_place_of_the_run_before(self) -> None:
        """Until then a reader finds that one's verdict and tables."""
        work(WORLD, "first")
        end(WORLD, "first")
        before = outcomes()
        work(OTHER, "second", "2026-11-19T03:11:00Z")
        assert outcomes() == before
        assert read_status(WORLD.experiment, NIGHT).dag_run_id == "first"
        later = later_run(WORLD.experiment, NIGHT)
        assert later is not None
        assert (later.status.when, later.status.state) == ("2026-11-19, 03:11", "interrupted")
        end(OTHER, "second")
        assert outcomes() != before
        assert read_status(WORLD.experiment, NIGHT).dag_run_id == "second"

    def test_refuses_what_it_replaced(self) -> None:
        """A task of the run before has nothing to go on with."""
        work(WORLD, "first")
        work(WORLD, "second")
        end(WORLD, "second")
        with pytest.raises(Refused, match="run second has made it anew"):
            check_not_replaced(WORLD.experiment, NIGHT, "first")


@pytest.mark.usefixtures("place")
class TestFailed:
    """A run that did not come to its end."""

    def test_leaves_the_night_as_it_was(self) -> None:
        """It speaks for itself alone; the night keeps verdict and tables."""
        work(WORLD, "first")
        end(WORLD, "first")
        before = outcomes()
        OTHER.write(NIGHT, run="second")
        with pytest.raises(life.NotWhole):
            end(OTHER, "second", "simulate failed")
        assert outcomes() == before
        assert read_status(WORLD.experiment, NIGHT).state == "baseline"
        later = later_run(WORLD.experiment, NIGHT)
        assert later is not None
        assert later.status.reason.endswith("has no verdict: simulate failed")

    def test_of_a_night_without_a_whole_run(self) -> None:
        """The night is listed, and says why it has no verdict."""
        WORLD.write(NIGHT, run="first")
        with pytest.raises(life.NotWhole):
            end(WORLD, "first", "simulate failed")
        assert nights() == [(WORLD.experiment, NIGHT)]
        assert read_status(WORLD.experiment, NIGHT).state == "failed"

    def test_is_cleared_by_the_next_run(self) -> None:
        """Twice the space of a night is all that a date takes."""
        WORLD.write(NIGHT, run="first")
        kept = WORLD.write(LATER, run="of another night")
        plan = WORLD.write(NIGHT, run="second")
        runs = {plan.place.name, kept.place.name}
        folder = Home.from_environment().nights / WORLD.experiment / "_runs"
        assert {name.partition("/")[0] for name in names_below(folder)} == runs
        tables = Home.from_environment().made / "tables" / "_runs" / WORLD.experiment
        assert {name.partition("/")[0] for name in names_below(tables)} == runs


@pytest.mark.usefixtures("place")
class TestKilled:
    """A gate that dies while it publishes."""

    @pytest.mark.parametrize("moves", range(7))
    def test_a_reader_finishes_it(self, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
        """Between any two of its moves: all of the new night is there, and nothing of the old."""
        work(WORLD, "first")
        end(WORLD, "first")
        work(OTHER, "second")
        new = store.table_digest("outcomes", OTHER.experiment, NIGHT, root=run_root("second"))
        left = [moves]

        def dying(name: str, patched: pytest.MonkeyPatch) -> None:
            whole = getattr(publication, name)

            def move(*places: object) -> None:
                if not left[0]:
                    raise KeyboardInterrupt
                left[0] -= 1
                whole(*places)

            patched.setattr(publication, name, move)

        with monkeypatch.context() as patched:
            for name in ("move", "_move_folder", "remove_tree"):
                dying(name, patched)
            with pytest.raises(KeyboardInterrupt):
                end(OTHER, "second")
        assert outcomes() == new
        assert read_status(WORLD.experiment, NIGHT) == Status(
            "baseline", "", "second", "2026-11-19T01:00:00Z"
        )
        assert load_verdict(WORLD.experiment, NIGHT).outcomes_digest
        assert later_run(WORLD.experiment, NIGHT) is None

    def test_by_a_store_that_does_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The gate speaks of this run alone; a later reader finds the night."""
        work(WORLD, "first")
        end(WORLD, "first")
        work(OTHER, "second")

        def refuse(*_: object) -> None:
            raise StoreError("s3://bucket: cannot be written")

        with monkeypatch.context() as patched:
            patched.setattr(publication, "move", refuse)
            with pytest.raises(life.NotWhole, match="cannot be written; whoever asks"):
                end(OTHER, "second")
        find_experiment(NIGHT, WORLD.experiment)
        assert read_status(WORLD.experiment, NIGHT).dag_run_id == "second"


def run_root(run: str) -> str:
    """Where a run's own tables lie."""
    return status.run_root(WORLD.experiment, status.run_name(NIGHT, run))


@pytest.mark.usefixtures("place")
class TestCleared:
    """Tasks of a run that somebody clears in Airflow after it became the night."""

    def test_works_on_a_copy(self) -> None:
        """The night stays as it is until the run is whole again."""
        work(WORLD, "first")
        end(WORLD, "first")
        before = outcomes()
        publication.take_up(WORLD.experiment, NIGHT, "first")
        later = later_run(WORLD.experiment, NIGHT)
        assert later is not None
        plan = Plan.load(later.folder / "plan.json")
        assert (plan.root, plan.run) == (run_root("first"), "first")
        store.delete_night(WORLD.experiment, NIGHT, tables=["outcomes"], root=plan.root)
        assert outcomes() == before

    def test_is_published_again(self) -> None:
        """With what its tasks made anew."""
        work(WORLD, "first")
        end(WORLD, "first")
        before = outcomes()
        publication.take_up(WORLD.experiment, NIGHT, "first")
        work(OTHER, "first")
        end(OTHER, "first")
        assert outcomes() != before

    def test_loses_its_verdict_where_its_data_is_refused(self) -> None:
        """Wherever that was shown: it was of these data."""
        work(WORLD, "first")
        end(WORLD, "first")
        publication.take_up(WORLD.experiment, NIGHT, "first")
        with pytest.raises(life.NotWhole):
            end(WORLD, "first", "validate_outcomes failed: refused")
        told = read_status(WORLD.experiment, NIGHT)
        assert told.state == "failed"
        assert told.reason.endswith("validate_outcomes failed: refused")
        with pytest.raises(Refused, match="not judged"):
            load_verdict(WORLD.experiment, NIGHT)

    def test_nothing_is_copied_for_another_run(self) -> None:
        """Its tasks are refused."""
        work(WORLD, "first")
        end(WORLD, "first")
        publication.take_up(WORLD.experiment, NIGHT, "second")
        assert later_run(WORLD.experiment, NIGHT) is None


class TestInterrupted:
    """A run that is stopped by hand."""

    def test_while_it_publishes(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It becomes the night all the same: its verdict was whole."""
        assert home
        place = Home.from_environment()
        claim_night(
            place, owner="first", experiment=WORLD.experiment, night=NIGHT, airflow="",
            is_running=lambda _: True,
        )  # fmt: skip
        plan = work(WORLD, "first")
        with monkeypatch.context() as patched:
            patched.setattr(publication, "finish_publications", lambda _: None)
            publication.publish(plan, Status("baseline", "", "first"))
        life.interrupt(WORLD.experiment, NIGHT, "first")
        assert read_status(WORLD.experiment, NIGHT) == Status("baseline", "", "first")
