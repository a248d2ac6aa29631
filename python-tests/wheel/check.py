"""A built wheel, as a user has it: `python check.py WHEEL SDIST`.

It is installed by pip beside the JAX that runs this, and looked at from outside: what pip brings,
how large it is, the command, JAX on the emulated TPU, stacks with files and lines.
The archive of sources has what builds it.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

LARGEST = 25_000_000

PROGRAM = """
import jax
import jax.numpy as jnp
import tpu_emu
assert jax.default_backend() == "tpu", jax.default_backend()
kept = jnp.ones((256, 256))
[change] = [change for change in tpu_emu.snapshot().live if change.spec.shape == (256, 256)]
ours = [frame for frame in change.stack if frame.file.endswith(".rs") and frame.line]
assert any(frame.function == "<module>" for frame in change.stack), change.stack
assert len(ours) > 2, change.stack
assert "site" in str(tpu_emu.library_path()), tpu_emu.library_path()
print(change.size)
"""


def look_at_sources(sdist: Path) -> None:
    """Unpacks the archive: cargo finds all crates of the workspace, pip the backend."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        [root] = Path(folder).iterdir()
        for name in ("PKG-INFO", "pyproject.toml", "pjrt-plugin/wheel/backend.py", "LICENSE"):
            assert (root / name).is_file(), name
        metadata = ["cargo", "metadata", "--offline", "--locked", "--no-deps"]
        told = subprocess.run(
            [*metadata, "--format-version=1"], cwd=root, check=True, capture_output=True
        )
        crates = {package["name"] for package in json.loads(told.stdout)["packages"]}
        assert crates >= {"pjrt-plugin", "tpu-cli", "tpu-py"}, crates


def main() -> int:
    """Installs the wheel and tries it; an assertion says what is wrong."""
    wheel, sdist = map(Path, sys.argv[1:])
    look_at_sources(sdist)
    assert wheel.name.endswith("-cp311-abi3-manylinux_2_28_x86_64.whl"), wheel.name
    assert wheel.stat().st_size <= LARGEST, wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        assert "Requires-Dist" not in archive.read(metadata).decode()
    assert "tpu_emu/py.typed" in names, names
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index"]
        subprocess.run([*install, "--target", site, wheel], check=True)
        left = ("PYTHONPATH", "TPU_EMU_LIBRARY", "TPU_LIBRARY_PATH")
        environment = {name: value for name, value in os.environ.items() if name not in left}
        environment |= {"PYTHONPATH": str(site), "JAX_PLATFORMS": "tpu"}
        trace = Path(folder) / "run.trace"
        program = [sys.executable, "-c", PROGRAM]
        subprocess.run(program, env=environment | {"TPU_EMU_TRACE": str(trace)}, check=True)
        subprocess.run([site / "bin" / "tpu-emu", "summary", trace], check=True)
        # A program that did not ask is as it was, and pytest has the markers.
        del environment["JAX_PLATFORMS"]
        program = [sys.executable, "-c", "import jax; print(jax.default_backend())"]
        told = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
        assert (told.stdout, told.stderr) == ("cpu\n", ""), told
        program = [sys.executable, "-m", "pytest", "--markers"]
        told = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
        assert "@pytest.mark.limit_hbm(size" in told.stdout, told
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, all of it works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
