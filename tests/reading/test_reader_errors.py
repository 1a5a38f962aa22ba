"""Whatever is wrong with a file is said in one sentence that names it."""

import gzip
import os
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from nammd.reading import batches, delimited, read
from tests.reading.writers import people, write_csv, written


def parquet(path):
    pa.parquet.write_table(people(), path)


def feather(path):
    pa.feather.write_feather(people(), path)


def npy(path):
    np.save(path, np.arange(3000.0).reshape(1000, 3))


def npz(path):
    np.savez(path, np.arange(3000.0).reshape(1000, 3))


def cut(write):
    """Write a file and lose its second half."""

    def half(path):
        write(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return half


def damage(write):
    """Write a file and scribble over its middle."""

    def scribbled(path):
        write(path)
        data = bytearray(path.read_bytes())
        data[100 : len(data) // 2] = b"\xa5" * (len(data) // 2 - 100)
        path.write_bytes(data)

    return scribbled


def text(content):
    data = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(data)


def object_npz(path):
    np.savez(path, a=np.array([{}], dtype=object))


CASES = {
    "no such file": ("x.csv", lambda path: None, "is not there; check the name and the folder"),
    "unknown extension": ("x.docx", text("x"), "has the unknown extension '.docx'; known are .csv, .tsv,"),
    "no extension": ("data", text("x"), "has the unknown extension ''"),
    "single image": ("x.png", text("x"), "is a single image; give the folder that it is in"),
    "packed Parquet": ("x.parquet.gz", text("x"), "is compressed twice over; unpack it first"),
    "empty folder": (
        "x",
        lambda path: path.mkdir(),
        "is a folder without Parquet, CSV or JSON lines files or images",
    ),
    "empty CSV": ("x.csv", text(""), "is empty: it has no bytes at all"),
    "empty Parquet": ("x.parquet", text(""), "is empty: it has no bytes at all"),
    "blank CSV": ("x.csv", text("\n \n"), "is empty: it has nothing but blank lines"),
    "empty gzip": ("x.csv.gz", text(gzip.compress(b"")), "is empty: it has nothing but blank lines"),
    "header only": ("x.csv", text("a,b\n"), "has columns but no rows"),
    "header without newline": ("x.csv", text("a,b"), "has columns but no rows"),
    "ragged": ("x.csv", text("a,b\n1,2\n1,2,3\n"), "is ragged: row 3 has 3 columns where the header has 2"),
    "ragged text": (
        "x.tsv",
        text("a\tb\n1\n"),
        "is ragged: row 2 has 1 column where the header has 2; it is cut short",
    ),
    "Shift-JIS": (
        "x.csv",
        text("a,b\n1,東京都\n".encode("shift-jis")),
        "is not UTF-8 text; say which encoding it is in, for example Reading(encoding='latin-1')",
    ),
    "KOI8-R header": (
        "x.csv",
        text("a,цена\n1,2\n".encode("koi8-r") + b"\x81"),
        "is not UTF-8 text; say which",
    ),
    "late Latin-1": (
        "x.csv",
        text(b"a,b\n" + b"1,x\n" * 300_000 + "1,Köln\n".encode("latin-1")),
        "is not UTF-8 text in the column 'b'; say which encoding",
    ),
    "UTF-16 without mark": (
        "x.csv",
        text("a,b\n1,2\n".encode("utf-16-le")),
        "seems to be in UTF-16 without the mark that says so; give Reading(encoding='utf-16-le')",
    ),
    "duplicate CSV": ("x.csv", text("a,a\n1,2\n"), "has more than one column named 'a'"),
    "Parquet as CSV": ("x.csv", parquet, "is not a text file but Parquet by its content"),
    "gzip as CSV": ("x.csv", text(gzip.compress(b"a\n1\n")), "is not a text file but gzip by its content"),
    "binary as CSV": ("x.csv", text(b"a\x00b"), "is not a text file; its content is something else"),
    "CSV as gzip": ("x.csv.gz", text("a,b\n1,2\n"), "cannot be read as text: it is truncated or damaged"),
    "cut gzip": (
        "x.csv.gz",
        cut(text(gzip.compress(np.random.default_rng(0).bytes(9999).hex().encode()))),
        "cannot be read as text: it is truncated or damaged",
    ),
    "CSV as Parquet": ("x.parquet", text("a,b\n1,2\n"), "is not a Parquet file; its content is something"),
    "Arrow as Parquet": ("x.parquet", feather, "is not a Parquet file but Arrow by its content"),
    "cut Parquet": ("x.parquet", cut(parquet), "cannot be read as Parquet: it is truncated or damaged"),
    "damaged Parquet": (
        "x.parquet",
        damage(parquet),
        "cannot be read as Parquet: it is truncated or damaged",
    ),
    "no rows in Parquet": (
        "x.parquet",
        lambda path: pa.parquet.write_table(people().slice(0, 0), path),
        "has columns but no rows",
    ),
    "no columns in Parquet": (
        "x.parquet",
        lambda path: pa.parquet.write_table(pa.table({}), path),
        "is empty: it has no columns",
    ),
    "cut Feather": ("x.feather", cut(feather), "cannot be read as Arrow: it is truncated or damaged"),
    "CSV as Feather": (
        "x.feather",
        text("a,b\n1,2\n"),
        "is not an Arrow file; its content is something else",
    ),
    "old Feather": ("x.feather", text(b"FEA1xxxx"), "is not an Arrow file but Feather version 1"),
    "JSON numbers": ("x.jsonl", text("1\n2\n"), "is not JSON lines: line 1 is not an object"),
    "cut JSON": ("x.jsonl", text('{"a": 1}\n{"a": 2}\n{"a'), "is not JSON lines: line 3 cannot be parsed"),
    "CSV as JSON": ("x.jsonl", text("a,b\n1,2\n"), "is not JSON lines: line 1 cannot be parsed"),
    "mixed JSON": (
        "x.jsonl",
        text('{"a": 1}\n{"a": 2}\n{"a": "x"}\n'),
        "mixes types in the column 'a': number before line 3 and string there",
    ),
    "Shift-JIS JSON": ("x.jsonl", text('{"a": "東京都"}\n'.encode("shift-jis")), "is not UTF-8 text"),
    "cut NPY": ("x.npy", cut(npy), "is truncated: it has 12064 bytes where its header promises 24128"),
    "CSV as NPY": ("x.npy", text("1,2\n"), "is not an NPY file; its content is something else"),
    "NPY without header": ("x.npy", text(b"\x93NUMPY\x01\x00"), "has a damaged header"),
    "pickled NPY": (
        "x.npy",
        lambda path: np.save(path, np.array([{}], dtype=object)),
        "holds pickled Python objects, which are never loaded",
    ),
    "text NPY": (
        "x.npy",
        lambda path: np.save(path, np.array(["a"])),
        "holds values of type <U1, not numbers",
    ),
    "complex NPY": ("x.npy", lambda path: np.save(path, np.array([1j])), "of type complex128, not numbers"),
    "single number": ("x.npy", lambda path: np.save(path, 1.0), "is a single number"),
    "no rows in NPY": (
        "x.npy",
        lambda path: np.save(path, np.zeros((0, 3))),
        "is empty: it has shape (0, 3)",
    ),
    "cut NPZ": ("x.npz", cut(npz), "cannot be read as NPZ: it is truncated or damaged"),
    "damaged NPZ": ("x.npz", damage(npz), "damaged"),
    "NPY as NPZ": ("x.npz", text(b"\x93NUMPY"), "is not an NPZ file but NPY by its content"),
    "pickled NPZ": ("x.npz", object_npz, "['a'] holds pickled Python objects, which are never loaded"),
    "several arrays": (
        "x.npz",
        lambda path: np.savez(path, train=[[1.0]], test=[[2.0]]),
        "has several arrays: 'train', 'test'; choose one, for example key='train'",
    ),
    "zip of something else": (
        "x.npz",
        lambda path: zipfile.ZipFile(path, "w").writestr("a.txt", "x"),
        "is empty: it has no arrays",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["whole", "sample", "batches"])
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of the zip file that is written
def test_a_wrong_file_has_its_sentence(case, how, tmp_path):
    name, write, sentence = CASES[case]
    path = tmp_path / name
    write(path)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        {"whole": read, "sample": lambda p: read(p, sample=5), "batches": lambda p: list(batches(p))}[how](
            path
        )
    message = str(caught.value)
    assert message.startswith(str(path))
    assert sentence in message
    assert "\n" not in message


def test_a_damaged_file_of_a_folder_is_named(tmp_path):
    folder = written("folder", tmp_path)
    cut(parquet)(folder / "part-3.parquet")
    with pytest.raises(ValueError, match=r"part-3.parquet cannot be read as Parquet"):
        read(folder)
    (folder / "part-3.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"part-3.parquet is empty"):
        read(folder)


def test_files_of_a_folder_that_disagree_are_refused(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"disagree about the type of a column: .*a"):
        read(tmp_path)


def test_a_folder_of_tables_and_images_is_refused(tmp_path):
    folder = written("folder", tmp_path)
    (folder / "x.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r"has files of several formats \(Parquet, images\)"):
        read(folder)


def test_the_sixty_first_row_is_ragged_or_badly_encoded(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 100)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,x\n" * 60 + "1,2,3\n")
    with pytest.raises(ValueError, match="is ragged: row 62 has 3 columns where the header has 2"):
        read(path, sample=5)
    path.write_bytes(b"a,b\n" + b"1,x\n" * 60 + b"1,K\xf6ln\n")
    with pytest.raises(ValueError, match="is not UTF-8 text in the column 'b'"):
        read(path, sample=5)


@pytest.mark.parametrize(
    ("name", "options", "error", "sentence"),
    [
        ("people.csv", {"columns": ["Citty"]}, ValueError, "has no column 'Citty'; did you mean 'city'?"),
        (
            "people.jsonl",
            {"columns": ["zzz"]},
            ValueError,
            "its columns are 'age', 'income', 'city', 'member'",
        ),
        ("people.parquet", {"columns": "age"}, TypeError, "columns must be a list of names"),
        ("people.parquet", {"columns": []}, ValueError, "columns is empty"),
        ("people.csv", {"sample": 0}, ValueError, "sample must be a whole number of at least 1, not 0"),
        ("people.csv", {"sample": 2.5}, TypeError, "sample must be a whole number"),
        ("people.csv", {"key": "a"}, ValueError, "key='a' chooses an array of an NPZ file"),
        ("people.csv", {"features": "resnet18"}, ValueError, "features are taken from images"),
    ],
)
def test_a_wrong_choice_has_its_sentence(name, options, error, sentence, tmp_path):
    with pytest.raises(error) as caught:
        read(written(name, tmp_path), **options)
    assert sentence in str(caught.value)


def test_mistakes_show_when_batches_are_asked_for_not_when_they_are_used(tmp_path):
    path = written("people.csv", tmp_path)
    with pytest.raises(ValueError, match="no column 'x'"):
        batches(path, columns=["x"])
    with pytest.raises(ValueError, match="batch_rows must be a whole number"):
        batches(path, batch_rows=0)


def test_an_unknown_key_or_column_of_an_array_is_named(tmp_path):
    np.savez(tmp_path / "x.npz", train=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="has no array 'test'; it has 'train'"):
        read(tmp_path / "x.npz", key="test")
    with pytest.raises(ValueError, match="has no column '2'; its columns are '0', '1'"):
        read(tmp_path / "x.npz", columns=["2"])


@pytest.mark.parametrize("form", ["people.csv", "people.parquet", "people.feather", "people.jsonl"])
def test_without_pyarrow_it_says_what_to_install(form, tmp_path, monkeypatch):
    path = written(form, tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"needs pyarrow; install it with: pip install 'nammd\[app\]'"):
        read(path)


def test_arrays_need_no_pyarrow(tmp_path, monkeypatch):
    npy(tmp_path / "x.npy")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(tmp_path / "x.npy").rows == 1000


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_csv(people(), tmp_path / "x.csv")
    assert read("~/x.csv").rows == 500


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_a_name_that_is_not_utf8_is_said_to_be_the_reason(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.csv")
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"has a name that is not UTF-8, .*; rename it"):
        read(path)
