"""The package as an installer leaves it, for programs that find it by its entry points."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pjrt-plugin" / "python"


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """A folder as an installer leaves it: the package, and what says that it is one."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = folder / f"tpu_emu-{project['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: tpu-emu\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    (told / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {to}\n" for name, to in points.items())
            for group, points in groups
        )
    )
    (folder / "tpu_emu").symlink_to(PACKAGE / "tpu_emu")
    return folder
