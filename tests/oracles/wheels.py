"""The wheels of the real programs: fetched once, checked, and unpacked in a cache directory."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: SHA-256 of each wheel, by pip requirement. The smg wheels are the ones for Linux on x86-64.
PINNED: Final = {
    "tokenspeed==0.1.1": "c20d4e87830c821f0b36f665baff999c4d08603b38becc6be33dc2636b97fb19",
    "tokenspeed==0.1.0": "2649dfcb853bbba74a065fa10d3280513e5755da057b6a9cbf6b82ff47d70b2a",
    "smg==1.13.0": "cfae8171dac68a74b4822263b1864fa79952992ee472a25ba7266ccd200399b4",
    "tokenspeed-smg==1.10.1.post20260920": "efd99c4bf52eb0e1a0288b933345dc98d853da0a7f04eac86b9cab108d60ec41",
    "smg-grpc-servicer==0.14.1": "0d78a7e38b7cf5f7f1b044051f6795b3ca1b289ef0b44eaf1945b0b13703e2e8",
}

_DOWNLOAD: Final = ("pip", "download", "--no-deps", "--only-binary=:all:")


class OracleUnavailable(Exception):
    """A real program can not be had here; the message says what to do."""


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the wheels are kept: `SMGCFG_ORACLE_DIR`, or `smgcfg-oracles` in the user's cache directory."""
    if chosen := environ.get("SMGCFG_ORACLE_DIR"):
        return Path(chosen)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smgcfg-oracles"


def unpacked(requirement: str, cache: Path | None = None) -> Path:
    """The directory that holds a wheel's files.

    Several processes may ask at once: each one works in a directory of its own, and the first to finish moves it into
    place.

    Args:
        requirement: A key of `PINNED`.
        cache: The cache directory, or None for `cache_directory()`.

    Raises:
        OracleUnavailable: The wheel is neither in the cache nor can it be fetched, or it is not the pinned one.
    """
    cache = cache or cache_directory()
    stem = requirement.replace("-", "_").replace("==", "-")  # how a wheel's file name begins
    target = cache / stem
    if target.is_dir():
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=cache) as part:
            wheel = next(cache.glob(f"{stem}-*.whl"), None) or _fetched(requirement, Path(part))
            _check(wheel, requirement)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(Path(part, stem))
            try:
                Path(part, stem).rename(target)
            except OSError:
                if not target.is_dir():  # else another process was first
                    raise
    except OSError as error:
        raise OracleUnavailable(f"can not keep the wheel of {requirement} in {cache}: {error}; {_advice()}") from error
    return target


def _fetched(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", *_DOWNLOAD, "--quiet", "--retries=1", f"--dest={folder}", requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("*.whl"), None)
    if run.returncode or wheel is None:
        reason = (run.stderr.strip() or "no wheel came").splitlines()[-1]
        raise OracleUnavailable(f"can not fetch the wheel of {requirement} ({reason}); {_advice()}")
    return wheel


def _check(wheel: Path, requirement: str) -> None:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != PINNED[requirement]:
        raise OracleUnavailable(
            f"{wheel.name} is not the pinned wheel of {requirement} "
            f"(sha256 {digest}, expected {PINNED[requirement]}); {_advice()}"
        )


def _advice() -> str:
    return (
        "these tests compare smgcfg with the real programs: give this machine access to a package index, or run "
        f"`python -m {' '.join(_DOWNLOAD)} --dest DIR REQUIREMENT` on Linux x86-64 for each of "
        f"{', '.join(PINNED)} and set SMGCFG_ORACLE_DIR=DIR"
    )
