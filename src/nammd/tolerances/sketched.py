"""A reference that is a sketch: `SketchedReference`, the counterpart of `EncodedReference`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nammd.data.encoding import Encoding
from nammd.engines import Engine
from nammd.kernels import Kernel
from nammd.questions.distance import MIN_ROWS, Estimate, estimate_of_sketches, refuse_engine
from nammd.sketches import Sketch
from nammd.sketches.sketch import counted, digest_of_encoding, means_exact_kernel


@dataclass(frozen=True, eq=False)
class SketchedReference:
    """A sketch as the reference of checks, with the kernel and encoding that a tolerance wants.

    Attributes
    ----------
    raw : Sketch
        The sketch.
    encoding : Encoding
        How columns must have become numbers.
    kernel : Kernel
        The kernel of all distances: that of the sketch's features, or the features themselves.
    """

    raw: Sketch = field(repr=False)
    encoding: Encoding
    kernel: Kernel
    digest: None = None
    """There is no digest of rows that are not there."""

    @classmethod
    def of(
        cls, raw: Sketch, encoding: Encoding, kernel: Kernel, engine: Engine | None = None
    ) -> SketchedReference:
        """Check that a sketch fits."""
        refuse_engine(engine)
        reference = cls(raw, encoding, kernel)
        reference.encode(raw, "the reference")
        means_exact_kernel(kernel, raw.features)
        return reference

    def encode(self, data: Any, name: str) -> Sketch:
        """Return a sketch as it is, if it was made with the encoding of the tolerance."""
        if not isinstance(data, Sketch):
            raise TypeError(
                f"{name} is not a sketch, but the reference is one; sketch it with the same features and the "
                "encoding of the tolerance: Sketch.of(data, reference.features, encoding=tolerance.encoding)"
            )
        if data.encoding != digest_of_encoding(self.encoding):
            raise ValueError(
                f"{name} was not sketched with the encoding of this tolerance; make it with "
                "Sketch.of(data, features, encoding=tolerance.encoding)"
            )
        if data.columns != self.encoding.width:
            raise ValueError(
                f"{name} has {counted(data.columns, 'column')}, the tolerance {self.encoding.width}"
            )
        if data.n < MIN_ROWS:
            raise ValueError(f"{name} has {counted(data.n, 'row')}; at least {MIN_ROWS} are needed")
        return data

    def distance(self, sketch: Sketch) -> Estimate:
        """Estimate the distance of another sketch to the reference."""
        return estimate_of_sketches(self.raw, sketch, self.kernel, "nammd", "full")
