"""How handlers and types become known, and what is refused."""

import ctypes

import jax
import numpy as np
import pytest
from jaxlib import xla_client

import handlers
from emulator import LIBRARY, output, run
from handlers import PROGRAM, capsule, ffi, register, shape


def test_a_handler_that_came_before_the_client_is_called():
    program = f"""{PROGRAM}
    library = ctypes.CDLL(sys.argv[1])
    ffi.register_ffi_target("copy", ffi.pycapsule(library.copy_any), platform="tpu")
    print(call("copy"))
    ffi.register_ffi_target("late", ffi.pycapsule(library.copy_any), platform="tpu")
    print(call("late"))
    """
    for environment in (
        {},
        {"JAX_PLATFORMS": "tpu,cpu"},
        {"JAX_PLATFORMS": ""},
        {"TPU_LIBRARY_PATH": "", "PJRT_NAMES_AND_LIBRARY_PATHS": f"tpu:{LIBRARY}"},
    ):
        assert output(program, environment, str(handlers.path())) == "3.0\n3.0\n", environment


def test_the_hook_leaves_nothing_behind_in_the_program():
    program = """
    import sys
    import jax
    from jaxlib import xla_client
    before = set(globals()), set(sys.modules)
    jax.devices()
    print(set(globals()) - before[0] - {"before"})
    print([name for name in sys.modules if "tpu_emu" in name])
    print(xla_client._custom_callback.get("tpu"))
    """
    assert output(program) == "set()\n[]\nNone\n"


def test_a_process_without_jax_does_not_get_it():
    program = f"""
    import ctypes
    import sys

    class Args(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p)]

    library = ctypes.CDLL({str(LIBRARY)!r})
    library.GetPjrtApi.restype = ctypes.POINTER(ctypes.c_void_p * 10)
    # Behind five words: Error_Destroy, Error_Message, Error_GetCode, Plugin_Initialize.
    initialize = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Args))(
        library.GetPjrtApi().contents[8]
    )
    for _ in range(2):
        print(initialize(Args(ctypes.sizeof(Args))), "jax" in sys.modules, "jaxlib" in sys.modules)
    """
    assert output(program) == "None False False\n" * 2


def test_what_waits_and_is_refused_does_not_keep_the_device_from_its_users():
    program = f"""{PROGRAM}
    library = ctypes.CDLL(sys.argv[1])
    ffi.register_ffi_target("broken", 5, platform="tpu")
    ffi.register_ffi_target("copy", ffi.pycapsule(library.copy_any), platform="tpu")
    print(call("copy"))
    call("broken")
    """
    done = run(program, {}, str(handlers.path()))
    assert done.stdout == "3.0\n"
    assert "'broken' is not registered" in done.stderr
    assert 'custom call target "broken" is not registered' in done.stderr


def test_a_registration_may_come_again():
    register("copy_any")
    register("copy_any")


def test_another_function_under_a_name_is_refused_with_both_origins():
    jax.devices()
    register("taken", "copy_any")
    with pytest.raises(Exception, match="taken") as caught:
        ffi.register_ffi_target("taken", capsule("always_error"), platform="tpu")
    text = str(caught.value)
    assert text.startswith("ALREADY_EXISTS: ")
    assert "handlers.py:" in text
    assert "test_ffi_registration.py:" in text
    assert "registers another function" in text


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (5, {}, "INVALID_ARGUMENT: handler execute of 'wrong' is of type int, not a PyCapsule"),
        ({}, {}, "without an execute handler"),
        ({"run": 5}, {}, "INVALID_ARGUMENT: target 'wrong' has handlers for stages run; there are"),
        ({"execute": 5}, {}, "handler execute of 'wrong' is of type int"),
        ({"execute": 5}, {"api_version": 0}, "api_version 0 is a dict, not a PyCapsule"),
        (None, {"api_version": 7}, 'UNIMPLEMENTED: target "wrong" of api_version 7'),
        (None, {"api_version": -1}, 'UNIMPLEMENTED: target "wrong" of api_version -1'),
        (None, {"traits": 1 << 40}, "has traits 0x10000000000"),
    ],
    ids=["int", "empty", "stage", "bundle", "untyped", "version", "negative", "traits"],
)
def test_what_is_no_handler_is_refused(function, options, expected):
    jax.devices()
    function = capsule("always_success") if function is None else function
    with pytest.raises(xla_client.XlaRuntimeError) as caught:
        ffi.register_ffi_target("wrong", function, platform="tpu", **options)
    assert expected in str(caught.value)


def test_a_bundle_without_execute_is_refused():
    jax.devices()
    partial = {"instantiate": capsule("stages_instantiate")}
    with pytest.raises(xla_client.XlaRuntimeError, match="without an execute handler"):
        ffi.register_ffi_target("partial", partial, platform="tpu")


def register_type(name, number, info=None):
    """Registers a type as this jaxlib does."""
    jax.devices()
    number = ffi.pycapsule(ctypes.addressof(number))
    if hasattr(xla_client, "register_custom_type"):
        fields = {"type_id": number} | ({} if info is None else {"type_info": info})
        xla_client.register_custom_type(name, fields, platform="tpu")
    else:
        xla_client.register_custom_type_id(  # type: ignore[attr-defined]
            name, number, platform="tpu"
        )


def test_a_type_gets_one_number():
    first, again, other = (ctypes.c_int64(0) for _ in range(3))
    register_type("test.first", first)
    register_type("test.first", again)
    register_type("test.other", other)
    assert first.value == again.value > 0
    assert other.value not in {0, first.value}
    with pytest.raises(xla_client.XlaRuntimeError, match=str(first.value)):
        register_type("test.first", other)
    with pytest.raises(xla_client.XlaRuntimeError, match=r"test\.other"):
        register_type("test.third", other)


def test_what_is_no_type_is_refused():
    jax.devices()
    kind = "type" if hasattr(xla_client, "register_custom_type") else "type_id"
    type_ = getattr(xla_client, f"register_custom_{kind}")
    for wrong, text in [({}, "has no type_id"), (5, "is of type int"), ({"type_id": 5}, "int")]:
        with pytest.raises(xla_client.XlaRuntimeError, match=text):
            type_("test.wrong", wrong, platform="tpu")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_untyped_signatures_are_called(version):
    symbol = ("untyped_original", "untyped_status", "untyped_unified")[version - 1]
    register(symbol, api_version=0)
    b, c = np.arange(128, dtype=np.float32), np.ones(2048, np.float32)
    options = {"custom_call_api_version": version}
    if version == 3:
        options["legacy_backend_config"] = "add"
    result = handlers.call(symbol, shape((2048,)), b, c, **options)
    np.testing.assert_array_equal(np.asarray(result), b[np.arange(2048) % 128] + 1)


def test_a_typed_call_of_an_untyped_handler_is_refused():
    register("untyped_original", api_version=0)
    with pytest.raises(Exception, match="has an untyped handler; the call is typed"):
        handlers.call("untyped_original", shape((2048,)), np.zeros(128, np.float32))
