//! The module around the computations: functions, and what is said of arguments and results.
use crate::body::FunctionReader;
use crate::reader::{ModuleReader, shape_of};
use crate::{ReadError, shape, sharding};
use tpu_proto::xla::op_sharding::Type as ShardingType;
use tpu_proto::xla::{
    FrontendAttributes, HloModuleConfigProto, HloModuleProto, OpSharding, ShapeProto,
};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Function, LocationId, Name, Region, Type};

/// The program of a message of `size` bytes.
pub(crate) fn module(
    proto: &HloModuleProto,
    config: Option<&HloModuleConfigProto>,
    size: usize,
) -> Result<Module, ReadError> {
    let mut reader = ModuleReader::new(proto, size)?;
    let entry = entry(&reader)?;
    let mut main = function(&mut reader, entry, "main")?;
    main.public = true;
    describe(&reader, entry, &mut main)?;
    let mut functions = vec![main];
    while let Some(index) = reader.called.pop() {
        let symbol = reader.function(index);
        functions.push(function(&mut reader, index, &symbol)?);
    }
    let mut attributes = Attributes::default();
    for (name, count) in [
        ("mhlo.num_partitions", config.map(|config| config.num_partitions)),
        ("mhlo.num_replicas", config.map(|config| config.replica_count)),
    ] {
        if let Some(count) = count.filter(|count| *count > 0) {
            attributes.set(name, Attribute::Integer(count.into(), Element::S32));
        }
    }
    frontend(proto.frontend_attributes.as_ref(), &mut attributes);
    attributes.sort();
    let name = Some(proto.name.as_str()).filter(|name| !name.is_empty()).map(Into::into);
    let locations = reader.metadata.locations;
    Ok(Module { name, attributes, meshes: Vec::new(), functions, locations })
}

/// The place of the computation that is the program.
pub(crate) fn entry(reader: &ModuleReader<'_>) -> Result<usize, ReadError> {
    let module = reader.module;
    if module.computations.is_empty() {
        return Err("a module without computations".into());
    }
    let by_name = || {
        let name = &module.entry_computation_name;
        module.computations.iter().position(|computation| computation.name == *name)
    };
    match reader.index(module.entry_computation_id) {
        Ok(index) => Ok(index),
        Err(error) if module.entry_computation_id == 0 => by_name().ok_or(error),
        Err(error) => Err(error),
    }
}

fn function(
    reader: &mut ModuleReader<'_>,
    index: usize,
    symbol: &str,
) -> Result<Function, ReadError> {
    let types = reader.parameter_types(index)?;
    let results = reader.result_types(index)?;
    let metadata = reader.root(index)?.metadata.as_ref();
    let location =
        if symbol == "main" { LocationId::UNKNOWN } else { reader.metadata.of(metadata) };
    let mut body = FunctionReader::new(reader);
    let mut arguments = Vec::with_capacity(types.len());
    for of in types {
        arguments.push(body.value(of)?);
    }
    let mut block = body.block(index, &arguments, "func.return")?;
    let values = body.values;
    let count = arguments.len();
    block.arguments = arguments;
    let plain = |of: Type| (of, Attributes::default());
    Ok(Function {
        name: symbol.into(),
        public: false,
        attributes: Attributes::default(),
        arguments: vec![Attributes::default(); count],
        results: results.into_iter().map(plain).collect(),
        values,
        body: Region { blocks: vec![block] },
        location,
    })
}

/// Shardings, donations, layouts and frontend attributes of arguments and results.
fn describe(reader: &ModuleReader<'_>, entry: usize, main: &mut Function) -> Result<(), ReadError> {
    let module = reader.module;
    let parameters = reader.parameters(entry)?;
    let root = reader.root(entry)?;
    let mut shapes = Vec::new();
    let mut starts = Vec::new();
    let mut start = 0;
    for (number, parameter) in parameters.iter().enumerate() {
        let shape = shape_of(parameter)?;
        let own = parameter.sharding.as_ref();
        let of_module = module.spmd_parameters_shardings.get(number);
        if let Some(sharding) = own.or(of_module) {
            let parts = spread(sharding, shape::count(shape));
            for (attributes, part) in main.arguments[start..].iter_mut().zip(parts) {
                attributes.set("mhlo.sharding", Attribute::string(&sharding::text(part)));
            }
        }
        if shape::count(shape) == 1 {
            frontend(parameter.frontend_attributes.as_ref(), &mut main.arguments[start]);
        }
        starts.push(start);
        shapes.push(shape);
        start += shape::count(shape);
    }
    if let Some(sharding) = root.sharding.as_ref().or(module.spmd_output_sharding.as_ref()) {
        for (result, part) in main.results.iter_mut().zip(spread(sharding, start_of_end(root)?)) {
            result.1.set("mhlo.sharding", Attribute::string(&sharding::text(part)));
        }
    }
    let leaf = |number: i64, path: &[i64]| -> Result<usize, ReadError> {
        let known = usize::try_from(number).ok().filter(|&number| number < shapes.len());
        let number =
            known.ok_or_else(|| format!("parameter {number} of {} is donated", shapes.len()))?;
        Ok(starts[number] + one_leaf(shapes[number], path)?)
    };
    for alias in module.input_output_alias.iter().flat_map(|all| &all.entries) {
        let argument = leaf(alias.parameter_number, &alias.parameter_shape_index)?;
        let result = one_leaf(shape_of(root)?, &alias.output_shape_index)?;
        let result = i128::try_from(result).unwrap_or(i128::MAX);
        let result = Attribute::Integer(result, Element::S32);
        main.arguments[argument].set("tf.aliasing_output", result);
    }
    for donor in module.buffer_donor.iter().flat_map(|all| &all.entries) {
        let argument = leaf(donor.parameter_number, &donor.parameter_shape_index)?;
        main.arguments[argument].set("jax.buffer_donor", Attribute::Bool(true));
    }
    layout_modes(module, main);
    main.arguments.iter_mut().for_each(Attributes::sort);
    main.results.iter_mut().for_each(|(_, attributes)| attributes.sort());
    Ok(())
}

fn start_of_end(root: &tpu_proto::xla::HloInstructionProto) -> Result<usize, ReadError> {
    Ok(shape::count(shape_of(root)?))
}

/// The one array at a path.
fn one_leaf(shape: &ShapeProto, path: &[i64]) -> Result<usize, ReadError> {
    let (start, part) = shape::at_path(shape, path)?;
    match shape::count(part) {
        1 => Ok(start),
        count => Err(format!("{count} arrays at {path:?} are donated as one").into()),
    }
}

/// A sharding for each array.
fn spread(sharding: &OpSharding, count: usize) -> Vec<&OpSharding> {
    if sharding.r#type() == ShardingType::Tuple {
        return sharding.tuple_shardings.iter().take(count).collect();
    }
    vec![sharding; count]
}

/// `mhlo.layout_mode` of arguments and results, which the module has as lists.
fn layout_modes(module: &HloModuleProto, main: &mut Function) {
    let Some(all) = &module.frontend_attributes else { return };
    let modes = |name: &str| all.map.get(name).map(|modes| modes.split(';').collect::<Vec<_>>());
    let mode = |mode: &str| Attribute::string(mode);
    if let Some(modes) = modes("arg_layout_modes").filter(|all| all.len() == main.arguments.len()) {
        for (argument, text) in main.arguments.iter_mut().zip(modes) {
            argument.set("mhlo.layout_mode", mode(text));
        }
    }
    if let Some(modes) = modes("out_layout_modes").filter(|all| all.len() == main.results.len()) {
        for (result, text) in main.results.iter_mut().zip(modes) {
            result.1.set("mhlo.layout_mode", mode(text));
        }
    }
}

/// Sets `mhlo.frontend_attributes`, if there are any.
pub(crate) fn frontend(from: Option<&FrontendAttributes>, into: &mut Attributes) {
    let Some(from) = from.filter(|from| !from.map.is_empty()) else { return };
    let mut names: Vec<&String> = from.map.keys().collect();
    names.sort();
    let named = names.into_iter().map(|name| {
        (Name::Owned(name.clone()), Attribute::string(from.map.get(name).map_or("", |text| text)))
    });
    into.set("mhlo.frontend_attributes", Attribute::Dictionary(Attributes(named.collect())));
}
