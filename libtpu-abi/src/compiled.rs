//! `SE_Executable`: a compiled program, and what its client is told of it.
use crate::abi::Abi;
use crate::boundary::{handle_of, id_of};
use crate::layout::CLayout;
use crate::memory::At;
use crate::module::{ModuleConfig, write_module};
use crate::numbering::numbered_from_one;
use crate::partitioned::{partitioned, parts};
use crate::shape::Shape;
use crate::sys::SE_Executable;
use std::sync::Arc;
use tpu_emu::executable::{Executable, Format, Serialized};
use tpu_emu::hbm::spec::{ArraySpec, Specs};
use tpu_emu::runtime::LoadedExecutable;
use tpu_emu::{Emulator, Error, Result, Table};
use tpu_proto::Message as _;
use tpu_proto::xla::HloModuleProto;

/// The programs that clients hold.
pub(crate) static COMPILED: Table<Compiled> = Table::new("SE_Executable", 121);

/// The program of a handle.
///
/// # Errors
/// `Null`, `StaleHandle`.
pub(crate) fn compiled(handle: *const SE_Executable) -> Result<Arc<Compiled>> {
    COMPILED.get(id_of(handle, "SE_Executable")?)
}

/// A program that was compiled for a client, and what the client is told of it.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// Where it runs.
    pub(crate) machine: Arc<Emulator>,
    /// The machine's form of it.
    pub(crate) executable: Arc<LoadedExecutable>,
    /// The client's config, with the layouts of parameters and result in any case.
    config: ModuleConfig,
    /// The program as the client is to see it: of one over several partitions, one partition's.
    code: Arc<[u8]>,
    /// What one device's run gives, as it lies on the device.
    pub(crate) result: Shape,
    /// Descriptions of the arrays in `result`, from the left.
    pub(crate) result_specs: Vec<Arc<ArraySpec>>,
}

impl Compiled {
    /// Compiles a serialized `HloModuleProto`.
    ///
    /// # Errors
    /// `BadArgument` for bytes that are none and configs that do not fit; the compiler's.
    pub(crate) fn compile(
        machine: &Arc<Emulator>,
        code: &[u8],
        config: ModuleConfig,
    ) -> Result<Self> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Error::bad(format!("the program cannot be read: {error}"))
        };
        let proto = HloModuleProto::decode(code).map_err(|error| unreadable(&error))?;
        let options = config.options()?;
        let module =
            tpu_hlo::read_message(&proto, code.len()).map_err(|error| unreadable(&error))?;
        let shapes = proto.host_program_shape.as_ref();
        let (parameters, result) = shapes
            .and_then(|shapes| Some((&shapes.parameters, shapes.result.as_ref()?)))
            .ok_or_else(|| Error::bad(format!("{} states no shape of its result", proto.name)))?;
        let parameters: Vec<Shape> =
            parameters.iter().map(Shape::from_proto).collect::<Result<_>>()?;
        let declared = Shape::from_proto(result)?;
        let source = numbered_from_one(&proto).encode_to_vec().into();
        let executable = machine.compile_module(module, (Format::Hlo, source), options)?;
        let wanted = executable.parameters.len();
        let stated: usize = parameters.iter().map(|shape| shape.leaves().len()).sum();
        if wanted != stated {
            let name = &executable.name;
            let message = format!("{name} takes {wanted} arrays; its shape states {stated}");
            return Err(Error::bad(message));
        }
        let (result, result_specs) = on_device(machine, &executable, declared)?;
        let (mut config, mut code, mut parameters) = (config, Arc::from(code), parameters);
        if executable.options.partitions > 1 {
            parameters = parts(parameters, &executable)?;
            code = partitioned(&proto, &executable, &parameters, &result)?.encode_to_vec().into();
            config.entry = None;
        }
        config.entry.get_or_insert_with(|| (parameters, result.clone()));
        let machine = Arc::clone(machine);
        Ok(Self { machine, executable, config, code, result, result_specs })
    }

    /// Writes the program as an `XLA_HloModule` of the client's.
    pub(crate) fn write(&self, abi: &Abi, at: At<'_>) {
        write_module(abi, at, &self.code, Some(&self.config));
    }

    /// The handle of the program, which is the client's from now on.
    pub(crate) fn give(self) -> *mut SE_Executable {
        handle_of(COMPILED.insert(self))
    }

    /// The program as bytes that [`Compiled::deserialize`] reads.
    pub(crate) fn serialize(&self) -> Vec<u8> {
        let (format, code) = &self.executable.source;
        let options = self.config.saved();
        let device_kind = self.machine.topology().device_kind();
        Serialized { device_kind, options: &options, format: *format, code }.write()
    }

    /// Reads what [`Compiled::serialize`] wrote, and compiles it again.
    ///
    /// # Errors
    /// `BadArgument` for anything else, and for a program of another kind of device.
    pub(crate) fn deserialize(machine: &Arc<Emulator>, bytes: &[u8]) -> Result<Self> {
        let Serialized { device_kind, options, format, code } = Serialized::read(bytes)?;
        let own = machine.topology().device_kind();
        if device_kind != own {
            let message = format!("a program compiled for {device_kind}; this machine has {own}");
            return Err(Error::bad(message));
        }
        if format != Format::Hlo {
            return Err(Error::bad(format!("a serialized program of the format {format:?}")));
        }
        Self::compile(machine, code, ModuleConfig::restored(options)?)
    }
}

/// The result's shape with the layouts that its arrays have on the device, and these arrays.
fn on_device(
    machine: &Emulator,
    executable: &Executable,
    declared: Shape,
) -> Result<(Shape, Vec<Arc<ArraySpec>>)> {
    let wanted = executable.results.len();
    let given = declared.leaves().len();
    if wanted != given {
        let name = &executable.name;
        let message = format!("{name} gives {wanted} arrays; its shape states {given}");
        return Err(Error::bad(message));
    }
    let mut specs = Vec::with_capacity(wanted);
    let shape = placed(machine, executable, declared, &mut specs)?;
    Ok((shape, specs))
}

fn placed(
    machine: &Emulator,
    executable: &Executable,
    shape: Shape,
    specs: &mut Vec<Arc<ArraySpec>>,
) -> Result<Shape> {
    if shape.is_tuple() {
        let parts = shape.tuple.into_iter();
        let parts = parts.map(|part| placed(machine, executable, part, specs));
        return Ok(Shape::tuple(parts.collect::<Result<_>>()?));
    }
    let result = &executable.results[specs.len()];
    if !shape.is_array() {
        specs.push(Arc::clone(&result.spec));
        return Ok(shape);
    }
    let spec = part(machine.specs(), shape, &result.spec)?;
    let shape = Shape::of(&spec)?;
    specs.push(spec);
    Ok(shape)
}

/// One device's part of an array, in the order of the axes that the program asks for.
///
/// A client that does not know how a result is divided asks for the order of the whole array. It
/// gets the part's own then, in which it passes such a part as an argument.
fn part(specs: &Specs, declared: Shape, part: &ArraySpec) -> Result<Arc<ArraySpec>> {
    let whole = Shape { layout: None, ..declared.clone() }.spec(specs)?;
    let asked = declared.layout.as_ref().map(CLayout::order).transpose()?;
    let of_whole = asked.as_ref() == Some(&whole.layout.minor_to_major);
    let layout = declared.layout.filter(|_| !of_whole);
    Shape { layout, ..Shape::of(part)? }.spec(specs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::{INC, code, inc_in_place};
    use tpu_proto::xla::PrimitiveType;

    fn machine() -> Arc<Emulator> {
        crate::machine().unwrap()
    }

    #[test]
    fn a_program_comes_back_from_its_bytes() {
        let config = ModuleConfig::over(2, 1);
        let program = Compiled::compile(&machine(), &inc_in_place(), config).unwrap();
        let again = Compiled::deserialize(&machine(), &program.serialize()).unwrap();
        assert_eq!(again.executable.fingerprint, program.executable.fingerprint);
        assert_eq!(again.executable.devices.len(), 2);
        assert_eq!(again.config, program.config);
        let numbered = numbered_from_one(&HloModuleProto::decode(&*program.code).unwrap());
        assert_eq!(HloModuleProto::decode(&*again.code).unwrap(), numbered);
    }

    #[test]
    fn bytes_of_another_machine_and_damaged_ones_are_refused() {
        let of = |device_kind: &str, format: Format| {
            let (options, code) = (ModuleConfig::over(1, 1).saved(), code(INC));
            Serialized { device_kind, options: &options, format, code: &code }.write()
        };
        let own = machine().topology().device_kind().to_owned();
        let refused = |bytes: &[u8]| {
            Compiled::deserialize(&machine(), bytes).map(drop).unwrap_err().to_string()
        };
        assert!(Compiled::deserialize(&machine(), &of(&own, Format::Hlo)).is_ok());
        let error = refused(&of("TPU v0", Format::Hlo));
        assert!(error.contains("compiled for TPU v0; this machine has"), "{error}");
        let error = refused(&of(&own, Format::Mlir));
        assert!(error.contains("Mlir"), "{error}");
        let whole = of(&own, Format::Hlo);
        for end in 0..whole.len() {
            refused(&whole[..end]);
        }
    }

    #[test]
    fn results_keep_the_order_of_axes_that_the_program_asks_for() {
        let text = "HloModule m ENTRY main { x = f32[2,3]{1,0} parameter(0)
            ROOT y = f32[2,3]{0,1} copy(x) }";
        let config = ModuleConfig::over(1, 1);
        let program = Compiled::compile(&machine(), &code(text), config).unwrap();
        assert_eq!(program.result.layout.as_ref().unwrap().minor_to_major, [0, 1]);
        assert_eq!(Shape::of(&program.result_specs[0]).unwrap(), program.result);
    }

    /// The order of the axes of a part of f32[4,4,2] whose order was asked for.
    fn order(dims: &[i64], asked: &[i64]) -> Vec<usize> {
        let machine = crate::machine().unwrap();
        let specs = machine.specs();
        let array = |dims: &[i64]| Shape::array(PrimitiveType::F32 as i32, dims.to_vec());
        let of_part = array(dims).spec(specs).unwrap();
        let layout = CLayout { minor_to_major: asked.to_vec(), ..CLayout::row_major(dims.len()) };
        let declared = Shape { layout: Some(layout), ..array(&[4, 4, 2]) };
        part(specs, declared, &of_part).unwrap().layout.minor_to_major.clone()
    }

    #[test]
    fn the_order_of_a_whole_array_becomes_that_of_its_part() {
        assert_eq!(order(&[4, 4, 2], &[1, 2, 0]), [1, 2, 0], "the machine's own order");
        assert_eq!(order(&[2, 2, 2], &[1, 2, 0]), [2, 1, 0]);
    }

    #[test]
    fn another_order_stays() {
        assert_eq!(order(&[2, 2, 2], &[2, 1, 0]), [2, 1, 0]);
        assert_eq!(order(&[2, 2, 2], &[0, 1, 2]), [0, 1, 2]);
    }
}
