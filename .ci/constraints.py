"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python .ci/constraints.py app monitor > oldest.txt

The arguments are extras. Of each requirement that applies to the Python that runs this, the lower bound is
printed, so a bound that is too low shows as a failure to install or to pass the tests.
"""

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest(extras: list[str]) -> list[str]:
    """Return the lower bounds of the package's requirements, and of those of some extras."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    waiting = [Requirement(line) for line in project["dependencies"]]
    waiting += [Requirement(f"{project['name']}[{extra}]") for extra in extras]
    bounds: dict[str, str] = {}
    while waiting:
        requirement = waiting.pop(0)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        if requirement.name == project["name"]:
            lines = [line for extra in requirement.extras for line in project["optional-dependencies"][extra]]
            waiting += [Requirement(line) for line in lines]
            continue
        lower = [clause.version for clause in requirement.specifier if clause.operator == ">="]
        if len(lower) != 1:
            raise SystemExit(f"{requirement} has no lower bound; pyproject.toml must name one")
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        bounds[name] = max(bounds.get(name, "0"), lower[0], key=Version)
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(oldest(sys.argv[1:])))
