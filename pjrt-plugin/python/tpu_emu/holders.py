"""Which names of Python keep arrays alive."""

import collections
import contextlib
import functools
import gc
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

_MOST = 5_000_000
"""Objects that are looked at; a search that meets more ends, and says so of what it lacks."""

_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), range, types.CodeType)


@dataclass(frozen=True, slots=True)
class Holder:
    """An array that lives, and what keeps it.

    `path` is the shortest way of names that leads to it, such as `__main__.trainer.history[41]`,
    `main().batch` for a variable of a function that runs, or empty where no name leads to it.
    `why` says what that means. `nbytes` are the bytes of its elements, over all devices.
    """

    path: str
    why: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    def __str__(self) -> str:
        """`4,194,304 B  float32[1024,1024]  __main__.kept[3]`."""
        array = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        return f"{self.nbytes:>16,} B  {array}  {self.path or self.why}"


def holders() -> tuple[Holder, ...]:
    """Of each live array of JAX the shortest path of names that keeps it, the largest first.

    Variables of running functions and modules of the program come first, then those of installed
    packages, JAX's own last. Objects that only C holds, and those in a cycle that nothing leads to,
    have no path.

    Raises:
        RuntimeError: where JAX is not imported.
    """
    jax = sys.modules.get("jax")
    if jax is None:
        raise RuntimeError("JAX is not imported, so that there are no arrays")
    arrays = [array for array in jax.live_arrays() if not array.is_deleted()]
    paths, is_whole = _paths({id(array) for array in arrays}, {id(arrays)})
    nowhere = (
        "no name of Python leads to it: native code holds it, or a cycle that gc.collect() frees"
        if is_whole
        else f"not found among the first {_MOST:,} objects"
    )
    found = [
        Holder(
            path,
            "" if path else nowhere,
            str(array.dtype),
            tuple(array.shape),
            array.dtype.itemsize * array.size,
        )
        for array in arrays
        for path in [paths.get(id(array), "")]
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.nbytes, holder.path, holder.shape)))


def _paths(wanted: set[int], skipped: set[int]) -> tuple[dict[int, str], bool]:
    """The paths to objects, by their ids, and whether all objects were looked at."""
    found: dict[int, str] = {}
    seen = set(skipped)
    # What this search is made of leads to everything.
    seen.update(map(id, (found, seen, wanted, skipped)))
    for roots in _roots():
        queue: collections.deque[tuple[str, Any]] = collections.deque(roots)
        seen.add(id(queue))
        while queue and len(found) < len(wanted):
            path, value = queue.popleft()
            key = id(value)
            if key in seen or isinstance(value, _PLAIN):
                continue
            seen.add(key)
            if key in wanted:
                found[key] = path
                continue
            if len(seen) > _MOST:
                return found, False
            queue.extend((path + name, part) for name, part in _parts(value))
        if len(found) == len(wanted):
            break
    return found, True


def _roots() -> Iterator[list[tuple[str, Any]]]:
    """Where paths begin, in the order in which a reader looks."""
    modules = sorted(sys.modules.items())
    yield [*_frames(), *_names("__main__", sys.modules.get("__main__"))]
    ours, packages, jax = [], [], []
    for name, module in modules:
        file = getattr(module, "__file__", None) or ""
        if name == "__main__" or name.startswith("tpu_emu"):
            continue
        if name.split(".")[0] in ("jax", "jaxlib"):
            jax.append((name, module))
        elif "-packages" in file or "/lib/python" in file or not file:
            packages.append((name, module))
        else:
            ours.append((name, module))
    for group in (ours, packages, jax):
        yield list(chain.from_iterable(_names(name, module) for name, module in group))


def _names(name: str, module: object) -> list[tuple[str, Any]]:
    variables = getattr(module, "__dict__", None)
    if not isinstance(variables, dict):
        return []
    return [(f"{name}.{key}", value) for key, value in list(variables.items())]


def _frames() -> list[tuple[str, Any]]:
    """The variables of all functions that run, innermost first, but for this search."""
    found = []
    for frame in list(sys._current_frames().values()):  # noqa: SLF001 (the public way to it)
        at: types.FrameType | None = frame
        while at is not None:
            code = at.f_code
            if code.co_filename != __file__ and code.co_name != "<module>":
                variables = list(at.f_locals.items())
                found += [(f"{code.co_qualname}().{name}", value) for name, value in variables]
            at = at.f_back
    return found


def _parts(value: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401, PLR0911 (a row a kind)
    """What an object refers to, each with how it is reached."""
    if isinstance(value, dict):
        return [(f"[{_key(key)}]", part) for key, part in list(value.items())]
    if isinstance(value, (list, tuple, collections.deque)):
        names = getattr(type(value), "_fields", ())
        return [
            (f".{names[at]}" if at < len(names) else f"[{at}]", part)
            for at, part in enumerate(list(value))
        ]
    if isinstance(value, (set, frozenset)):
        return [("{…}", part) for part in list(value)]
    if isinstance(value, types.FunctionType):
        return list(_of_function(value))
    if isinstance(value, types.MethodType):
        return [(".__self__", value.__self__), ("", value.__func__)]
    if isinstance(value, functools.partial):
        return [(".args", value.args), (".keywords", value.keywords), (".func", value.func)]
    if isinstance(value, types.ModuleType):
        return []
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        variables = list(frame.f_locals.items()) if frame else []
        return [(f".<variable {name}>", part) for name, part in variables]
    return list(_of_object(value))


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f".<closure {name}>", cell.cell_contents
        except ValueError:
            continue
    for at, default in enumerate(function.__defaults__ or ()):
        yield f".<default {at}>", default
    for name, default in (function.__kwdefaults__ or {}).items():
        yield f".<default {name}>", default
    for name, part in list(function.__dict__.items()):
        yield f".{name}", part


def _of_object(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 (anything)
    """Attributes by their names, then whatever else the collector knows of."""
    named: set[int] = set()
    variables = None
    with contextlib.suppress(AttributeError, TypeError):
        variables = object.__getattribute__(value, "__dict__")
    if isinstance(variables, (dict, types.MappingProxyType)):
        for name, part in list(variables.items()):
            named.add(id(part))
            yield f".{name}", part
        named.add(id(variables))
    for kind in type(value).__mro__:
        for name, slot in list(vars(kind).items()):
            if isinstance(slot, types.MemberDescriptorType) and not name.startswith("__"):
                try:
                    part = slot.__get__(value, type(value))
                except (AttributeError, TypeError):
                    continue
                named.add(id(part))
                yield f".{name}", part
    for part in gc.get_referents(value):
        if id(part) not in named and not isinstance(part, type):
            yield f".<{type(part).__name__}>", part


def _key(key: object) -> str:
    if isinstance(key, (str, int, bool)):
        return repr(key)
    return f"<{type(key).__name__}>"
