"""Folders of images: pixels and features."""

import sys
import types
import warnings
from typing import ClassVar

import numpy as np
import pytest

from nammd.tables import Encoding, batches, read

Image = pytest.importorskip("PIL.Image")


def save(path, array, mode=None):
    path.parent.mkdir(exist_ok=True, parents=True)
    image = Image.fromarray(np.asarray(array))
    (image.convert(mode) if mode else image).save(path)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (10, 4, 6, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        save(tmp_path / "images" / f"class{i % 2}" / f"{i}.png", image)
    order = [*range(0, 10, 2), *range(1, 10, 2)]  # class by class, by name
    return tmp_path / "images", pixels[order].transpose(0, 3, 1, 2).astype(np.float32) / 255


def test_pixels_are_between_zero_and_one_in_the_order_of_the_names(folder):
    path, pixels = folder
    loaded = read(path)
    assert (loaded.rows, loaded.total_rows, loaded.notes) == (10, 10, ())
    np.testing.assert_array_equal(loaded.data, pixels.reshape(10, -1))
    np.testing.assert_array_equal(Encoding.fit(loaded.data).transform(loaded.data), loaded.data)


def test_a_sample_reads_only_its_images(folder):
    path, pixels = folder
    from nammd.data.sampling import sample_positions

    loaded = read(path, sample=4, rng=1)
    assert (loaded.rows, loaded.total_rows, loaded.sampled) == (4, 10, True)
    np.testing.assert_array_equal(loaded.data, pixels.reshape(10, -1)[sample_positions(10, 4, 1)])


def test_batches_of_images(folder):
    path, pixels = folder
    parts = list(batches(path, batch_rows=4))
    assert [len(part) for part in parts] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(parts), pixels.reshape(10, -1))


def test_all_take_the_size_of_the_first_and_it_is_noted(tmp_path):
    save(tmp_path / "a.png", np.full((4, 6), 200, np.uint8))
    save(tmp_path / "b.png", np.full((8, 12), 100, np.uint8))
    loaded = read(tmp_path)
    np.testing.assert_allclose(loaded.data, np.repeat([[200 / 255], [100 / 255]], 24, axis=1), rtol=1e-6)
    assert loaded.notes == ("1 of 2 images are brought to the 6 x 4 pixels of the first",)


@pytest.mark.parametrize(
    ("mode", "channels"), [("L", 1), ("1", 1), ("P", 3), ("RGB", 3), ("RGBA", 4), ("LA", 2), ("CMYK", 3)]
)
def test_kinds_of_colour(mode, channels, tmp_path):
    save(tmp_path / ("x.tif" if mode == "CMYK" else "x.png"), np.full((2, 3, 3), 255, np.uint8), mode)
    data = read(tmp_path).data
    assert data.shape == (1, channels * 6)
    np.testing.assert_allclose(data, 1, atol=1e-6)


def test_sixteen_bits_are_scaled_too(tmp_path):
    save(tmp_path / "x.png", np.array([[0, 65535], [32768, 1]], np.uint16))
    np.testing.assert_allclose(read(tmp_path).data, [[0, 1, 0.5, 0]], atol=1e-4)


def test_a_photograph_lying_on_its_side_is_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = np.array([[0, 255]], np.uint8)
    Image.fromarray(lying).save(tmp_path / "a.png", exif=exif)
    save(tmp_path / "b.png", lying.T)
    loaded = read(tmp_path)
    np.testing.assert_array_equal(loaded.data, [[0, 1], [0, 1]])
    assert loaded.notes == ()


def test_other_channels_are_refused_by_name(tmp_path):
    save(tmp_path / "a.png", np.zeros((2, 2, 3), np.uint8))
    save(tmp_path / "b.png", np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match=r"b.png has 1 channels but a.png has 3; convert the images"):
        read(tmp_path)


def test_a_damaged_image_is_named(folder):
    path, _ = folder
    broken = path / "class1" / "3.png"
    broken.write_bytes(broken.read_bytes()[:60])
    with pytest.raises(ValueError, match=r"3.png cannot be read as an image"):
        read(path)
    broken.write_bytes(b"not an image")
    with pytest.raises(ValueError, match=r"3.png cannot be read as an image"):
        read(path)


def test_images_have_no_columns(folder):
    with pytest.raises(ValueError, match="holds images, which have no columns to choose"):
        read(folder[0], columns=["0"])


def test_without_pillow_it_says_what_to_install(folder, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=r"reading images needs pillow; install it with: pip install 'nammd"
    ):
        read(folder[0])


def test_features_are_those_of_a_function(folder):
    pytest.importorskip("torch")
    path, pixels = folder
    loaded = read(path, features=lambda batch: batch.mean(dim=(2, 3)))
    np.testing.assert_allclose(loaded.data, pixels.mean(axis=(2, 3)), rtol=1e-5)


def test_features_are_those_of_a_module_file(folder, tmp_path):
    torch = pytest.importorskip("torch")
    path, pixels = folder
    module = torch.nn.Sequential(torch.nn.AvgPool2d((4, 6)), torch.nn.Dropout(0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would rather export than script
        torch.jit.trace(module.eval(), torch.zeros(1, 3, 4, 6)).save(str(tmp_path / "module.pt"))
    loaded = read(path, features=tmp_path / "module.pt")
    np.testing.assert_allclose(loaded.data, pixels.mean(axis=(2, 3)), rtol=1e-5)


def test_a_pickled_module_is_never_loaded(folder, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Flatten(), tmp_path / "module.pt")
    with pytest.raises(ValueError, match=r"module.pt is not a TorchScript module"):
        read(folder[0], features=str(tmp_path / "module.pt"))
    with pytest.raises(FileNotFoundError, match=r"other.pt, the module for features, is not there"):
        read(folder[0], features="other.pt")


def test_features_of_the_wrong_shape_or_kind_are_refused(folder):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"features gave an array of shape \(3,\) for 10 images"):
        read(folder[0], features=lambda batch: batch.mean(dim=(0, 2, 3)))
    with pytest.raises(TypeError, match="features must be the name of a torchvision model"):
        read(folder[0], features=3)


def test_without_torchvision_it_says_what_to_install(folder, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    with pytest.raises(
        ImportError, match="features='resnet18' needs torchvision; install it with: pip install"
    ):
        read(folder[0], features="resnet18")


class PretendVision(types.ModuleType):
    """What is used of torchvision.models, with a model that averages and then names ten classes."""

    weights: ClassVar = types.SimpleNamespace(transforms=lambda: lambda batch: batch * 2)

    def get_model_weights(self, name):
        if name != "average":
            raise ValueError(name)
        return types.SimpleNamespace(DEFAULT=self.weights)

    def get_model(self, name, weights):
        import torch

        class Average(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 10)

            def forward(self, batch):
                return self.fc(batch.mean(dim=(2, 3)))

        assert weights is self.weights
        return Average()


@pytest.fixture
def vision(monkeypatch):
    pytest.importorskip("torch")
    module = PretendVision("torchvision.models")
    monkeypatch.setitem(sys.modules, "torchvision", types.ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", module)
    return module


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_a_torchvision_model_is_prepared_and_loses_its_last_layer(mode, vision, tmp_path):
    save(tmp_path / "x.png", np.full((4, 4, 3), 51, np.uint8), mode)
    np.testing.assert_allclose(read(tmp_path, features="average").data, [[0.4, 0.4, 0.4]], rtol=1e-5)


def test_an_unknown_torchvision_model_is_named(vision, folder):
    with pytest.raises(ValueError, match="features='averge' is no model of torchvision"):
        read(folder[0], features="averge")


def test_weights_that_cannot_be_downloaded_are_explained(vision, folder, monkeypatch):
    def offline(name, weights):
        raise OSError("no network")

    monkeypatch.setattr(vision, "get_model", offline)
    with pytest.raises(ValueError, match=r"'average' cannot be downloaded \(no network\)"):
        read(folder[0], features="average")


def test_without_torch_it_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"features of images needs torch; .*'nammd\[torch\]'"):
        read(folder[0], features="resnet18")
