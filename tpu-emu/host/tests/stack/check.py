"""Captures of the probe library against what the interpreter says of itself.

usage: check.py LIBRARY CASE, with the name of a function `case_...` below.
"""

import asyncio
import atexit
import ctypes
import gc
import os
import sys
import threading

SUPPORTED = (3, 11) <= sys.version_info < (3, 15)
FULL, NATIVE, PYTHON, OFF = range(4)

UNLOCKED = ctypes.CDLL(sys.argv[1])
LOCKED = ctypes.PyDLL(sys.argv[1])
for library in (UNLOCKED, LOCKED):
    library.probe_capture.restype = ctypes.c_char_p
    library.probe_unwinders.restype = ctypes.c_char_p


def walked(frame):
    """The interpreter's own list: function, file, line, innermost first."""
    found = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        found.append((name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def parsed(text):
    lines = [line.split("\t") for line in text.decode("utf-8", "replace").splitlines()]
    return [(kind, name, file, int(line)) for kind, name, file, line in lines]


def python_part(stack):
    return [frame[1:] for frame in stack if frame[0] == "py"]


def check():
    """Captures here in every mode and compares."""
    for library in (UNLOCKED, LOCKED):
        capture = library.probe_capture
        full, expected = capture(FULL), walked(sys._getframe())
        compare(parsed(full), expected)
        alone, expected = capture(PYTHON), walked(sys._getframe())
        assert python_part(parsed(alone)) == (expected if SUPPORTED else []), alone.decode()
        native = parsed(capture(NATIVE))
        assert native and python_part(native) == [], native
        assert capture(OFF) == b""
        check_unwinders(library)
    return True


def check_unwinders(library):
    """Every unwinder finds the same frames, native and Python."""
    first, *others = library.probe_unwinders().split(b"\f")
    assert all(other == first for other in others), "\n\n".join(map(bytes.decode, [first, *others]))
    return first


def compare(stack, expected):
    if not SUPPORTED:
        assert python_part(stack) == [], stack
        return
    found = python_part(stack)
    assert found == expected, "\n".join(map(str, ["found", *found, "expected", *expected]))
    for at, (inner, outer) in enumerate(zip(stack, stack[1:])):
        if inner[0] == "py" and outer[0] == "c":
            # Some functions may be inlined into it.
            names = [frame[1] for frame in stack[at + 1 : at + 4]]
            assert any(name.startswith("_PyEval_EvalFrameDefault") for name in names), names
    assert stack[0][1] == "probe_capture", stack[0]
    assert stack[-1][0] == "c", stack[-1]


class Thing:
    def __init__(self):
        self.checked = check()

    def __enter__(self):
        return check()

    def __exit__(self, *_):
        check()

    @property
    def value(self):
        return check()

    def __eq__(self, _):
        return check()

    __hash__ = None


def case_calls():
    assert check()
    assert Thing().value
    with Thing():
        pass
    assert Thing() == 1
    assert [check() for _ in range(2)] == [True, True]
    sorted([2, 1], key=lambda _: check())
    max([2], key=lambda _: sorted([1], key=lambda _: (lambda: check())()))
    eval(compile("\n\n\ncheck()", "in a string", "eval"))
    source = "def été():\n  return check()\ndef α():\n  return été()\nα()"
    for file in ("plain", "été", "α", "😀"):
        exec(compile(source, file, "exec"), {"check": check})
    try:
        raise ValueError
    except ValueError:
        check()
    finally:
        check()


def case_generators():
    def numbers():
        yield check()
        yield from numbers_of(numbers_of([1]))

    def numbers_of(what):
        for _ in what:
            yield check()

    assert all(numbers())
    assert list(map(bool, numbers())) == [True, True]
    generator = numbers()
    next(generator)
    try:
        generator.throw(ValueError)
    except ValueError:
        check()

    async def inner():
        await asyncio.sleep(0)
        return check()

    async def outer():
        await asyncio.gather(inner(), inner())
        async for _ in stream():
            check()
        return await inner()

    async def stream():
        yield check()
        await asyncio.sleep(0)
        yield check()

    assert asyncio.run(outer())


def case_code_that_comes_and_goes():
    addresses = set()
    for n in range(4000):
        pad = "\n" * (n % 7)
        name = f"f{n % 11}" if n % 2 else f"g{n % 13}"
        source = f"{pad}def {name}(check):\n  check()\n  return {name}.__code__\n"
        scope = {}
        exec(compile(source, f"file-{n % 17}", "exec"), scope)
        addresses.add(id(scope[name](light_check)))
        del scope
        if n % 100 == 0:
            gc.collect()
    assert len(addresses) < 4000, "no address was used again, so this tested nothing"


def light_check():
    text, expected = LOCKED.probe_capture(PYTHON), walked(sys._getframe())
    assert python_part(parsed(text)) == (expected if SUPPORTED else [])


def case_threads():
    threading.stack_size(256 << 10)
    failures = []

    def work():
        try:
            for _ in range(20):
                case_code_of_thread()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def case_code_of_thread():
    sorted([1], key=lambda _: light_check())
    check_unwinders(LOCKED)


def case_deep_recursion():
    sys.setrecursionlimit(5000)

    def down(n):
        return down(n - 1) if n else (LOCKED.probe_capture(FULL), walked(sys._getframe()))

    text, expected = down(3000)
    found = python_part(parsed(text))
    assert not SUPPORTED or 500 < len(found) < 3000
    assert found == expected[: len(found)]

    def through_c(n):
        if n:
            return list(map(through_c, [n - 1]))[0]
        assert check_unwinders(LOCKED).count(b"\n") > 500
        return LOCKED.probe_capture(FULL), walked(sys._getframe())

    text, expected = through_c(400)
    stack = parsed(text)
    found = python_part(stack)
    assert found == (expected if SUPPORTED else [])
    assert sum(frame[0] == "c" for frame in stack) >= 500


def case_fork():
    check()
    child = os.fork()
    if child == 0:
        try:
            check()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


class AtTheEnd:
    """Lives until the modules are torn down."""

    capture = UNLOCKED.probe_capture
    locked = LOCKED.probe_capture

    def __del__(self):
        for capture in (self.capture, self.locked):
            for mode in range(4):
                capture(mode)
        os.write(1, b"torn down\n")


def case_tear_down():
    atexit.register(check)
    global kept
    kept = AtTheEnd()
    check()


def case_shutdown_with_threads():
    def forever():
        while True:
            UNLOCKED.probe_capture(FULL)
            UNLOCKED.probe_unwinders()

    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    check()


def case_libraries_that_come_and_go():
    import _ctypes
    import pathlib
    import shutil
    import tempfile

    source = pathlib.Path(_ctypes.__file__)
    stop = threading.Event()

    def capture():
        while not stop.is_set():
            light_check()

    thread = threading.Thread(target=capture)
    thread.start()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(60):
            copy = shutil.copy(source, f"{folder}/{n % 3}.so")
            handle = _ctypes.dlopen(copy, os.RTLD_NOW)
            text, expected = UNLOCKED.probe_capture(FULL), walked(sys._getframe())
            compare(parsed(text), expected)
            check_unwinders(UNLOCKED)
            _ctypes.dlclose(handle)
            os.unlink(copy)
    stop.set()
    thread.join()


def case_signal():
    import signal

    results = []
    signal.signal(signal.SIGALRM, lambda *_: results.append(check()))
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while not results:
        sum(range(100))
    assert results == [True]


globals()[sys.argv[2]]()
