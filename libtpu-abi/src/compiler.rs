//! `TpuCompiler_*`: from HLO to programs that run.
// UNSAFETY: exports functions, and follows their pointers.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::abi;
use crate::boundary::{answer, handle_of, id_of, report};
use crate::compiled::Compiled;
use crate::memory::{self, At};
use crate::module::{ModuleConfig, message, read_module, write_module};
use crate::objects::executor;
use crate::sys::{
    SE_DeviceMemoryAllocator, SE_Executable, SE_StreamExecutor, SE_StreamExecutorList, TF_Status,
    Tpu_Compiler, TpuSerializedProto, XLA_HloModule, XLA_HloModuleGroup,
};
use std::ffi::c_int;
use std::ptr;
use tpu_emu::{Error, Result, Table};
use tpu_proto::Message as _;
use tpu_proto::xla::HloModuleGroupProto;

/// `Tpu_Compiler`. Every compiler is the machine's.
#[derive(Debug)]
struct Compiler;

static COMPILERS: Table<Compiler> = Table::new("Tpu_Compiler", 120);

fn check(compiler: *const Tpu_Compiler) -> Result<()> {
    COMPILERS.get(id_of(compiler, "Tpu_Compiler")?).map(drop)
}

/// A compiler.
#[unsafe(no_mangle)]
pub extern "C" fn TpuCompiler_New() -> *mut Tpu_Compiler {
    answer(&"TpuCompiler_New", ptr::null_mut(), || Ok(handle_of(COMPILERS.insert(Compiler))))
}

/// Drops a compiler; its programs stay.
#[unsafe(no_mangle)]
pub extern "C" fn TpuCompiler_Free(compiler: *mut Tpu_Compiler) {
    answer(&"TpuCompiler_Free", (), || {
        COMPILERS.remove(id_of(compiler, "Tpu_Compiler")?).map(drop)
    });
}

/// Gives the program back as it is: [`TpuCompiler_RunBackend`] does all passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompiler_RunHloPasses(
    compiler: *mut Tpu_Compiler,
    se_hlo_module: *mut XLA_HloModule,
    _stream_executor: *mut SE_StreamExecutor,
    _allocator: *mut SE_DeviceMemoryAllocator,
    result: *mut XLA_HloModule,
    status: *mut TF_Status,
) {
    report(&"TpuCompiler_RunHloPasses", status, || {
        check(compiler)?;
        let abi = abi::current()?;
        // SAFETY: the contract of the interface.
        let module = unsafe { At::new(se_hlo_module, "se_hlo_module") }?;
        // SAFETY: as above.
        let result = unsafe { At::new(result, "result") }?;
        write_module(abi, result, read_module(abi, module)?.0, None);
        Ok(())
    });
}

/// Compiles a program for one device, or for one that stands for all replicas.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompiler_RunBackend(
    compiler: *mut Tpu_Compiler,
    se_hlo_module: *mut XLA_HloModule,
    stream_executor: *mut SE_StreamExecutor,
    _allocator: *mut SE_DeviceMemoryAllocator,
    result: *mut *mut SE_Executable,
    status: *mut TF_Status,
) {
    report(&"TpuCompiler_RunBackend", status, || {
        check(compiler)?;
        let abi = abi::current()?;
        // SAFETY: the contract of the interface.
        let (code, config) = read_module(abi, unsafe { At::new(se_hlo_module, "se_hlo_module") }?)?;
        // SAFETY: as above.
        unsafe { memory::put(result, ptr::null_mut(), "result") }?;
        let program = compile(stream_executor, code, config)?;
        // SAFETY: as above.
        unsafe { memory::put(result, program.give(), "result") }
    });
}

/// Compiles the programs of a group, one executable each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompiler_Compile(
    compiler: *mut Tpu_Compiler,
    se_hlo_module_group: *mut XLA_HloModuleGroup,
    stream_exec_lists: *mut SE_StreamExecutorList,
    num_lists: c_int,
    _allocator: *mut SE_DeviceMemoryAllocator,
    executables: *mut *mut SE_Executable,
    status: *mut TF_Status,
) {
    report(&"TpuCompiler_Compile", status, || {
        check(compiler)?;
        let abi = abi::current()?;
        // SAFETY: the contract of the interface.
        let group = unsafe { At::new(se_hlo_module_group, "se_hlo_module_group") }?;
        let group_message = HloModuleGroupProto::decode(message(group, 0, "proto")?)
            .map_err(|error| Error::bad(format!("a group of programs: {error}")))?;
        let modules = &group_message.hlo_modules;
        let lists = memory::count_of(num_lists.into(), "lists of executors")?;
        if lists != modules.len() {
            let message = format!("{lists} lists of executors for {} programs", modules.len());
            return Err(Error::bad(message));
        }
        if modules.is_empty() {
            return Ok(());
        }
        let configs = group.follow(size_of::<TpuSerializedProto>(), "module_config")?;
        // SAFETY: as above: a place for each program.
        let places = unsafe { At::new(executables, "executables") }?;
        // SAFETY: as above.
        let lists = unsafe { memory::slice(stream_exec_lists, lists, "stream_exec_lists") }?;
        // None is the client's before all are there.
        let mut programs = Vec::with_capacity(modules.len());
        for ((index, code), list) in (0..).zip(modules).zip(lists) {
            let config = configs.inner(index * abi.fields.module_config.size);
            let config = ModuleConfig::read(abi, config)?;
            if list.count < 1 {
                return Err(Error::bad(format!("{} executors for program {index}", list.count)));
            }
            // SAFETY: as above.
            let first = unsafe { memory::get(list.exec.cast_const(), "executors") }?;
            programs.push(compile(first, code, config)?);
        }
        for (index, program) in (0..).zip(programs) {
            places.write(index * size_of::<*mut SE_Executable>(), program.give());
        }
        Ok(())
    });
}

/// Compiles a program on the machine that a device belongs to.
fn compile(
    device: *const SE_StreamExecutor,
    code: &[u8],
    config: ModuleConfig,
) -> Result<Compiled> {
    Compiled::compile(&executor(device)?.machine, code, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{dialect, said, words};
    use crate::compiled::COMPILED;
    use crate::launcher::{CModule, INC, code, compile, free_config, message as text};
    use crate::{TpuExecutable_Free, executor::TpuExecutor_Free};
    use tpu_proto::xla::HloModuleProto;

    fn one() -> ModuleConfig {
        ModuleConfig::over(1, 1)
    }

    #[test]
    fn the_passes_give_the_program_back() {
        let (bytes, compiler) = (code(INC), TpuCompiler_New());
        let (mut module, mut result) = (CModule::of(&bytes, &one()), CModule::empty());
        let mut passes = |compiler| {
            let (module, result) = (module.pointer(), result.pointer());
            // SAFETY: structs of the dialect.
            said(|status| unsafe {
                let (executor, allocator) = (ptr::null_mut(), ptr::null_mut());
                TpuCompiler_RunHloPasses(compiler, module, executor, allocator, result, status);
            })
        };
        assert_eq!(passes(compiler), Ok(()));
        TpuCompiler_Free(compiler);
        for compiler in [compiler, ptr::null_mut()] {
            assert!(passes(compiler).unwrap_err().contains("Tpu_Compiler"));
        }
        assert_eq!(result.code(), bytes);
    }

    #[test]
    fn programs_that_are_none_are_refused() {
        let without_shape = HloModuleProto { host_program_shape: None, ..text(INC) };
        let mut too_much = text(INC);
        let shape = too_much.host_program_shape.as_mut().unwrap();
        shape.parameters = vec![shape.parameters[0].clone(); 3];
        let mut more_results = text(INC);
        let shape = more_results.host_program_shape.as_mut().unwrap();
        shape.result = Some(crate::shape::Shape::tuple(Vec::new()).to_proto());
        for (code, why) in [
            (Vec::new(), "the program cannot be read"),
            (b"garbage".to_vec(), "the program cannot be read"),
            (without_shape.encode_to_vec(), "inc states no shape of its result"),
            (too_much.encode_to_vec(), "inc takes 1 arrays; its shape states 3"),
            (more_results.encode_to_vec(), "inc gives 1 arrays; its shape states 0"),
        ] {
            let error = compile(&code, &one()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let whole = code(INC);
        // A message may end between any two members.
        let refused = (0..whole.len()).filter(|&end| compile(&whole[..end], &one()).is_err());
        assert!(refused.count() > whole.len() / 2);
    }

    #[test]
    fn counts_that_no_machine_has_are_refused() {
        for (replicas, partitions) in
            [(-1, 1), (1, -1), (i64::MIN, 1), (i64::MAX, 1), (9, 1), (1 << 20, 1 << 20)]
        {
            let config = ModuleConfig::over(replicas, partitions);
            let error = compile(&code(INC), &config).unwrap_err();
            let what = ["replicas", "partitions", "devices"];
            assert!(what.iter().any(|what| error.contains(what)), "{error}");
        }
        let abi = dialect();
        let fields = &abi.fields.module_config;
        let mut module = CModule::of(&code(INC), &one());
        for count in [-1, i32::MIN, i32::MAX, 1 << 17] {
            let at = module.at().inner(abi.fields.module.module_config);
            at.write(fields.has_entry_computation_layout, 1_u8);
            let layout = at.inner(fields.entry_computation_layout);
            layout.write(abi.fields.computation_layout.parameter_count, count);
            let error = ModuleConfig::read(abi, at).unwrap_err().to_string();
            assert!(error.contains(&count.to_string()), "{error}");
            at.write(fields.has_entry_computation_layout, 0_u8);
        }
    }

    #[test]
    fn an_operation_that_is_not_known_is_named() {
        let mut module = text(INC);
        let root = module.computations[0].instructions.last_mut().unwrap();
        root.opcode = "custom-call".into();
        root.custom_call_target = "made_up".into();
        let status = crate::status::give(Ok(()));
        let (mut module, mut program) =
            (CModule::of(&module.encode_to_vec(), &one()), ptr::dangling_mut());
        let (compiler, executor) = (TpuCompiler_New(), crate::client::executor(0));
        // SAFETY: structs of the dialect.
        unsafe {
            let (module, allocator) = (module.pointer(), ptr::null_mut());
            let program = &raw mut program;
            TpuCompiler_RunBackend(compiler, module, executor, allocator, program, status);
        }
        assert!(program.is_null());
        let code = crate::TpuStatus_Code(status);
        let error = crate::status::take(status).unwrap_err().to_string();
        assert_eq!(code, 12, "{error}");
        assert!(error.contains("made_up"), "{error}");
    }

    #[test]
    fn a_program_without_a_place_for_it_is_not_compiled() {
        let (compiler, executor) = (TpuCompiler_New(), crate::client::executor(0));
        let mut module = CModule::of(&code(INC), &one());
        let run = |module, executor, program| {
            // SAFETY: structs of the dialect, or null.
            said(|status| unsafe {
                let allocator = ptr::null_mut();
                TpuCompiler_RunBackend(compiler, module, executor, allocator, program, status);
            })
            .unwrap_err()
        };
        let pointer = module.pointer();
        assert!(run(pointer, executor, ptr::null_mut()).contains("result"));
        let mut program = ptr::null_mut();
        assert!(run(ptr::null_mut(), executor, &raw mut program).contains("se_hlo_module"));
        TpuExecutor_Free(executor);
        for executor in [executor, ptr::null_mut()] {
            let error = run(pointer, executor, &raw mut program);
            assert!(error.contains("SE_StreamExecutor"), "{error}");
        }
        assert!(program.is_null());
    }

    /// Compiles a group of programs, each with a list of so many executors; 2 are at null.
    fn group(
        codes: &[Vec<u8>],
        executors: &[c_int],
        places: Option<&mut [*mut SE_Executable]>,
    ) -> Result<(), String> {
        let abi = dialect();
        let hlo_modules = codes.to_vec();
        let message = HloModuleGroupProto { hlo_modules, ..<_>::default() }.encode_to_vec();
        let size = abi.fields.module_config.size;
        let mut configs = words(size * codes.len().max(1));
        for index in 0..codes.len() {
            one().write(abi, At::of(&mut configs).inner(index * size));
        }
        let proto = TpuSerializedProto { bytes: message.as_ptr().cast(), size: message.len() };
        let mut own = words(24);
        At::of(&mut own).write(0, proto);
        At::of(&mut own).write(16, configs.as_mut_ptr());
        let mut executor = [crate::client::executor(0)];
        let mut lists: Vec<SE_StreamExecutorList> = executors
            .iter()
            .map(|&count| {
                let exec = if count == 2 { ptr::null_mut() } else { executor.as_mut_ptr() };
                SE_StreamExecutorList { exec, count }
            })
            .collect();
        let compiler = TpuCompiler_New();
        let places = places.map_or(ptr::null_mut(), |places| places.as_mut_ptr());
        // SAFETY: structs of the dialect.
        let said = said(|status| unsafe {
            let (own, count) = (own.as_mut_ptr().cast(), c_int::try_from(lists.len()).unwrap());
            let lists = if lists.is_empty() { ptr::null_mut() } else { lists.as_mut_ptr() };
            TpuCompiler_Compile(compiler, own, lists, count, ptr::null_mut(), places, status);
        });
        for index in 0..codes.len() {
            free_config(abi, At::of(&mut configs).inner(index * size));
        }
        said
    }

    #[test]
    fn a_group_is_compiled_as_a_whole_or_not_at_all() {
        let other = INC.replace("add", "multiply");
        let codes = [code(INC), code(&other)];
        let mut places = [ptr::null_mut(); 2];
        assert_eq!(group(&codes, &[1, 1], Some(&mut places)), Ok(()));
        let prints = places.map(|place| {
            let program = crate::compiled::compiled(place).unwrap();
            program.executable.fingerprint.clone()
        });
        assert_ne!(prints[0], prints[1]);
        for place in places {
            TpuExecutable_Free(place);
            assert!(COMPILED.get(id_of(place, "SE_Executable").unwrap()).is_err());
        }
        assert_eq!(group(&[], &[], None), Ok(()));

        let bad = [code(INC), b"garbage".to_vec()];
        let mut places = [ptr::null_mut(); 2];
        for (codes, executors, why) in [
            (&bad, &[1, 1][..], "cannot be read"),
            (&codes, &[1], "1 lists of executors for 2 programs"),
            (&codes, &[1, 0], "0 executors for program 1"),
            (&codes, &[1, -1], "-1 executors for program 1"),
            (&codes, &[1, 2], "executors"),
        ] {
            let error = group(codes, executors, Some(&mut places)).unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(places.iter().all(|place| place.is_null()));
        }
        let error = group(&codes, &[1, 1], None).unwrap_err();
        assert!(error.contains("executables"), "{error}");
    }
}
