"""Measures speed and size, as ratios from one interleaved run: `python tests/bench/run.py`.

It needs the extra `bench`, and a machine that has little else to do; it is no test. The exit code is 1 when a limit is
missed.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import cold
import job
import scale
import serving
import within

#: Each part by name, with the number of its rounds.
PARTS: Final[dict[str, tuple[Callable[[Path, int], str], int]]] = {
    "cold": (cold.run, 21),
    "within": (within.run, 15),
    "scale": (scale.run, 5),
    "serving": (serving.run, 5),
}


def main() -> int:
    """Run the parts that are asked for, and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)}; all of it else")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often to measure everything")
    options = parser.parse_args()
    unknown = set(options.parts) - PARTS.keys()
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    missed = False
    with tempfile.TemporaryDirectory(prefix="smgcfg-bench-") as folder:
        Path(folder, "settings_classes.py").write_text(job.classes_source())
        for name in options.parts or PARTS:
            part, rounds = PARTS[name]
            text = part(Path(folder), options.rounds or rounds)
            print(text, end="\n\n", flush=True)
            missed = missed or "MISSED" in text
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
