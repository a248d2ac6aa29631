"""`TPU_EMU_FFI`: handlers of libraries that no program registers."""

import pytest

import handlers
from emulator import output, run
from handlers import PROGRAM


def test_a_function_of_a_library_is_called_by_the_name_that_the_variable_gives_it():
    library = handlers.path()
    value = f"copy={library}:copy_any,again={library}:copy_any"
    program = f"""{PROGRAM}
    print(call("copy"), call("again"))
    """
    assert output(program, {"TPU_EMU_FFI": value}) == "3.0 3.0\n"


def test_a_library_registers_its_handlers_when_it_is_loaded():
    library = handlers.build([handlers.SELF_REGISTERED])
    program = f"""{PROGRAM}
    print(call("twice_tpu"), call("twice_host"))
    call("twice_cuda")
    """
    done = run(program, {"TPU_EMU_FFI": str(library)})
    assert done.stdout == "6.0 6.0\n"
    assert "is not registered for platform tpu, only for cuda" in done.stderr


def test_both_forms_stand_in_one_variable():
    own = handlers.build([handlers.SELF_REGISTERED])
    program = f"""{PROGRAM}
    print(call("twice_tpu"), call("copy"))
    """
    environment = {"TPU_EMU_FFI": f"{own},copy={handlers.path()}:copy_any"}
    assert output(program, environment) == "6.0 3.0\n"


def test_a_program_registers_the_function_that_the_variable_named():
    program = f"""{PROGRAM}
    library = ctypes.CDLL(sys.argv[1])
    ffi.register_ffi_target("copy", ffi.pycapsule(library.copy_any), platform="tpu")
    print(call("copy"))
    try:
        ffi.register_ffi_target("copy", ffi.pycapsule(library.always_error), platform="tpu")
    except Exception as error:
        print(error)
    """
    library = str(handlers.path())
    text = output(program, {"TPU_EMU_FFI": f"copy={library}:copy_any"}, library)
    assert text.startswith("3.0\nALREADY_EXISTS: ")
    assert f"TPU_EMU_FFI=copy={library}:copy_any" in text


def test_everything_that_is_wrong_is_told_at_once():
    library = handlers.path()
    names = [
        "a=/nowhere/lib.so:f",
        f"b={library}:no_such_function",
        f"c={library}:stages_type_id",
        "/nowhere/other.so",
        f"d={library}:copy_any",
    ]
    done = run("import jax; jax.devices()", {"TPU_EMU_FFI": ",".join(names)})
    assert done.returncode != 0
    assert "TPU_EMU_FFI=a=/nowhere/lib.so:f: " in done.stderr
    assert f"TPU_EMU_FFI=b={library}:no_such_function: " in done.stderr
    assert "TPU_EMU_FFI=/nowhere/other.so: " in done.stderr
    assert f"TPU_EMU_FFI=d={library}" not in done.stderr


def test_a_library_whose_own_registration_is_refused_is_told():
    own = handlers.build([handlers.SELF_REGISTERED])
    value = f"twice_tpu={handlers.path()}:copy_any,{own}"
    done = run("import jax; jax.devices()", {"TPU_EMU_FFI": value})
    assert done.returncode != 0
    assert f"TPU_EMU_FFI={own}: " in done.stderr
    origin = f"TPU_EMU_FFI=twice_tpu={handlers.path()}:copy_any"
    assert f'"twice_tpu" is registered already for platform tpu, by {origin}' in done.stderr


@pytest.mark.parametrize("value", ["", "f=lib.so", "=lib.so:f", "lib.so,,"])
def test_a_value_that_names_no_library_is_refused(value):
    done = run("import jax; jax.devices()", {"TPU_EMU_FFI": value})
    assert done.returncode != 0
    assert "is neither NAME=LIBRARY:SYMBOL nor LIBRARY" in done.stderr
