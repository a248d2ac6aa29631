"""How near two arrays are."""

import ml_dtypes
import numpy as np

import generate


def parts(of: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs."""
    if of.dtype.kind != "c":
        return of
    return np.stack([of.real, of.imag], -1)


def first_difference(found: np.ndarray, wanted: np.ndarray) -> str:
    """Where two arrays differ first, and how."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    raw = [np.frombuffer(of.tobytes(), np.uint8) for of in (found, wanted)]
    at = int(np.flatnonzero(raw[0] != raw[1])[0]) // found.dtype.itemsize
    place = tuple(int(index) for index in np.unravel_index(at, found.shape))
    return f"{found[place]!r} for {wanted[place]!r} at {place} of {found.shape}"


def limits(dtype: np.dtype) -> tuple[float, float]:
    """The relative distance of neighbours, and the least normal number."""
    info = ml_dtypes.finfo(dtype)
    return float(info.eps), float(info.smallest_normal)


def has_subnormals(of: np.ndarray) -> bool:
    """Whether there is what XLA takes for zero, here and there."""
    if is_whole(of):
        return False
    size = np.abs(parts(of).astype(np.float64))
    return bool(((size > 0) & (size < limits(parts(of).dtype)[1])).any())


def is_whole(of: np.ndarray) -> bool:
    """Whether it is of integers or booleans."""
    return of.dtype.kind in "biu" or "int" in str(of.dtype)


def sizes(line: generate.Line, wanted: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    """What the bound of a line is a part of: the number, the modulus, or the sum of magnitudes."""
    numbers = parts(wanted).astype(np.float64)
    if wanted.dtype.kind == "c":
        modulus = np.abs(wanted) if scale is None else 2 * np.abs(scale)
        return np.broadcast_to(modulus[..., None].astype(np.float64), numbers.shape)
    if line.bound == "sum" and scale is not None:
        return np.abs(scale).astype(np.float64)
    return np.abs(numbers)


def near(
    line: generate.Line, found: np.ndarray, wanted: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """For each number whether it is near enough, with so many steps of room."""
    dtype = parts(found).dtype
    eps, tiny = limits(dtype)
    a, b = (parts(of).astype(np.float64) for of in (found, wanted))
    if found.dtype.kind == "c":
        # What is infinite or no number is so in other parts.
        odd = np.logical_not(np.isfinite(a).all(-1) & np.isfinite(b).all(-1))
        a, b = (np.where(odd[..., None], 0, of) for of in (a, b))
    good = (a == b) | (np.isnan(a) & np.isnan(b)) | ((np.abs(a) < tiny) & (np.abs(b) <= tiny))
    if not line.amount:
        return good
    good |= np.abs(a - b) <= line.amount * eps * room + 2 * tiny
    # Past the largest number, or almost.
    edge = float(ml_dtypes.finfo(dtype).max) * (1 - 64 * eps)
    past = (np.isinf(a) & (np.abs(b) > edge)) | (np.isinf(b) & (np.abs(a) > edge))
    return good | (past & (np.sign(a) == np.sign(b)))


def differs(
    line: generate.Line,
    inputs: list[np.ndarray],
    found: np.ndarray,
    wanted: np.ndarray,
    scale: np.ndarray | None,
) -> str | None:
    """Says how a value is not what XLA gives, if it is not."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape}, XLA {wanted.dtype}{wanted.shape}"
    if found.tobytes() == wanted.tobytes() or any(map(has_subnormals, inputs)):
        return None
    if is_whole(found):
        return first_difference(found, wanted) + " of XLA"
    with np.errstate(all="ignore"):
        size = sizes(line, wanted, scale)
        # What is infinite or no number may be taken times a zero of the padding, or left out.
        finite = all(np.isfinite(of.astype(complex)).all() for of in inputs)
        if line.bound == "sum" and not (finite and np.isfinite(size).all()):
            return None
        good = near(line, found, wanted, size)
    if good.all():
        return None
    at = tuple(int(index) for index in np.argwhere(~good)[0])[: found.ndim]
    given = [of[at] if of.shape == found.shape else "…" for of in inputs]
    return f"{found[at]!r}, XLA {wanted[at]!r} of {given} at {at} of {found.shape}"
