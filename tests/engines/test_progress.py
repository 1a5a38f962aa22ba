"""The meter: who is told what, the remaining time, and the warning of a long computation."""

import io
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import nammd
from nammd.engines import progress
from nammd.engines.progress import Meter, duration, passes
from nammd.kernels.base import bind_by_calling
from tests.waiting import GUARD

X, Y = np.random.default_rng(0).normal(size=(2, 300, 3))
Y = Y[:250]
KERNEL = nammd.Gaussian(2.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        return [line for line in self.getvalue().split("\r") if line]


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def stderr(monkeypatch):
    """A terminal; in place of the module's own name, since pytest sets the stream anew for each test."""
    terminal = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal, _getframe=sys._getframe))
    return terminal


def work(meter, clock, seconds, steps):
    for _ in range(steps):
        clock.now += seconds
        meter.add(1)


def test_a_line_with_the_remaining_time_is_shown_and_erased(clock, stderr):
    with Meter(None, 100) as meter:
        work(meter, clock, 1.0, 25)
        assert stderr.lines()[-1].rstrip() == "nammd [#######.......................]  25%, about 75 s left"
    assert stderr.lines()[-1].strip() == ""
    assert len(stderr.lines()[-1]) >= max(len(line.rstrip()) for line in stderr.lines())
    assert "\n" not in stderr.getvalue()


def test_the_line_is_erased_after_an_error(clock, stderr):
    def interrupted():
        with Meter(None, 100) as meter:
            work(meter, clock, 1.0, 5)
            assert stderr.lines()[-1].strip()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stderr.lines()[-1].strip() == ""


def test_short_work_shows_nothing(clock, stderr):
    with Meter(None, 20) as meter:
        work(meter, clock, 0.1, 20)
    assert stderr.getvalue() == ""


def test_expected_work_is_shown_from_the_beginning(clock, stderr):
    with Meter(None, 20, seconds=50.0):
        assert stderr.lines() == ["nammd [..............................]   0%, about 50 s left"]


@pytest.mark.parametrize(("option", "shown"), [(None, False), (True, True), (False, False)])
def test_without_a_terminal_only_those_who_ask_are_shown_a_bar(clock, monkeypatch, option, shown):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Meter(option, 100) as meter:
        work(meter, clock, 1.0, 100)
    assert bool(stream.getvalue()) is shown


def test_a_terminal_is_left_alone_if_asked_to(clock, stderr):
    with Meter(False, 100) as meter:
        work(meter, clock, 1.0, 100)
    assert stderr.getvalue() == ""


def test_the_line_changes_a_few_times_a_second_only(clock, stderr):
    with Meter(True, 10_000) as meter:
        work(meter, clock, 0.001, 10_000)
    assert 20 < len(stderr.lines()) < 60


def test_a_missing_or_closed_stderr_does_not_stop_the_work(clock, monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr("sys.stderr", stream)
        with Meter(True, 3) as meter:
            work(meter, clock, 2.0, 3)
        assert meter.done == 3


def test_a_function_is_not_told_of_the_end_of_work_that_failed(clock):
    told = []

    def failed():
        with Meter(lambda *numbers: told.append(numbers), 4) as meter:
            work(meter, clock, 1.0, 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failed()
    assert told == [(0, 4), (1, 4), (2, 4)]


def test_several_passes_are_one_piece_of_work(clock, stderr):
    told = []
    with passes(1.0, 3.0):
        for option, total in ((lambda *numbers: told.append(numbers), 10), (None, 60)):
            with Meter(option, total) as meter:
                work(meter, clock, 30.0 / total, total // 2)
                if option is None:
                    # A quarter and half of three quarters took 20 and 15 seconds.
                    assert "62%, about 20 s left" in stderr.lines()[-1]
                else:
                    clock.now += 5.0
    assert told[0] == (0, 4)
    assert told[-1] == (1, 4)


def test_a_long_computation_is_announced_once_its_rate_is_known(clock):
    seconds = []
    with Meter(False, 1000, warn=seconds.append) as meter:
        work(meter, clock, 0.1, 4)
        assert seconds == []
        work(meter, clock, 0.1, 20)
    assert seconds == [pytest.approx(100.0)]


def test_work_of_less_than_a_minute_is_not_announced(clock):
    seconds = []
    with Meter(False, 500, warn=seconds.append) as meter:
        work(meter, clock, 0.1, 500)
    assert seconds == []


def test_a_time_that_is_known_is_announced_before_any_work(clock):
    seconds = []
    with Meter(False, 500, seconds=90.0, warn=seconds.append):
        assert seconds == [90.0]


def test_all_passes_are_announced_together_and_once(clock):
    seconds = []
    with passes(1.0, 1.0, 1.0):
        for _ in range(3):
            with Meter(False, 100, warn=seconds.append) as meter:
                work(meter, clock, 0.3, 100)
    assert seconds == [pytest.approx(90.0)]


def test_a_small_first_pass_does_not_tell_of_large_ones(clock):
    seconds = []
    with passes(1.0, 30.0):
        for pace in (0.1, 1.0):
            with Meter(False, 100, warn=seconds.append) as meter:
                work(meter, clock, pace, 100)
    assert seconds == [pytest.approx(31 / 30 * 100.0)]


def test_passes_without_weights_share_the_announcement_only(clock):
    seconds, told = [], []
    with passes():
        for _ in range(2):
            with Meter(lambda *numbers: told.append(numbers), 100, warn=seconds.append) as meter:
                work(meter, clock, 1.0, 100)
    assert seconds == [pytest.approx(100.0)]
    assert told.count((0, 100)) == told.count((100, 100)) == 2


def test_durations_are_as_exact_as_a_forecast_can_be():
    seconds = (0.1, 19, 61, 89, 91, 6000, 7200, 172_900, 864_000)
    assert [duration(s) for s in seconds] == [
        *("about 1 s", "about 19 s", "about 60 s", "about 90 s", "about 2 min", "about 2 h", "about 2 h"),
        *("about 2 days", "about 10 days"),
    ]


# The tile engine


COMPUTATIONS = {
    "sums": lambda engine, x, y: engine.sums(KERNEL, (x,), (y,), (x, y)),
    "quadratic forms": lambda engine, x, y: engine.quadratic_forms(KERNEL, x, np.ones((len(x), 2))),
    "families": lambda engine, x, y: engine.family_forms(
        [nammd.Gaussian(1.0), nammd.Laplace(1.0), nammd.Laplace(2.0)], x, np.ones((len(x), 2))
    ),
    "grids": lambda engine, x, y: engine.many_sums(
        [nammd.Gaussian(1.0), nammd.Laplace(1.0)], (x,), (y,), (x, y)
    ),
    "permutations": lambda engine, x, y: nammd.two_sample_test(x, y, rng=0, permutations=99, engine=engine),
    "fuse": lambda engine, x, y: nammd.two_sample_test(
        x, y, rng=0, method="nammd-fuse", permutations=99, engine=engine
    ),
}


@pytest.mark.parametrize("computation", COMPUTATIONS)
@pytest.mark.parametrize("threads", [1, 3])
def test_progress_grows_and_ends_at_the_whole(computation, threads, monkeypatch):
    monkeypatch.setattr(progress, "_UPDATE_SECONDS", 0.0)
    monkeypatch.setattr("nammd.statistics.permutations.SIGNS_AT_ONCE", 20_000)
    told = []
    engine = nammd.Tiles(40, 30, threads, progress=lambda *numbers: told.append(numbers))
    COMPUTATIONS[computation](engine, X, Y)
    shares = [done / total for done, total in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares.count(1) == 1


@pytest.mark.parametrize("computation", COMPUTATIONS)
@pytest.mark.parametrize("tile", [(512, 512), (40, 30), (7, 1000)])
def test_the_work_foretold_is_the_work_done(computation, tile, monkeypatch):
    seen = []

    class Counting(Meter):
        def __exit__(self, *exception):
            seen.append((self.done, self.total))
            super().__exit__(*exception)

    monkeypatch.setattr("nammd.engines.tiles.pool.Meter", Counting)
    COMPUTATIONS[computation](nammd.Tiles(*tile, threads=1), X, Y)
    assert seen
    assert all(done == total for done, total in seen)


def test_arrays_of_other_libraries_report_their_progress():
    xp = pytest.importorskip("array_api_strict")
    told = []
    engine = nammd.Tiles(progress=lambda *numbers: told.append(numbers))
    nammd.distance(xp.asarray(X), xp.asarray(Y), kernel=KERNEL, engine=engine)
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] > 0


def test_a_function_is_called_in_the_thread_that_computes():
    where = set()
    engine = nammd.Tiles(20, 20, 3, progress=lambda *_: where.add(threading.current_thread()))
    nammd.distance(X, Y, kernel=KERNEL, engine=engine)
    assert where == {threading.current_thread()}


def test_an_error_of_the_function_stops_the_computation():
    def fail(done, total):
        raise ZeroDivisionError("from a progress function")

    with pytest.raises(ZeroDivisionError, match="from a progress function"):
        nammd.distance(X, Y, kernel=KERNEL, engine=nammd.Tiles(progress=fail))


@pytest.mark.parametrize("wrong", ["yes", 1, 0.5])
def test_progress_that_is_no_function_is_refused(wrong):
    with pytest.raises(TypeError, match="progress must be True, False, None or a function of the work"):
        nammd.Tiles(progress=wrong)


# The warning


class Slow(nammd.Kernel):
    """A user's kernel that takes a second for every tile, by the clock of the test."""

    bound = 1.0

    def __init__(self, clock):
        self.clock = clock

    def __call__(self, x, y, /):
        self.clock.now += 1.0
        return np.exp(-cdist(x, y))


class SlowInTiles(nammd.Kernel):
    """A kernel that takes its time for every value that an engine asks for, and for no other."""

    bound = 1.0

    def __init__(self, clock):
        self.clock = clock

    def __call__(self, x, y, /):
        return np.exp(-cdist(x, y))

    def bind(self, x, y, precision=None, weight=1.0):
        def slow(x, y):
            self.clock.now += 0.002 * len(x) * len(y)
            return self(x, y)

        return bind_by_calling(slow, x, y, precision, weight)


ADVICE = (
    "; quicker: a random sample of the rows, nammd.Sketch (time in proportion to the rows), torch tensors "
    "on a GPU, or Dask arrays on a cluster"
)


def test_a_slow_kernel_is_announced_at_its_first_tile(clock):
    with pytest.warns(nammd.LongComputationWarning) as seen:
        nammd.kernel_sums(X, Y, Slow(clock), nammd.Tiles(10, 10, 1))
    [warning] = seen
    words = str(warning.message)
    assert words.startswith("comparing 300 with 250 rows will take about ")
    assert words.endswith(f" on 1 thread{ADVICE}")
    assert warning.filename == __file__
    assert warning.message.seconds > 60


def test_the_announcement_comes_before_the_work(clock):
    calls = []

    class Counting(Slow):
        def __call__(self, x, y, /):
            calls.append(0)
            return super().__call__(x, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(nammd.LongComputationWarning, match="comparing 300 with 250 rows"):
            nammd.kernel_sums(X, Y, Counting(clock), nammd.Tiles(10, 10, 1))
    assert len(calls) < 10


CALLS = {
    "permutations": (
        lambda k, e: nammd.two_sample_test(X[:250], Y, kernel=k, engine=e, permutations=99),
        "250 with 250 rows",
    ),
    "check": (
        lambda k, e: nammd.Tolerance.at(0.1, k, n_columns=3).check(X, Y, engine=e),
        "300 with 250 rows",
    ),
    "reference": (
        lambda k, e: nammd.Tolerance.from_reference(X, {"y": Y, "z": Y + 1}, how="ball", kernel=k, engine=e),
        "300 rows with 2 datasets",
    ),
    "noise": (
        lambda k, e: nammd.Tolerance.from_noise(X, level=2, kernel=k, rng=0, engine=e),
        "300 with 300 rows",
    ),
    "split": (
        lambda k, e: nammd.Tolerance.from_split(X, kernel=k, rng=0, engine=e),
        "300 rows with each other",
    ),
    "rank": (
        lambda k, e: nammd.rank(X, {"y": Y, "z": Y + 1}, kernel=k, engine=e),
        "300 rows with 2 datasets",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_there_is_one_announcement_for_each_call_and_for_all_of_it(clock, name, monkeypatch):
    monkeypatch.setattr("nammd.statistics.permutations.SIGNS_AT_ONCE", 20_000)
    monkeypatch.setattr("nammd.tolerances.equivalents._ROWS", 20)  # what is computed aside counts for nothing
    call, words = CALLS[name]
    told, began = [], clock.now
    engine = nammd.Tiles(20, 20, 1, progress=lambda *numbers: told.append(numbers))
    with pytest.warns(nammd.LongComputationWarning, match=f"^comparing {words} will take") as seen:
        call(SlowInTiles(clock), engine)
    assert [warning.filename for warning in seen] == [__file__]
    assert seen[0].message.seconds == pytest.approx(clock.now - began, rel=0.15)
    shares = [done / total for done, total in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], shares.count(1)) == (0, 1, 1)


def test_the_announcement_names_the_threads(clock):
    looked = threading.Event()

    class Waiting(Slow):
        def __call__(self, x, y, /):
            if self.clock.now > 1010.0:  # the threads must not be done before anybody looks at them
                assert looked.wait(GUARD)
            return super().__call__(x, y)

    engine = nammd.Tiles(10, 10, 3, progress=lambda done, total: done and looked.set())
    with pytest.warns(nammd.LongComputationWarning, match="300 rows with each other .* on 3 threads; "):
        engine.sums(Waiting(clock), (X,))


def test_the_announcement_names_library_and_device(clock):
    xp = pytest.importorskip("array_api_strict")

    class SlowThere(Slow):
        def __call__(self, x, y, /):
            return xp.asarray(super().__call__(np.asarray(x), np.asarray(y)))

    x, y = xp.asarray(X), xp.asarray(Y)
    with pytest.warns(nammd.LongComputationWarning, match="on array_api_strict, .*CPU"):
        nammd.kernel_sums(x, y, SlowThere(clock), nammd.Tiles(10, 10))
