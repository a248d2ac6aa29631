"""Hands what `jax.ffi` registers for platform "tpu" on to the emulated TPU.

Runs inside of PJRT_Plugin_Initialize, with REGISTER_TARGET and REGISTER_TYPE, the addresses of two
C functions of the plugin, and PJRT_API, that of its table, among its globals.
jaxlib keeps registrations for a platform until the platform has a handler, and asks the handler
from then on. CPU and GPU get theirs from jaxlib and from JAX's GPU plugins, TPU gets none.
JAX tells the tables of plugins who splits custom calls (`jax.custom_partitioning`), and knows the
table of a TPU only where it was loaded as a plugin is.
"""

import ctypes
import logging
import sys

STAGES = ("instantiate", "prepare", "initialize", "execute", "record")
CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
)
INVALID_ARGUMENT = CODES.index("INVALID_ARGUMENT")
MESSAGE_BYTES = 1 << 14

TEXT = (ctypes.c_char_p, ctypes.c_size_t)


class Target(ctypes.Structure):
    """A target to register; `TargetArgs` of jax_hook.rs."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        *zip(("name", "name_size"), TEXT),
        *zip(("platform", "platform_size"), TEXT),
        *zip(("origin", "origin_size"), TEXT),
        ("api_version", ctypes.c_int64),
        *((stage, ctypes.c_void_p) for stage in STAGES),
        ("traits", ctypes.c_uint64),
        *zip(("room", "room_size"), TEXT),
    )


class Type(ctypes.Structure):
    """A type to register; `TypeArgs` of jax_hook.rs."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        *zip(("name", "name_size"), TEXT),
        ("number", ctypes.c_void_p),
        ("info", ctypes.c_void_p),
        *zip(("room", "room_size"), TEXT),
    )


register_target = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Target))(REGISTER_TARGET)
register_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Type))(REGISTER_TYPE)

# Prototypes of our own: those of `ctypes.pythonapi` belong to whoever sets them.
capsule_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def install(xla_client):
    """Become jaxlib's handler of registrations for platform tpu."""
    error_type = xla_client.XlaRuntimeError
    waiting = True

    def fail(code, message):
        raise error_type(f"{CODES[code]}: {message}")

    def call(function, arguments):
        room = ctypes.create_string_buffer(MESSAGE_BYTES)
        arguments.struct_size = ctypes.sizeof(arguments)
        arguments.room = ctypes.cast(room, ctypes.c_char_p)
        arguments.room_size = MESSAGE_BYTES
        if code := function(arguments):
            fail(code, room.value.decode(errors="replace"))

    def address(name, what, capsule):
        if type(capsule).__name__ != "PyCapsule":
            kind = type(capsule).__name__
            fail(INVALID_ARGUMENT, f"{what} of {name!r} is of type {kind}, not a PyCapsule")
        return capsule_pointer(capsule, capsule_name(capsule))

    def encoded(name):
        return name if isinstance(name, bytes) else str(name).encode()

    def origin():
        """The line outside of JAX that registers something, unless that was before."""
        if waiting:
            return "jax.ffi before the client existed"
        frame = sys._getframe()
        while frame is not None:
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if package not in {"jax", "jaxlib", __name__}:
                return f"jax.ffi at {frame.f_code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back
        return "jax.ffi"

    def guarded(register):
        """What waited is refused by a line in the log: nobody is there to take an exception."""

        def wrapped(name, *arguments):
            try:
                register(name, *arguments)
            except Exception as why:
                if not waiting:
                    raise
                logging.getLogger("tpu_emu").warning("%r is not registered: %s", name, why)

        return wrapped

    @guarded
    def target(name, fn, platform, api_version=0, traits=0):
        bundle = fn if isinstance(fn, dict) else {"execute": fn}
        if api_version == 0 and isinstance(fn, dict):
            fail(INVALID_ARGUMENT, f"target {name!r} of api_version 0 is a dict, not a PyCapsule")
        if unknown := sorted(map(str, set(bundle) - set(STAGES))):
            stages = f"{', '.join(unknown)}; there are {', '.join(STAGES)}"
            fail(INVALID_ARGUMENT, f"target {name!r} has handlers for stages {stages}")
        handlers = {stage: address(name, f"handler {stage}", bundle[stage]) for stage in bundle}
        name, platform, by = encoded(name), encoded(platform), encoded(origin())
        arguments = Target(
            **{"name": name, "name_size": len(name)},
            **{"platform": platform, "platform_size": len(platform)},
            **{"origin": by, "origin_size": len(by)},
            **{"api_version": api_version, "traits": traits},
            **handlers,
        )
        call(register_target, arguments)

    @guarded
    def type_(name, registration):
        fields = registration if isinstance(registration, dict) else {"type_id": registration}
        if "type_id" not in fields:
            fail(INVALID_ARGUMENT, f"type {name!r} has no type_id")
        pointers = {field: address(name, field, fields[field]) for field in fields}
        name = encoded(name)
        arguments = Type(
            **{"name": name, "name_size": len(name)},
            **{"number": pointers["type_id"], "info": pointers.get("type_info")},
        )
        call(register_type, arguments)

    # jaxlib up to 0.7 has ids of types alone. What waits is handed over by these calls.
    types = getattr(xla_client, "register_custom_type_handler", None)
    types = types or getattr(xla_client, "register_custom_type_id_handler", None)
    if types is not None:
        types("tpu", type_)
    xla_client.register_custom_call_handler("tpu", target)
    waiting = False


# Capsules keep the address of their name.
TABLE_NAME = ctypes.create_string_buffer(b"pjrt_c_api")


def share_table(bridge):
    """Let JAX tell this plugin what it tells others, now and later."""
    backend = bridge._backend_factories.get("tpu")
    if backend is None or backend.c_api is not None:
        return
    backend.c_api = new_capsule(PJRT_API, ctypes.cast(TABLE_NAME, ctypes.c_char_p), None)
    for callback in tuple(bridge._plugin_callbacks):
        callback(c_api=backend.c_api)


# A process without JAX does not get it from here.
if (client := sys.modules.get("jaxlib.xla_client")) is not None:
    install(client)
if (bridge := sys.modules.get("jax._src.xla_bridge")) is not None:
    try:
        share_table(bridge)
    except Exception as why:
        logging.getLogger("tpu_emu").warning("custom calls are not split over devices: %s", why)
