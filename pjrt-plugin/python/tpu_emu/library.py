"""Where the library is, and the functions of its own that it exports."""

import ctypes
import os
from pathlib import Path

from tpu_emu.trace import Trace, read

FILE_NAME = "libpjrt_tpu_emu.so"
"""The name that a build gives the library."""

_LOADED_NAME = "libpjrt_tpu_emu"
_WRONG_STATE = 9
"""The code of the functions of the library where the process is the child of a fork."""
_MAPS = Path("/proc/self/maps")
_found: ctypes.CDLL | None = None


def library_path() -> Path:
    """The file of the plugin, for `TPU_LIBRARY_PATH` and `PJRT_NAMES_AND_LIBRARY_PATHS`.

    It is the one that `TPU_EMU_LIBRARY` names, else the one that this process has loaded, else
    one beside this package, else the release build of the checkout that the package is in.

    Raises:
        FileNotFoundError: where none of them is a file; the text says where it looked.
    """
    named = os.environ.get("TPU_EMU_LIBRARY")
    if named is not None:
        if Path(named).is_file():
            return Path(named)
        raise FileNotFoundError(f"TPU_EMU_LIBRARY={named} is no file")
    loaded = _loaded_paths()
    candidates = [*loaded, *_places()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = "".join(f"\n  {candidate}" for candidate in candidates)
    raise FileNotFoundError(
        f"there is no {FILE_NAME}: TPU_EMU_LIBRARY is not set,"
        f" {'the library loaded here is gone' if loaded else 'this process has none loaded'},"
        f" and none of these is a file:{looked}"
    )


def snapshot() -> Trace:
    """What lives now in the emulated memories of this process: one allocation a live block.

    Raises:
        RuntimeError: where this process has not loaded the library, or where the library
            refuses, for example in the child of a fork.
    """
    return read(take_bytes("tpu_emu_snapshot"))


def mark(name: str) -> None:
    """Names this moment in the trace, so that reports and commands can refer to it.

    `tpu_emu.read(FILE).held(name)`, `tpu-emu leaks --from NAME` and the report know it then.
    Without a trace (`TPU_EMU_TRACE`) it does nothing.

    Raises:
        TypeError: for a name that is no text.
        RuntimeError: where this process has not loaded the library, or where the library
            refuses, for example in the child of a fork.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a moment is a text, not {name!r}")
    text = name.encode(errors="replace")
    check("tpu_emu_mark", loaded(2).tpu_emu_mark(text, ctypes.c_size_t(len(text))))


def take_bytes(function: str, *arguments: object) -> bytes:
    """The trace that a function of the library gives.

    Raises:
        RuntimeError: where the library is not loaded, or refuses.
    """
    library = loaded(1)
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(function, library[function](*arguments, ctypes.byref(data), ctypes.byref(size)))
    try:
        return ctypes.string_at(data.value or 0, size.value)
    finally:
        library.tpu_emu_release(data, size)


def check(function: str, code: int) -> None:
    """Raises the error of a function of the library, by its code.

    Raises:
        RuntimeError: for every code but 0.
    """
    if code == _WRONG_STATE:
        raise RuntimeError(f"{function}: this is the child of a fork, and its parent has the TPU")
    if code != 0:
        raise RuntimeError(f"{function} failed with status code {code}")


def is_loaded() -> bool:
    """Whether this process has loaded the library, which JAX does when it first needs a device."""
    return _found is not None or any(_open_loaded(path) is not None for path in _loaded_paths())


def loaded(version: int) -> ctypes.CDLL:
    """The library of this process, if its interface has at least this version.

    Raises:
        RuntimeError: where none is loaded, or an older one.
    """
    global _found  # noqa: PLW0603 (a library stays where it is)
    if _found is None:
        _found = _loaded()
    has = _found.tpu_emu_snapshot_version()
    if has < version:
        raise RuntimeError(
            f"the library that is loaded has version {has} of this interface, {version} is needed"
        )
    return _found


def _places() -> list[Path]:
    package = Path(__file__).resolve().parent
    places = [package / FILE_NAME]
    checkout = package.parents[2]
    if (checkout / "pjrt-plugin" / "Cargo.toml").is_file():
        target = os.environ.get("CARGO_TARGET_DIR") or "target"
        places.append(checkout / target / "release" / FILE_NAME)
    return places


def _loaded_paths() -> list[Path]:
    """The files of loaded libraries that are ours, in the order of addresses.

    They are those with our name, else those that export our functions, whatever they are called.
    """
    try:
        maps = _MAPS.read_text(errors="surrogateescape")
    except OSError:
        return []
    code: dict[str, list[range]] = {}
    for line in maps.splitlines():
        # Address, rights, offset, device, inode, path; a path may hold spaces.
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            ranges = code.setdefault(fields[5].removesuffix(" (deleted)"), [])
            if "x" in fields[1]:
                first, _, last = fields[0].partition("-")
                ranges.append(range(int(first, 16), int(last, 16)))
    named = [path for path in code if _LOADED_NAME in path.rpartition("/")[2]]
    return [Path(path) for path in named or code if named or _exports(path, code[path])]


def _exports(path: str, code: list[range]) -> bool:
    """Whether the loaded library at `path` has our functions in its own code."""
    library = _open_loaded(Path(path)) if code else None
    if library is None:
        return False
    # A library that depends on ours has the name too, but not the function.
    address = ctypes.cast(library.tpu_emu_snapshot, ctypes.c_void_p).value or 0
    return any(address in part for part in code)


def _loaded() -> ctypes.CDLL:
    for path in _loaded_paths():
        library = _open_loaded(path)
        if library is not None:
            return library
    raise RuntimeError(
        f"{FILE_NAME} is not loaded in this process, under this or another name: let JAX load it"
        " first, for example by jax.devices()"
    )


def _open_loaded(path: Path) -> ctypes.CDLL | None:
    """The library at `path` with its functions declared; None where it is not loaded."""
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        take, release = library.tpu_emu_snapshot, library.tpu_emu_release
    except (OSError, AttributeError):
        return None
    take.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
    take.restype = ctypes.c_int
    release.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    release.restype = None
    return library
