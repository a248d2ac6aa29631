"""Builds the wheel: maturin's backend, after the plugin and the command were built.

`pip install .` in a clone needs Rust and nothing else; pip brings maturin. The wheel has the plugin
and the command as cargo builds them, so that recorded stacks say as much as those of a checkout.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import maturin
from maturin import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_CHECKOUT = Path(__file__).resolve().parents[2]
_DATA = _CHECKOUT / "target" / "wheel" / "data"
"""What `pyproject.toml` names to maturin."""

_BUILT = {
    "libpjrt_tpu_emu.so": "platlib/tpu_emu/libpjrt_tpu_emu.so",
    "tpu-emu": "scripts/tpu-emu",
}
"""What cargo builds, and where a wheel has it."""

Settings = dict[str, object] | None


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """The wheel, with the plugin and the command in it; returns its name."""
    build_data()
    name: str = maturin.build_wheel(
        wheel_directory, config_settings, metadata_directory
    )
    return name


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """A wheel that leads to this checkout; returns its name."""
    build_data()
    name: str = maturin.build_editable(
        wheel_directory, config_settings, metadata_directory
    )
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """All files of this checkout that git knows, as an archive; returns its name.

    maturin's has what the module in Rust needs, and neither the plugin nor the command.
    """
    told = subprocess.run(
        ["git", "ls-files", "-z"], cwd=_CHECKOUT, check=True, stdout=subprocess.PIPE
    )
    names = sorted(
        name
        for name in told.stdout.decode().split("\0")
        if (_CHECKOUT / name).is_file()
    )
    with tempfile.TemporaryDirectory() as folder:
        info = maturin.prepare_metadata_for_build_wheel(folder, config_settings)
        stem = info.removesuffix(".dist-info")
        archive = Path(sdist_directory) / f"{stem}.tar.gz"
        with tarfile.open(archive, "w:gz") as out:
            out.add(Path(folder) / info / "METADATA", f"{stem}/PKG-INFO")
            for name in names:
                out.add(_CHECKOUT / name, f"{stem}/{name}", recursive=False)
    return archive.name


def build_data() -> None:
    """Builds the plugin and the command, and puts them where maturin looks for them."""
    cargo = os.environ.get("CARGO", "cargo")
    # The whole workspace: packages by name have other features of what they share, and would be
    # built once more beside those of `make build`.
    subprocess.run([cargo, "build", "--release", "--locked"], cwd=_CHECKOUT, check=True)
    metadata = [cargo, "metadata", "--format-version=1", "--no-deps", "--offline"]
    told = subprocess.run(metadata, cwd=_CHECKOUT, check=True, stdout=subprocess.PIPE)
    release = Path(json.loads(told.stdout)["target_directory"]) / "release"
    shutil.rmtree(_DATA, ignore_errors=True)
    for name, place in _BUILT.items():
        path = _DATA / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(release / name, path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sdist"]:
        build_sdist(sys.argv[2])
    else:
        build_data()
