"""The plugin's compiler alone, without jaxlib between: a small client in ctypes."""

import ctypes
import time
from pathlib import Path
from typing import ClassVar

# Places in the table of functions; they never change.
ERROR_DESTROY, ERROR_MESSAGE, CLIENT_CREATE, COMPILE = 0, 1, 10, 20
UNLOADED_DESTROY, OPTIMIZED_PROGRAM, EXECUTABLE_DESTROY, GET_EXECUTABLE = 40, 48, 50, 51
# The table begins with its size, its extensions, and 24 bytes of version.
FIRST_FUNCTION = 40

Fields = list[tuple[str, type]]


class _Args(ctypes.Structure):
    """What every struct of arguments begins with."""

    _fields_: ClassVar[Fields] = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p)]


class _Create(_Args):
    _fields_: ClassVar[Fields] = [
        ("options", ctypes.c_void_p),
        ("option_count", ctypes.c_size_t),
        ("get", ctypes.c_void_p * 2),
        ("put", ctypes.c_void_p * 2),
        ("client", ctypes.c_void_p),
        ("try_get", ctypes.c_void_p * 2),
    ]


class _Program(_Args):
    _fields_: ClassVar[Fields] = [
        ("code", ctypes.c_char_p),
        ("code_size", ctypes.c_size_t),
        ("format", ctypes.c_char_p),
        ("format_size", ctypes.c_size_t),
    ]


class _Compile(_Args):
    _fields_: ClassVar[Fields] = [
        ("client", ctypes.c_void_p),
        ("program", ctypes.POINTER(_Program)),
        ("options", ctypes.c_char_p),
        ("options_size", ctypes.c_size_t),
        ("executable", ctypes.c_void_p),
    ]


class _Handle(_Args):
    _fields_: ClassVar[Fields] = [("handle", ctypes.c_void_p)]


class _GetExecutable(_Args):
    _fields_: ClassVar[Fields] = [("loaded", ctypes.c_void_p), ("executable", ctypes.c_void_p)]


class _Optimized(_Args):
    _fields_: ClassVar[Fields] = [
        ("executable", ctypes.c_void_p),
        ("program", ctypes.POINTER(_Program)),
    ]


class _Message(_Args):
    _fields_: ClassVar[Fields] = [
        ("error", ctypes.c_void_p),
        ("text", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    ]


class Client:
    """A client of its own in this process."""

    def __init__(self, library: Path) -> None:
        """Load the plugin and start a client.

        Raises:
            RuntimeError: the plugin refuses.
        """
        plugin = ctypes.CDLL(str(library))
        plugin.GetPjrtApi.restype = ctypes.c_void_p
        self._table: int = plugin.GetPjrtApi()
        made = _Create()
        self._call(CLIENT_CREATE, made)
        self._client = made.client

    def compile_seconds(self, code: bytes, options: bytes) -> float:
        """Compile a program once and throw it away.

        Args:
            code: MLIR bytecode.
            options: a serialized CompileOptionsProto.

        Raises:
            RuntimeError: the plugin refuses.
        """
        start = time.perf_counter()
        loaded = self._compile(code, b"mlir", options)
        seconds = time.perf_counter() - start
        self._call(EXECUTABLE_DESTROY, _Handle(handle=loaded))
        return seconds

    def told(self, code: bytes, form: bytes, options: bytes) -> tuple[bytes, bytes]:
        """What is told of a program once it is compiled: a format, and bytes in it.

        Args:
            code: a program.
            form: its format.
            options: a serialized CompileOptionsProto.

        Raises:
            RuntimeError: the plugin refuses.
        """
        loaded = self._compile(code, form, options)
        found = _GetExecutable(loaded=loaded)
        self._call(GET_EXECUTABLE, found)
        program = _Program()
        program.struct_size = ctypes.sizeof(program)
        args = _Optimized(executable=found.executable, program=ctypes.pointer(program))
        # First the size, then the bytes.
        self._call(OPTIMIZED_PROGRAM, args)
        room = ctypes.create_string_buffer(program.code_size)
        program.code = ctypes.cast(room, ctypes.c_char_p)
        self._call(OPTIMIZED_PROGRAM, args)
        told = program.format[: program.format_size], room.raw
        self._call(UNLOADED_DESTROY, _Handle(handle=found.executable))
        self._call(EXECUTABLE_DESTROY, _Handle(handle=loaded))
        return told

    def _compile(self, code: bytes, form: bytes, options: bytes) -> int:
        program = _Program(code=code, code_size=len(code), format=form, format_size=len(form))
        program.struct_size = ctypes.sizeof(program)
        args = _Compile(
            client=self._client,
            program=ctypes.pointer(program),
            options=options,
            options_size=len(options),
        )
        self._call(COMPILE, args)
        return int(args.executable)

    def _call(self, place: int, args: _Args) -> None:
        args.struct_size = ctypes.sizeof(args)
        if error := self._function(place, ctypes.c_void_p)(ctypes.byref(args)):
            message = _Message(error=error)
            message.struct_size = ctypes.sizeof(message)
            self._function(ERROR_MESSAGE, None)(ctypes.byref(message))
            text = ctypes.string_at(message.text, message.size).decode()
            destroy = _Handle(handle=error)
            destroy.struct_size = ctypes.sizeof(destroy)
            self._function(ERROR_DESTROY, None)(ctypes.byref(destroy))
            raise RuntimeError(text)

    def _function(self, place: int, result: type | None) -> "ctypes._FuncPointer":
        address = ctypes.c_size_t.from_address(self._table + FIRST_FUNCTION + 8 * place).value
        return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(address)
