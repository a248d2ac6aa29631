"""What JAX finds as an installed plugin: with `JAX_PLATFORMS=tpu` the TPU is the emulated one.

JAX imports this module in every program where the package is installed, and calls `initialize`
before it makes a backend. It changes nothing for a program that did not ask.
"""

import importlib
import importlib.util
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("tpu_emu")

_TPU = "tpu"
_GOOGLE = "0x1ae0"
_NOT_A_CHIP = ("0x01", "0x02")
"""Classes of PCI devices that Google's machines without TPUs have from it: disks, networks."""


def initialize() -> None:
    """Gives JAX the emulated TPU, if the program asked for one and there is no other.

    It asks by `JAX_PLATFORMS` with `tpu` in it, or the same in `jax.config`, or by `TPU_EMU=1`.
    With `TPU_EMU=1` the emulated TPU comes before a real one; `TPU_EMU=0` keeps it out.
    """
    forced = os.environ.get("TPU_EMU")
    if forced == "0" or not _is_asked_for(forced=forced == "1"):
        return
    if forced != "1":
        for why in _others():
            _LOG.info("%s: JAX gets no emulated TPU; with TPU_EMU=1 it would", why)
            return
    from tpu_emu.library import library_path  # noqa: PLC0415 (for programs that ask)

    path = str(library_path().resolve())
    if not _load(path):
        os.environ["TPU_LIBRARY_PATH"] = path


def _is_asked_for(*, forced: bool) -> bool:
    platforms = _platforms()
    if not platforms:
        return forced
    return _TPU in (name.strip() for name in platforms.split(","))


def _platforms() -> str:
    """The platforms that the program names, with commas between them; empty for none."""
    import jax  # noqa: PLC0415 (JAX is there: it calls)

    named = getattr(jax.config, "jax_platforms", None)
    return named if named is not None else os.environ.get("JAX_PLATFORMS", "")


def _others() -> Iterator[str]:
    """What says that JAX has another TPU, or another library for it."""
    if os.environ.get("TPU_LIBRARY_PATH"):
        yield "TPU_LIBRARY_PATH is set"
    if importlib.util.find_spec("libtpu") is not None:
        yield "libtpu is installed"
    if Path("/dev/vfio").exists():
        yield "there is /dev/vfio"
    for device in sorted(Path("/dev").glob("accel*")):
        yield f"there is {device}"
    for vendor in sorted(Path("/sys/bus/pci/devices").glob("*/vendor")):
        if _read(vendor) == _GOOGLE and not _read(vendor.with_name("class")).startswith(
            _NOT_A_CHIP
        ):
            yield f"{vendor.parent} is a TPU"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _load(path: str) -> bool:
    """Loads the plugin as JAX's own TPU backend does, which then finds it loaded.

    No variable of the environment says so, which programs that this one starts would inherit.
    False where this JAX has no such functions.
    """
    bridge: Any = importlib.import_module("jax._src.xla_bridge")
    try:
        clients = bridge.xla_client
        profiler = bridge._profiler if hasattr(bridge, "_profiler") else clients.profiler  # noqa: SLF001
        if not clients.pjrt_plugin_loaded(_TPU):
            api = clients.load_pjrt_plugin_dynamically(_TPU, path)
            profiler.register_plugin_profiler(api)
    except AttributeError:
        return False
    return True
