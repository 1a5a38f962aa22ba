"""Deep kernels: values, tiles, laws, files."""

import copy
import json
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="deep kernels need torch")
pytest.importorskip("safetensors", reason="deep kernels are stored with safetensors")

import nammd  # noqa: E402
from nammd.errors.seal import ROOM, sealed  # noqa: E402
from nammd.kernels.deep import Deep  # noqa: E402
from nammd.kernels.networks import convolutional, mlp  # noqa: E402

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(23, 3)), RNG.normal(0.4, 1.5, size=(17, 3))
X2, Y2 = RNG.normal(size=(20, 3)), RNG.normal(-0.6, 1.0, size=(18, 3))
EVERYTHING = slice(None)


def network(rng=0):
    return mlp(3, hidden=8, features=4, rng=rng)


def kernel(rng=0, **changes):
    numbers = {"bandwidth": 1.7, "feature_bandwidth": 0.3, "epsilon": 0.2}
    return Deep(network(rng), **(numbers | changes))


class Own(torch.nn.Module):
    """A user's network: two columns in its own way, with dropout."""

    def __init__(self, width=5):
        super().__init__()
        self.layer = torch.nn.Linear(3, width)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, rows):
        return self.dropout(torch.sin(self.layer(rows))).reshape(len(rows), -1, 1)


def own_kernel():
    module = Own()
    with torch.no_grad():
        for k, weights in enumerate(module.parameters()):
            weights.copy_(torch.cos(torch.arange(weights.numel()) + k).reshape(weights.shape))
    return Deep(module, 1.7, 0.8, 0.2)


def by_formula(kernel, x, y):
    """Write the definition out, with the features in float64."""
    module = copy.deepcopy(kernel.network).double()
    fx, fy = (module(torch.tensor(z)).flatten(1).numpy() for z in (x, y))

    def gaussian(u, v, bandwidth):
        return np.exp(-((u[:, None] - v[None]) ** 2).sum(-1) / (2 * bandwidth**2))

    deep = gaussian(fx, fy, kernel.feature_bandwidth)
    return ((1 - kernel.epsilon) * deep + kernel.epsilon) * gaussian(x, y, kernel.bandwidth)


KERNELS = {"mlp": kernel, "own": own_kernel}
every_kernel = pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)


@every_kernel
def test_values_are_those_of_the_formula(make):
    k = make()
    np.testing.assert_allclose(k(X, Y), by_formula(k, X, Y), rtol=1e-12, atol=1e-14)
    single = k(X.astype("float32"), Y.astype("float32"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, by_formula(k, X, Y), rtol=1e-4, atol=1e-6)


@every_kernel
@pytest.mark.parametrize("weight", [1.0, 2.5])
@pytest.mark.parametrize("convert", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_tiles_are_parts_of_the_whole(make, weight, convert):
    bound = make().bind(convert(X), convert(Y), weight=weight)
    expected = weight * by_formula(make(), X, Y)
    for rows, columns in [(slice(0, 5), slice(3, 9)), (slice(0, 23, 4), slice(16, 17))]:
        tile = bound.tile(rows, columns, None)
        assert type(tile) is type(convert(X))
        np.testing.assert_allclose(np.asarray(tile), expected[rows, columns], rtol=1e-12)


def test_numpy_tiles_are_written_where_they_should_be():
    bound, out = kernel().bind(X, Y), np.full((4, 6), np.nan)
    assert np.shares_memory(bound.tile(slice(2, 6), slice(0, 6), out), out)
    np.testing.assert_allclose(out, by_formula(kernel(), X, Y)[2:6, :6], rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_wide_spread_falls_back_to_float64_in_both_factors():
    x, y = (1e3 * z.astype("float32") for z in (X, Y))
    bound = kernel(bandwidth=1e3).bind(x, y)
    assert kernel(bandwidth=1.0).bind(x, y).precision == "float64"
    assert bound.tile(EVERYTHING, EVERYTHING, None).dtype == bound.precision


@every_kernel
def test_kernel_is_symmetric_bounded_and_positive_semi_definite(make):
    k = make()
    gram = k(X, X)
    np.testing.assert_allclose(k(X, Y), k(Y, X).T, rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(gram), 1.0, rtol=1e-12)
    assert k.bound == 1.0
    assert gram.max() <= 1 + 1e-12
    assert gram.min() >= 0
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() > -1e-12


def answers(x, y, x2, y2, k, engine=None):
    settings = {"kernel": k, "engine": engine}
    return [
        nammd.kernel_sums(x, y, k, engine).xx_rows.sum(),
        nammd.distance(x, y, **settings).value,
        nammd.closeness_test(x, y, 0.1, alternative="greater", **settings).pvalue,
        nammd.two_sample_test(x, y, permutations=39, rng=0, **settings).pvalue,
        nammd.compare_pairs((x, y), (x2, y2), **settings).pvalue,
    ]


@every_kernel
def test_numpy_and_torch_give_the_same_answers_everywhere(make):
    data = (X, Y, X2, Y2)
    expected = answers(*data, make())
    assert answers(*map(torch.asarray, data), make()) == pytest.approx(expected, rel=1e-9)
    assert answers(*data, 2 * make())[1:] == pytest.approx(expected[1:], rel=1e-9)


def test_threads_share_a_bound_kernel():
    x, y = RNG.normal(size=(2, 700, 3))
    one, four = (
        nammd.distance(
            x, y, kernel=kernel(), engine=nammd.Tiles(tile_rows=32, tile_columns=64, threads=t)
        ).value
        for t in (1, 4)
    )
    assert one == four
    assert one == pytest.approx(nammd.distance(x, y, kernel=kernel()).value, rel=1e-9)


def test_features_are_computed_in_batches(monkeypatch):
    whole = kernel().features(X)
    monkeypatch.setattr("nammd.kernels.deep.FEATURE_ROWS", 5)
    np.testing.assert_allclose(kernel().features(X), whole, rtol=1e-12)


def test_the_network_of_a_kernel_is_its_own_and_does_not_train():
    module = network()
    k = Deep(module, 1.7, 0.3, 0.2)
    with torch.no_grad():
        for weights in module.parameters():
            weights.zero_()
    np.testing.assert_array_equal(k(X, Y), kernel()(X, Y))
    assert not k.network.training
    assert not any(weights.requires_grad for weights in k.network.parameters())
    with pytest.raises(AttributeError):
        k.bandwidth = 3.0


def test_images_go_through_the_convolutional_network():
    images = RNG.normal(size=(9, 64))
    k = Deep(convolutional((1, 8, 8), features=5, channels=(4, 8), rng=0), 8.0, 0.5)
    np.testing.assert_allclose(k(images, images), by_formula(k, images, images), rtol=1e-11)


def test_networks_are_drawn_from_their_own_generator():
    before = torch.get_rng_state()
    first, again, other = mlp(3, rng=1), mlp(3, rng=1), mlp(3, rng=2)
    assert torch.equal(first[0].weight, again[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)
    assert first[0].weight.abs().max() <= 3**-0.5
    assert torch.equal(torch.get_rng_state(), before)


def test_bandwidths_come_from_the_medians():
    k = Deep.median(X, Y, network=network())
    assert k.bandwidth == nammd.Gaussian.median(X, Y).bandwidth
    # The network takes the rows of both at once or of each alone: processors round that differently.
    of_each = nammd.Gaussian.median(k.features(X), k.features(Y)).bandwidth
    assert k.feature_bandwidth == pytest.approx(of_each, rel=1e-13)


@pytest.mark.parametrize("write", [str, repr])
@every_kernel
def test_kernel_reads_well(make, write):
    text = write(make())
    assert " at 0x" not in text
    assert "\n" not in text
    assert "bandwidth" in text


def test_kernels_are_equal_by_weights():
    kernels = [kernel(), kernel(rng=1), kernel(epsilon=0.3), kernel(bandwidth=2.0), own_kernel()]
    assert kernel() == kernel()
    assert hash(kernel()) == hash(kernel())
    assert len(set(kernels)) == len(kernels)
    assert kernel() != nammd.Gaussian(1.7)


@every_kernel
def test_kernel_survives_pickling(make):
    assert pickle.loads(pickle.dumps(make())) == make()


@pytest.mark.parametrize(
    "module", [network(), convolutional((1, 8, 8), 5, (4, 8), rng=0)], ids=["mlp", "convolutional"]
)
def test_default_networks_survive_a_file_and_a_dictionary(module, tmp_path):
    k = Deep(module, 1.7, 0.3, 0.2)
    assert Deep.load(k.save(tmp_path / "kernel.safetensors")) == k
    assert Deep.from_dict(json.loads(json.dumps(k.to_dict()))) == k
    assert [file.name for file in tmp_path.iterdir()] == ["kernel.safetensors"]


def test_a_network_of_ones_own_is_handed_to_load(tmp_path):
    path = own_kernel().save(tmp_path / "kernel.safetensors")
    assert Deep.load(path, network=Own()) == own_kernel()
    with pytest.raises(ValueError, match=r"hand one of the same layers to Deep\.load"):
        Deep.load(path)
    with pytest.raises(ValueError, match="do not fit its network"):
        Deep.load(path, network=Own(width=6))
    with pytest.raises(TypeError, match=r"cannot be put into a dictionary; use kernel\.save"):
        own_kernel().to_dict()


def test_a_default_network_that_was_changed_counts_as_ones_own():
    changed = network()
    changed[1] = torch.nn.Tanh()
    with pytest.raises(TypeError, match="cannot be put into a dictionary"):
        Deep(changed, 1.0, 1.0).to_dict()


def rewritten(path, **changes):
    from safetensors import safe_open
    from safetensors.torch import save

    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        stored = json.loads(file.metadata()["nammd-deep-kernel"])
    text = json.dumps({k: v for k, v in (stored | changes).items() if v is not ...})
    metadata = {"nammd-deep-kernel": changes.get("text", text), "checksum": ROOM}
    path.write_bytes(sealed(save(weights, metadata)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "written by a newer nammd"),
        ({"version": ...}, "the deep kernel is damaged: its version is None"),
        ({"version": True}, "the deep kernel is damaged: its version is True"),
        ({"version": 0}, "the deep kernel is damaged: its version is 0"),
        ({"version": -5}, "the deep kernel is damaged: its version is -5"),
        ({"bandwidth": 10**400}, "kernel.safetensors"),
        ({"bandwidth": ...}, "'bandwidth' is missing"),
        ({"bandwidth": -1.0}, "bandwidth must be positive"),
        ({"network": {"name": "other", "arguments": {}}}, "there is no network called 'other'"),
        (
            {"network": {"name": "mlp", "arguments": {"columns": 3}}},
            "description of the deep kernel is damaged",
        ),
        (
            {
                "network": {
                    "name": "mlp",
                    "arguments": {"columns": 3, "hidden": 10**6, "features": 4, "layers": 3},
                }
            },
            "do not fit its network",
        ),
        ({"text": "{"}, "its description is not JSON"),
    ],
)
def test_damaged_and_newer_files_are_refused_with_a_sentence(tmp_path, changes, message):
    path = kernel().save(tmp_path / "kernel.safetensors")
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=message):
        Deep.load(path)


def test_any_changed_byte_of_a_file_is_refused(tmp_path):
    path = kernel().save(tmp_path / "kernel.safetensors")
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for at in [*range(0, 600, 7), *rng.integers(0, len(whole), 100).tolist(), len(whole) - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=r"kernel\.safetensors"):
            Deep.load(path)
    path.write_bytes(whole)
    assert Deep.load(path) == kernel()


def test_files_that_are_not_kernels_are_refused(tmp_path):
    from safetensors.torch import save_file

    path = tmp_path / "kernel.safetensors"
    with pytest.raises(FileNotFoundError, match="there is no deep kernel file"):
        Deep.load(path)
    save_file({"a": torch.zeros(3)}, path)
    with pytest.raises(ValueError, match="not a deep kernel written by nammd"):
        Deep.load(path)
    path.write_bytes(kernel().save(path).read_bytes()[:-100])
    with pytest.raises(ValueError, match="is damaged, or not a safetensors file"):
        Deep.load(path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        kernel().save(tmp_path / "nowhere" / "kernel.safetensors")


@pytest.mark.parametrize("weights", ["!", "AAAA", ...])
def test_damaged_dictionaries_are_refused(weights):
    stored = kernel().to_dict() | {"weights": weights}
    with pytest.raises(ValueError, match=r"deep kernel (is|are) damaged"):
        Deep.from_dict({k: v for k, v in stored.items() if v is not ...})


def test_mistakes_are_explained():
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, not str"):
        Deep("mlp", 1.0, 1.0)
    with pytest.raises(ValueError, match="epsilon must be strictly between 0 and 1"):
        kernel(epsilon=1.0)
    with pytest.raises(ValueError, match="a network for 3 columns, but the data has 2"):
        kernel()(X[:, :2], Y[:, :2])
    with pytest.raises(ValueError, match="returned shape"):
        Deep(torch.nn.Flatten(0), 1.0, 1.0)(X, Y)
    with pytest.raises(ValueError, match="hidden must be made of whole numbers"):
        mlp(2, hidden=0)
    broken = network()
    with torch.no_grad():
        broken[0].weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        Deep(broken, 1.0, 1.0)(X, Y)
