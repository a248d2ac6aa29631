"""Runs a function in a process of its own, forked off before any device has been started."""

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

FORK = multiprocessing.get_context("fork")


class FailedError(RuntimeError):
    """The process has not answered; the text says why."""


def apart(function: Callable[..., Any], *arguments: Any, timeout_s: float = 120) -> Any:
    """What the function returns.

    Raises:
        FailedError: it has raised, ended early, or taken too long.
    """
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_answer, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout_s):
            raise FailedError(f"no answer in {timeout_s:.0f} s")
        try:
            worked, answer = ours.recv()
        except EOFError:
            process.join()
            raise FailedError(f"the process ended with {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if not worked:
        raise FailedError(answer)
    return answer


def _answer(out: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = (True, function(*arguments))
    except Exception:  # noqa: BLE001 (whatever it is, the parent tells it)
        answer = (False, traceback.format_exc())
    out.send(answer)
