//! What a client is told of one partition's program.
//!
//! The machine runs a partitioned program once for all of its devices, so there is no program of
//! one partition. Clients read shapes, shardings and donations from it, and these are told: the
//! parameters as each device holds them, and one custom call that stands for all the rest.
use crate::shape::Shape;
use tpu_emu::executable::Executable;
use tpu_emu::{Error, Result};
use tpu_hlo::told::{of_shape, stand_in};
use tpu_proto::xla::op_sharding::Type;
use tpu_proto::xla::{HloModuleProto, OpSharding, ProgramShapeProto};

/// One partition's program of `module`, which gives `result` on each device.
///
/// # Errors
/// `Unimplemented` where shardings cannot be told in XLA's messages.
pub(crate) fn partitioned(
    module: &HloModuleProto,
    executable: &Executable,
    parameters: &[Shape],
    result: &Shape,
) -> Result<HloModuleProto> {
    let names = module.host_program_shape.as_ref().map(|shape| shape.parameter_names.clone());
    let program = ProgramShapeProto {
        parameters: parameters.iter().map(Shape::to_proto).collect(),
        result: Some(result.to_proto()),
        parameter_names: names.unwrap_or_default(),
    };
    let texts = executable.parameters.iter().map(|array| array.sharding.as_deref());
    let mut arrays = shardings(executable, texts)?;
    let of_parameters =
        program.parameters.iter().map(|shape| of_shape(shape, &mut arrays)).collect();
    let texts = executable.results.iter().map(|array| array.sharding.as_deref());
    let of_result = of_shape(&result.to_proto(), &mut shardings(executable, texts)?);
    Ok(stand_in(module, program, of_parameters, Some(of_result)))
}

/// The parameters as one device holds them.
///
/// # Errors
/// `BadArgument` for more arrays than the program takes.
pub(crate) fn parts(wholes: Vec<Shape>, executable: &Executable) -> Result<Vec<Shape>> {
    let mut arrays = executable.parameters.iter();
    let mut next = || {
        let array = arrays.next();
        let array = array.ok_or_else(|| Error::bad("a parameter that the program has not"))?;
        Shape::of(&array.spec)
    };
    wholes.into_iter().map(|whole| part_of(whole, &mut next)).collect()
}

/// A shape whose arrays are replaced by those that `next` gives, from the left.
fn part_of(whole: Shape, next: &mut impl FnMut() -> Result<Shape>) -> Result<Shape> {
    if whole.is_tuple() {
        let parts = whole.tuple.into_iter().map(|part| part_of(part, next));
        return Ok(Shape::tuple(parts.collect::<Result<_>>()?));
    }
    let array = next()?;
    Ok(if whole.is_array() { array } else { whole })
}

/// The shardings of arrays, whose words are `texts`.
fn shardings<'a>(
    executable: &Executable,
    texts: impl Iterator<Item = Option<&'a str>>,
) -> Result<std::vec::IntoIter<OpSharding>> {
    let all: Result<Vec<OpSharding>> = texts.map(|text| sharding(executable, text)).collect();
    all.map(Vec::into_iter)
}

fn sharding(executable: &Executable, text: Option<&str>) -> Result<OpSharding> {
    let Some(text) = text else {
        return Ok(OpSharding { r#type: Type::Replicated.into(), ..OpSharding::default() });
    };
    tpu_hlo::sharding_of(text)
        .and_then(|sharding| listed(sharding, executable.devices.len()))
        .ok_or_else(|| {
            let name = &executable.name;
            Error::Unimplemented(format!("{name}: the sharding {text} in a message"))
        })
}

/// A sharding whose devices stand one by one, which is the only form that clients of jaxlib 0.4.13
/// understand; `None` if an order over `devices` devices makes no sense.
fn listed(sharding: OpSharding, devices: usize) -> Option<OpSharding> {
    if sharding.iota_reshape_dims.is_empty() {
        return Some(sharding);
    }
    let order = iota(&sharding.iota_reshape_dims, &sharding.iota_transpose_perm, devices)?;
    Some(OpSharding {
        tile_assignment_devices: order,
        iota_reshape_dims: Vec::new(),
        iota_transpose_perm: Vec::new(),
        ..sharding
    })
}

/// The numbers from 0 to `count`, as an array of these extents that is transposed.
fn iota(extents: &[i64], order: &[i32], count: usize) -> Option<Vec<i64>> {
    let axes: Option<Vec<usize>> = order.iter().map(|&axis| usize::try_from(axis).ok()).collect();
    let axes = axes?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    let product = |product: i64, &extent: &i64| product.checked_mul(extent);
    let whole = extents.iter().try_fold(1, product)?;
    let positive = extents.iter().all(|&extent| extent > 0);
    if !positive || !sorted.into_iter().eq(0..extents.len()) || usize::try_from(whole) != Ok(count)
    {
        return None;
    }
    let mut numbers = vec![0];
    for axis in axes {
        let stride: i64 = extents[axis + 1..].iter().product();
        let steps = 0..extents[axis];
        numbers = numbers
            .iter()
            .flat_map(|&number| steps.clone().map(move |step| number + step * stride))
            .collect();
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::compiled;
    use crate::launcher::{CModule, compile, message};
    use crate::module::{ModuleConfig, read_module};
    use tpu_proto::Message as _;

    /// The rows of `x` are shared out; `y` is everywhere. The first result takes `x` over.
    fn program() -> HloModuleProto {
        let text = "HloModule rows, input_output_alias={ {0}: (0, {}, may-alias) }
            ENTRY main {
              x = f32[4,6] parameter(0)
              y = f32[4,6] parameter(1)
              s = f32[4,6] add(x, y)
              ROOT t = (f32[4,6], f32[4,6]) tuple(s, y)
            }";
        let mut module = message(text);
        let rows = OpSharding {
            r#type: Type::Other.into(),
            tile_assignment_dimensions: vec![2, 1],
            tile_assignment_devices: vec![0, 1],
            ..OpSharding::default()
        };
        let whole = OpSharding { r#type: Type::Replicated.into(), ..OpSharding::default() };
        let tuple_shardings = vec![rows.clone(), whole.clone()];
        let r#type = Type::Tuple.into();
        let both = OpSharding { r#type, tuple_shardings, ..OpSharding::default() };
        for instruction in &mut module.computations[0].instructions {
            instruction.sharding = match instruction.name.as_str() {
                "x" | "s" => Some(rows.clone()),
                "y" => Some(whole.clone()),
                _ => Some(both.clone()),
            };
        }
        module
    }

    #[test]
    fn a_partition_s_program_has_its_shapes_shardings_and_aliases() {
        let whole = program();
        let handle = compile(&whole.encode_to_vec(), &ModuleConfig::over(1, 2)).unwrap();
        let abi = crate::client::dialect();
        let mut written = CModule::empty();
        compiled(handle).unwrap().write(abi, written.at());
        let (code, config) = read_module(abi, written.at()).unwrap();
        let module = HloModuleProto::decode(code).unwrap();

        let shapes = module.host_program_shape.as_ref().unwrap();
        let text = |shape: &tpu_proto::xla::ShapeProto| Shape::from_proto(shape).unwrap().text();
        let parameters: Vec<String> = shapes.parameters.iter().map(text).collect();
        assert_eq!(parameters, ["f32[2,6]", "f32[4,6]"]);
        let result = shapes.result.as_ref().unwrap();
        assert_eq!(text(result), "(f32[2,6],f32[4,6])");
        let root = module.computations[0].instructions.last().unwrap();
        assert_eq!((root.shape.as_ref(), &*root.operand_ids), (Some(result), &[1, 2][..]));
        assert_eq!(root.custom_call_target, "tpu_emu.partitioned");

        let shardings = &module.spmd_parameters_shardings;
        let kinds: Vec<i32> = shardings.iter().map(|sharding| sharding.r#type).collect();
        assert_eq!(kinds, [Type::Other as i32, Type::Replicated as i32]);
        assert_eq!(shardings[0].tile_assignment_dimensions, [2, 1]);
        let of_result = module.spmd_output_sharding.as_ref().unwrap();
        assert_eq!(of_result.tuple_shardings, *shardings);
        assert_eq!(module.input_output_alias, whole.input_output_alias);

        let said = format!("{config:?}");
        assert!(said.contains("dims: [2, 6]") && !said.contains("entry: None"), "{said}");
    }

    #[test]
    fn devices_in_a_transposed_order_are_listed() {
        assert_eq!(iota(&[2], &[0], 2), Some(vec![0, 1]));
        assert_eq!(iota(&[2, 3], &[1, 0], 6), Some(vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(iota(&[2, 2, 2], &[2, 0, 1], 8), Some(vec![0, 2, 4, 6, 1, 3, 5, 7]));
    }

    #[test]
    fn an_order_over_other_devices_has_no_list() {
        assert_eq!(iota(&[2], &[0], 8), None);
        assert_eq!(iota(&[1 << 40, 1 << 40], &[0, 1], 8), None);
        assert_eq!(iota(&[-2, -4], &[0, 1], 8), None);
        assert_eq!(iota(&[2, 4], &[0, 0], 8), None);
        assert_eq!(iota(&[2, 4], &[0], 8), None);
        assert_eq!(iota(&[2, 4], &[0, -1], 8), None);
    }

    #[test]
    fn a_sharding_with_an_order_becomes_one_with_a_list() {
        let sharding = tpu_hlo::sharding_of("{devices=[2,1]<=[2]}").unwrap();
        let told = listed(sharding, 2).unwrap();
        assert_eq!(told, tpu_hlo::sharding_of("{devices=[2,1]0,1}").unwrap());
        let replicated = tpu_hlo::sharding_of("{replicated}").unwrap();
        assert_eq!(listed(replicated.clone(), 2), Some(replicated));
    }
}
