"""The module in Rust that reads traces: of an installed package, or built in the checkout."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

FILE_NAME = "libtpu_emu_native.so"
"""The name that a build gives the module."""

_NAME = "tpu_emu._native"


@cache
def module() -> Any:  # noqa: ANN401 (a module has no type of its own)
    """The module; `_native.pyi` says what it has.

    Raises:
        ImportError: where it was not built; the text says where it was looked for.
    """
    try:
        return importlib.import_module(_NAME)
    except ModuleNotFoundError:
        pass
    places = _places()
    for path in places:
        if path.is_file():
            return _load(path)
    looked = "".join(f"\n  {path}" for path in places)
    raise ImportError(
        "the part of tpu_emu that reads traces was not built: the package is not installed,"
        f" and none of these is a file (cargo build --release -p tpu-py makes one):{looked}"
    )


def _load(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[_NAME] = module
    return module


def _places() -> list[Path]:
    """Where a checkout has it: beside the library that is named, and where cargo puts it."""
    places = []
    if named := os.environ.get("TPU_EMU_LIBRARY"):
        places.append(Path(named).with_name(FILE_NAME))
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pjrt-plugin" / "Cargo.toml").is_file():
        target = checkout / (os.environ.get("CARGO_TARGET_DIR") or "target")
        places += [target / build / FILE_NAME for build in ("release", "debug")]
    return places
