"""Runs cases of given numbers on both backends, and says what it found, a line of JSON each."""

import functools
import json
import os
import sys
import traceback
import warnings
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import contexts
import elementwise
import folds
import names
import places
import sums
from drawn import TYPES, Case, Dice

FAMILIES = {
    f"{module.__name__}: {name}": make
    for module in (elementwise, folds, places, sums, names)
    for name, make in module.FAMILY.items()
}
# Types that every round has; of the others every third.
COMMON = [
    "bool",
    "int4",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
# What takes few types.
NARROW = ("sums: fft", "sums: linear")
TAKEN = ["int32", "bfloat16", "float32", "float64", "complex64", "complex128"]


def pairs_of(turn: int, only: str) -> list[tuple[str, str]]:
    """Operations and types of a round, in an order of its own."""
    found = [
        (name, of)
        for name in FAMILIES
        if not only or any(part in name for part in only.split(","))
        for of in (TAKEN if name.startswith(NARROW) else TYPES)
        if of in COMMON or zlib.crc32(f"{name} {of}".encode()) % 3 == turn % 3
        # XLA's CPU backend writes past its memory when it sorts elements of two bits.
        if not (of in ("int2", "uint2") and ("sort" in name or "median" in name))
    ]
    return [found[at] for at in np.random.default_rng(turn).permutation(len(found))]


# What a number behind the last case of its round is.
PAST = "past the round"
# More than a round has.
ROUND = 9000


@functools.cache
def cached(turn: int, only: str) -> list[tuple[str, str]]:
    return pairs_of(turn, only)


def case_of(number: int, only: str = "") -> tuple[str, str, str, Case | None, str]:
    """The case of a number: every round has all operations with all types."""
    turn, place = divmod(number, ROUND)
    pairs = cached(turn, only)
    if place >= len(pairs):
        return "", "", "", None, PAST
    name, of = pairs[place]
    dice = Dice(turn, name, of)
    try:
        case = FAMILIES[name](dice)
        around = dice.pick(contexts.NAMES)
        return name, of, around, contexts.within(around, case, dice), ""
    except Exception as error:
        return name, of, "", None, f"{type(error).__name__}: {error}"


def differs(got: np.ndarray, wanted: np.ndarray, units: float | None) -> str:
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if units is None or not got.size:
        return ""
    of = wanted.dtype
    if of.kind in "iub" or not jnp.issubdtype(of, jnp.inexact):
        same = got == wanted
    else:
        complex_ = of.kind == "c"
        eps = float(ml_dtypes.finfo(of).eps)
        tiny = float(ml_dtypes.finfo(of).tiny)
        wide = np.complex128 if complex_ else np.float64
        a, b = got.astype(wide), wanted.astype(wide)
        if eps > 1e-4:
            units = min(units, 24 if eps < 0.01 else 3)
        with np.errstate(all="ignore"):
            size = np.abs(b)
            finite = size[np.isfinite(size)]
            scale = max(float(finite.max()) if finite.size else 1.0, 1.0)
            bound = (
                units
                * eps
                * (
                    np.where(np.isfinite(size), size, 0)
                    + (scale if units >= 200 or eps > 1e-4 else 1e-6 * scale)
                )
                + tiny
            )
            same = (a == b) | (np.abs(a - b) <= bound)
        if complex_:
            same |= ~np.isfinite(b)
        else:
            same |= np.isnan(a) & np.isnan(b)
    if same.all():
        return ""
    at = tuple(np.argwhere(~same)[0].tolist())
    return (
        f"{int((~same).sum())} of {same.size}, first at {list(at)}: {got[at]!r} for {wanted[at]!r}"
    )


def run(
    function: Any, operands: list[np.ndarray], device: Any
) -> tuple[list[np.ndarray] | None, str]:
    try:
        with jax.default_device(device):
            placed = [jax.device_put(x, device) for x in operands]
            return [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*placed))], ""
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return None, text


def judge(case: Case) -> dict[str, Any]:
    say("cpu")
    wanted, refused = run(case.function, case.operands, jax.devices("cpu")[0])
    say("tpu")
    got, ours = run(case.function, case.operands, jax.devices("tpu")[0])
    if got is None and wanted is None:
        return {"is": "refused by both", "why": ours[:300]}
    if got is None:
        return {"is": "REFUSED", "why": ours[:1500]}
    if wanted is None:
        return {"is": "refused by the CPU", "why": refused[:300]}
    if len(got) != len(wanted):
        return {"is": "DIFFERS", "why": "number of results"}
    found = [
        f"result {at}: {what}"
        for at, (a, b) in enumerate(zip(got, wanted, strict=True))
        if (what := differs(a, b, case.units))
    ]
    return {"is": "DIFFERS", "why": "; ".join(found)[:800]} if found else {"is": "same"}


def say(what: str) -> None:
    sys.stdout.write(json.dumps({"at": what}) + "\n")
    sys.stdout.flush()


def told(case: Case) -> dict[str, Any]:
    """What a report has of a case."""
    shapes = [f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in case.operands]
    return {"label": case.label[:600], "shapes": shapes}


def show(case: Case, *, operands: bool) -> None:
    """Prints a case for a reader."""
    print(jax.jit(case.function).trace(*case.operands).jaxpr)
    if operands:
        print(*case.operands, sep="\n")


def main() -> None:
    """Runs the numbers from the first argument up to the second."""
    first, end, only = int(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:4])
    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    for number in range(first, end):
        name, of, around, case, why = case_of(number, only)
        about = {"number": number, "family": name, "type": of, "around": around}
        if case is None:
            kind = "past" if why == PAST else "not made"
            print(json.dumps({**about, "is": kind, "why": why[:300]}), flush=True)
            continue
        about |= told(case)
        print(json.dumps({"begun": about}), flush=True)
        if "SHOW" in os.environ:
            show(case, operands=os.environ["SHOW"] == "2")
        try:
            found = judge(case)
        except Exception:
            found = {"is": "sweep", "why": traceback.format_exc()[-500:]}
        print(json.dumps({**about, **found}), flush=True)
        if number % 50 == 49:
            jax.clear_caches()


if __name__ == "__main__":
    main()
