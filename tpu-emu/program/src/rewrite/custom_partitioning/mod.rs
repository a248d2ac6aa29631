//! Calls that code of the client's splits over devices: what each device does stands in their
//! place, between XLA's markers of code per device.
use super::code::{ValueTypes, plain};
use crate::grid::mesh_of;
use crate::import::types::declared;
use crate::sharding::calls::split_calls;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::custom::{FULL_TO_SHARD, SHARD_TO_FULL, SHARDING};
use tpu_ops::custom_call::{DeviceCode, Linker, SplitCall};
use tpu_ops::{CALL, CUSTOM_CALL, name_of};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Function, LocationId, MeshRef, Operation, Region, TensorSharding,
    Type, Value,
};

/// The program with the code of each device in the place of calls that are split; `None` where
/// there are none. Which parameters the compiler may split says `free`.
///
/// # Errors
/// Those of the client's code, with the line of the call; `BadArgument` for what it gives that
/// does not fit the call.
pub fn partitioned(
    module: &Module,
    linker: &dyn Linker,
    (devices, free): (usize, &[bool]),
) -> Result<Option<Module>> {
    let split = |operation: &Operation| {
        operation.name.ends_with(".custom_call") && linker.partitioner(name_of(operation)).is_some()
    };
    let any = module.functions.iter().any(|function| any_inside(&function.body, &split));
    let Some(entry) = module.entry().filter(|_| any) else { return Ok(None) };
    let found = split_calls(module, entry, (devices, free), (linker, shape_of))?;
    let mut rewriting = Rewriting { module, linker, found, made: Vec::new(), calls: 0 };
    let mut functions = Vec::new();
    for function in &module.functions {
        let mut values = ValueTypes(function.values.clone());
        let body = rewriting.region(function, &function.body, &mut values)?;
        functions.push(Function { values: values.0, body, ..function.clone() });
    }
    functions.append(&mut rewriting.made);
    Ok(Some(Module { functions, ..module.clone() }))
}

fn shape_of(of: &Type) -> Result<Shape> {
    let shape = declared(of)?.shape();
    shape.ok_or_else(|| Error::Unimplemented("a call of unknown extents that is split".to_owned()))
}

fn any_inside(region: &Region, split: &dyn Fn(&Operation) -> bool) -> bool {
    let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|operation| {
        split(operation) || operation.regions.iter().any(|region| any_inside(region, split))
    })
}

struct Rewriting<'m> {
    module: &'m Module,
    linker: &'m dyn Linker,
    /// The calls by their addresses.
    found: HashMap<usize, SplitCall>,
    /// The functions of the devices' code.
    made: Vec<Function>,
    calls: usize,
}

impl Rewriting<'_> {
    fn region(
        &mut self,
        function: &Function,
        region: &Region,
        values: &mut ValueTypes,
    ) -> Result<Region> {
        let mut blocks = Vec::new();
        for block in &region.blocks {
            let mut operations = Vec::with_capacity(block.operations.len());
            for operation in &block.operations {
                self.operation(function, operation, values, &mut operations)?;
            }
            blocks.push(Block { arguments: block.arguments.clone(), operations });
        }
        Ok(Region { blocks })
    }

    fn operation(
        &mut self,
        function: &Function,
        operation: &Operation,
        values: &mut ValueTypes,
        into: &mut Vec<Operation>,
    ) -> Result<()> {
        // A call that nobody reaches stays.
        let Some(call) = self.found.remove(&std::ptr::from_ref(operation).addr()) else {
            let mut made = operation.clone();
            for (made, region) in made.regions.iter_mut().zip(&operation.regions) {
                *made = self.region(function, region, values)?;
            }
            into.push(made);
            return Ok(());
        };
        let name = name_of(operation);
        let line = self.module.locations.line(operation.location);
        let place = line.map_or_else(|| name.to_owned(), |line| format!("{line}: {name}"));
        let placed = |error: Error| Error::Verbatim {
            code: error.code(),
            message: format!("{place}: {error}").into(),
        };
        let Some(partitioner) = self.linker.partitioner(name) else { return Ok(()) };
        let code = partitioner.partition(&call).map_err(placed)?;
        self.calls += 1;
        self.split(operation, &call, &code, values, into).map_err(placed)
    }

    /// Puts a device's code in the place of a call.
    fn split(
        &mut self,
        operation: &Operation,
        call: &SplitCall,
        code: &DeviceCode,
        values: &mut ValueTypes,
        into: &mut Vec<Operation>,
    ) -> Result<()> {
        let at = operation.location;
        let callee = self.adopt(&code.module, at)?;
        let arguments = callee.block().map_or(&[][..], |block| &block.arguments);
        let given: Vec<Type> =
            arguments.iter().map(|&value| callee.type_of(value).clone()).collect();
        let gives: Vec<Type> = callee.results.iter().map(|(of, _)| of.clone()).collect();
        let counts = [given.len(), code.operands.len(), gives.len(), code.results.len()];
        let (takes, makes) = (call.operands.len(), call.results.len());
        if counts != [takes, takes, makes, makes] {
            return Err(Error::bad(format!(
                "a call of {takes} operands and {makes} results, for which a device's code has \
                 {} and {}, with {} and {} shardings",
                counts[0], counts[2], counts[1], counts[3]
            )));
        }
        let mut parts = Vec::new();
        for ((&whole, sharding), of) in operation.operands.iter().zip(&code.operands).zip(given) {
            let marked = values.add(Type::Tensor(values.tensor(whole)?.clone()));
            into.push(marker(SHARDING, sharding, at, (whole, marked)));
            let part = values.add(of);
            into.push(marker(FULL_TO_SHARD, "{manual}", at, (marked, part)));
            parts.push(part);
        }
        let made: Vec<Value> = gives.into_iter().map(|of| values.add(of)).collect();
        let callee = Attribute::Symbol(Arc::clone(&callee.name));
        into.push(Operation {
            attributes: Attributes(vec![("callee".into(), callee)]),
            ..plain((CALL, at), parts, made.clone())
        });
        for ((&whole, sharding), part) in operation.results.iter().zip(&code.results).zip(made) {
            into.push(marker(SHARD_TO_FULL, sharding, at, (part, whole)));
        }
        Ok(())
    }

    /// Adds the functions of a device's code to the program; gives the one to call.
    fn adopt(&mut self, code: &[u8], at: LocationId) -> Result<Function> {
        let unreadable = |why: String| Error::bad(format!("a device's code: {why}"));
        let inner = if tpu_stablehlo::bytecode::is_bytecode(code) {
            tpu_stablehlo::bytecode::read(code).map_err(|why| unreadable(why.to_string()))?
        } else {
            let text = std::str::from_utf8(code).map_err(|why| unreadable(why.to_string()))?;
            tpu_stablehlo::text::parse(text).map_err(|why| unreadable(why.to_string()))?
        };
        let entry = inner.entry().ok_or_else(|| unreadable("no function main".to_owned()))?;
        let entry = Arc::clone(&entry.name);
        let number = self.calls;
        let names: HashMap<Arc<str>, Arc<str>> = inner
            .functions
            .iter()
            .map(|function| {
                let name = &function.name;
                // So JAX names the body of a `shard_map`.
                let prefix = if *name == entry { "shmap_body." } else { "" };
                (Arc::clone(name), format!("{prefix}{name}.split_{number}").into())
            })
            .collect();
        let mut adopted = Vec::new();
        for mut function in inner.functions.iter().cloned() {
            for region in std::slice::from_mut(&mut function.body) {
                rename(region, &names, &inner, at)?;
            }
            let name = names.get(&function.name).cloned().unwrap_or_default();
            function.arguments.iter_mut().for_each(|attributes| attributes.0.clear());
            function.results.iter_mut().for_each(|(_, attributes)| attributes.0.clear());
            adopted.push(Function { name, public: false, location: at, ..function });
        }
        let called = names.get(&entry).cloned().unwrap_or_default();
        let callee = adopted.iter().find(|function| function.name == called).cloned();
        self.made.append(&mut adopted);
        callee.ok_or_else(|| unreadable("no function main".to_owned()))
    }
}

fn marker(target: &str, sharding: &str, at: LocationId, (from, to): (Value, Value)) -> Operation {
    Operation {
        attributes: Attributes(vec![
            ("call_target_name".into(), Attribute::string(target)),
            ("mhlo.sharding".into(), Attribute::string(sharding)),
        ]),
        ..plain((CUSTOM_CALL, at), vec![from], vec![to])
    }
}

/// Gives functions their new names, writes meshes out, and moves all operations to one place.
fn rename(
    region: &mut Region,
    names: &HashMap<Arc<str>, Arc<str>>,
    inner: &Module,
    at: LocationId,
) -> Result<()> {
    for operation in region.blocks.iter_mut().flat_map(|block| &mut block.operations) {
        operation.location = at;
        for (_, attribute) in &mut operation.attributes.0 {
            rename_in(attribute, names, inner)?;
        }
        operation.regions.iter_mut().try_for_each(|region| rename(region, names, inner, at))?;
    }
    Ok(())
}

fn rename_in(
    attribute: &mut Attribute,
    names: &HashMap<Arc<str>, Arc<str>>,
    inner: &Module,
) -> Result<()> {
    let written = |sharding: &mut TensorSharding| write_out(&mut sharding.mesh, inner);
    match attribute {
        Attribute::Symbol(name) => {
            names.get(name).into_iter().for_each(|new| *name = Arc::clone(new));
            Ok(())
        }
        Attribute::Array(items) => {
            items.iter_mut().try_for_each(|item| rename_in(item, names, inner))
        }
        Attribute::Dictionary(items) => {
            items.0.iter_mut().try_for_each(|(_, item)| rename_in(item, names, inner))
        }
        Attribute::MeshAxes(groups) => write_out(&mut groups.mesh, inner),
        Attribute::Sharding(sharding) => written(sharding),
        Attribute::Shardings(all) => all.iter_mut().try_for_each(written),
        _ => Ok(()),
    }
}

fn write_out(mesh: &mut MeshRef, inner: &Module) -> Result<()> {
    *mesh = MeshRef::Inline(mesh_of(inner, mesh)?.clone());
    Ok(())
}

#[cfg(test)]
mod tests;
