//! A client for tests that compiles and runs programs, with an allocator that calls back.
// UNSAFETY: makes the structs of the interface and frees what hangs on them.
#![expect(unsafe_code, reason = "plays the client of the C interface")]
use crate::abi::{Abi, INLINED};
use crate::client::{Held, dialect, executor, free, free_list, free_shape, said, stream, words};
use crate::memory::{self, At};
use crate::module::{ModuleConfig, write_module};
use crate::shape::Shape;
use crate::sys::{
    SE_DeviceMemoryAllocator, SE_DeviceMemoryBase, SE_Executable, SE_ExecutableRunOptions,
    SE_ExecutionInput, SE_MaybeOwningDeviceMemory, SE_ScopedDeviceMemory, SE_StreamExecutor,
    TF_Status, TpuSerializedProto, XLA_ShapeIndex,
};
use crate::{
    TpuCompiler_Free, TpuCompiler_New, TpuCompiler_RunBackend, TpuExecutable_ExecuteAsyncOnStream,
    TpuExecutable_FreeMaybeOwningDeviceMemoryArray, TpuExecutable_FreeXlaShapeIndexArray,
    TpuExecutor_Allocate, TpuExecutor_Deallocate, TpuStatus_Set,
};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use tpu_emu::units::to_usize;
use tpu_proto::Message as _;
use tpu_proto::xla::HloModuleProto;

/// What nobody has written.
pub(crate) const UNWRITTEN: u64 = 0xABAB_ABAB_ABAB_ABAB;

/// `x + 1`.
pub(crate) const INC: &str = "HloModule inc
    ENTRY main {
      x = f32[2] parameter(0)
      one = f32[] constant(1)
      ones = f32[2] broadcast(one), dimensions={}
      ROOT y = f32[2] add(x, ones)
    }";

/// The message of a program's text.
pub(crate) fn message(text: &str) -> HloModuleProto {
    tpu_hlo::text::parse(text).unwrap()
}

/// The bytes of a program's text.
pub(crate) fn code(text: &str) -> Vec<u8> {
    message(text).encode_to_vec()
}

/// `x` that [`INC`] takes over.
pub(crate) fn inc_in_place() -> Vec<u8> {
    code(&INC.replacen("inc", "inc, input_output_alias={ {}: (0, {}, may-alias) }", 1))
}

/// The sum of `x` over all replicas, or what all devices of a partitioned program give for it.
pub(crate) fn sum() -> HloModuleProto {
    let mut module = message(
        "HloModule sum
         plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
         ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] call(x), to_apply=plus }",
    );
    let root = module.computations.last_mut().unwrap().instructions.last_mut().unwrap();
    root.opcode = "all-reduce".into();
    module
}

pub(crate) fn f32s(dims: &[i64]) -> Shape {
    Shape::array(tpu_proto::xla::PrimitiveType::F32 as i32, dims.to_vec())
}

/// A block of a device with numbers in it.
pub(crate) fn held(device: usize, values: &[f32]) -> Held {
    let held = Held::new(device, 1024);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    crate::machine().unwrap().write_raw(held.base.opaque.addr(), &bytes).unwrap();
    held
}

fn bytes_at<const N: usize>(base: SE_DeviceMemoryBase, count: usize) -> Vec<[u8; N]> {
    let mut bytes = vec![0; count * N];
    crate::machine().unwrap().read_raw(base.opaque.addr(), &mut bytes).unwrap();
    bytes.as_chunks().0.to_vec()
}

/// The first two numbers at an address.
pub(crate) fn pair(base: SE_DeviceMemoryBase) -> [f32; 2] {
    let values = bytes_at(base, 2);
    [f32::from_le_bytes(values[0]), f32::from_le_bytes(values[1])]
}

/// The addresses in a tuple's table.
pub(crate) fn table(base: SE_DeviceMemoryBase, count: usize) -> Vec<usize> {
    bytes_at(base, count).into_iter().map(|word| to_usize(u64::from_le_bytes(word))).collect()
}

/// An `XLA_HloModule` of the client, also one that a function is to write.
#[derive(Debug)]
pub(crate) struct CModule {
    abi: &'static Abi,
    words: Box<[u64]>,
}

impl CModule {
    pub(crate) fn of(code: &[u8], config: &ModuleConfig) -> Self {
        let abi = dialect();
        let mut own = Self { abi, words: words(abi.fields.module.size) };
        write_module(abi, own.at(), code, Some(config));
        own
    }

    /// Nothing.
    pub(crate) fn empty() -> Self {
        let abi = dialect();
        let mut own = Self { abi, words: words(abi.fields.module.size) };
        own.at().clear(abi.fields.module.size);
        own
    }

    pub(crate) fn at(&mut self) -> At<'_> {
        // SAFETY: a struct of the dialect.
        unsafe { At::new(self.words.as_mut_ptr().cast_const(), "module") }.unwrap()
    }

    pub(crate) fn pointer<T>(&mut self) -> *mut T {
        self.words.as_mut_ptr().cast()
    }

    /// The program.
    pub(crate) fn code(&mut self) -> Vec<u8> {
        let proto = self.abi.fields.module.proto;
        crate::module::message(self.at(), proto, "proto").unwrap().to_vec()
    }
}

impl Drop for CModule {
    fn drop(&mut self) {
        let abi = self.abi;
        free_module(abi, self.at());
    }
}

/// Frees what hangs on an `XLA_HloModule`.
pub(crate) fn free_module(abi: &Abi, at: At<'_>) {
    free_message(at, abi.fields.module.proto);
    free_config(abi, at.inner(abi.fields.module.module_config));
}

/// Frees what hangs on the config of a module.
pub(crate) fn free_config(abi: &Abi, at: At<'_>) {
    let fields = &abi.fields.module_config;
    free_message(at, fields.debug_options);
    free_message(at, fields.static_device_assignment);
    for (list, item) in [
        (fields.mesh_shape, 8),
        (fields.mesh_ids, 8),
        (fields.propagation_to_parameters, 1),
        (fields.propagation_to_output, 1),
    ] {
        list.inspect(|&list| free_list(at, list, item));
    }
    if !at.read_bool(fields.has_entry_computation_layout) {
        return;
    }
    let (layout, own) = (at.inner(fields.entry_computation_layout), &abi.fields.computation_layout);
    let count = usize::try_from(layout.read::<i32>(own.parameter_count)).unwrap();
    let shapes = layout.follow(own.parameter_layouts, "parameter_layouts").unwrap();
    for index in 0..count {
        free_shape(abi, shapes.inner(index * abi.fields.shape.size));
    }
    free(shapes.address());
    free_shape(abi, layout.inner(own.result_layout));
}

fn free_message(at: At<'_>, offset: usize) {
    free(at.read::<TpuSerializedProto>(offset).bytes.cast_mut().cast());
}

/// Compiles a program for one device.
pub(crate) fn compile(code: &[u8], config: &ModuleConfig) -> Result<*mut SE_Executable, String> {
    let mut module = CModule::of(code, config);
    let (compiler, mut program) = (TpuCompiler_New(), ptr::dangling_mut());
    // SAFETY: a module, and a place for a program.
    let said = said(|status| unsafe {
        let (module, allocator, program) = (module.pointer(), ptr::null_mut(), &raw mut program);
        TpuCompiler_RunBackend(compiler, module, executor(0), allocator, program, status);
    });
    TpuCompiler_Free(compiler);
    assert_eq!(said.is_err(), program.is_null());
    said.map(|()| program)
}

/// A program of one device.
pub(crate) fn program(code: &[u8]) -> *mut SE_Executable {
    compile(code, &ModuleConfig::over(1, 1)).unwrap()
}

/// An allocator of the client, which keeps book.
#[derive(Debug)]
pub(crate) struct Pool {
    executor: *mut SE_StreamExecutor,
    /// Sizes that were asked for.
    pub(crate) asked: Vec<u64>,
    /// What was given and not given back.
    pub(crate) live: Vec<SE_DeviceMemoryBase>,
    /// The call that is refused.
    pub(crate) fails_at: Option<usize>,
    /// The call that gets half of what it asks for.
    pub(crate) short_at: Option<usize>,
}

impl Pool {
    pub(crate) fn new(device: usize) -> Self {
        let executor = executor(device);
        Self { executor, asked: Vec::new(), live: Vec::new(), fails_at: None, short_at: None }
    }

    /// The struct that calls it back.
    fn c(&mut self) -> SE_DeviceMemoryAllocator {
        SE_DeviceMemoryAllocator {
            platform: ptr::null_mut(),
            ctx: (&raw mut *self).cast(),
            allocate: Some(allocate),
            deallocate: Some(deallocate),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for mut base in self.live.drain(..) {
            // SAFETY: a block of this device.
            unsafe { TpuExecutor_Deallocate(self.executor, &raw mut base) };
        }
    }
}

unsafe extern "C" fn allocate(
    ctx: *mut c_void,
    ordinal: c_int,
    size: u64,
    retry_on_failure: bool,
    memory_space: i64,
    result: *mut SE_ScopedDeviceMemory,
    status: *mut TF_Status,
) {
    // SAFETY: the pool, which nobody else uses during the call.
    let pool = unsafe { &mut *ctx.cast::<Pool>() };
    let number = pool.asked.len();
    pool.asked.push(size);
    assert!(ordinal >= 0 && retry_on_failure && memory_space == 0);
    if pool.fails_at == Some(number) {
        // SAFETY: a live status.
        unsafe { TpuStatus_Set(status, 8, c"the pool is dry".as_ptr(), -1) };
        return;
    }
    let mut base = TpuExecutor_Allocate(pool.executor, size, memory_space);
    if pool.short_at == Some(number) {
        base.size /= 2;
    }
    if !base.opaque.is_null() {
        pool.live.push(base);
    }
    // SAFETY: a place for the result.
    unsafe { (*result).wrapped = base };
}

unsafe extern "C" fn deallocate(
    ctx: *mut c_void,
    base: *mut SE_DeviceMemoryBase,
    _ordinal: c_int,
    _status: *mut TF_Status,
) {
    // SAFETY: the pool, which nobody else uses during the call.
    let pool = unsafe { &mut *ctx.cast::<Pool>() };
    // SAFETY: what was given before.
    let opaque = unsafe { (*base).opaque };
    let had = pool.live.len();
    pool.live.retain(|live| live.opaque != opaque);
    assert_eq!(pool.live.len() + 1, had, "given back twice");
    // SAFETY: a block of this device.
    unsafe { TpuExecutor_Deallocate(pool.executor, base) };
}

/// A run on one device.
#[derive(Debug)]
pub(crate) struct LaunchCall {
    pub(crate) executable: *mut SE_Executable,
    pub(crate) options: SE_ExecutableRunOptions,
    /// The arguments' shapes, and their memory as the interface lays it out.
    arguments: Vec<(Shape, Vec<u64>)>,
    /// Passed instead of the number of arguments.
    pub(crate) count: Option<c_int>,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) shape: Shape,
    pub(crate) ordinal: c_int,
    pub(crate) bases: Vec<SE_DeviceMemoryBase>,
    pub(crate) released: Vec<SE_MaybeOwningDeviceMemory>,
    pub(crate) aliased: Vec<Vec<i64>>,
}

const NODE: usize = size_of::<SE_MaybeOwningDeviceMemory>();

impl LaunchCall {
    pub(crate) fn new(executable: *mut SE_Executable, pool: &mut Pool, device: usize) -> Self {
        let options = SE_ExecutableRunOptions {
            allocator: pool.c(),
            device_ordinal: -1,
            stream: stream(device),
            host_to_device_stream: ptr::null_mut(),
            device_assignment: TpuSerializedProto { bytes: ptr::null(), size: 0 },
            rng_seed: 1,
            run_id: 7,
            launch_id: 7,
        };
        Self { executable, options, arguments: Vec::new(), count: None }
    }

    /// Adds an argument: the memory of its nodes, and whether the client gives each up.
    pub(crate) fn with(mut self, shape: &Shape, nodes: &[(SE_DeviceMemoryBase, bool)]) -> Self {
        let mut words = vec![UNWRITTEN; nodes.len() * NODE / 8];
        for (index, &(memory, owned)) in nodes.iter().enumerate() {
            let at = At::of(&mut words).inner(index * NODE);
            at.write(offset_of!(SE_MaybeOwningDeviceMemory, memory), memory);
            at.write(offset_of!(SE_MaybeOwningDeviceMemory, owned), owned);
            if owned {
                let allocator = self.options.allocator;
                at.write(offset_of!(SE_MaybeOwningDeviceMemory, device_ordinal), 0_i32);
                at.write(offset_of!(SE_MaybeOwningDeviceMemory, allocator), allocator);
            }
        }
        self.arguments.push((shape.clone(), words));
        self
    }

    /// Does it. A run that fails writes nothing.
    pub(crate) fn run(&mut self) -> Result<Output, String> {
        let abi = dialect();
        let fields = &abi.fields.execution_input;
        let mut inputs: Vec<Box<[u64]>> = Vec::new();
        for (shape, nodes) in &mut self.arguments {
            let mut words = words(fields.size);
            let at = At::of(&mut words);
            shape.write(abi, at.inner(fields.shape));
            at.write(fields.buffers, nodes.as_mut_ptr());
            inputs.push(words);
        }
        let mut pointers: Vec<*mut SE_ExecutionInput> =
            inputs.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
        let count = c_int::try_from(pointers.len()).unwrap();
        let count = self.count.unwrap_or(count);
        let mut output = words(abi.fields.execution_output.size);
        let (options, arguments) = (&raw mut self.options, pointers.as_mut_ptr());
        let place = output.as_mut_ptr().cast();
        // SAFETY: structs of the dialect.
        let said = said(|status| unsafe {
            let (none, last) = (ptr::null_mut(), status.cast());
            let execute = TpuExecutable_ExecuteAsyncOnStream;
            execute(self.executable, options, arguments, count, none, place, last);
        });
        for words in &mut inputs {
            free_shape(abi, At::of(words).inner(fields.shape));
        }
        match said {
            Ok(()) => Ok(Output::take(abi, &mut output)),
            Err(error) => {
                assert!(output.iter().all(|&word| word == UNWRITTEN));
                Err(error)
            }
        }
    }
}

impl Output {
    /// Reads it and frees what hangs on it.
    pub(crate) fn take(abi: &Abi, words: &mut [u64]) -> Self {
        let fields = &abi.fields.execution_output;
        let at = At::of(words);
        let (result, own) = (at.inner(fields.result), &abi.fields.shaped_buffer);
        let shape = Shape::read(abi, result.inner(own.on_device_shape)).unwrap();
        free_shape(abi, result.inner(own.on_device_shape));
        let bases = list::<SE_DeviceMemoryBase>(result, own.bases, result.read(own.count));
        free(result.read::<*mut u8>(own.bases));
        let count: i32 = at.read(fields.to_be_released_size);
        let count = usize::try_from(count).unwrap();
        let released = list::<SE_MaybeOwningDeviceMemory>(at, fields.to_be_released, count);
        let count: i32 = at.read(fields.aliased_indices_size);
        let count = usize::try_from(count).unwrap();
        let aliased = list::<XLA_ShapeIndex>(at, fields.aliased_indices, count);
        // SAFETY: from a run.
        unsafe {
            TpuExecutable_FreeMaybeOwningDeviceMemoryArray(at.read(fields.to_be_released));
            TpuExecutable_FreeXlaShapeIndexArray(at.read(fields.aliased_indices));
        }
        let path = |index: XLA_ShapeIndex| {
            let count = usize::try_from(index.count).unwrap();
            assert!(count <= INLINED + 2);
            index.indices[..count].to_vec()
        };
        let aliased = aliased.into_iter().map(path).collect();
        Self { shape, ordinal: result.read(own.device_ordinal), bases, released, aliased }
    }
}

/// The items that a member points to.
fn list<T: Copy>(at: At<'_>, offset: usize, count: usize) -> Vec<T> {
    let items: *const T = at.read(offset);
    if count == 0 {
        assert!(items.is_null());
        return Vec::new();
    }
    // SAFETY: a library's array of so many.
    (0..count).map(|n| unsafe { memory::get(items.wrapping_add(n), "items") }.unwrap()).collect()
}
