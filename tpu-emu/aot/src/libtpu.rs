//! A libtpu in this process, through PJRT's C API.
// UNSAFETY: loads a library, calls its functions by the types of PJRT's header, and reads what
// their results lead to.
#![expect(unsafe_code, reason = "calls of C functions")]
use crate::Result;
use crate::wire::{Answer, Compiled, MemoryStats, Property, Refused, Request};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use pjrt_sys as sys;
use std::collections::HashMap;
use std::ffi::c_char;
use std::mem::{MaybeUninit, offset_of};
use std::path::Path;
use std::ptr;

/// The major version of the interface that is spoken.
const MAJOR: i32 = 0;

/// A library that was loaded, and the topologies that it has made.
#[derive(Debug)]
pub(crate) struct Libtpu {
    api: Box<sys::PJRT_Api>,
    topologies: HashMap<String, Result<Topology>>,
}

#[derive(Debug)]
struct Topology {
    handle: *mut sys::PJRT_TopologyDescription,
    version: String,
}

/// An error of the library's: its code and its words.
struct Failure {
    code: i32,
    message: String,
}

/// Arguments without anything in them.
///
/// # Safety
/// All zeros are a value of the type, as of every struct of the header.
unsafe fn zeroed<T>() -> T {
    // SAFETY: the promise of this function's caller.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Arguments of a call, their size filled in.
macro_rules! arguments {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        // SAFETY: a struct of the header: numbers and pointers.
        let mut arguments: sys::$name = unsafe { zeroed() };
        arguments.struct_size = size_of::<sys::$name>();
        $(arguments.$field = $value;)*
        arguments
    }};
}

/// Calls a function of the table that gives an error or null.
macro_rules! call {
    ($libtpu:expr, $name:ident, $arguments:expr) => {
        match $libtpu.api.$name {
            None => Err(missing(stringify!($name))),
            // SAFETY: the arguments are of the function's type, and all that they lead to lives
            // until it returns.
            Some(function) => $libtpu.checked(unsafe { function(&raw mut $arguments) }),
        }
    };
}

fn missing(name: &str) -> Failure {
    Failure { code: 0, message: format!("it has no {name}") }
}

impl Libtpu {
    /// Loads a library and lets it initialize itself.
    pub(crate) fn load(file: &Path) -> Result<Self> {
        // SAFETY: whoever asks for the library wants its initialisers to run.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|why| format!("it cannot be loaded: {why}"))?;
        // SAFETY: the function's type is the header's.
        let api = unsafe { library.get::<extern "C" fn() -> *const sys::PJRT_Api>(b"GetPjrtApi") };
        let api = api.map_err(|_| "it has no function GetPjrtApi".to_owned())?();
        let api = table(api)?;
        // It stays loaded.
        std::mem::forget(library);
        let libtpu = Self { api: Box::new(api), topologies: HashMap::new() };
        let mut arguments = arguments!(PJRT_Plugin_Initialize_Args {});
        call!(libtpu, PJRT_Plugin_Initialize, arguments)
            .map_err(|failure| format!("it cannot be initialized: {}", failure.message))?;
        Ok(libtpu)
    }

    fn checked(&self, error: *mut sys::PJRT_Error) -> Result<(), Failure> {
        if error.is_null() {
            return Ok(());
        }
        let mut message = arguments!(PJRT_Error_Message_Args { error: error });
        if let Some(function) = self.api.PJRT_Error_Message {
            // SAFETY: the error lives until it is destroyed below.
            unsafe { function(&raw mut message) };
        }
        let mut code = arguments!(PJRT_Error_GetCode_Args { error: error });
        if let Some(function) = self.api.PJRT_Error_GetCode {
            // SAFETY: as above. An error about an error is lost.
            unsafe { function(&raw mut code) };
        }
        let message = text(message.message, message.message_size);
        let failure = Failure { code: i32::try_from(code.code.0).unwrap_or(2), message };
        if let Some(function) = self.api.PJRT_Error_Destroy {
            let mut destroy = arguments!(PJRT_Error_Destroy_Args { error: error });
            // SAFETY: nothing of it is used any more.
            unsafe { function(&raw mut destroy) };
        }
        Err(failure)
    }

    /// What the library makes of a program.
    pub(crate) fn compile(&mut self, asked: &Request) -> Result<Answer> {
        if !self.topologies.contains_key(&asked.topology) {
            let made = self.topology(&asked.topology);
            self.topologies.insert(asked.topology.clone(), made);
        }
        let Some(Ok(topology)) = self.topologies.get(&asked.topology) else {
            let why = self.topologies.get(&asked.topology).and_then(|made| made.as_ref().err());
            return Err(why.cloned().unwrap_or_default());
        };
        let version = topology.version.clone();
        let program = arguments!(PJRT_Program {
            code: asked.code.as_ptr().cast::<c_char>().cast_mut(),
            code_size: asked.code.len(),
            format: asked.format.as_ptr().cast(),
            format_size: asked.format.len(),
        });
        let mut compile = arguments!(PJRT_Compile_Args {
            topology: topology.handle,
            program: &raw const program,
            compile_options: asked.options.as_ptr().cast(),
            compile_options_size: asked.options.len(),
        });
        if self.api.PJRT_Compile.is_none() {
            return Err(missing("PJRT_Compile").message);
        }
        if let Err(Failure { code, message }) = call!(self, PJRT_Compile, compile) {
            return Ok(Answer::Refused(Refused { version, code, message }));
        }
        let told = self.told(compile.executable, version);
        let mut destroy =
            arguments!(PJRT_Executable_Destroy_Args { executable: compile.executable });
        let _ = call!(self, PJRT_Executable_Destroy, destroy);
        let unanswered = |failure: Failure| format!("it compiled it, and {}", failure.message);
        told.map(Answer::Compiled).map_err(unanswered)
    }

    fn told(
        &self,
        executable: *mut sys::PJRT_Executable,
        version: String,
    ) -> Result<Compiled, Failure> {
        let mut memory =
            arguments!(PJRT_Executable_GetCompiledMemoryStats_Args { executable: executable });
        call!(self, PJRT_Executable_GetCompiledMemoryStats, memory)?;
        let mut cost = arguments!(PJRT_Executable_GetCostAnalysis_Args { executable: executable });
        call!(self, PJRT_Executable_GetCostAnalysis, cost)?;
        let mut program = arguments!(PJRT_Program {});
        let mut optimized = arguments!(PJRT_Executable_OptimizedProgram_Args {
            executable: executable,
            program: &raw mut program,
        });
        // The first call asks for the size, the second brings the room.
        call!(self, PJRT_Executable_OptimizedProgram, optimized)?;
        let mut code = vec![0_u8; program.code_size];
        program.code = code.as_mut_ptr().cast();
        call!(self, PJRT_Executable_OptimizedProgram, optimized)?;
        code.truncate(program.code_size);
        Ok(Compiled {
            version,
            memory: MemoryStats {
                code: memory.generated_code_size_in_bytes,
                arguments: memory.argument_size_in_bytes,
                outputs: memory.output_size_in_bytes,
                alias: memory.alias_size_in_bytes,
                temporaries: memory.temp_size_in_bytes,
                host_code: memory.host_generated_code_size_in_bytes,
                host_arguments: memory.host_argument_size_in_bytes,
                host_outputs: memory.host_output_size_in_bytes,
                host_alias: memory.host_alias_size_in_bytes,
                host_temporaries: memory.host_temp_size_in_bytes,
                peak: memory.peak_memory_in_bytes,
                total: memory.total_size_in_bytes,
                total_allocation: memory.total_allocation_bytes,
                indefinite: memory.indefinite_allocations,
                peak_unpadded_heap: memory.peak_unpadded_heap_bytes,
            },
            cost: properties(cost.properties, cost.num_properties),
            format: text(program.format, program.format_size),
            program: code,
        })
    }

    /// Makes the topology of a line: a name, then options after commas.
    fn topology(&self, line: &str) -> Result<Topology> {
        let (name, options) = line.split_once(',').unwrap_or((line, ""));
        let options: Vec<(&str, Value)> = options
            .split(',')
            .filter(|option| !option.is_empty())
            .map(|option| {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                (name, Value::of(value))
            })
            .collect();
        let options: Vec<sys::PJRT_NamedValue> =
            options.iter().map(|(name, value)| value.named(name)).collect();
        let mut create = arguments!(PJRT_TopologyDescription_Create_Args {
            topology_name: name.as_ptr().cast(),
            topology_name_size: name.len(),
            create_options: options.as_ptr(),
            num_options: options.len(),
        });
        call!(self, PJRT_TopologyDescription_Create, create)
            .map_err(|failure| format!("it has no topology {line}: {}", failure.message))?;
        let mut version =
            arguments!(PJRT_TopologyDescription_PlatformVersion_Args { topology: create.topology });
        let version = call!(self, PJRT_TopologyDescription_PlatformVersion, version)
            .map(|()| text(version.platform_version, version.platform_version_size));
        let version = version.unwrap_or_else(|_| "of unknown version".to_owned());
        Ok(Topology { handle: create.topology, version })
    }
}

/// A copy of a library's table, as far as it goes; what lies behind is not there.
fn table(given: *const sys::PJRT_Api) -> Result<sys::PJRT_Api> {
    if given.is_null() {
        return Err("its GetPjrtApi gives nothing".to_owned());
    }
    // SAFETY: every table begins with its size.
    let size = unsafe { (&raw const (*given).struct_size).read_unaligned() };
    let least = offset_of!(sys::PJRT_Api, PJRT_Error_Destroy);
    if size < least {
        return Err(format!("its table of functions has {size} bytes"));
    }
    // SAFETY: the table is of numbers and pointers to functions, of which null is none; so many
    // bytes of it are the library's.
    let api = unsafe {
        let mut api: sys::PJRT_Api = zeroed();
        let bytes = size.min(size_of::<sys::PJRT_Api>());
        ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut api).cast::<u8>(), bytes);
        api
    };
    let version = api.pjrt_api_version;
    if version.major_version != MAJOR {
        let (major, minor) = (version.major_version, version.minor_version);
        return Err(format!("it speaks PJRT {major}.{minor}, and {MAJOR}.x is what is known here"));
    }
    Ok(api)
}

/// A value of an option.
enum Value {
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
}

impl Value {
    fn of(text: &str) -> Self {
        if let Ok(number) = text.parse() {
            return Self::Int(number);
        }
        let numbers: Result<Vec<i64>, _> = text.split('x').map(str::parse).collect();
        numbers.map_or_else(|_| Self::Text(text.to_owned()), Self::Ints)
    }

    fn named(&self, name: &str) -> sys::PJRT_NamedValue {
        type Kind = sys::PJRT_NamedValue_Type;
        type Union = sys::PJRT_NamedValue__bindgen_ty_1;
        let (kind, value, size) = match self {
            Self::Int(number) => (Kind::PJRT_NamedValue_kInt64, Union { int64_value: *number }, 1),
            Self::Ints(list) => {
                let pointer = Union { int64_array_value: list.as_ptr() };
                (Kind::PJRT_NamedValue_kInt64List, pointer, list.len())
            }
            Self::Text(text) => {
                let pointer = Union { string_value: text.as_ptr().cast() };
                (Kind::PJRT_NamedValue_kString, pointer, text.len())
            }
        };
        sys::PJRT_NamedValue {
            struct_size: size_of::<sys::PJRT_NamedValue>(),
            extension_start: ptr::null_mut(),
            name: name.as_ptr().cast(),
            name_size: name.len(),
            type_: kind,
            anon_1: value,
            value_size: size,
        }
    }
}

/// The numbers among what the library says of a run's work.
fn properties(list: *const sys::PJRT_NamedValue, count: usize) -> Vec<(String, Property)> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the library gives so many, which live as long as their program.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    let number = |value: &sys::PJRT_NamedValue| {
        // SAFETY: the member is the one that the type names.
        let property = unsafe {
            match value.type_ {
                sys::PJRT_NamedValue_Type::PJRT_NamedValue_kFloat => {
                    Property::Float(value.anon_1.float_value)
                }
                sys::PJRT_NamedValue_Type::PJRT_NamedValue_kInt64 => {
                    Property::Int(value.anon_1.int64_value)
                }
                _ => return None,
            }
        };
        Some((text(value.name, value.name_size), property))
    };
    list.iter().filter_map(number).collect()
}

/// A text of the library's.
fn text(start: *const c_char, size: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the library gives so many bytes, which live as long as what they belong to.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}
