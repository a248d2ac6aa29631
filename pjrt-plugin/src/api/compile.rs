//! Compiling, serializing, and putting programs on devices.
use crate::boundary::{Caller, give_bytes, take_bytes};
use crate::compile_options::decode;
use crate::execution_devices;
use crate::inspection;
use crate::programs::{ExecutableEntry, LoadedEntry, executable, give_executable, give_loaded};
use crate::real_compiler::{self, ShownProgram};
use crate::state::{Client, client, topology};
use crate::sys::{
    PJRT_Client_Compile_Args, PJRT_Client_Load_Args, PJRT_Compile_Args,
    PJRT_Executable_DeserializeAndLoad_Args, PJRT_Executable_Serialize_Args, PJRT_Program,
};
use std::ffi::c_char;
use std::sync::Arc;
use tpu_emu::executable::{Format, OtherCompiler, Serialized};
use tpu_emu::{Emulator, Error, Result};

/// A program and its options, both as bytes.
struct Request<'a> {
    format: Format,
    code: &'a [u8],
    options: Arc<[u8]>,
    /// Whether it comes from the client itself, whose callbacks are in this process.
    fresh: bool,
}

impl<'a> Request<'a> {
    fn read(
        caller: &'a Caller,
        program: *const PJRT_Program,
        options: (*const c_char, usize),
    ) -> Result<Self> {
        let program = caller.read(program)?;
        let format = format_of(&caller.text(program.format, program.format_size, "format")?)?;
        let code = caller.bytes(program.code.cast_const().cast(), program.code_size, "code")?;
        let options = caller.bytes(options.0.cast(), options.1, "compile_options")?.into();
        Ok(Self { format, code, options, fresh: true })
    }

    fn compile(self, machine: &Arc<Emulator>) -> Result<(Arc<ExecutableEntry>, bool)> {
        let decoded = decode(&self.options)?;
        let asked = real_compiler::ask(machine, self.format, self.code, &self.options);
        let other = asked.as_ref().map(|asked| asked as &dyn OtherCompiler);
        let executable = if self.format == Format::Mlir {
            machine.compile_beside(self.format, self.code, decoded.options, other)?
        } else {
            // The machine knows no messages.
            let module = tpu_hlo::read(self.code, self.format == Format::HloWithConfig)
                .map_err(|error| Error::bad(format!("the program cannot be read: {error}")))?;
            let source = (self.format, self.code.into());
            machine.compile_module_beside(module, source, decoded.options, other)?
        };
        if self.fresh {
            inspection::tell(&executable.inspections)?;
        }
        let kind = machine.topology().device_kind().to_owned();
        let real = asked.and_then(ShownProgram::into_compiled);
        let entry = ExecutableEntry::new(executable, kind, self.options, machine.topology(), real)?;
        Ok((Arc::new(entry), decoded.portable))
    }

    /// Compiles for the devices of a client.
    fn load(self, client: &Client) -> Result<LoadedEntry> {
        let (entry, portable) = self.compile(&client.machine)?;
        LoadedEntry::new(entry, client, portable)
    }
}

fn format_of(name: &str) -> Result<Format> {
    match name {
        "mlir" => Ok(Format::Mlir),
        "hlo" => Ok(Format::Hlo),
        "hlo_with_config" => Ok(Format::HloWithConfig),
        _ => Err(Error::bad(format!("{name:?} is no program format: mlir, hlo, hlo_with_config"))),
    }
}

/// Compiles a program and puts it on the devices that its options name.
#[doc(alias = "PJRT_Client_Compile")]
pub(super) fn compile_and_load(caller: &Caller, args: &mut PJRT_Client_Compile_Args) -> Result<()> {
    let client = client(args.client)?;
    let options = (args.compile_options, args.compile_options_size);
    let request = Request::read(caller, args.program, options)?;
    args.executable = give_loaded(request.load(&client)?);
    Ok(())
}

/// Compiles a program for a topology, with no device there. A client of the same kind of device
/// can load it.
#[doc(alias = "PJRT_Compile")]
pub(super) fn compile(caller: &Caller, args: &mut PJRT_Compile_Args) -> Result<()> {
    let topology = topology(args.topology.cast_mut())?;
    if !args.client.is_null() {
        client(args.client)?;
    }
    let options = (args.compile_options, args.compile_options_size);
    let request = Request::read(caller, args.program, options)?;
    let (entry, _) = request.compile(&topology.compiler()?)?;
    args.executable = give_executable(entry);
    Ok(())
}

/// Puts a compiled program on a client's devices, with new options where some are given.
pub(super) fn load(caller: &Caller, args: &mut PJRT_Client_Load_Args) -> Result<()> {
    let client = client(args.client)?;
    let entry = executable(args.executable)?;
    check_kind(&entry.device_kind, &client)?;
    let size = args.compile_options_size;
    let given = caller.bytes(args.compile_options.cast(), size, "compile_options")?;
    let options = if given.is_empty() { Arc::clone(&entry.options) } else { given.into() };
    let (format, code) = &entry.executable.source;
    let request = Request { format: *format, code, options, fresh: false };
    args.loaded_executable = give_loaded(request.load(&client)?);
    Ok(())
}

fn check_kind(kind: &str, client: &Client) -> Result<()> {
    let own = client.machine.topology().device_kind();
    if kind == own {
        return Ok(());
    }
    Err(Error::bad(format!("a program compiled for {kind}; this client has {own}")))
}

/// A program as bytes that [`deserialize_and_load`] of the same version reads.
pub(super) fn serialize(_: &Caller, args: &mut PJRT_Executable_Serialize_Args) -> Result<()> {
    let entry = executable(args.executable)?;
    let (format, code) = &entry.executable.source;
    let serialized = Serialized {
        device_kind: &entry.device_kind,
        options: &entry.options,
        format: *format,
        code,
    };
    (args.serialized_bytes, args.serialized_bytes_size, args.serialized_executable) =
        give_bytes(serialized.write());
    args.serialized_executable_deleter = Some(take_bytes);
    Ok(())
}

/// Reads what [`serialize`] wrote, and puts the program on a client's devices.
pub(super) fn deserialize_and_load(
    caller: &Caller,
    args: &mut PJRT_Executable_DeserializeAndLoad_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let size = args.serialized_executable_size;
    let bytes = caller.bytes(args.serialized_executable.cast(), size, "serialized_executable")?;
    let serialized = Serialized::read(bytes)?;
    check_kind(serialized.device_kind, &client)?;
    let given = caller.bytes(
        args.overridden_serialized_compile_options.cast(),
        args.overridden_serialized_compile_options_size,
        "overridden_serialized_compile_options",
    )?;
    let options = if given.is_empty() { serialized.options } else { given };
    let Serialized { format, code, .. } = serialized;
    let request = Request { format, code, options: options.into(), fresh: false };
    let loaded = request.load(&client)?;
    if given.is_empty() {
        execution_devices::check(&loaded)?;
    }
    args.loaded_executable = give_loaded(loaded);
    Ok(())
}
