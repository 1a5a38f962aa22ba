"""Deep kernels made again from what was written of them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from nammd.errors.seal import require_version
from nammd.kernels.networks import outline

if TYPE_CHECKING:
    from nammd.kernels.deep import Deep

VERSION = 1
NUMBERS = ("bandwidth", "feature_bandwidth", "epsilon")


def restored(kind: type[Deep], stored: Any, weights: dict[str, Any], network: Any) -> Deep:
    """Make a kernel from its description and weights."""
    version = stored.get("version") if isinstance(stored, dict) else None
    require_version(version, VERSION, "the deep kernel", "save it again")
    try:
        made_by, numbers = stored["network"], {name: stored[name] for name in NUMBERS}
        if network is None and made_by is None:
            raise ValueError(
                "the kernel has a network of the user's own: hand one of the same layers to "
                "Deep.load(path, network=...)"
            )
        if network is None:
            # Shapes are compared before any memory is taken, so a damaged file cannot ask for much.
            network = outline(made_by["name"], made_by["arguments"])
            network.load_state_dict(weights, strict=True, assign=True)
        else:
            network = copy.deepcopy(network)
            network.load_state_dict(weights, strict=True)
        return kind(network, **numbers)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the description of the deep kernel is damaged: {what}") from None
    except RuntimeError as error:
        what = " ".join(str(error).split())
        raise ValueError(f"the weights of the deep kernel do not fit its network: {what}") from None
