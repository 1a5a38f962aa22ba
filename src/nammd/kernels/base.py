"""What a kernel is, and how kernels combine.

A kernel says how similar two rows are. Engines ask one thing of it: *bind* yourself to two samples
and return a function that fills one tile of the Gram matrix at a time. Whatever can be done once
per sample (centring, scaling, row norms, a network's features) is done while binding.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from nammd.data.arrays import Array, namespace

Precision: TypeAlias = str
"""``"float32"`` or ``"float64"``."""


@runtime_checkable
class KernelLike(Protocol):
    """The least that an object needs in order to serve as a kernel."""

    @property
    def bound(self) -> float:
        """The largest value the kernel takes; ``k(x, x)`` for shift-invariant kernels."""

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""


@dataclass(frozen=True)
class BoundKernel:
    """A kernel bound to two samples.

    Attributes
    ----------
    tile : callable
        ``tile(rows, columns, out)`` returns the kernel values between two slices of the samples.
        NumPy kernels write into `out` and return it; others may ignore `out`.
    precision : str
        The floating-point type of the tiles.
    """

    tile: Callable[[slice, slice, Array | None], Array]
    precision: Precision


@dataclass(frozen=True)
class Exponential:
    """A term ``weight * exp(-distance)`` of a kernel.

    Attributes
    ----------
    weight : float
        A positive factor.
    power : {1, 2}
        Which distance of the embedded rows: 1 for the city-block distance, 2 for half the squared
        Euclidean distance.
    embed : callable
        Maps rows to the space of that distance.
    """

    weight: float
    power: int
    embed: Callable[[Array], Array]


class Kernel(ABC):
    """A bounded positive-definite kernel.

    Subclass it, giving `bound` and ``__call__``, and the kernel works in every function of nammd,
    on every engine, and can be scaled (``2 * k``) and summed (``k1 + k2``). An object that merely
    has ``bound`` and ``__call__`` is accepted as well; what it lacks are those two operators.

    The kernel must be symmetric and positive definite, its values must not exceed `bound`, and
    `bound` must be finite: the norm-adaptive distance is scaled by it.

    Examples
    --------
    A rational quadratic kernel of one's own:

    >>> import numpy as np
    >>> import nammd
    >>> class RationalQuadratic(nammd.Kernel):
    ...     bound = 1.0
    ...     def __call__(self, x, y):
    ...         return 1 / (1 + ((x[:, None] - y[None]) ** 2).sum(-1))
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 3))
    >>> bool(nammd.distance(x, y, kernel=RationalQuadratic()).value < 0.01)
    True
    >>> (2 * RationalQuadratic() + nammd.Gaussian(1.0)).bound
    3.0
    """

    bound: float

    @abstractmethod
    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Bind the kernel, times `weight`, to two samples of two dimensions each.

        The default evaluates ``self(x[rows], y[columns])`` tile by tile. Kernels override it where
        work can be shared between tiles.

        Parameters
        ----------
        x, y : array
            Two-dimensional samples in one namespace and floating-point type.
        precision : {"float32", "float64"}, optional
            The type that the tiles should have; that of the samples by default. A kernel may
            return float64 where float32 cannot hold its values.
        weight : float
            A positive factor.

        Returns
        -------
        BoundKernel
        """
        return bind_by_calling(self, x, y, precision, weight)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the kernel as a sum of exponentials of distances; none where it is something else.

        An engine that has programs of its own for such terms uses them; any engine can do without.
        """
        return ()

    def __mul__(self, factor: float) -> Kernel:
        if isinstance(factor, (bool, np.bool_)) or not isinstance(factor, numbers.Real):
            return NotImplemented
        return Scaled(self, float(factor))

    __rmul__ = __mul__

    def __add__(self, other: KernelLike) -> Kernel:
        if not isinstance(other, KernelLike):
            return NotImplemented
        return Sum((*_terms(self), *_terms(as_kernel(other))))


def bind_by_calling(
    kernel: KernelLike, x: Array, y: Array, precision: Precision | None, weight: float
) -> BoundKernel:
    """Bind a kernel that offers nothing but a call."""
    xp = namespace(x, y)
    dtype = getattr(xp, precision or precision_of(x, y))

    def tile(rows: slice, columns: slice, out: Array | None) -> Array:
        values = xp.astype(kernel(x[rows, :], y[columns, :]), dtype)
        return values if weight == 1.0 else values * weight

    def numpy_tile(rows: slice, columns: slice, out: Array | None) -> Array:
        values = np.asarray(kernel(x[rows, :], y[columns, :]))
        if out is None:
            out = np.empty(values.shape, dtype)
        np.multiply(values, weight, out=out, casting="same_kind")
        return out

    return BoundKernel(numpy_tile if xp is np else tile, precision or precision_of(x, y))


def precision_of(x: Array, y: Array) -> Precision:
    """Return the precision that two samples ask for by their own type."""
    xp = namespace(x, y)
    return "float32" if x.dtype == xp.float32 and y.dtype == xp.float32 else "float64"


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel times a positive number; write ``factor * kernel``."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        if not (self.factor > 0 and math.isfinite(self.factor)):
            raise ValueError(
                f"a kernel can only be scaled by a positive finite number, not {self.factor!r}; "
                "anything else would not be positive definite"
            )

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The factor times the bound of the kernel."""
        return self.factor * self.kernel.bound

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the scaled kernel values."""
        return self.factor * self.kernel(x, y)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Bind the inner kernel, handing it the factor as a weight."""
        return self.kernel.bind(x, y, precision, weight * self.factor)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the terms of the kernel with the factor in their weights."""
        return tuple(replace(t, weight=t.weight * self.factor) for t in self.kernel.exponentials())

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, (Sum, Scaled)) else repr(self.kernel)
        return f"{self.factor!r} * {inner}"

    def __str__(self) -> str:
        return f"{self.factor:.4g} times ({self.kernel})"


@dataclass(frozen=True)
class Sum(Kernel):
    """A sum of kernels; write ``first + second``."""

    terms: tuple[Kernel, ...]

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The sum of the bounds of the terms."""
        return sum(term.bound for term in self.terms)

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the summed kernel values."""
        values = self.terms[0](x, y)
        for term in self.terms[1:]:
            values = values + term(x, y)
        return values

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Bind every term; in float64 as soon as one term needs it."""
        bound = [term.bind(x, y, precision, weight) for term in self.terms]
        if len({b.precision for b in bound}) > 1:
            bound = [term.bind(x, y, "float64", weight) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            values = bound[0].tile(rows, columns, out)
            for term in bound[1:]:
                values += term.tile(rows, columns, None)
            return values

        return BoundKernel(tile, bound[0].precision)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the terms of all the kernels, if each has some."""
        each = [term.exponentials() for term in self.terms]
        return tuple(t for terms in each for t in terms) if all(each) else ()

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms))


@dataclass(frozen=True)
class UserKernel(Kernel):
    """An object that keeps the kernel protocol, given the operators of `Kernel`."""

    kernel: KernelLike

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The bound that the object states."""
        return float(self.kernel.bound)

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Call the object."""
        return self.kernel(x, y)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Bind the object by its own `bind` if it has one."""
        bind = getattr(self.kernel, "bind", None)
        if bind is None:
            return super().bind(x, y, precision, weight)
        bound: BoundKernel = bind(x, y, precision, weight)
        return bound

    def __repr__(self) -> str:
        return repr(self.kernel)

    def __str__(self) -> str:
        return str(self.kernel)


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, Sum) else (kernel,)


def as_kernel(kernel: Any) -> Kernel:
    """Return `kernel` as a `Kernel`, or say why it cannot be one."""
    if isinstance(kernel, (str, type)) or not callable(kernel):
        raise TypeError(f"kernel must be a kernel object such as nammd.Gaussian(1.0), not {kernel!r}")
    try:
        bound = float(kernel.bound)
    except (AttributeError, TypeError, ValueError):
        raise TypeError(
            f"the kernel {kernel!r} does not state its bound: give it an attribute `bound`, the "
            "largest value it takes (1.0 for a Gaussian)"
        ) from None
    if not (math.isfinite(bound) and bound > 0):
        raise ValueError(
            f"the kernel {kernel!r} has bound {bound}: the norm-adaptive distance needs a bounded "
            "kernel, with a finite positive `bound`; use Gaussian, Laplace or Mahalanobis, or a "
            "bounded kernel of your own"
        )
    return kernel if isinstance(kernel, Kernel) else UserKernel(kernel)
