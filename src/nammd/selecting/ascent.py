"""Adam on a criterion, with early stopping on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from nammd.kernels.networks import FEW_ROWS, few_threads, torch_module
from nammd.selecting.learners import Learner

EpochProgress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` before every epoch, and once at the end."""

Objective: TypeAlias = Callable[..., Any]
"""Takes Gram matrices (of x, of y, of both, and likewise of further samples); returns what to maximise."""


HELD_OUT_ROWS = 1000
"""Of each sample, at most so many held-out rows judge the progress."""


def start_at_best_scale(learner: Learner, objective: Objective, training: list[Any]) -> None:
    """Multiply the bandwidth by the power of two that gives the largest objective on some rows."""
    torch = torch_module()
    rows = min(FEW_ROWS, *map(len, training))
    some = [t[:rows] for t in training]
    moved = learner.scales[0] if learner.scales else learner.weights[0]
    given, best, best_value = moved.detach().clone(), moved.detach().clone(), -math.inf
    learner.training(False)
    with torch.no_grad(), few_threads(rows):
        for power in range(-5, 3):
            moved.copy_(given + power * math.log(2) if learner.scales else given * 2.0**-power)
            value = float(objective(*learner.grams(*some)))
            if value > best_value:
                best, best_value = moved.clone(), value
        moved.copy_(best)


@dataclass
class Fit:
    """The course of learning."""

    criterion: list[float]
    held_out: list[float]
    best_epoch: int = 0

    @property
    def start(self) -> float:
        """What was maximised, at the start: on the held-out rows if there are some."""
        return self.held_out[0] if self.held_out else self.criterion[0]

    @property
    def value(self) -> float:
        """The same of what came out."""
        return self.held_out[self.best_epoch] if self.held_out else self.criterion[-1]


def maximise_from(
    starts: Sequence[list[Any]], learner: Learner, *data: Any, progress: EpochProgress | None, **options: Any
) -> Fit:
    """Run Adam from several states of a learner, and leave it in the best that came out; see `maximise`."""

    def part(number: int) -> EpochProgress | None:
        if progress is None or len(starts) == 1:
            return progress
        return lambda done, total, what: progress(number * total + done, len(starts) * total, what)

    found = []
    for number, state in enumerate(starts):
        learner.restore(state)
        fit = maximise(learner, *data, progress=part(number), **options)
        found.append((fit, learner.state()))
    best, state = max(found, key=lambda one: one[0].value)
    learner.restore(state)
    return best


def maximise(
    learner: Learner,
    objective: Objective,
    training: list[Any],
    held: list[Any] | None,
    *,
    epochs: int,
    lr: float,
    batch: int | None,
    patience: int,
    generator: np.random.Generator,
    progress: EpochProgress | None,
) -> Fit:
    """Run Adam and leave the learner in its best state on the held-out rows, or in its last."""
    rows = min(batch or math.inf, max(map(len, training)))
    with few_threads(int(rows)):
        return _maximise(learner, objective, training, held, epochs, lr, batch, patience, generator, progress)


def _maximise(
    learner: Learner,
    objective: Objective,
    training: list[Any],
    held: list[Any] | None,
    epochs: int,
    lr: float,
    batch: int | None,
    patience: int,
    generator: np.random.Generator,
    progress: EpochProgress | None,
) -> Fit:
    torch = torch_module()
    if held:  # the Gram matrices of all held-out rows would outgrow those of a batch
        held = [rows[:HELD_OUT_ROWS] for rows in held]
    groups = [(learner.scales, lr * learner.scales_lr), (learner.weights, lr)]
    optimizer = torch.optim.Adam([{"params": p, "lr": step} for p, step in groups if p])

    def measure() -> float:
        learner.training(False)
        with torch.no_grad():
            return float(objective(*learner.grams(*held))) if held else math.nan

    course, best = Fit([], [measure()] if held else []), learner.state()
    for epoch in range(1, epochs + 1):
        if progress:
            progress(epoch - 1, epochs, "learning the kernel")
        learner.training(True)
        values = []
        for rows in _batches([len(sample) for sample in training], batch, generator):
            some = [sample[chosen] for sample, chosen in zip(training, rows, strict=True)]
            value = objective(*learner.grams(*some))
            optimizer.zero_grad()
            (-value).backward()
            optimizer.step()
            values.append(float(value.detach()))
        if not math.isfinite(sum(values)):
            break  # the steps were too long: keep what was good
        course.criterion.append(math.fsum(values) / len(values))
        if held:
            course.held_out.append(measure())
        if not held or course.held_out[-1] > course.held_out[course.best_epoch]:
            course.best_epoch, best = epoch, learner.state()
        elif epoch - course.best_epoch >= patience:
            break
    learner.restore(best)
    learner.training(False)
    if progress:
        progress(epochs, epochs, "done")
    return course


def _batches(sizes: list[int], batch: int | None, generator: np.random.Generator) -> Iterator[list[Any]]:
    """Yield rows of every sample for every step of one epoch; the same number of each in batches."""
    if batch is None:
        yield [slice(None)] * len(sizes)
        return
    size = min(batch, *sizes)
    orders = [generator.permutation(rows) for rows in sizes]
    for start in range(0, min(sizes) - size + 1, size):
        yield [order[start : start + size] for order in orders]
