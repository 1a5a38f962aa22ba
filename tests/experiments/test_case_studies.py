"""The case studies: their tests are the library's, their network is the stored one, their attack is one."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from experiments.paper.reference_pairs import (
    above,
    below,
    drawn,
    estimates,
    joined,
    pvalues,
    tally,
    true_distances,
)
from experiments.paper.softmax_classifier import SoftmaxClassifier

import nammd

DATA = Path(os.environ.get("NAMMD_DATA") or "data")
ENGINE = nammd.Tiles(threads=1)


@pytest.fixture
def samples(rng):
    return rng.normal(size=(60, 2)), rng.normal(loc=0.5, size=(60, 2)), rng.normal(loc=0.9, size=(60, 2))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_pvalues_are_those_of_the_public_functions(samples):
    x, y1, y2 = samples
    kernel, known = nammd.Gaussian(1.0), {"nammd": 0.05, "mmd2": 0.1}
    reference, tested = estimates(x, [y1, y2], kernel, ENGINE)
    found = pvalues(tested, reference, known, shared=True)
    published = {"kernel": kernel, "variance": "paper", "cross": "off-diagonal"}
    plugged = nammd.paper.distance(x, y1, kernel=kernel, cross="off-diagonal").value
    expected = {
        "mmd": nammd.paper.closeness_test(
            x, y2, 0.1, metric="mmd2", alternative="greater", **published
        ).pvalue,
        "nammd": nammd.paper.closeness_test(x, y2, 0.05, alternative="greater", **published).pvalue,
        "ours": nammd.closeness_test(x, y2, 0.05, kernel=kernel, alternative="greater").pvalue,
        "plugged": nammd.paper.closeness_test(x, y2, plugged, alternative="greater", **published).pvalue,
        "compared": nammd.compare_pairs((x, y1), (x, y2), kernel=kernel).pvalue,
    }
    assert found == pytest.approx(expected, rel=1e-9)
    apart = pvalues(tested, reference, known, shared=False)["compared"]
    assert apart == pytest.approx(
        nammd.compare_pairs((x, y1), (x, y2), kernel=kernel, shared=False).pvalue, rel=1e-9
    )


def test_true_distances_are_those_of_the_rows_as_distributions(samples):
    x, y, _ = samples
    kernel = nammd.Gaussian(1.0)
    xx, yy, xy = (float(np.mean(np.asarray(kernel(a, b)))) for a, b in ((x, x), (y, y), (x, y)))
    found = true_distances(x, y[:40], kernel, ENGINE)
    assert found["norm"] == pytest.approx(xx)
    found = true_distances(x, y, kernel, ENGINE)
    assert found["mmd2"] == pytest.approx(xx + yy - 2 * xy)
    assert found["nammd"] == pytest.approx((xx + yy - 2 * xy) / (4 - xx - yy))


def test_large_draws_come_near_the_true_distance(samples, rng):
    x, y, _ = samples
    kernel = nammd.Gaussian(1.0)
    [estimate] = estimates(drawn(x, 3000, rng), [drawn(y, 3000, rng)], kernel, ENGINE)
    truth = true_distances(x, y, kernel, ENGINE)["nammd"]
    assert abs(estimate.value - truth) < 4 * estimate.standard_error


def test_tallies_of_chunks_join_to_the_whole(rng):
    names = ("mmd", "nammd", "ours", "plugged", "compared")
    found = [dict(zip(names, rng.random(5) / 5, strict=True)) for _ in range(40)]
    found[0]["mmd"] = float("nan")  # no p-value is no rejection
    whole, parts = tally(found, 0.05), joined([tally(found[:15], 0.05), tally(found[15:], 0.05)])
    assert parts["rates"] == whole["rates"]
    assert whole["rates"]["mmd"]["n"] == 40
    assert whole["p"]["mmd"]["n"] == 39
    assert parts["gain"] == pytest.approx(whole["gain"])
    assert whole["gain"]["mean"] == pytest.approx(
        whole["rates"]["nammd"]["mean"] - whole["rates"]["mmd"]["mean"]
    )


def test_above_and_below_allow_two_errors():
    figure = {"mean": 0.1, "se": 0.02, "n": 100}
    assert above(figure, 0.05)
    assert not above(figure, 0.07)
    assert below(figure, 0.15)
    assert not below(figure, 0.13)


def test_the_classifier_learns_what_is_linear(rng):
    labels = rng.integers(3, size=300)
    features = np.eye(3)[labels] * 3 + rng.normal(size=(300, 3))
    classifier = SoftmaxClassifier.trained(features[:150], labels[:150])
    given = classifier.probabilities(features[150:])
    assert given.sum(axis=1) == pytest.approx(np.ones(150))
    assert np.mean(given.argmax(axis=1) == labels[150:]) > 0.85


def network_of(rng):
    """Make a ResNet20 with random weights."""
    pytest.importorskip("torch")
    from experiments.paper.resnet20 import ResNet20

    state, inside = {}, 3
    names = [("conv1", "bn1", 16)]
    for layer, width in ((1, 16), (2, 32), (3, 64)):
        for block in range(3):
            names += [(f"layer{layer}.{block}.conv{k}", f"layer{layer}.{block}.bn{k}", width) for k in (1, 2)]
    for convolution, normalisation, width in names:
        scale = np.sqrt(2 / (9 * inside))
        state[f"{convolution}.weight"] = rng.normal(0, scale, size=(width, inside, 3, 3)).astype(np.float32)
        for part, value in (("weight", 0.5), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            state[f"{normalisation}.{part}"] = np.full(width, value, np.float32)
        inside = width
    # Small, so that no class is certain: the gradient of a certain one is zero.
    state["linear.weight"] = rng.normal(0, 0.01, size=(10, 64)).astype(np.float32)
    state["linear.bias"] = rng.normal(size=10).astype(np.float32)
    return ResNet20(state), state


def test_the_attack_stays_within_its_size_and_raises_the_loss(rng):
    network, _ = network_of(rng)
    images = rng.random((4, 32, 32, 3)).astype(np.float32)
    labels = network.outputs(images)[1].argmax(axis=1)
    moved = network.attacked(images, labels, 4 / 255)
    assert 3.9 / 255 < np.abs(moved - images).max() <= 4 / 255 + 1e-6
    assert moved.min() >= 0
    assert moved.max() <= 1
    logits, attacked = network.outputs(images)[1], network.outputs(moved)[1]
    before, after = (z[range(4), labels] - np.log(np.exp(z).sum(axis=1)) for z in (logits, attacked))
    assert np.all(after < before)


def test_features_and_logits_belong_together(rng):
    network, state = network_of(rng)
    features, logits = network.outputs(rng.random((3, 32, 32, 3)))
    assert features.shape == (3, 64)
    assert logits == pytest.approx(features @ state["linear.weight"].T + state["linear.bias"], rel=1e-4)
    assert network.logits(features) == pytest.approx(logits, rel=1e-4)


def test_the_stored_network_gives_the_stored_logits_and_attacks():
    pytest.importorskip("torch")
    from experiments.paper.cifar_images import IMAGES, cifar_images
    from experiments.paper.resnet20 import STATE, ResNet20

    stored = DATA / "cifar_resnet/cifar10_resnet20_features_pgd.npz"
    if not (stored.exists() and (DATA / STATE).exists() and (DATA / IMAGES[0]).exists()):
        pytest.skip("no CIFAR-10 images, weights and features in the data folder")
    images, network = cifar_images(DATA, 500), ResNet20.stored(DATA)
    with np.load(stored) as file:
        kept = {name: file[name] for name in ("clean_logits", "pgd_index", "pgd_eps4_features", "labels")}
    assert np.array_equal(images.labels, kept["labels"][images.index])
    _, logits = network.outputs(images.pixels[:30])
    assert np.abs(logits - kept["clean_logits"][images.index[:30]]).max() < 1e-3
    _, here, there = np.intersect1d(images.index, kept["pgd_index"], return_indices=True)
    here, there = here[:20], there[:20]
    attacked = network.attacked(images.pixels[here], images.labels[here], 4 / 255)
    off = np.abs(network.outputs(attacked)[0] - kept["pgd_eps4_features"][there])
    # The attack follows signs of gradients, and one that is nearly zero may fall either way.
    assert np.median(off) < 1e-3


def test_images_attacked_here_stand_in_for_stored_features():
    pytest.importorskip("torch")
    from experiments.paper.adversarial import EXPERIMENT, LEVELS, _features

    if EXPERIMENT.missing(DATA):
        pytest.skip("no CIFAR-10 images, weights and features in the data folder")
    features, accuracy = _features(DATA, 10, "cpu")
    assert {level: rows.shape for level, rows in features.items()} == dict.fromkeys((0, *LEVELS), (10, 64))
    assert accuracy[0] > 0.5 > accuracy[4]
    away = [np.linalg.norm(features[level] - features[0], axis=1).mean() for level in (1, 4, 10)]
    assert away[0] < away[1] < away[2]


def folders(tmp_path, rng):
    image = pytest.importorskip("PIL.Image")
    for name, low in (("val", 100), ("sketch", 105), ("art", 150)):
        (tmp_path / name / "n01").mkdir(parents=True)
        for k in range(12):
            # Sizes differ, and one is grey, as in ImageNet.
            shape = (6, 7 + k % 3) if k == 5 else (6, 7 + k % 3, 3)
            pixels = rng.integers(low - 60, low + 60, size=shape, dtype=np.uint8)
            image.fromarray(pixels).save(tmp_path / name / "n01" / f"{k}.png")
    return [str(tmp_path / name) for name in ("val", "art", "sketch")]


def test_folders_of_images_are_ranked_without_labels(tmp_path, rng, capsys):
    torch = pytest.importorskip("torch")
    from experiments.paper.imagenet import features_of, main, study

    places = folders(tmp_path, rng)

    def averages(pixels):  # stands in for a network
        assert pixels.shape[1] == 3
        return torch.cat([pixels.mean(dim=(2, 3)), pixels.amax(dim=(2, 3))], dim=1)

    val, art, sketch = (features_of(place, averages, 10) for place in places)
    assert val.shape == (10, 6)
    text = study(val, {"art": art, "sketch": sketch}, rows=8, repetitions=3)
    assert text.index("| sketch | 10 |") < text.index("| art | 10 |")
    assert "| sketch → art | 1.000" in text

    assert main([str(tmp_path / "nothing"), *places]) == 2
    assert "is no folder with images" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([places[0], places[1], places[1]])
    assert "need different names, not art, art" in capsys.readouterr().err


def test_labelled_folders_give_gaps_intervals_and_levels(tmp_path, rng, capsys):
    torch = pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    from experiments.paper.imagenet import main

    classes = ("n01", "n02", "n03", "n04")
    for name, dimmed in (("val", 0), ("v2", 25)):
        for number, one in enumerate(classes):
            (tmp_path / name / one).mkdir(parents=True)
            for k in range(10):
                low = 30 + 45 * number - (dimmed if number % 2 else 0)
                pixels = rng.integers(low, low + 40, size=(6, 6, 3), dtype=np.uint8)
                image.fromarray(pixels).save(tmp_path / name / one / f"{k}.png")

    class Averages(torch.nn.Module):
        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            return torch.cat([pixels.mean(dim=(2, 3)), pixels.amax(dim=(2, 3))], dim=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(Averages()).save(str(tmp_path / "averages.pt"))
    places = [str(tmp_path / name) for name in ("val", "v2")]
    few = ["--rows", "8", "--repetitions", "3", "--intervals", "4", "--sizes", "6", "9"]
    assert main([*places, "--features", str(tmp_path / "averages.pt"), "--labels", *few]) == 0
    said = capsys.readouterr().out
    assert "| images | accuracy | confidence | accuracy gap | confidence gap |" in said
    assert "| 4 (reference) | 1 |" in said
    assert "| v2 | 6 |" in said
    assert "| v2 | 9 |" in said


def test_the_command_needs_torchvision_for_its_models(tmp_path, rng, capsys, monkeypatch):
    pytest.importorskip("torch")
    from experiments.paper.imagenet import main

    places = folders(tmp_path, rng)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    assert main(places) == 2
    assert "needs torchvision" in capsys.readouterr().err


def test_a_torchvision_network_gives_features(tmp_path, rng):
    torch = pytest.importorskip("torch")
    models = pytest.importorskip("torchvision.models")
    from experiments.paper.imagenet import features_of

    model = models.resnet50(weights=None).eval()  # no weights are downloaded
    model.fc = torch.nn.Identity()
    assert features_of(folders(tmp_path, rng)[0], model, 2).shape == (2, 2048)
