//! Extents that a module leaves open. An export with symbolic shapes has a large number in place
//! of each, and an attribute with the program that computes it from extents of the call's operands.
use crate::machine::memory::Place;
use crate::machine::run_alone;
use crate::piece::Planner;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_mosaic::Module;
use tpu_mosaic::ir::{
    Attribute, Attributes, Block, DYNAMIC, Element, Elements, Function, LocationId, Type,
};
use tpu_stablehlo::ir::{Type as HostType, Value};

/// The attribute with the program of an extent; behind it stands the number in its place.
const PROGRAM: &str = "tpu.dynamic_dimension_mapping_module_";
/// The attribute that says which extents of operands the program takes.
const TAKES: &str = "tpu.dynamic_dimension_mapping_indices_";

/// An extent: the number that stands in its place, and what it is.
type Extent = (i64, i64);

/// Puts the extents that follow from the operands of a call in place of their numbers.
///
/// # Errors
/// Everything that does not say what an extent is, and numbers that may or may not be one.
pub(crate) fn settle(
    module: &mut Module,
    operands: &[Shape],
    planner: &dyn Planner,
) -> Result<(), Vec<(String, LocationId)>> {
    let place = module.kernels().next().map_or(LocationId::UNKNOWN, |kernel| kernel.location);
    let mut refusals = Vec::new();
    let mut extents: Vec<Extent> = Vec::new();
    let (programs, takes) = (taken(module, PROGRAM), taken(module, TAKES));
    for (number, program) in &programs {
        let takes = takes.iter().find(|(other, _)| other == number).map(|(_, takes)| takes);
        match extent(program, takes, operands, planner) {
            Ok(extent) => match number.parse() {
                Ok(number) => extents.push((number, extent)),
                Err(_) => refusals.push((format!("the attribute {PROGRAM}{number}"), place)),
            },
            Err(what) => refusals.push((format!("the extent {number}: {what}"), place)),
        }
    }
    for (number, _) in takes {
        if !programs.iter().any(|(other, _)| *other == number) {
            refusals.push((format!("the extent {number}, which has no program"), place));
        }
    }
    if extents.is_empty() {
        return if refusals.is_empty() { Ok(()) } else { Err(refusals) };
    }
    for function in &mut module.functions {
        in_function(function, &extents, &mut refusals);
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// Takes the attributes out whose names begin so; with the rest of their names.
fn taken(module: &mut Module, head: &str) -> Vec<(String, Attribute)> {
    let all = std::mem::take(&mut module.attributes.0);
    let (taken, left) = all.into_iter().partition(|(key, _)| key.starts_with(head));
    module.attributes.0 = left;
    let taken: Vec<_> = taken;
    taken.into_iter().map(|(key, value)| (key[head.len()..].to_owned(), value)).collect()
}

/// Runs the program of an extent.
fn extent(
    program: &Attribute,
    takes: Option<&Attribute>,
    operands: &[Shape],
    planner: &dyn Planner,
) -> Result<i64, String> {
    let text = program.text().ok_or("its program is no text")?;
    let program = tpu_stablehlo::text::parse(text).map_err(|error| error.to_string())?;
    let Some(Attribute::Array(takes)) = takes else {
        return Err("what its program takes is not said".to_owned());
    };
    let entry = program.entry().ok_or("its program has no entry")?;
    let body = entry.block().ok_or("its program has no entry")?;
    let scalar = |of: &HostType| {
        let tensor = of.tensor().filter(|tensor| tensor.dims.is_empty());
        tensor.map(|tensor| tensor.element).ok_or("its program computes more than numbers")
    };
    for function in &program.functions {
        function.values.iter().try_for_each(|of| scalar(of).map(|_| ()))?;
        let mut operations = function.body.blocks.iter().flat_map(|block| &block.operations);
        if operations.any(|operation| !operation.regions.is_empty()) {
            return Err("its program has operations with code inside".to_owned());
        }
    }
    let number = |of: &HostType| match scalar(of)? {
        Element::S32 => Ok(DType::S32),
        Element::S64 => Ok(DType::S64),
        _ => Err("its program takes or gives other numbers than extents"),
    };
    let parameters = body.arguments.iter().map(|&of: &Value| number(entry.type_of(of)));
    let parameters = parameters.collect::<Result<Vec<DType>, _>>()?;
    let [(result, _)] = &*entry.results else {
        return Err("its program has not one result".to_owned());
    };
    let result = number(result)?;
    if parameters.len() != takes.len() {
        let (has, told) = (parameters.len(), takes.len());
        return Err(format!("its program takes {has} numbers, {told} are told"));
    }
    let mut given = Vec::with_capacity(takes.len());
    for (take, dtype) in takes.iter().zip(&parameters) {
        let bytes = operand_extent(take, operands)?.to_le_bytes();
        given.push(Aligned::of(&bytes[..dtype.host_bytes()]));
    }
    let shapes = parameters.iter().map(|&dtype| Shape::scalar(dtype)).collect();
    let donated = vec![None; parameters.len()];
    let piece = planner.plan(program, shapes, vec![Shape::scalar(result)], donated)?;
    let given: Vec<Place> = given.iter().map(|given| Place::of(given.bytes())).collect();
    let mut made = Aligned::zeros(result.host_bytes());
    run_alone(&piece, &given, &[Place::of_mut(made.bytes_mut())])?;
    let mut bytes = [0; 8];
    bytes[..result.host_bytes()].copy_from_slice(made.bytes());
    let made = match result {
        DType::S32 => i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        _ => i64::from_le_bytes(bytes),
    };
    if made < 0 {
        return Err(format!("its program gives {made}"));
    }
    Ok(made)
}

/// The extent of an operand that a program takes.
fn operand_extent(take: &Attribute, operands: &[Shape]) -> Result<i64, String> {
    let Attribute::Dictionary(named) = take else {
        return Err("what its program takes is not said".to_owned());
    };
    let of = |name: &str| named.get(name).and_then(Attribute::integer);
    let (Some(operand), Some(dimension)) = (of("operand_index"), of("dimension_index")) else {
        return Err("what its program takes is not said".to_owned());
    };
    if dimension == -1 {
        return Err("it follows from a bound of the grid, which is known when it runs".to_owned());
    }
    let shape = usize::try_from(operand).ok().and_then(|operand| operands.get(operand));
    let extent = shape.zip(usize::try_from(dimension).ok());
    let extent = extent.and_then(|(shape, dimension)| shape.dims.get(dimension));
    let extent = extent.and_then(|&extent| i64::try_from(extent).ok());
    extent
        .ok_or_else(|| format!("dimension {dimension} of operand {operand} of {}", operands.len()))
}

/// The extent that a number stands for.
fn known(number: i64, extents: &[Extent]) -> Option<i64> {
    extents.iter().find(|(known, _)| *known == number).map(|&(_, extent)| extent)
}

fn in_dims(dims: &mut [i64], extents: &[Extent]) {
    for dim in dims {
        *dim = known(*dim, extents).unwrap_or(*dim);
    }
}

fn in_type(of: &mut Type, extents: &[Extent]) {
    match of {
        Type::Vector(vector) => in_dims(&mut vector.dims, extents),
        Type::Memref(memref) => {
            in_dims(&mut memref.dims, extents);
            if let Some(layout) = &mut memref.layout {
                in_dims(&mut layout.strides, extents);
            }
        }
        Type::Function(arguments, results) => {
            arguments.iter_mut().chain(results).for_each(|of| in_type(of, extents));
        }
        Type::Scalar(_) | Type::Cell(_) | Type::Unknown(_) => {}
    }
}

fn in_function(
    function: &mut Function,
    extents: &[Extent],
    refusals: &mut Vec<(String, LocationId)>,
) {
    let types = function.values.iter_mut().chain(&mut function.results);
    types.for_each(|of| in_type(of, extents));
    if let Some(kernel) = &mut function.kernel {
        // A bound of the grid that is not known at export is an operand of the call, too.
        for bound in kernel.grid.iter_mut().flatten() {
            if known(*bound, extents).is_some() {
                *bound = DYNAMIC;
            }
        }
        for window in kernel.windows.iter_mut().flatten() {
            if let Some(bounds) = &mut window.bounds {
                in_dims(bounds, extents);
            }
        }
    }
    in_block(&mut function.body, extents, refusals);
}

fn in_block(block: &mut Block, extents: &[Extent], refusals: &mut Vec<(String, LocationId)>) {
    for operation in &mut block.operations {
        if let Some(number) = in_attributes(&mut operation.attributes, extents) {
            let what = format!("{number}, which may be an extent and may be itself");
            refusals.push((what, operation.location));
        }
        for region in &mut operation.regions {
            if let Some(block) = &mut region.block {
                in_block(block, extents, refusals);
            }
        }
    }
}

/// Puts extents in the types among attributes; a number among them that stands for an extent.
fn in_attributes(attributes: &mut Attributes, extents: &[Extent]) -> Option<i64> {
    let values = attributes.0.iter_mut().map(|(_, value)| value);
    values.filter_map(|value| in_attribute(value, extents)).next_back()
}

fn in_attribute(attribute: &mut Attribute, extents: &[Extent]) -> Option<i64> {
    let stands = |number: &i64| known(*number, extents).map(|_| *number);
    match attribute {
        Attribute::Type(of) => {
            in_type(of, extents);
            None
        }
        Attribute::Integer(number, _) | Attribute::Signed(number, _) => stands(number),
        Attribute::Integers(numbers, _) => numbers.iter().find_map(stands),
        Attribute::Array(items) => {
            items.iter_mut().filter_map(|item| in_attribute(item, extents)).next_back()
        }
        Attribute::Dictionary(named) => in_attributes(named, extents),
        Attribute::Elements(elements) => {
            in_dims(&mut elements.of.dims, extents);
            words(elements).find_map(|number| stands(&number))
        }
        _ => None,
    }
}

/// The elements of an integer vector that are as wide as extents.
fn words(elements: &Elements) -> impl Iterator<Item = i64> + '_ {
    let is_wide = matches!(elements.of.element, Element::S32 | Element::U32);
    let data = if is_wide { &*elements.data } else { &[] };
    data.chunks_exact(4).map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::Pieces;
    use tpu_mosaic::ir::Memref;
    use tpu_ops::Numerics;

    const ROUNDED_UP: &str =
        "func.func public @main(%0: tensor<i32>, %1: tensor<i32>) -> tensor<i32> {
        %2 = stablehlo.constant dense<127> : tensor<i32>
        %3 = stablehlo.constant dense<128> : tensor<i32>
        %4 = stablehlo.add %0, %2 : tensor<i32>
        %5 = func.call @part(%4, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        return %5 : tensor<i32>
      }
      func.func private @part(%0: tensor<i32>, %1: tensor<i32>) -> tensor<i32> {
        %2 = stablehlo.divide %0, %1 : tensor<i32>
        return %2 : tensor<i32>
      }";

    fn take(operand: i64, dimension: i64) -> Attribute {
        let mut named = Attributes::default();
        named.set("operand_index", Attribute::Integer(operand, Element::S64));
        named.set("dimension_index", Attribute::Integer(dimension, Element::S64));
        Attribute::Dictionary(named)
    }

    /// What settling says of a module with one extent, and the type of a value with it.
    fn settled(program: &str, takes: Vec<Attribute>) -> Result<Vec<i64>, String> {
        let mut module = Module::default();
        module.attributes.set(&format!("{PROGRAM}2147483647"), Attribute::Text(program.into()));
        module.attributes.set(&format!("{TAKES}2147483647"), Attribute::Array(takes));
        let dims = vec![8, i64::from(i32::MAX)];
        let of = Type::Vector(tpu_mosaic::ir::Vector { element: Element::F32, dims });
        module.functions.push(Function {
            name: "kernel".into(),
            private: false,
            kernel: None,
            attributes: Attributes::default(),
            results: Vec::new(),
            values: vec![of],
            body: Block::default(),
            location: LocationId::UNKNOWN,
        });
        let operands = [Shape::scalar(DType::S32), Shape::new(DType::F32, [300, 0])];
        settle(&mut module, &operands, &Pieces::new(Numerics::default()))
            .map_err(|refusals| refusals[0].0.clone())?;
        assert!(module.attributes.0.is_empty());
        match &module.functions[0].values[0] {
            Type::Vector(vector) => Ok(vector.dims.clone()),
            Type::Memref(Memref { dims, .. }) => Ok(dims.clone()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn an_extent_follows_from_those_of_operands() {
        assert_eq!(settled(ROUNDED_UP, vec![take(1, 0), take(1, 1)]), Ok(vec![8, 3]));
        assert_eq!(settled(ROUNDED_UP, vec![take(1, 1), take(1, 0)]), Ok(vec![8, 0]));
    }

    #[test]
    fn extents_that_nothing_says_are_refused() {
        let endless = "func.func public @main(%0: tensor<i32>) -> tensor<i32> {
            %1 = func.call @main(%0) : (tensor<i32>) -> tensor<i32>
            return %1 : tensor<i32>
          }";
        let large = "func.func public @main(%0: tensor<i32>) -> tensor<i32> {
            %1 = stablehlo.iota dim = 0 : tensor<1000000xi32>
            return %0 : tensor<i32>
          }";
        let negative = "func.func public @main(%0: tensor<i32>) -> tensor<i32> {
            %1 = stablehlo.not %0 : tensor<i32>
            return %1 : tensor<i32>
          }";
        for (program, takes, said) in [
            (ROUNDED_UP, vec![take(1, 0)], "takes 2 numbers, 1 are told"),
            (ROUNDED_UP, vec![take(1, 0), take(1, 2)], "dimension 2 of operand 1 of 2"),
            (ROUNDED_UP, vec![take(1, 0), take(-7, 0)], "dimension 0 of operand -7 of 2"),
            (ROUNDED_UP, vec![take(1, 0), take(0, -1)], "a bound of the grid"),
            (ROUNDED_UP, vec![take(1, 0), Attribute::Unit], "is not said"),
            ("a program", vec![], "extent 2147483647: "),
            ("func.func private @other() -> ()", vec![], "no entry"),
            (endless, vec![take(1, 0)], "calls itself"),
            (large, vec![take(1, 0)], "more than numbers"),
            (negative, vec![take(1, 0)], "gives -301"),
        ] {
            let refused = settled(program, takes).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
