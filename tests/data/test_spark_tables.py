"""Spark DataFrames as datasets, on a real Spark in this machine; skipped where pyspark or Java is missing."""

import doctest
import importlib
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import nammd
from nammd.data.opening import open_dataset
from tests.data.mapped_laws import *  # noqa: F403
from tests.data.mapped_laws import CANDIDATE, REFERENCE, assert_same

pytest.importorskip("pyspark", reason="pyspark is not installed; make test-spark installs it")
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("Spark needs Java, and there is none here", allow_module_level=True)

from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Spark, which are not ours


@pytest.fixture(scope="module")
def spark():
    """A Spark of two threads in this process, whose workers are of this Python."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.pyspark.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture
def lazily(spark, tmp_path):
    """Make a Spark DataFrame of two files, in the order of the rows."""
    made = iter(range(100))

    def make(rows):
        folder = tmp_path / f"{next(made)}"
        folder.mkdir()
        third = len(rows) // 3
        for k, part in enumerate((rows[:third], rows[third:])):
            pa.parquet.write_table(part, folder / f"{k}.parquet")
        one, two = (spark.read.parquet(str(folder / f"{k}.parquet")) for k in range(2))
        return one.union(two)

    return make


def test_rows_are_read_once_for_a_sketch_and_never_brought_here(spark, lazily):
    """Spark itself counts the rows that it reads; its first partition has none."""
    read = spark.sparkContext.accumulator(0)

    def counting(batches):
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    x = lazily(CANDIDATE[:0]).union(lazily(CANDIDATE))
    watched = x.mapInArrow(counting, x.schema)
    sketch = nammd.Sketch.of(watched, space=nammd.Space.fit(REFERENCE))
    assert len(sketch) == read.value == len(CANDIDATE)
    nammd.distance(watched, REFERENCE)
    assert read.value == 2 * len(CANDIDATE)


def test_rows_in_another_order_are_refused_and_kept_ones_are_not(lazily, many):
    space = nammd.Space.fit(REFERENCE)

    def shuffled(batches):
        for batch in batches:
            yield batch.take(np.random.default_rng().permutation(len(batch)))

    x = lazily(REFERENCE)
    moving = x.mapInArrow(shuffled, x.schema)
    with pytest.raises(ValueError, match=r"x gave other rows, or the same in another order.*x\.cache\(\)"):
        nammd.distance(moving, CANDIDATE, space=space)
    kept = moving.cache()
    assert nammd.distance(kept, CANDIDATE, space=space).m == len(REFERENCE)


def test_groups_in_a_sketch(lazily):
    groups = pa.array(np.arange(len(CANDIDATE)) % 40)
    rows = CANDIDATE.append_column("user", groups)
    space = nammd.Space.fit(REFERENCE)
    torn = lazily(rows)
    with pytest.raises(ValueError, match=r"partition by group first, for example x.repartition\('user'\)"):
        nammd.Sketch.of(torn, space=space, groups="user")
    found = nammd.Sketch.of(torn.repartition("user"), space=space, groups="user")
    expected = nammd.Sketch.of(rows, space=space, groups="user")
    np.testing.assert_allclose(found.total, expected.total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        found.units.totals.features, expected.units.totals.features, rtol=1e-9, atol=1e-9
    )


def test_types_of_spark(spark):
    import datetime
    import decimal

    rows = [
        (k, decimal.Decimal(k) / 7, datetime.date(2026, 1, 1 + k % 28), k % 3 == 0, [k, 2 * k])
        for k in range(100)
    ]
    x = spark.createDataFrame(rows, "a int, b decimal(20, 6), c date, d boolean, e array<int>")
    dataset = open_dataset(x, "x")
    assert dataset.names == ("a", "b", "c", "d", "e")
    found = {name: dataset.frame.values(name).kind for name in "abcd"}
    columns = {name: pa.array([row[k] for row in rows]) for k, name in enumerate("abcd")}
    table = pa.table(columns)
    expected = {name: open_dataset(table, "x").frame.values(name).kind for name in "abcd"}
    assert found == expected
    assert_same(nammd.distance(x.drop("e"), x.drop("e")), nammd.distance(table, table))


def test_the_examples_of_the_page_run(spark):
    """They are skipped where the pages are tested, since Spark may not be there."""
    page = (Path(__file__).parents[2] / "docs/guide/spark.md").read_text("utf-8")
    _, marked, _ = re.split("<!-- skip: (?:start|end) -->", page)
    code = "".join(re.findall("```python\n(.*?)```", marked, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "spark.md", None, 0)
    assert len(examples.examples) > 8
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_streams_are_refused(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match="x is a stream of Spark's, which has no end"):
        nammd.distance(stream, REFERENCE)


def test_workers_that_cannot_import_nammd_are_told_of(spark, lazily):
    from nammd.data.spark_tables import SparkMapper

    def missing(batches):
        importlib.import_module("nammd_which_is_not_there")
        yield from batches

    broken = lazily(REFERENCE).mapInArrow(missing, "partition int")
    with pytest.raises(ImportError, match="the workers of Spark cannot import nammd"):
        SparkMapper(broken, "x")._computed(broken)
