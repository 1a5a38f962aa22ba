"""The readers find every accepted layout, draw without replacement, and say what is missing."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from nammd.datasets import cifar10, higgs, mnist
from tests.waiting import GUARD

ROWS = 40
READERS = {"HIGGS": higgs, "MNIST": mnist, "CIFAR-10": cifar10}


@pytest.fixture(autouse=True)
def _no_folder_in_the_environment(monkeypatch):
    monkeypatch.delenv("NAMMD_DATA", raising=False)


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        np.savez(path, **content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(content)


def collisions():
    """Features that say which row and column they are; every other row is signal."""
    return np.arange(ROWS)[:, None] + np.arange(28) / 100, np.arange(ROWS) % 2


def images(*shape, offset=0):
    """Images whose pixels all tell their number."""
    numbers = np.arange(shape[0]) + offset
    return np.broadcast_to(numbers.reshape(-1, *[1] * (len(shape) - 1)), shape).astype(np.uint8)


def idx(array):
    return np.array([0x803, *array.shape], dtype=">u4").tobytes() + array.tobytes()


def numbers(sample):
    """Which images a sample holds."""
    assert (sample == sample[:, :1]).all()
    return np.rint(sample[:, 0] * 255).astype(int)


def higgs_csv():
    features, label = collisions()
    lines = (",".join(map(str, [float(b), *row])) for row, b in zip(features, label, strict=True))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("layout", ["npz", "csv", "gz"])
def test_higgs_reads_the_jet_columns_of_signal_and_background(tmp_path, layout):
    if layout == "npz":
        features, label = collisions()
        put(tmp_path, "higgs_small/higgs_small.npz", {"X": features, "y": label.astype(np.int8)})
    elif layout == "csv":
        put(tmp_path, "HIGGS.csv", higgs_csv())
    else:
        put(tmp_path, "HIGGS.csv.gz", gzip.compress(higgs_csv()))
    x, y = higgs(ROWS // 2, folder=tmp_path, rng=0)
    for sample, parity in ((x, 1), (y, 0)):
        np.testing.assert_allclose(sample - np.floor(sample), np.tile([0.07, 0.11, 0.15, 0.19], (20, 1)))
        rows = np.floor(sample[:, 0])
        assert sorted(rows) == list(range(parity, ROWS, 2))  # each once: without replacement
    x, y = higgs(10, folder=tmp_path, alternative=False, columns=[0], rng=0)
    rows = np.floor(np.r_[x, y][:, 0])
    assert (rows % 2 == 1).all()
    assert len(set(rows)) == 20


def test_higgs_reads_no_more_lines_than_asked(tmp_path):
    put(tmp_path, "HIGGS.csv", higgs_csv())
    x, y = higgs(4, folder=tmp_path, max_rows=8, rng=0)
    assert max(x.max(), y.max()) < 8


@pytest.mark.parametrize(
    "layout",
    ["mnist_t10k/mnist_t10k.npz", "t10k-images-idx3-ubyte", "MNIST/raw/train-images-idx3-ubyte.gz"],
)
def test_mnist_reads_real_and_generated_digits(tmp_path, layout):
    real = images(30, 28, 28)
    content = {"images": real, "labels": np.zeros(30)} if layout.endswith("npz") else idx(real)
    put(tmp_path, layout, gzip.compress(content) if layout.endswith("gz") else content)
    x, y = mnist(15, folder=tmp_path, alternative=False, rng=0)
    assert sorted(numbers(np.r_[x, y])) == list(range(30))
    made = {f"{name}__gan": images(10, 28, 28, offset=k) for name, k in
            (("mnist__a", 100), ("mnist__b", 110), ("fashion_mnist__a", 200))}  # fmt: skip
    put(tmp_path, "gan_mnist/gan_samples.npz", made)
    x, y = mnist(20, folder=tmp_path, rng=0)
    assert x.shape == y.shape == (20, 784)
    assert set(numbers(x)) < set(range(30))
    assert sorted(numbers(y)) == list(range(100, 120))
    _, y = mnist(10, folder=tmp_path, generated="mnist__b__*", rng=0)
    assert sorted(numbers(y)) == list(range(110, 120))
    with pytest.raises(ValueError, match="name like 'mnist__c'"):
        mnist(5, folder=tmp_path, generated="mnist__c")


def test_cifar10_reads_the_binary_version_in_the_order_of_its_planes(tmp_path):
    planes = np.random.default_rng(0).integers(256, size=(6, 3, 32, 32)).astype(np.uint8)
    records = np.c_[np.full(6, 9, dtype=np.uint8), planes.reshape(6, -1)]
    put(tmp_path, "cifar-10-batches-bin/test_batch.bin", records.tobytes())
    x, y = cifar10(3, folder=tmp_path, alternative=False, rng=0)
    expected = {tuple(image.transpose(1, 2, 0).ravel()) for image in planes}
    assert {tuple(np.rint(row * 255).astype(int)) for row in np.r_[x, y]} == expected


@pytest.mark.parametrize(
    ("version", "file"),
    [("cifar10.1", "cifar10.1_v6_data.npy"), ("cifar10.1", "cifar10.1_v4_data.npy"),
     ("adversarial", "cifar10_X_adversarial.npy")],
)  # fmt: skip
def test_cifar10_reads_other_versions(tmp_path, version, file):
    put(tmp_path, "cifar10_jpeg/cifar10_test_5000.npz", {"images": images(20, 32, 32, 3)})
    with pytest.raises(FileNotFoundError, match=f"version '{version}'.*{file}"):
        cifar10(10, folder=tmp_path, version=version)
    put(tmp_path, file, images(10, 32, 32, 3, offset=50))
    x, y = cifar10(10, folder=tmp_path, version=version, rng=0)
    assert x.shape == (10, 3072)
    assert set(numbers(x)) < set(range(20))
    assert sorted(numbers(y)) == list(range(50, 60))


def test_cifar10_adds_noise_to_other_images(tmp_path):
    put(tmp_path, "cifar10_jpeg/cifar10_test_5000.npz", {"images": images(20, 32, 32, 3, offset=100)})
    x, y = cifar10(10, folder=tmp_path, version="noise", noise=0.05, rng=0)
    assert y.std(axis=1) == pytest.approx(0.05, abs=0.005)
    left = set(range(100, 120)) - set(numbers(x))
    np.testing.assert_allclose(np.sort(y.mean(axis=1)) * 255, sorted(left), atol=1.5)
    with pytest.raises(ValueError, match="version must be one of"):
        cifar10(10, folder=tmp_path, version="blur")


def test_draws_are_reproducible_and_limited_by_what_is_there(tmp_path):
    features, label = collisions()
    put(tmp_path, "higgs_small/higgs_small.npz", {"X": features, "y": label})
    np.testing.assert_array_equal(higgs(5, folder=tmp_path, rng=4), higgs(5, folder=tmp_path, rng=4))
    with pytest.raises(ValueError, match=r"21 different rows .* only 20"):
        higgs(21, folder=tmp_path)
    with pytest.raises(ValueError, match=r"22 different rows .* only 20"):
        higgs(11, folder=tmp_path, alternative=False)
    with pytest.raises(ValueError, match="0 to 27"):
        higgs(5, folder=tmp_path, columns=[28])


@pytest.mark.parametrize("name", READERS)
def test_a_folder_must_be_named(name):
    with pytest.raises(FileNotFoundError, match=rf"{name} is read from a folder.*NAMMD_DATA.*(Get|put)"):
        READERS[name](5)


@pytest.mark.parametrize("name", READERS)
def test_a_folder_that_is_none_or_holds_something_else_is_reported(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"absent is not a folder.*Get"):
        READERS[name](5, folder=tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=f"{name} not found in .*there is no .*Get"):
        READERS[name](5, folder=tmp_path)


@pytest.mark.parametrize(
    ("reader", "file"),
    [(mnist, "t10k-images-idx3-ubyte"), (cifar10, "cifar-10-batches-bin/test_batch.bin")],
)
def test_a_file_cut_short_is_reported(tmp_path, reader, file):
    put(tmp_path, file, idx(images(3, 28, 28))[:-1])
    with pytest.raises(ValueError, match="not a complete file"):
        reader(1, folder=tmp_path)


def test_a_file_with_other_arrays_is_reported(tmp_path):
    put(tmp_path, "mnist_t10k/mnist_t10k.npz", {"pictures": images(3, 28, 28)})
    with pytest.raises(ValueError, match="no array 'images', only pictures"):
        mnist(1, folder=tmp_path)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    features, label = collisions()
    put(tmp_path, "higgs_small/higgs_small.npz", {"X": features, "y": label})
    monkeypatch.setenv("NAMMD_DATA", str(tmp_path))
    assert higgs(5, rng=0)[0].shape == (5, 4)


def test_importing_the_data_sets_imports_nothing_heavy():
    code = (
        "import sys; from nammd.datasets import SHIFTS, applications; "
        "print({'torch', 'ot', 'sklearn', 'pandas', 'scipy'} & {n.split('.')[0] for n in sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    assert run.stdout.strip() == "set()", run.stderr
