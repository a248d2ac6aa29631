"""Handlers compiled against the headers of other jaxlibs: each is served by its own version."""

import ctypes
import gc
import re
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxlib import xla_client

import handlers
from handlers import EXAMPLES, INCLUDE, STAGES, call, capsule, ffi, shape

SOURCES = [EXAMPLES / f"{name}.cc" for name in ("any_buffer", "attributes", "scratch", "stages")]
X = np.arange(6, dtype=np.float32)


def minor(include: Path) -> int:
    """The version of the interface in a folder of headers."""
    text = (include / "xla" / "ffi" / "api" / "c_api.h").read_text()
    found = re.search(r"define XLA_FFI_API_MINOR (\d+)", text)
    assert found
    return int(found[1])


# The environments next to ours have jaxlibs of their own: one for each version but this one's.
PLACES = sorted(Path(sys.prefix).parent.glob("*/lib/python*/site-packages/jaxlib/include"))
OTHERS = {minor(place): place for place in PLACES if minor(place) != minor(INCLUDE)}


@pytest.mark.parametrize("version", sorted(OTHERS))
def test_handlers_of_another_version_are_called(version):
    library = ctypes.CDLL(str(handlers.build(SOURCES, OTHERS[version])))

    def register(symbol: str) -> str:
        name = f"{symbol}.{version}"
        ffi.register_ffi_target(name, capsule(symbol, library), platform="tpu")
        return name

    np.testing.assert_array_equal(np.asarray(call(register("copy_any"), shape((6,)), X)), X)
    attributes = {"scale": np.float32(2), "offsets": np.array([1, 2], np.int64), "mode": "affine"}
    result = call(register("attributes_affine"), shape((6,)), X, attributes=attributes)
    np.testing.assert_array_equal(np.asarray(result), 2 * X + [1, 2] * 3)
    name = register("scratch_reverse")
    result = call(name, shape((6,)), X, attributes={"bytes": np.int64(24)})
    np.testing.assert_array_equal(np.asarray(result), X[::-1])
    with pytest.raises(Exception, match="too few bytes of scratch memory"):
        jax.block_until_ready(call(name, shape((6,)), X, attributes={"bytes": np.int64(8)}))


@pytest.mark.parametrize("version", sorted(OTHERS))
def test_states_of_another_version_live_as_long_as_their_programs(version):
    library = ctypes.CDLL(str(handlers.build(SOURCES, OTHERS[version])))
    library.stages_live_states.restype = ctypes.c_int64
    jax.devices()
    fields = {
        field: handlers.pointer(f"stages_{field}", library)
        for field in ("type_id", "type_info")
        if hasattr(library, f"stages_{field}")
    }
    name = f"stages.{version}"
    if hasattr(xla_client, "register_custom_type"):
        xla_client.register_custom_type(name, fields, platform="tpu")
    else:
        xla_client.register_custom_type_id(  # type: ignore[attr-defined]
            name, fields["type_id"], platform="tpu"
        )
    bundle = {stage: capsule(f"stages_{stage}", library) for stage in STAGES}
    ffi.register_ffi_target(name, bundle, platform="tpu")
    function = ffi.ffi_call(name, shape((3,), np.int32), has_side_effect=True)
    program = jax.jit(lambda: function(start=np.int64(10))).lower().compile()
    assert library.stages_live_states() == 1
    for turn in (1, 2):
        assert list(np.asarray(program())) == [turn, turn, 10 + turn]
    del program
    jax.clear_caches()
    gc.collect()
    if version >= 2 and "type_info" in fields and not hasattr(xla_client, "register_custom_type"):
        return  # This jaxlib has no way to say how such a state ends.
    assert library.stages_live_states() == 0
