"""What the sweep finds and nobody has to look at again, each with its reason."""

from typing import Any

# What says nothing of the plugin.
QUIET = ("refused by both", "refused by the CPU", "not made", "the CPU backend ended")
# Family, type, what is said; parts of each; and the reason.
KNOWN = [
    ("", "", "CHLO => [StableHLO+Shape] => StableHLO failed", "jaxlib refuses before it asks us"),
    ("ragged_dot", "complex", "end with code -11", "jaxlib crashes in that step"),
    ("", "", "translation rule for primitive", "JAX has no rule for TPUs"),
    ("sums: dot", "float8_e8m0fnu", "result", "XLA's CPU backend sums in float8_e8m0fnu"),
    ("clamp", "complex", "result", "XLA's CPU backend compares real parts alone"),
    ("approx_", "float", "nan", "a comparator that orders no NaN"),
    ("sums: dot", "float", "stablehlo.dot_general: f", "refused: XLA rounds such sums differently"),
    ("searchsorted", "float8_e5m2", "result", "XLA's CPU backend puts NaN behind itself"),
    ("window prod", "float16", "nan", "products past the range, in an order that is open"),
    ("special spence", "float", "nan", "one divided by the largest number is subnormal"),
    ("names: random", "float8", "result", "XLA rounds chains of such floats at their end"),
]


def reason(said: dict[str, Any]) -> str:
    """Why a finding is known, or nothing."""
    text = f"{said.get('why', '')} {said['is']}"
    for family, dtype, what, why in KNOWN:
        if family in said.get("family", "") and dtype in said.get("type", "") and what in text:
            return why
    return ""
