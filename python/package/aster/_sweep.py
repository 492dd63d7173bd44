"""Sweeps: a drive's figures over values of keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _aster, _dataset, _search
from ._aster import RunError, UsageError, __version__
from ._engine import Engine, engine
from ._journal import Journal
from ._keys import Overrides
from ._points import RUN_OPTIONS, Point, Work, check_key, sha256_of
from ._profile import Profile, profile
from ._space import METHODS, Space, checked, points
from ._table import needed

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import pyarrow


class Sweep:
    """What came of a sweep, a row for each point: ``point``, the parameters, ``seed``, ``version``, ``error``
    (null for a point that ran), and the figures of the report by their path in it, such as
    ``total.all.latency.p99_us``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        about = self.folder / "sweep.json"
        if not about.exists():
            raise UsageError(f"{folder}: holds no sweep that has come to its end")
        self._about: dict[str, Any] = json.loads(about.read_text())

    @property
    def path(self) -> Path:
        """The Parquet dataset."""
        return self.folder / _dataset.FOLDER

    @property
    def parameters(self) -> list[str]:
        """The keys that the sweep went over."""
        parameters: list[str] = self._about["parameters"]
        return parameters

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of PyArrow."""
        return needed("pyarrow.parquet", "to_arrow()").read_table(self.path)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        needed("pandas", "to_pandas()")
        return self.to_arrow().to_pandas()

    def __len__(self) -> int:
        points: int = self._about["points"]
        return points

    def __repr__(self) -> str:
        return f"<aster.Sweep of {len(self)} points over {', '.join(self.parameters)} in {self.folder}>"

    def plot(
        self, x: str, y: str | Sequence[str] = "total.all.latency.p99_us", *, by: str | None = None
    ) -> matplotlib.axes.Axes:
        """Draws figures over a parameter: the mean over seeds as a line, and their range as a band; with
        ``by`` a line for each value of another parameter (needs matplotlib and pandas)."""
        pyplot, frame = needed("matplotlib.pyplot", "plot()"), self.to_pandas()
        figures = [y] if isinstance(y, str) else list(y)
        for name in [x, *figures, *([by] if by else [])]:
            if name not in frame:
                near = [known for known in frame if name.rpartition(".")[2] == known.rpartition(".")[2]]
                raise UsageError(
                    f"{name}: the sweep has no such column{'; it has ' + ', '.join(near) if near else ''}"
                )
        ax: matplotlib.axes.Axes = pyplot.subplots(layout="constrained")[1]
        for value, part in frame.groupby(by) if by else [(None, frame)]:
            for figure in figures:
                over = part.dropna(subset=[figure]).groupby(x)[figure].agg(["mean", "min", "max"])
                words = [
                    word
                    for word in (figure if len(figures) > 1 else None, f"{by}={value}" if by else None)
                    if word
                ]
                (line,) = ax.plot(over.index, over["mean"], marker=".", label=", ".join(words) or None)
                ax.fill_between(
                    over.index, over["min"], over["max"], color=line.get_color(), alpha=0.2, linewidth=0
                )
        ax.set_xlabel(x)
        ax.set_ylabel(figures[0] if len(figures) == 1 else "")
        ax.grid(alpha=0.3)
        if by or len(figures) > 1:
            ax.legend(fontsize="small")
        return ax


def bar(
    progress: bool | Callable[[int, int], object], total: int | None, unit: str = "point"
) -> AbstractContextManager[Any]:
    """A bar in a terminal or a notebook, where one is wanted."""
    if progress is True:
        shown: AbstractContextManager[Any] = needed("tqdm.auto", "progress=True").tqdm(total=total, unit=unit)
        return shown
    return nullcontext()


def sweep(
    drive: str | Path | Profile,
    space: Space,
    *,
    out: str | Path,
    job: str | Path | None = None,
    trace: str | Path | None = None,
    overrides: Overrides | None = None,
    method: str = "grid",
    samples: int | None = None,
    objectives: Mapping[str, str] | None = None,
    seeds: int | Sequence[int] = 1,
    sweep_seed: int = 1,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
    **run: Any,
) -> Sweep:
    """Runs work on a drive once for each point of ``space``, and writes the figures to a Parquet dataset.

    ``drive`` is a profile, or its name or file. ``space`` has keys with their values: a list, or an
    :class:`aster.Range`. A key is one of the profile, or ``"job.OPTION"`` and ``"job.SECTION.OPTION"`` of
    the job file, ``"run.NAME"`` of the arguments in ``run``, or ``"profile"`` for several drives. ``job``
    is a job file or its text; ``trace`` a trace that is there under that path here and wherever points
    run. ``run`` has further arguments of :meth:`aster.Profile.run`: ``precondition``, ``content`` and the
    like.

    ``method`` chooses the points: ``"grid"`` has every combination; ``"random"`` and ``"latin-hypercube"``
    have ``samples``; ``"search"`` looks for the best in ``samples`` tries by Optuna, where ``objectives``
    are figures to ``"minimize"`` or ``"maximize"``. ``seeds`` are the seeds of each point's runs, or how
    many from 1 on. ``sweep_seed`` is that of the choice of points.

    Points run on all cores of this machine, on ``workers`` of them, or on the Dask cluster whose scheduler
    is at ``scheduler``, such as ``"tcp://10.0.0.1:8786"``. What is done is kept in the folder ``out``: the
    same sweep goes on there after whatever ended it, and runs nothing twice. The same sweep gives the same
    bytes, wherever and on however many cores it runs. A point that can't be run has its ``error`` in words.

    ``progress`` is ``True`` for a bar (needs tqdm), or is called with the number of points that are done
    and of all.
    """
    base = drive if isinstance(drive, Profile) else profile(drive)
    if overrides:
        base = base.changed(overrides)
    if method not in METHODS:
        raise UsageError(f"method: must be one of {', '.join(METHODS)}, but is {method!r}")
    if method != "grid" and (samples is None or samples < 1):
        raise UsageError(f"samples: the method {method!r} needs their number")
    if (method == "search") != bool(objectives):
        raise UsageError("objectives: the method 'search' needs them, and no other takes any")
    if (job is None) == (trace is None):
        raise UsageError("name a job file with job= or a trace with trace=")
    if workers is not None and workers < 1:
        raise UsageError(f"workers: must be 1 or more, but is {workers}")
    for name in run:
        if name not in RUN_OPTIONS:
            raise UsageError(f"{name}: no argument of a sweep, nor of its runs ({', '.join(RUN_OPTIONS)})")
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise UsageError("seeds: there is none")
    text = None
    if job is not None:
        text = job if isinstance(job, str) and "\n" in job else _text(Path(job))
    trace_sha256 = None
    if trace is not None:
        trace = Path(trace).absolute()
        try:
            trace_sha256 = sha256_of(trace)
        except OSError as error:
            raise UsageError(f"{trace}: {error.strerror}; a trace is expected here") from None
    work = Work(
        profile=base,
        job=text,
        trace=None if trace is None else str(trace),
        trace_sha256=trace_sha256,
        options=run,
        build=sha256_of(_aster.__file__),
    )
    space = checked(space)
    for key in space:
        check_key(key, work)
    needed("pyarrow.parquet", "a sweep")

    folder = Path(out)
    with Journal(folder) as journal, engine(scheduler, workers) as at_work:
        runner = Runner(work, chosen, journal, at_work, progress)
        if method == "search":
            assert samples is not None and objectives is not None
            total = samples * len(chosen)
            with bar(progress, total) as shown:
                runner.begin(shown, total)
                rows = _search.search(space, objectives, samples, sweep_seed, runner.rows)
        else:
            all_points = points(space, method, samples, sweep_seed)
            total = len(all_points) * len(chosen)
            with bar(progress, total) as shown:
                runner.begin(shown, total)
                rows = [row for of_point in runner.rows(all_points) for row in of_point]
        numbered = [{"point": number} | row for number, row in enumerate(rows)]
        _dataset.write(folder, numbered)
        about = {
            "version": __version__,
            "profile": base.name,
            "overrides": base.overrides,
            "method": method,
            "parameters": list(space),
            "seeds": chosen,
            "points": len(numbered),
        }
        (folder / "sweep.json").write_text(json.dumps(about, indent=1) + "\n")
    return Sweep(folder)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: {getattr(error, 'strerror', None) or 'not text'}; a job file is expected here"
        ) from None


class Runner:
    """Runs points that have not been run yet, and makes rows."""

    def __init__(
        self,
        work: Work,
        seeds: list[int],
        journal: Journal,
        at_work: Engine,
        progress: bool | Callable[[int, int], object],
    ) -> None:
        self.work, self._seeds, self._journal, self._engine = work, seeds, journal, at_work
        self._progress = progress
        self._bar: Any = None
        self._done = self._total = 0

    def begin(self, bar: Any, total: int) -> None:
        self._bar, self._total = bar, total

    def _tell(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif callable(self._progress):
            self._progress(self._done, self._total)

    def rows(self, all_points: Sequence[Mapping[str, Any]], told: bool = True) -> list[list[dict[str, Any]]]:
        """For each point a row for each seed; ``told`` says whether they count as progress."""
        work, journal = self.work, self._journal
        of_work = work.identity()
        wanted = [[Point(parameters, seed) for seed in self._seeds] for parameters in all_points]
        identities = [[point.identity(of_work) for point in of_point] for of_point in wanted]
        missing = {
            identity: point
            for of_point, names in zip(wanted, identities, strict=True)
            for point, identity in zip(of_point, names, strict=True)
            if identity not in journal.done
        }
        if told:
            self._tell(len(all_points) * len(self._seeds) - len(missing))

        def done(identity: str, outcome: dict[str, Any]) -> None:
            if outcome["version"] != __version__:
                raise RunError(f"a worker has aster {outcome['version']}, and this is {__version__}")
            journal.add(identity, outcome)
            if told:
                self._tell(1)

        if missing:
            self._engine.run(work, missing, done)
        return [
            [self._row(point, identity) for point, identity in zip(of_point, names, strict=True)]
            for of_point, names in zip(wanted, identities, strict=True)
        ]

    def _row(self, point: Point, identity: str) -> dict[str, Any]:
        figures: dict[str, Any] = self._journal.done[identity]["figures"]
        row = dict(point.parameters) | {"seed": point.seed, "version": __version__, "error": None}
        both = (row.keys() & figures.keys()) - {"error"}
        assert not both, f"a figure has the name of a parameter: {both}"
        return row | figures
