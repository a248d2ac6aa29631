"""Sizes as people write them."""

import re
from fractions import Fraction

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")


def size(given: object) -> int:
    """Bytes of a number, or of a text such as `2 GiB`, `1.5 GiB`, `200 MB`, `4096`.

    Raises:
        ValueError: for what is no size.
    """
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"{given!r} is no size: 2 GiB, 200 MB, 512 KiB or a number of bytes")
    # Exactly: a float has not all numbers of bytes that there are.
    return round(Fraction(found[1]) * _UNITS[found[2].upper()])
