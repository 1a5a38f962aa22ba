"""Kernels as plain dictionaries, for files that people can read."""

from __future__ import annotations

from typing import Any

from nammd.kernels.base import Kernel, Scaled, Sum
from nammd.kernels.deep import Deep
from nammd.kernels.gaussian import Gaussian, Mahalanobis
from nammd.kernels.laplace import Laplace
from nammd.kernels.random_features import RandomFeatures


def kernel_to_dict(kernel: Kernel) -> dict[str, Any]:
    """Return a built-in kernel as a dictionary ready for JSON."""
    match kernel:
        case Gaussian() | Laplace():
            return {"kind": type(kernel).__name__.lower(), "bandwidth": kernel.bandwidth}
        case Mahalanobis():
            return {
                "kind": "mahalanobis",
                "bandwidth": kernel.bandwidth,
                "matrix": kernel.matrix.tolist(),
            }
        case Scaled():
            return {
                "kind": "scaled",
                "factor": float(kernel.factor),
                "kernel": kernel_to_dict(kernel.kernel),
            }
        case Sum():
            return {"kind": "sum", "terms": [kernel_to_dict(term) for term in kernel.terms]}
        case Deep():
            return kernel.to_dict()
        case RandomFeatures():
            return {
                "kind": "random-features",
                "n_features": kernel.n_features,
                "seed": kernel.seed,
                "digest": kernel.digest,
                "kernel": kernel_to_dict(kernel.kernel),
            }
    raise TypeError(
        f"the kernel {kernel!r} cannot be written to a file; only the built-in kernels, scaled and "
        "summed, can"
    )


def kernel_from_dict(stored: Any) -> Kernel:
    """Return the kernel that a dictionary describes; a ValueError says what is wrong with it."""
    try:
        match stored["kind"]:
            case "gaussian":
                return Gaussian(stored["bandwidth"])
            case "laplace":
                return Laplace(stored["bandwidth"])
            case "mahalanobis":
                return Mahalanobis(stored["matrix"], stored["bandwidth"])
            case "scaled":
                return Scaled(kernel_from_dict(stored["kernel"]), float(stored["factor"]))
            case "deep":
                return Deep.from_dict(stored)
            case "random-features":
                return _features_from_dict(stored)
            case "sum":
                return Sum(tuple(kernel_from_dict(term) for term in stored["terms"]))
            case other:
                raise ValueError(f"unknown kind of kernel {other!r}")
    except (KeyError, TypeError) as error:
        raise ValueError(f"the description of the kernel is damaged: {error}") from None


def _features_from_dict(stored: dict[str, Any]) -> RandomFeatures:
    features = RandomFeatures(kernel_from_dict(stored["kernel"]), stored["n_features"], stored["seed"])
    if features.digest != stored["digest"]:
        raise ValueError(
            "the random features of the file are not those that this version of nammd and NumPy makes of "
            "their seed"
        )
    return features
