"""Saving and loading change nothing: every number is the same to the last bit."""

import ast
import inspect
import shutil

import dask
import pytest

import nammd
from tests.properties import ways_to_tolerances
from tests.properties.numbers import differences
from tests.properties.samples import FEATURES, groups_of_points, people, points
from tests.properties.ways_to_tolerances import WAYS


def forecasts(tolerance):
    """What is forecast at several sizes and distances."""
    if "given" in tolerance.to_dict()["origin"]["how"]:
        return []
    return [tolerance.power(rows, factor * tolerance.epsilon) for rows, factor in ((20, 0.0), (900, 2.0))]


def told(result):
    """A result as numbers, and as it is printed."""
    return {"numbers": result, "text": str(result)}


@pytest.fixture(autouse=True)
def here():
    """Compute what is in pieces in this process."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tolerances")


@pytest.fixture(scope="module")
def all_loaded():
    """The tolerances that were read so far, by their way: each is read once."""
    return {}


@pytest.fixture
def both(way, folder, all_loaded):
    """A tolerance as it was made, and as it is read again."""
    made = WAYS[way].made
    if way not in all_loaded:
        made.save(folder / f"{way}.json")
        all_loaded[way] = nammd.Tolerance.load(folder / f"{way}.json")
    return made, all_loaded[way]


@pytest.mark.parametrize("name", ["from_reference", "from_noise", "from_split", "at"])
def test_every_option_of_a_constructor_is_in_some_way(name):
    """But who computes, and what is drawn by: they leave no more in a file than numbers."""
    tree = ast.parse(inspect.getsource(ways_to_tolerances))
    said = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    said |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    options = set(inspect.signature(getattr(nammd.Tolerance, name)).parameters)
    assert options - said <= {"x", "accepted", "epsilon", "engine", "rng"}


@pytest.mark.parametrize("way", WAYS)
def test_a_tolerance_says_the_same_of_itself(way, both, folder, tmp_path):
    made, loaded = both
    assert differences(told(made), told(loaded), ignored=()) == []
    assert (loaded.epsilon, loaded.epsilon_error) == (made.epsilon, made.epsilon_error)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (folder / f"{way}.json").read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_a_tolerance_forecasts_the_same(way, both):
    made, loaded = both
    assert differences(forecasts(made), forecasts(loaded)) == []


@pytest.mark.parametrize(("number", "way"), list(enumerate(WAYS)))
def test_a_tolerance_decides_the_same(number, way, both):
    """One candidate tells: of the ways that are alike one has the near one, and the next one the far one."""
    names = list(WAYS[way].candidates)
    name = names[number % len(names)]
    before, after = (WAYS[way].check(tolerance, name) for tolerance in both)
    assert differences(told(before), told(after), ignored=()) == [], name


ROWS, LABELS, WEIGHTS = zip(*(groups_of_points(40 + k, shift=0.3 * k) for k in range(3)), strict=True)
SKETCHES = {
    "rows": lambda k: nammd.Sketch.of(ROWS[k], FEATURES, threads=1),
    "groups": lambda k: nammd.Sketch.of(ROWS[k], FEATURES, groups=LABELS[k], threads=1),
    "weights": lambda k: nammd.Sketch.of(ROWS[k], FEATURES, sample_weight=WEIGHTS[k], threads=1),
    "both": lambda k: nammd.Sketch.of(
        ROWS[k], FEATURES, groups=LABELS[k], sample_weight=WEIGHTS[k], threads=1
    ),
    "added": lambda k: nammd.Sketch.of(ROWS[k][:40], FEATURES, threads=1).update(ROWS[k][40:]),
}


@pytest.mark.parametrize("kind", SKETCHES)
def test_sketches_answer_the_same(kind, tmp_path):
    made = [SKETCHES[kind](k) for k in range(3)]
    loaded = [nammd.Sketch.load(each.save(tmp_path / f"{k}.sketch")) for k, each in enumerate(made)]
    for how in ({"kernel": None}, {"kernel": FEATURES}, {"kernel": FEATURES, "metric": "mmd2"}):
        answers = [
            {
                "distance": told(nammd.distance(x, y, **how)),
                "less": nammd.closeness_test(x, y, 0.03, alternative="less", **how).pvalue,
                "greater": nammd.closeness_test(x, y, 0.03, alternative="greater", **how).pvalue,
                "compared": nammd.compare_pairs((x, y), (x, z), **how),
            }
            for x, y, z in (made, loaded)
        ]
        assert differences(*answers) == []
    assert repr(made) == repr(loaded)


@pytest.fixture(params=[{}, {"groups": "customer", "sample_weight": "w"}], ids=["rows", "groups"])
def checks_of_tables(request, tmp_path):
    """The check of sketches of tables: as they were made, read from a file, and from a file of these."""
    said = request.param
    customers = 45 if said else None
    x, candidate = people(51, customers=customers), people(52, older=1.0, customers=customers)
    space = nammd.Space.fit(x.drop(columns=["customer", "w"], errors="ignore"))
    features = nammd.RandomFeatures(space.kernel, 48, 0)
    tolerance = nammd.Tolerance.at(0.02, space=space, negligible=True, **said)

    def read_again(sketches):
        return [
            nammd.Sketch.load(each.save(tmp_path / f"{number}.sketch"))
            for number, each in enumerate(sketches)
        ]

    made = [nammd.Sketch.of(each, features, space=space, threads=1, **said) for each in (x, candidate)]
    loaded = read_again(made)
    return [tolerance.check(*each) for each in (made, loaded, read_again(loaded))]


def test_sketches_of_tables_are_checked_the_same(checks_of_tables):
    made, loaded, again = checks_of_tables
    assert made.column_checks
    assert differences(told(made), told(loaded)) == []
    assert differences(told(made), told(again)) == []


BATCHES = [points(60 + k, 80, loc=0.7 * k) for k in range(3)]


@pytest.mark.parametrize("way", ["accepted", "noise", "given", "features"])
def test_a_monitor_that_is_opened_anew_for_every_batch_says_the_same(way, tmp_path):
    """The tolerance and the reference are in the file, and what was summed of the reference too."""
    reference = WAYS[way].reference
    for claim in ("reference", "population"):
        kept, opened = (tmp_path / f"{claim}-{name}" / "stream.monitor" for name in ("kept", "opened"))
        kept.parent.mkdir()
        one = nammd.Monitor.create(kept, WAYS[way].made, reference, claim=claim)
        shutil.copytree(kept.parent, opened.parent)  # made in the same second, which its state tells
        for key, batch in enumerate(BATCHES):
            before, after = one.add(batch, key=key), nammd.Monitor.open(opened).add(batch, key=key)
            assert differences(told(before), told(after)) == []
        states = [nammd.Monitor.open(path).state.to_dict() for path in (kept, opened)]
        assert states[0] == states[1]
