"""Handlers compiled against the headers of other jaxlibs: each is served by its own version."""

import ctypes
import gc
import re
import shutil
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxlib import xla_client

import handlers
from emulator import JAXLIB
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


NEWER = """
// A handler of a version to come.
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

ffi::Error Twice(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2 * x.typed_data()[i];
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    newer_twice, Twice,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

extern "C" XLA_FFI_Error* newer_asks(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return newer_twice(frame);
  XLA_FFI_DeviceOrdinal_Get_Args args = {};
  args.struct_size = sizeof(args);
  return frame->api->XLA_FFI_Newer(&args);
}
"""


def newer_headers(folder: Path, change: dict[str, str]) -> Path:
    """A copy of this jaxlib's headers with changes."""
    shutil.copytree(INCLUDE / "xla" / "ffi" / "api", folder / "xla" / "ffi" / "api")
    header = folder / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text()
    for pattern, new in change.items():
        text, count = re.subn(pattern, new, text)
        assert count == 1, pattern
    header.write_text(text)
    return folder


def built(folder: Path, change: dict[str, str]) -> ctypes.CDLL:
    """The handlers of a version to come."""
    source = folder / "newer.cc"
    source.write_text(NEWER)
    return ctypes.CDLL(str(handlers.build([source], newer_headers(folder / "include", change))))


VERSION = {r"(define XLA_FFI_API_MINOR) \d+": r"\1 9"}
SLOT = {
    r"(_XLA_FFI_API_STRUCT_FIELD\(\w+\);)\n\};": r"\1\n"
    r"  XLA_FFI_Error* (*XLA_FFI_Newer)(XLA_FFI_DeviceOrdinal_Get_Args*);\n};"
}


NAMES_A_FUNCTION = pytest.mark.skipif(
    JAXLIB < (0, 6), reason="its headers lack the function that stands for one to come"
)


@NAMES_A_FUNCTION
def test_a_handler_of_a_version_to_come_is_served_with_what_there_is(tmp_path):
    jax.devices()
    library = built(tmp_path, VERSION | SLOT)
    ffi.register_ffi_target("newer_twice", capsule("newer_twice", library), platform="tpu")
    np.testing.assert_array_equal(np.asarray(call("newer_twice", shape((6,)), X)), 2 * X)
    ffi.register_ffi_target("newer_asks", capsule("newer_asks", library), platform="tpu")
    if minor(INCLUDE) < 5:
        return  # The slot behind this jaxlib's table is one that a later version has.
    wanted = "newer_asks: function 21 of the table of XLA FFI; this runtime speaks 0.1 to 0.5"
    with pytest.raises(Exception, match=wanted):
        jax.block_until_ready(call("newer_asks", shape((6,)), X))
    np.testing.assert_array_equal(np.asarray(call("newer_twice", shape((6,)), X)), 2 * X)


@NAMES_A_FUNCTION
@pytest.mark.parametrize(
    "change",
    [
        {r"(define XLA_FFI_API_MAJOR) 0": r"\1 1"},
        VERSION
        | {r"(DEFINE_STRUCT_TRAITS\(XLA_FFI_CallFrame, )attrs": r"\1more"}
        | {r"(XLA_FFI_Attrs attrs;)(\n\n.*\n.*\n.*\n.*future;)": r"\1 void* more;\2"},
    ],
    ids=["major", "call frame"],
)
def test_a_refusal_names_the_newest_version_and_its_jaxlib(tmp_path, change):
    jax.devices()
    library = built(tmp_path, SLOT | change)
    with pytest.raises(
        Exception, match=r"0\.1 to 0\.5, for which the newest jaxlib is 0\.12\.0\.1"
    ):
        ffi.register_ffi_target("refused", capsule("newer_twice", library), platform="tpu")


def test_a_record_handler_is_registered_and_not_called():
    stages = {"execute": capsule("copy_any"), "record": capsule("always_error")}
    ffi.register_ffi_target("recorded", stages, platform="tpu")
    np.testing.assert_array_equal(np.asarray(call("recorded", shape((6,)), X)), X)
