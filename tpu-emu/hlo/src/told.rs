//! A compiled program as its client reads it back: the instructions that it sent, or what stands
//! for one partition's, and how parameters and results lie and are split.
use crate::reader::shape_of;
use crate::{HOST_MEMORY, ReadError, WriteError, shape};
use tpu_proto::Message as _;
use tpu_proto::xla::op_sharding::Type;
use tpu_proto::xla::{
    DeviceAssignmentProto, HloComputationProto, HloInstructionProto, HloModuleConfigProto,
    HloModuleProto, HloModuleProtoWithConfig, HloProto, OpSharding, PrimitiveType,
    ProgramShapeProto, ShapeProto,
};
use tpu_stablehlo::Module;

/// The name of the only computation of what stands for a partition's program.
const NAME: &str = "main";
/// The target of the custom call that stands for all of its instructions.
const TARGET: &str = "tpu_emu.partitioned";

/// What was decided about a program when it was compiled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decided {
    /// The arrays of the parameters from the left, as each device holds them.
    pub parameters: Vec<ShapeProto>,
    /// The arrays of the result from the left, as each device holds them.
    pub results: Vec<ShapeProto>,
    /// The shardings of `parameters`; read where there are several partitions.
    pub parameter_shardings: Vec<OpSharding>,
    /// The shardings of `results`; read where there are several partitions.
    pub result_shardings: Vec<OpSharding>,
    /// Which device runs which part. It has the numbers of replicas and partitions.
    pub devices: DeviceAssignmentProto,
}

/// A serialized `HloModuleProtoWithConfig` of the program `code`, which is one if `with_config`
/// and an `HloModuleProto` otherwise.
///
/// XLA takes a module only with a layout of its entry, whose parameters and result have the
/// shapes that the module states. The module of a program of one partition is the client's, byte
/// for byte.
///
/// # Errors
/// Bytes that are no program, and one whose shapes have other arrays than `decided`.
pub fn told(code: &[u8], with_config: bool, decided: Decided) -> Result<Vec<u8>, ReadError> {
    let damaged = |error| ReadError::new(format!("no HLO program: {error}"));
    // Field 1 of both messages is a module.
    let inner =
        if with_config { HloProto::decode(code).map_err(damaged)?.hlo_module } else { Vec::new() };
    let code = if with_config { &inner } else { code };
    let module = HloModuleProto::decode(code).map_err(damaged)?;
    let entry = entry(&module)?;
    let stated = program_shape(&module, entry)?;
    let Decided { parameters, results, parameter_shardings, result_shardings, devices } = decided;
    let program = placed(&stated, parameters, results)?;
    let several = devices.computation_count > 1;
    let as_sent = module.entry_computation_id == entry.id
        && module.host_program_shape.as_ref().is_some_and(|said| same_arrays(said, &stated));
    let body = if several {
        let (mut of_parameters, mut of_results) =
            (parameter_shardings.into_iter(), result_shardings.into_iter());
        let split = program.parameters.iter().map(|shape| of_shape(shape, &mut of_parameters));
        let split = split.collect();
        let result = program.result.as_ref().map(|shape| of_shape(shape, &mut of_results));
        stand_in(&module, program.clone(), split, result).encode_to_vec()
    } else if as_sent {
        code.to_vec()
    } else {
        let (entry_computation_id, host_program_shape) = (entry.id, Some(program.clone()));
        HloModuleProto { entry_computation_id, host_program_shape, ..module }.encode_to_vec()
    };
    let config = config(program, devices);
    // A module that is the client's own may have fields that our message lacks.
    let mut message = HloProto { hlo_module: body }.encode_to_vec();
    HloModuleProtoWithConfig { hlo_module: None, config: Some(config) }
        .encode(&mut message)
        .map_err(|error| ReadError::new(error.to_string()))?;
    Ok(message)
}

/// A serialized `HloModuleProtoWithConfig` of a StableHLO program, that of one partition if there
/// are several. The parameters and results that `decided` has in the host's memory are there.
///
/// # Errors
/// As for [`write()`](crate::write()), and for shapes that have other arrays than `decided`.
pub fn written(module: &Module, decided: Decided) -> Result<Vec<u8>, WriteError> {
    let on_host = |(at, shape): (usize, &ShapeProto)| {
        shape.layout.as_ref().is_some_and(|layout| layout.memory_space == HOST_MEMORY).then_some(at)
    };
    let on_host: Vec<usize> = decided.parameters.iter().enumerate().filter_map(on_host).collect();
    let mut hlo = crate::write(module, &on_host)?;
    let Decided { parameters, results, parameter_shardings, result_shardings, devices } = decided;
    let stated = hlo.host_program_shape.take().unwrap_or_default();
    let program = placed(&stated, parameters, results)
        .map_err(|error| WriteError::from(error.to_string()))?;
    if devices.computation_count > 1 {
        let mut of_results = result_shardings.into_iter();
        hlo.spmd_parameters_shardings = parameter_shardings;
        hlo.spmd_output_sharding =
            program.result.as_ref().map(|shape| of_shape(shape, &mut of_results));
    }
    hlo.host_program_shape = Some(program.clone());
    let config = Some(config(program, devices));
    Ok(HloModuleProtoWithConfig { hlo_module: Some(hlo), config }.encode_to_vec())
}

fn config(program: ProgramShapeProto, devices: DeviceAssignmentProto) -> HloModuleConfigProto {
    HloModuleConfigProto {
        entry_computation_layout: Some(program),
        replica_count: devices.replica_count.into(),
        num_partitions: devices.computation_count.into(),
        use_spmd_partitioning: devices.computation_count > 1,
        static_device_assignment: Some(devices),
    }
}

/// What stands for the program of one partition of `module`: parameters, and one custom call
/// with the result. For reading only.
///
/// `of_parameters` has a sharding for each parameter, `of_result` is that of the result.
pub fn stand_in(
    module: &HloModuleProto,
    program: ProgramShapeProto,
    of_parameters: Vec<OpSharding>,
    of_result: Option<OpSharding>,
) -> HloModuleProto {
    HloModuleProto {
        name: module.name.clone(),
        entry_computation_name: NAME.into(),
        computations: vec![computation(&program)],
        host_program_shape: Some(program),
        id: module.id,
        entry_computation_id: 1,
        input_output_alias: module.input_output_alias.clone(),
        buffer_donor: module.buffer_donor.clone(),
        spmd_output_sharding: of_result,
        spmd_parameters_shardings: of_parameters,
        frontend_attributes: module.frontend_attributes.clone(),
        ..HloModuleProto::default()
    }
}

/// The sharding of a shape whose arrays have those that `arrays` begins with. An array without
/// one is whole on every device.
pub fn of_shape(shape: &ShapeProto, arrays: &mut impl Iterator<Item = OpSharding>) -> OpSharding {
    let mut own: Vec<OpSharding> = arrays.take(shape::count(shape)).collect();
    if shape.element_type() != PrimitiveType::Tuple {
        return own.pop().unwrap_or_default();
    }
    // XLA counts one array in a tuple of none.
    own.resize(shape::count(shape).max(1), OpSharding::default());
    OpSharding { r#type: Type::Tuple.into(), tuple_shardings: own, ..OpSharding::default() }
}

/// The computation that is the program.
fn entry(module: &HloModuleProto) -> Result<&HloComputationProto, ReadError> {
    let all = &module.computations;
    let found = all.iter().find(|one| one.id == module.entry_computation_id);
    found
        .or_else(|| all.iter().find(|one| one.name == module.entry_computation_name))
        .ok_or_else(|| format!("'{}' has no entry", module.name).into())
}

/// The shapes of a program's parameters and result, as its instructions have them.
fn program_shape(
    module: &HloModuleProto,
    entry: &HloComputationProto,
) -> Result<ProgramShapeProto, ReadError> {
    let mut parameters: Vec<&HloInstructionProto> =
        entry.instructions.iter().filter(|one| one.opcode == "parameter").collect();
    parameters.sort_by_key(|one| one.parameter_number);
    let root = entry.instructions.iter().find(|one| one.id == entry.root_id);
    let root = root.ok_or_else(|| format!("'{}' has no result", entry.name))?;
    let names = module.host_program_shape.as_ref().map(|shape| shape.parameter_names.clone());
    Ok(ProgramShapeProto {
        parameters: parameters
            .into_iter()
            .map(|one| shape_of(one).cloned())
            .collect::<Result<_, _>>()?,
        result: Some(shape_of(root)?.clone()),
        parameter_names: names.unwrap_or_default(),
    })
}

/// Whether two programs take and give the same arrays, however they lie.
fn same_arrays(one: &ProgramShapeProto, other: &ProgramShapeProto) -> bool {
    one.parameters.len() == other.parameters.len()
        && one.parameters.iter().zip(&other.parameters).all(|(one, other)| same(one, other))
        && one.result.iter().zip(&other.result).all(|(one, other)| same(one, other))
        && one.result.is_some() == other.result.is_some()
}

fn same(one: &ShapeProto, other: &ShapeProto) -> bool {
    one.element_type == other.element_type
        && one.dimensions == other.dimensions
        && one.tuple_shapes.len() == other.tuple_shapes.len()
        && one.tuple_shapes.iter().zip(&other.tuple_shapes).all(|(one, other)| same(one, other))
}

/// The stated shapes with the arrays that devices hold.
fn placed(
    stated: &ProgramShapeProto,
    parameters: Vec<ShapeProto>,
    results: Vec<ShapeProto>,
) -> Result<ProgramShapeProto, ReadError> {
    let result = stated.result.as_ref().ok_or("a program that states no shape of its result")?;
    let taken: usize = stated.parameters.iter().map(shape::count).sum();
    let given = shape::count(result);
    if (taken, given) != (parameters.len(), results.len()) {
        let (takes, gives) = (parameters.len(), results.len());
        return Err(format!(
            "a program that takes {takes} arrays and gives {gives} states shapes of {taken} and \
             {given}"
        )
        .into());
    }
    let (mut parameters, mut results) = (parameters.into_iter(), results.into_iter());
    Ok(ProgramShapeProto {
        parameters: stated.parameters.iter().map(|one| part(one, &mut parameters)).collect(),
        result: Some(part(result, &mut results)),
        parameter_names: stated.parameter_names.clone(),
    })
}

/// A shape whose arrays are replaced by those that `arrays` begins with; tokens stay.
fn part(stated: &ShapeProto, arrays: &mut impl Iterator<Item = ShapeProto>) -> ShapeProto {
    if stated.element_type() == PrimitiveType::Tuple {
        let parts = stated.tuple_shapes.iter().map(|one| part(one, arrays)).collect();
        return ShapeProto { tuple_shapes: parts, ..stated.clone() };
    }
    match arrays.next() {
        Some(array) if stated.element_type() != PrimitiveType::Token => {
            // Only the client knows which extents are bounds.
            ShapeProto { is_dynamic_dimension: stated.is_dynamic_dimension.clone(), ..array }
        }
        _ => stated.clone(),
    }
}

/// Parameters, and the call that stands for what is done with them.
fn computation(program: &ProgramShapeProto) -> HloComputationProto {
    let mut instructions: Vec<HloInstructionProto> = (1..)
        .zip(&program.parameters)
        .map(|(id, shape)| HloInstructionProto {
            name: format!("parameter.{id}"),
            opcode: "parameter".into(),
            shape: Some(shape.clone()),
            parameter_number: id - 1,
            id,
            ..HloInstructionProto::default()
        })
        .collect();
    let operand_ids: Vec<i64> = instructions.iter().map(|parameter| parameter.id).collect();
    let id = operand_ids.last().map_or(1, |last| last + 1);
    instructions.push(HloInstructionProto {
        name: format!("custom-call.{id}"),
        opcode: "custom-call".into(),
        shape: program.result.clone(),
        custom_call_target: TARGET.into(),
        operand_ids,
        id,
        ..HloInstructionProto::default()
    });
    HloComputationProto {
        name: NAME.into(),
        instructions,
        program_shape: Some(program.clone()),
        id: 1,
        root_id: id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use tpu_proto::xla::LayoutProto;
    use tpu_proto::xla::device_assignment_proto::ComputationDevice;

    const PROGRAM: &str = "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
        ENTRY main {
          x = f32[4,6] parameter(0)
          t = (s32[2], token[]) parameter(1)
          n = s32[2] get-tuple-element(t), index=0
          ROOT r = (f32[4,6], s32[2]) tuple(x, n)
        }";

    fn module(text: &str) -> HloModuleProto {
        text::parse(text).unwrap()
    }

    fn array(of: PrimitiveType, dims: &[i64]) -> ShapeProto {
        let minor_to_major = (0..dims.len()).map(|axis| i64::try_from(axis).unwrap()).collect();
        let layout = Some(LayoutProto { minor_to_major, ..<_>::default() });
        ShapeProto { element_type: of.into(), dimensions: dims.to_vec(), layout, ..<_>::default() }
    }

    fn over(replicas: i32, partitions: i32, rows: i64) -> Decided {
        let ids = |first: i32| (0..replicas).map(move |at| i64::from(first + at * partitions));
        let device = |first| ComputationDevice { replica_device_ids: ids(first).collect() };
        let rows = [rows, 6];
        let token = array(PrimitiveType::Pred, &[0]);
        Decided {
            parameters: vec![
                array(PrimitiveType::F32, &rows),
                array(PrimitiveType::S32, &[2]),
                token,
            ],
            results: vec![array(PrimitiveType::F32, &rows), array(PrimitiveType::S32, &[2])],
            parameter_shardings: vec![halves(), <_>::default(), <_>::default()],
            result_shardings: vec![halves(), <_>::default()],
            devices: DeviceAssignmentProto {
                replica_count: replicas,
                computation_count: partitions,
                computation_devices: (0..partitions).map(device).collect(),
            },
        }
    }

    fn halves() -> OpSharding {
        crate::sharding_of("{devices=[2,1]<=[2]}").unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<u8>, HloModuleProto, HloModuleConfigProto) {
        let code = HloProto::decode(bytes).unwrap().hlo_module;
        let both = HloModuleProtoWithConfig::decode(bytes).unwrap();
        (code, both.hlo_module.unwrap(), both.config.unwrap())
    }

    #[test]
    fn a_program_of_one_partition_is_the_client_s_with_its_layouts() {
        let sent = module(PROGRAM).encode_to_vec();
        let bytes = told(&sent, false, over(2, 1, 4)).unwrap();
        let (code, _, config) = read(&bytes);
        assert_eq!(code, sent);
        let layout = config.entry_computation_layout.unwrap();
        assert_eq!(layout.parameters[0].layout.as_ref().unwrap().minor_to_major, [0, 1]);
        let token = &layout.parameters[1].tuple_shapes[1];
        assert_eq!((token.element_type(), token.layout.is_none()), (PrimitiveType::Token, true));
        assert_eq!(layout.result.unwrap().tuple_shapes.len(), 2);
        assert_eq!((config.replica_count, config.num_partitions), (2, 1));
        assert_eq!(config.static_device_assignment, Some(over(2, 1, 4).devices));
        // As another client has sent it, with a configuration that says less.
        let both = HloModuleProtoWithConfig {
            hlo_module: Some(module(PROGRAM)),
            config: Some(HloModuleConfigProto { replica_count: 7, ..<_>::default() }),
        };
        assert_eq!(told(&both.encode_to_vec(), true, over(2, 1, 4)).unwrap(), bytes);
    }

    #[test]
    fn a_program_of_several_partitions_has_the_shapes_of_one_and_the_shardings_of_all() {
        let bytes = told(&module(PROGRAM).encode_to_vec(), false, over(1, 2, 2)).unwrap();
        let (_, told, config) = read(&bytes);
        let layout = config.entry_computation_layout.unwrap();
        assert_eq!(told.host_program_shape.as_ref(), Some(&layout));
        assert_eq!(layout.parameters[0].dimensions, [2, 6]);
        assert_eq!(told.computations[0].instructions.last().unwrap().shape, layout.result);
        let result = told.spmd_output_sharding.unwrap();
        assert_eq!(result.tuple_shardings, [halves(), <_>::default()]);
        let of_parameters = told.spmd_parameters_shardings;
        assert_eq!((of_parameters.len(), &of_parameters[0]), (2, &halves()));
        assert_eq!(of_parameters[1].tuple_shardings.len(), 2);
        assert_eq!(told.input_output_alias, module(PROGRAM).input_output_alias);
        assert!(config.use_spmd_partitioning && config.num_partitions == 2);
    }

    #[test]
    fn a_tuple_of_nothing_has_the_one_sharding_that_xla_counts() {
        let text = "HloModule m ENTRY main { ROOT r = () tuple() }";
        let nothing = Decided { devices: over(1, 2, 2).devices, ..<_>::default() };
        let bytes = told(&module(text).encode_to_vec(), false, nothing).unwrap();
        let result = read(&bytes).1.spmd_output_sharding.unwrap();
        assert_eq!(result.tuple_shardings, [OpSharding::default()]);
    }

    #[test]
    fn a_module_that_states_other_shapes_than_it_has_is_put_right() {
        for damage in [
            |it: &mut HloModuleProto| it.host_program_shape = None,
            |it: &mut HloModuleProto| it.host_program_shape.as_mut().unwrap().result = None,
            |it: &mut HloModuleProto| {
                it.host_program_shape.as_mut().unwrap().parameters[0].dimensions[0] = 9;
            },
            |it: &mut HloModuleProto| {
                it.host_program_shape.as_mut().unwrap().parameters.pop();
            },
        ] {
            let mut sent = module(PROGRAM);
            damage(&mut sent);
            let (_, told, config) =
                read(&told(&sent.encode_to_vec(), false, over(1, 1, 4)).unwrap());
            assert_eq!(told.host_program_shape, config.entry_computation_layout);
            assert_eq!(told.host_program_shape.unwrap().parameters.len(), 2);
        }
    }

    #[test]
    fn other_numbers_of_arrays_are_refused_with_both() {
        let few = Decided { results: Vec::new(), ..over(1, 1, 4) };
        let error = told(&module(PROGRAM).encode_to_vec(), false, few).unwrap_err().to_string();
        assert!(error.contains("takes 3 arrays and gives 0 states shapes of 3 and 2"), "{error}");
        assert!(told(b"\x07", false, over(1, 1, 4)).is_err());
        assert!(told(b"", false, over(1, 1, 4)).is_err());
    }
}
