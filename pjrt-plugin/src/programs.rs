//! What the handles of programs stand for, and the tables that resolve them.
use crate::attributes::Attributes;
use crate::boundary::{handle_of, id_of};
use crate::dtype;
use crate::shapes::shape_of;
use crate::sharding;
use crate::state::{Client, LAYOUTS};
use crate::sys;
use crate::texts::Texts;
use crate::views::SpecView;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tpu_aot::{Compiled, Property};
use tpu_emu::executable::listing::tells_layouts;
use tpu_emu::executable::{CostAnalysis, Executable, Format, KernelMemory};
use tpu_emu::hbm::layout::Layout;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::runtime::LoadedExecutable;
use tpu_emu::topology::{OptionValue, Topology};
use tpu_emu::{Emulator, Error, Id, MemoryKind, Result, Table};
use tpu_hlo::told::{Decided, told, written};
use tpu_hlo::{HOST_MEMORY, moves_to_host};
use tpu_proto::xla::device_assignment_proto::ComputationDevice;
use tpu_proto::xla::{DeviceAssignmentProto, OpSharding, ShapeProto};
use tpu_stablehlo::Module;

/// `PJRT_Executable`: a compiled program, and what C asks of it as arrays.
#[derive(Debug)]
pub(crate) struct ExecutableEntry {
    pub(crate) executable: Arc<LoadedExecutable>,
    /// The kind of device that it was compiled for.
    pub(crate) device_kind: String,
    /// The `CompileOptionsProto` as it came.
    pub(crate) options: Arc<[u8]>,
    pub(crate) output_types: Vec<sys::PJRT_Buffer_Type>,
    /// Extents of all results, one result behind the other.
    pub(crate) output_dims: Vec<i64>,
    /// How many extents each result has.
    pub(crate) output_ranks: Vec<usize>,
    /// What C asks of each result's buffer.
    pub(crate) output_views: Vec<Arc<SpecView>>,
    pub(crate) output_kinds: Texts,
    pub(crate) parameter_kinds: Texts,
    /// `OpSharding` messages; `None` where the program says nothing that can be told.
    pub(crate) output_shardings: Option<Texts>,
    /// `OpSharding` messages of the parameters, or `None`, as for results.
    pub(crate) parameter_shardings: Option<Texts>,
    pub(crate) output_layouts: Layouts,
    pub(crate) parameter_layouts: Layouts,
    pub(crate) cost: Attributes,
    /// Which device runs which part.
    pub(crate) assignment: DeviceAssignmentProto,
    /// The program as the real compiler has made it, where it was asked.
    pub(crate) real: Option<Arc<Compiled>>,
    /// Whether the client has asked how parameters or results lie or are split, as those of jaxlib
    /// from 0.10 on do first: others read it in the program.
    pub(crate) asked: AtomicBool,
    /// See [`ExecutableEntry::answer`].
    answer: OnceLock<Result<Answer>>,
}

/// A compiled program as clients read it back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The name of the format: `mlir` or `hlo_with_config`.
    pub(crate) format: &'static str,
    pub(crate) code: Arc<[u8]>,
}

impl ExecutableEntry {
    /// The answers to everything that C may ask.
    pub(crate) fn new(
        executable: Arc<LoadedExecutable>,
        device_kind: String,
        options: Arc<[u8]>,
        topology: &Topology,
        real: Option<Arc<Compiled>>,
    ) -> Result<Self> {
        let (parameters, results) = (&executable.parameters, &executable.results);
        let outputs = || results.iter().map(|result| &*result.spec);
        let parameter_shardings =
            parameters.iter().map(|parameter| (parameter.sharding.as_deref(), &*parameter.spec));
        let output_shardings =
            results.iter().map(|result| (result.sharding.as_deref(), &*result.spec));
        Ok(Self {
            output_types: results.iter().map(|result| dtype::to_c(result.spec.dtype)).collect(),
            output_dims: outputs()
                .flat_map(|spec| spec.dims.iter().map(|dim| dim.cast_signed()))
                .collect(),
            output_ranks: outputs().map(|spec| spec.dims.len()).collect(),
            output_views: results.iter().map(|result| SpecView::of(&result.spec)).collect(),
            output_kinds: kinds(results.iter().map(|result| result.kind)),
            parameter_kinds: kinds(parameters.iter().map(|parameter| parameter.kind)),
            output_shardings: sharding::messages(&executable.options, output_shardings),
            parameter_shardings: sharding::messages(&executable.options, parameter_shardings),
            output_layouts: Layouts::new(outputs()),
            parameter_layouts: Layouts::new(parameters.iter().map(|parameter| &*parameter.spec)),
            cost: match &real {
                Some(real) => Attributes::new(real.cost.iter().map(property)),
                None => cost(&executable.cost, &executable.kernels),
            },
            assignment: assignment(&executable, topology)?,
            real,
            asked: AtomicBool::new(false),
            answer: OnceLock::new(),
            executable,
            device_kind,
            options,
        })
    }

    /// The program in a form that clients read; made by the first call. One that came as MLIR is
    /// told as MLIR, unless that cannot say all that the client reads in it: then, and if it came as
    /// HLO, it is told as an HLO module with its configuration.
    ///
    /// # Errors
    /// `Unimplemented` for what XLA's messages cannot say.
    pub(crate) fn answer(&self) -> Result<Answer> {
        self.answer.get_or_init(|| self.told()).clone()
    }

    /// Whether the real compiler's program stands for this one. Where it has chosen layouts, they
    /// need not be those that arrays have here.
    fn is_told_by(&self, real: &Compiled) -> bool {
        let Executable { parameters, results, .. } = &**self.executable;
        real.format == "hlo_with_config"
            && parameters.iter().all(|one| !one.auto_layout)
            && results.iter().all(|one| !one.auto_layout)
    }

    fn told(&self) -> Result<Answer> {
        let executable = &*self.executable;
        if let Some(real) = self.real.as_ref().filter(|real| self.is_told_by(real)) {
            return Ok(Answer { format: "hlo_with_config", code: real.program.as_slice().into() });
        }
        let (format, source) = &executable.source;
        let code = match executable.listing() {
            Some(module) => match self.hlo_of(&module)? {
                Some(code) => code,
                None => {
                    return Ok(Answer {
                        format: "mlir",
                        code: module.to_mlir(true).into_bytes().into(),
                    });
                }
            },
            None => told(source, *format == Format::HloWithConfig, self.decided()?).map_err(
                |error| Error::bad(format!("{} cannot be told: {error}", executable.name)),
            )?,
        };
        Ok(Answer { format: "hlo_with_config", code: code.into() })
    }

    /// A program as HLO of which MLIR cannot say all; `None` for others, and for one with operations
    /// that HLO has no counterpart of.
    fn hlo_of(&self, module: &Module) -> Result<Option<Vec<u8>>> {
        let (parameters, results) = (&self.executable.parameters, &self.executable.results);
        let mut kinds = parameters.iter().map(|of| of.kind).chain(results.iter().map(|of| of.kind));
        let on_host = kinds.any(|kind| kind != MemoryKind::Device) || moves_to_host(module);
        // JAX compares the layouts that it reads with those of the arrays that a compiled program is
        // called with.
        let unsaid = !self.asked.load(Ordering::Relaxed) && !tells_layouts(module);
        if !on_host && !unsaid {
            return Ok(None);
        }
        Ok(written(module, self.decided()?)
            .inspect_err(
                |error| tracing::debug!(%error, "told as MLIR, without its memories or layouts"),
            )
            .ok())
    }

    /// What was decided about the program when it was compiled.
    fn decided(&self) -> Result<Decided> {
        let executable = &*self.executable;
        let parameters = executable.parameters.iter();
        let results = executable.results.iter();
        let split = executable.options.partitions > 1;
        let sharding = |text: Option<&str>| match text.filter(|_| split) {
            Some(text) => sharding::of_text(text),
            None => Ok(OpSharding::default()),
        };
        Ok(Decided {
            parameters: parameters
                .clone()
                .map(|one| array(&one.spec, one.kind))
                .collect::<Result<_>>()?,
            results: results
                .clone()
                .map(|one| array(&one.spec, one.kind))
                .collect::<Result<_>>()?,
            parameter_shardings: parameters
                .map(|one| sharding(one.sharding.as_deref()))
                .collect::<Result<_>>()?,
            result_shardings: results
                .map(|one| sharding(one.sharding.as_deref()))
                .collect::<Result<_>>()?,
            devices: self.assignment.clone(),
        })
    }
}

/// An array in a kind of memory as XLA's messages describe it.
fn array(spec: &ArraySpec, kind: MemoryKind) -> Result<ShapeProto> {
    let memory_space = match kind {
        MemoryKind::Device => spec.layout.memory_space.unwrap_or(0).into(),
        MemoryKind::PinnedHost | MemoryKind::UnpinnedHost => HOST_MEMORY,
    };
    shape_of(spec, memory_space)
}

/// The ids of a program's devices, by partition and replica.
fn assignment(executable: &Executable, topology: &Topology) -> Result<DeviceAssignmentProto> {
    let all = topology.devices();
    let id = |index: &usize| -> Result<i64> {
        let no_device = || Error::bad(format!("device number {index} of {}", all.len()));
        all.get(*index).map(|info| info.id.into()).ok_or_else(no_device)
    };
    let ids = executable.devices.iter().map(id).collect::<Result<Vec<i64>>>()?;
    let (replicas, partitions) =
        (executable.options.replicas.max(1), executable.options.partitions.max(1));
    let computation_devices: Vec<ComputationDevice> = (0..partitions)
        .map(|partition| ComputationDevice {
            replica_device_ids: ids.iter().skip(partition).step_by(partitions).copied().collect(),
        })
        .collect();
    let counted = |count: usize| {
        i32::try_from(count).map_err(|_| Error::bad(format!("{count} parts of a program")))
    };
    Ok(DeviceAssignmentProto {
        replica_count: counted(replicas)?,
        computation_count: counted(partitions)?,
        computation_devices,
    })
}

fn kinds(kinds: impl Iterator<Item = MemoryKind>) -> Texts {
    Texts::new(kinds.map(|kind| kind.name().as_bytes().into()).collect())
}

/// The names are XLA's, and those of the real library's answers.
///
/// Of each kernel there is the vector memory that it takes: the most of several under one name.
fn cost(cost: &CostAnalysis, kernels: &[KernelMemory]) -> Attributes {
    let whole = [
        ("flops", cost.flops),
        ("transcendentals", cost.transcendentals),
        ("bytes accessed", cost.bytes_accessed),
        ("optimal_seconds", cost.optimal_seconds),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let mut vmem: BTreeMap<String, u64> = BTreeMap::new();
    for kernel in kernels {
        let most = vmem.entry(format!("vmem peak bytes {{{}}}", kernel.name)).or_default();
        *most = kernel.vmem().max(*most);
    }
    #[expect(clippy::cast_precision_loss, reason = "sizes of a core's memory are small")]
    let vmem = vmem.into_iter().map(|(name, bytes)| (name, bytes as f64));
    #[expect(clippy::cast_possible_truncation, reason = "the interface has 32-bit floats")]
    let values = |(name, value)| (name, OptionValue::Float(value as f32));
    Attributes::new(whole.into_iter().chain(vmem).map(values))
}

/// A value of the real compiler's cost analysis.
fn property((name, value): &(String, Property)) -> (String, OptionValue) {
    let value = match *value {
        Property::Float(value) => OptionValue::Float(value),
        Property::Int(value) => OptionValue::Int(value),
    };
    (name.clone(), value)
}

/// Handles of layouts that live as long as their executable.
#[derive(Debug)]
pub(crate) struct Layouts(Vec<usize>);

impl Layouts {
    fn new<'a>(specs: impl Iterator<Item = &'a ArraySpec>) -> Self {
        let handle = |spec: &ArraySpec| {
            handle_of::<sys::PJRT_Layouts_MemoryLayout, Layout>(LAYOUTS.insert(spec.layout.clone()))
        };
        Self(specs.map(|spec| handle(spec).addr()).collect())
    }

    /// The handles as the interface's array.
    pub(crate) fn give(
        &self,
        layouts: &mut *mut *mut sys::PJRT_Layouts_MemoryLayout,
        count: &mut usize,
    ) {
        *layouts = self.0.as_ptr().cast_mut().cast();
        *count = self.0.len();
    }
}

impl Drop for Layouts {
    fn drop(&mut self) {
        for &bits in &self.0 {
            let id = Id::from_raw(bits as u64);
            // A client that destroyed a layout of ours has only ended its own access.
            let _ = id.map(|id| LAYOUTS.remove(id));
        }
    }
}

/// `PJRT_LoadedExecutable`: a program on the devices of a client.
#[derive(Debug)]
pub(crate) struct LoadedEntry {
    pub(crate) of: Arc<ExecutableEntry>,
    pub(crate) machine: Arc<Emulator>,
    /// `PJRT_Device*` as bits, the ones of this process, in the order of the assignment.
    pub(crate) devices: Vec<usize>,
    /// Replica and partition of each of `devices`.
    pub(crate) logical_ids: Vec<sys::PJRT_LogicalDeviceIds>,
    /// Whether it may run on any one device.
    pub(crate) portable: bool,
    deleted: AtomicBool,
}

impl LoadedEntry {
    /// Puts a program onto the devices that it was compiled for.
    ///
    /// # Errors
    /// `BadArgument` for devices that the client does not have.
    pub(crate) fn new(of: Arc<ExecutableEntry>, client: &Client, portable: bool) -> Result<Self> {
        let executable = &of.executable;
        let partitions = executable.options.partitions.max(1);
        let topology = client.machine.topology();
        let (mut devices, mut logical_ids) = (Vec::new(), Vec::new());
        for (place, &index) in executable.devices.iter().enumerate() {
            let (info, &handle) =
                topology.devices().get(index).zip(client.devices.get(index)).ok_or_else(|| {
                    let count = client.devices.len();
                    Error::bad(format!("device number {index} of a client with {count}"))
                })?;
            if info.process_index == client.process_index {
                devices.push(handle);
                logical_ids.push(sys::PJRT_LogicalDeviceIds {
                    replica: number(place / partitions)?,
                    partition: number(place % partitions)?,
                });
            }
        }
        let machine = Arc::clone(&client.machine);
        let deleted = AtomicBool::new(false);
        Ok(Self { of, machine, devices, logical_ids, portable, deleted })
    }

    /// Whether it can no longer run.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }

    /// Ends its runs; what is known of it stays.
    pub(crate) fn delete(&self) {
        self.deleted.store(true, Ordering::Release);
    }
}

impl Drop for LoadedEntry {
    /// Not when its last run ends: what the client gives up is free for its next call.
    fn drop(&mut self) {
        self.of.executable.forget_constants();
    }
}

fn number(place: usize) -> Result<i32> {
    i32::try_from(place).map_err(|_| Error::bad(format!("logical device number {place}")))
}

pub(crate) static EXECUTABLES: Table<ExecutableEntry> = Table::new("executable", 13);
pub(crate) static LOADED: Table<LoadedEntry> = Table::new("loaded executable", 14);

pub(crate) fn executable(handle: *const sys::PJRT_Executable) -> Result<Arc<ExecutableEntry>> {
    EXECUTABLES.get(id_of(handle, "executable")?)
}

pub(crate) fn loaded(handle: *const sys::PJRT_LoadedExecutable) -> Result<Arc<LoadedEntry>> {
    LOADED.get(id_of(handle, "loaded executable")?)
}

/// A handle for a program on the devices of a client.
pub(crate) fn give_loaded(entry: LoadedEntry) -> *mut sys::PJRT_LoadedExecutable {
    handle_of(LOADED.insert(entry))
}

/// A handle for a compiled program. Several handles may lead to one program.
pub(crate) fn give_executable(entry: Arc<ExecutableEntry>) -> *mut sys::PJRT_Executable {
    handle_of(EXECUTABLES.insert_arc(entry))
}
