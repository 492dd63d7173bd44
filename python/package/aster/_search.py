"""A search for the best point, by Optuna."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._aster import UsageError
from ._space import Range
from ._table import needed

BATCH = 8
"""Tries that run side by side. It is part of the search: with another one other points are tried."""

DIRECTIONS = ("minimize", "maximize")


def search(
    space: Mapping[str, Range | list[Any]],
    objectives: Mapping[str, str],
    samples: int,
    seed: int,
    run: Callable[[Sequence[Mapping[str, Any]]], list[list[dict[str, Any]]]],
    first: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Tries ``samples`` points, each chosen by what the ones before it gave; the first one may be given.
    Returns their rows."""
    for figure, direction in objectives.items():
        if direction not in DIRECTIONS:
            raise UsageError(
                f"objectives: {figure}: must be one of {', '.join(DIRECTIONS)}, but is {direction!r}"
            )
    optuna = needed("optuna", "a search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        directions=list(objectives.values()),
        # Tries of a batch don't know of each other's figures, and are kept apart by guesses of them.
        sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
    )
    if first is not None:
        study.enqueue_trial({key: _as_suggested(space[key], value) for key, value in first.items()})
    rows: list[dict[str, Any]] = []
    for done in range(0, samples, BATCH):
        trials = [study.ask() for _ in range(min(BATCH, samples - done))]
        of_trials = run([{key: _suggested(trial, key, space[key]) for key in space} for trial in trials])
        for trial, of_seeds in zip(trials, of_trials, strict=True):
            rows += of_seeds
            values = [_mean([row.get(figure) for row in of_seeds]) for figure in objectives]
            if None in values:
                if all(row["error"] is None for row in of_seeds):
                    missing = [
                        figure for figure, value in zip(objectives, values, strict=True) if value is None
                    ]
                    raise UsageError(
                        f"objectives: {missing[0]}: a run has no such figure, or it is no number"
                    )
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, values)
    return rows


def _mean(values: list[Any]) -> float | None:
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


def _suggested(trial: Any, key: str, values: Range | list[Any]) -> Any:
    match values:
        case Range(integer=True):
            return trial.suggest_int(key, int(values.low), int(values.high), log=values.log)
        case Range():
            # Few digits, as in the other methods.
            return float(f"{trial.suggest_float(key, values.low, values.high, log=values.log):.9g}")
        case _:
            return values[trial.suggest_categorical(key, list(range(len(values))))]


def _as_suggested(values: Range | list[Any], value: Any) -> Any:
    """What Optuna calls the value: in a list its place."""
    return value if isinstance(values, Range) else values.index(value)
