"""Which names of Python keep arrays alive."""

import collections
import contextlib
import functools
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

_MOST = 5_000_000
"""Objects that are looked at; a search that meets more ends, and says so of what it lacks."""

_FEW = 100
"""Arrays of which it is asked who refers to them: that looks at all objects for each of them."""
_OF_THE_PROGRAM = 2
"""How many groups of roots are the program's own: its frames and `__main__`, and its modules."""

_PACKAGE = str(Path(__file__).parent)
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


def holders(of: Iterable[Any] | None = None) -> tuple[Holder, ...]:
    """Of each live array of JAX the shortest path of names that keeps it, the largest first.

    With `of` only those arrays are looked for. Variables of running functions and modules of the
    program come first, then those of installed packages, JAX's own last. Objects that only C holds,
    and those in a cycle that nothing leads to, have no path.

    Raises:
        RuntimeError: where JAX is not imported.
    """
    jax = sys.modules.get("jax")
    if jax is None:
        raise RuntimeError("JAX is not imported, so that there are no arrays")
    given = jax.live_arrays() if of is None else list(of)
    arrays = [array for array in given if not array.is_deleted()]
    del given
    found = [
        Holder(
            path,
            why,
            str(array.dtype),
            tuple(array.shape),
            array.dtype.itemsize * array.size,
        )
        for array, (path, why) in zip(arrays, paths_to(arrays), strict=True)
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.nbytes, holder.path, holder.shape)))


def paths_to(arrays: list[Any]) -> list[tuple[str, str]]:
    """Of each array the shortest path of names that keeps it, and where there is none, why."""
    paths, is_whole = _paths(arrays)
    nowhere = (
        "no name of Python leads to it: native code holds it, or a cycle that gc.collect() frees"
        if is_whole
        else f"not found among the first {_MOST:,} objects"
    )
    found = (paths.get(id(array), "") for array in arrays)
    return [(path, "" if path else nowhere) for path in found]


def _paths(arrays: list[Any]) -> tuple[dict[int, str], bool]:
    """The paths to objects, by their ids, and whether all objects were looked at."""
    found: dict[int, str] = {}
    wanted = {id(array) for array in arrays}
    seen = {id(arrays)}
    # What this search is made of leads to everything.
    seen.update(map(id, (found, seen, wanted)))
    for number, roots in enumerate(_roots()):
        if number == _OF_THE_PROGRAM:
            wanted &= found.keys() | _referred(arrays, found)
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


def _referred(arrays: list[Any], found: dict[int, str]) -> set[int]:
    """Those of some arrays that any object of Python refers to, by their ids.

    One that native code alone holds is not worth a search through all packages.
    """
    left = [array for array in arrays if id(array) not in found]
    ids = {id(array) for array in left}
    if not left or len(left) > _FEW:
        return ids
    referred: set[int] = set()
    for referrer in gc.get_referrers(*left):
        if referrer is not arrays and referrer is not left:
            referred.update(map(id, gc.get_referents(referrer)))
    return ids & referred


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
            if not code.co_filename.startswith(_PACKAGE) and code.co_name != "<module>":
                found += [(f"{code.co_qualname}(){name}", part) for name, part in _variables(at)]
            at = at.f_back
    return found


def _parts(value: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401 (anything)
    """What an object refers to, each with how it is reached."""
    for kinds, parts in _KINDS:
        if isinstance(value, kinds):
            return parts(value)
    return list(_of_object(value))


def _of_dict(value: dict[Any, Any]) -> list[tuple[str, Any]]:
    return [(f"[{_key(key)}]", part) for key, part in list(value.items())]


def _of_sequence(value: Sequence[Any]) -> list[tuple[str, Any]]:
    names = getattr(type(value), "_fields", ())
    return [
        (f".{names[at]}" if at < len(names) else f"[{at}]", part)
        for at, part in enumerate(list(value))
    ]


def _variables(frame: types.FrameType | None) -> list[tuple[str, Any]]:
    """The variables of a function that runs, waits, or ended with an exception."""
    if frame is None:
        return []
    return [(f".{name}", part) for name, part in list(frame.f_locals.items())]


def _of_traceback(traceback: types.TracebackType) -> Iterator[tuple[str, Any]]:
    """Variables of the functions in which an exception was raised, the innermost last."""
    at: types.TracebackType | None = traceback
    while at is not None:
        name = at.tb_frame.f_code.co_qualname
        if name != "<module>":
            yield from ((f".<{name}()>{part}", value) for part, value in _variables(at.tb_frame))
        at = at.tb_next


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


def _of_exception(value: BaseException) -> Iterator[tuple[str, Any]]:
    names = ("__traceback__", "__cause__", "__context__")
    yield from ((f".{name}", getattr(value, name)) for name in names)
    yield from _of_object(value)


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
    for name, part in _slots(value):
        named.add(id(part))
        yield f".{name}", part
    for part in gc.get_referents(value):
        if id(part) not in named and not isinstance(part, type):
            yield f".<{type(part).__name__}>", part


def _slots(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 (anything)
    for kind in type(value).__mro__:
        for name, slot in list(vars(kind).items()):
            if isinstance(slot, types.MemberDescriptorType) and not name.startswith("__"):
                with contextlib.suppress(AttributeError, TypeError):
                    yield name, slot.__get__(value, type(value))


_KINDS: tuple[tuple[Any, Callable[[Any], Iterable[tuple[str, Any]]]], ...] = (
    (dict, _of_dict),
    ((list, tuple, collections.deque), _of_sequence),
    ((set, frozenset), lambda value: [("{…}", part) for part in list(value)]),
    (types.FunctionType, _of_function),
    (types.MethodType, lambda value: [(".__self__", value.__self__), ("", value.__func__)]),
    (
        functools.partial,
        lambda value: [(".args", value.args), (".keywords", value.keywords), (".func", value.func)],
    ),
    (types.ModuleType, lambda _: []),
    (types.GeneratorType, lambda value: _variables(value.gi_frame)),
    (types.CoroutineType, lambda value: _variables(value.cr_frame)),
    (types.AsyncGeneratorType, lambda value: _variables(value.ag_frame)),
    (types.FrameType, _variables),
    (types.TracebackType, _of_traceback),
    (BaseException, _of_exception),
)
"""How the parts of an object are reached, by its kind."""


def _key(key: object) -> str:
    if isinstance(key, (str, int, bool)):
        return repr(key)
    return f"<{type(key).__name__}>"
