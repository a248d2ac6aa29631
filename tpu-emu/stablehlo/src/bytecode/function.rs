//! The module, its functions, and the code in them.
use super::operation::Header;
use super::table::brief;
use super::{BytecodeReader, Cursor, REGION_DEPTH};
use crate::ReadError;
use crate::ir::{
    Attribute, Attributes, Block, Function, Module, Name, NamedMesh, Operation, Region, Type,
};
use std::sync::Arc;
use tpu_mlir::code::{Numbers, Values};

impl<'a> BytecodeReader<'a> {
    /// Reads the section of the code.
    pub(crate) fn module(mut self, mut code: Cursor<'a>) -> Result<Module, ReadError> {
        let mut module = Module::default();
        let (operations, has_arguments) = code.flagged()?;
        if has_arguments {
            return Err(code.error("a module with arguments"));
        }
        for _ in 0..operations {
            self.module_operation(&mut code, &mut module, 0)?;
        }
        code.finish("the code")?;
        module.locations = self.file.locations;
        Ok(module)
    }

    /// Reads what stands in a module: functions, meshes and modules without a name.
    fn module_operation(
        &mut self,
        code: &mut Cursor<'a>,
        module: &mut Module,
        depth: usize,
    ) -> Result<(), ReadError> {
        let header = self.header(code)?;
        if !header.operands.is_empty() || !header.results.is_empty() {
            let what = format!("{} in a module has operands or results", header.name);
            return Err(ReadError::at(header.at, what));
        }
        match &*header.name {
            "builtin.module" => self.inner_module(code, header, module, depth),
            "func.func" | "stablehlo.func" => {
                let function = self.function(code, header)?;
                module.functions.push(function);
                Ok(())
            }
            "sdy.mesh" if header.regions == 0 => {
                let mut attributes = header.attributes;
                let name = attributes.take("sym_name");
                let name = name.as_ref().and_then(Attribute::as_str).map(Arc::from);
                let (Some(name), Some(Attribute::Mesh(mesh))) = (name, attributes.take("mesh"))
                else {
                    return Err(ReadError::at(header.at, "sdy.mesh without a name or a mesh"));
                };
                module.meshes.push(NamedMesh { name, mesh, attributes });
                Ok(())
            }
            other => Err(ReadError::at(header.at, format!("operation {other} in a module"))),
        }
    }

    fn inner_module(
        &mut self,
        code: &mut Cursor<'a>,
        mut header: Header,
        module: &mut Module,
        depth: usize,
    ) -> Result<(), ReadError> {
        let name = header.attributes.take("sym_name");
        header.attributes.take("sym_visibility");
        if depth == 0 && module.name.is_none() && module.functions.is_empty() {
            module.name = name.as_ref().and_then(Attribute::as_str).map(Arc::from);
            module.attributes = header.attributes;
        } else if let Some(name) = name {
            return Err(ReadError::at(
                header.at,
                format!("the module {} inside of another", brief(&name)),
            ));
        }
        if depth >= REGION_DEPTH {
            return Err(ReadError::at(header.at, format!("modules nested {depth} deep")));
        }
        let mut inner = self.file.regions_of(code, header.at, header.isolated)?;
        let code = inner.as_mut().unwrap_or(code);
        for _ in 0..header.regions {
            let blocks = code.count()?;
            if blocks > 0 {
                code.count()?;
            }
            for _ in 0..blocks {
                let (operations, has_arguments) = code.flagged()?;
                if has_arguments {
                    return Err(code.error("a module with arguments"));
                }
                for _ in 0..operations {
                    self.module_operation(code, module, depth + 1)?;
                }
            }
        }
        match inner {
            Some(inner) => inner.finish("a module"),
            None => Ok(()),
        }
    }

    fn function(
        &mut self,
        code: &mut Cursor<'a>,
        mut header: Header,
    ) -> Result<Function, ReadError> {
        let at = header.at;
        let attributes = &mut header.attributes;
        let name = attributes.take("sym_name");
        let name = name.as_ref().and_then(Attribute::as_str).map(Arc::from);
        let name: Arc<str> = name.ok_or_else(|| ReadError::at(at, "a function without a name"))?;
        let Some(Attribute::Type(Type::Function(arguments, results))) =
            attributes.take("function_type")
        else {
            return Err(ReadError::at(at, format!("function {name} without a type")));
        };
        let visibility = attributes.take("sym_visibility");
        let visibility = visibility.as_ref().and_then(Attribute::as_str).unwrap_or("");
        let public = matches!(visibility, "" | "public");
        let argument_attributes = each(attributes, "arg_attrs", at, arguments.len())?;
        let result_attributes = each(attributes, "res_attrs", at, results.len())?;
        let mut values = Values::default();
        let regions = self.regions(code, &header, &mut values, 0, true)?;
        let [body] = <[Region; 1]>::try_from(regions).map_err(|regions| {
            ReadError::at(at, format!("function {name} with {} regions", regions.len()))
        })?;
        if let Some(block) = body.blocks.first() {
            let types = block.arguments.iter().map(|value| &values.types[value.0 as usize]);
            if !types.eq(&arguments) {
                return Err(ReadError::at(
                    at,
                    format!("function {name}: its arguments and its type disagree"),
                ));
            }
        } else {
            // A declaration has no block: the first values are its arguments.
            for of in arguments {
                values.add(at, of)?;
            }
        }
        Ok(Function {
            name,
            public,
            attributes: header.attributes,
            arguments: argument_attributes,
            results: results.into_iter().zip(result_attributes).collect(),
            values: values.types,
            body,
            location: header.location,
        })
    }

    /// All regions of an operation. `of_function` tells that they are a function's.
    fn regions(
        &mut self,
        code: &mut Cursor<'a>,
        header: &Header,
        values: &mut Values<Type>,
        depth: usize,
        of_function: bool,
    ) -> Result<Vec<Region>, ReadError> {
        if header.regions == 0 {
            return Ok(Vec::new());
        }
        if depth >= REGION_DEPTH {
            let what = format!("{}: regions nested {depth} deep", header.name);
            return Err(ReadError::at(header.at, what));
        }
        let mut inner = self.file.regions_of(code, header.at, header.isolated)?;
        let code = inner.as_mut().unwrap_or(code);
        if header.isolated || of_function {
            values.isolate();
        }
        let mut regions = Vec::new();
        for _ in 0..header.regions {
            regions.push(self.region(code, values, depth, of_function)?);
        }
        if header.isolated || of_function {
            values.join();
        }
        if let Some(inner) = inner {
            inner.finish("the regions of an operation")?;
        }
        Ok(regions)
    }

    fn region(
        &mut self,
        code: &mut Cursor<'a>,
        values: &mut Values<Type>,
        depth: usize,
        of_function: bool,
    ) -> Result<Region, ReadError> {
        let at = code.at();
        let blocks = code.count()?;
        let mut region = Region::default();
        if blocks == 0 {
            return Ok(region);
        }
        let count = code.count()?;
        self.pay(at, Values::<Type>::bytes(count))?;
        let mut numbers = values.begin(at, count)?;
        for _ in 0..blocks {
            let (operations, has_arguments) = code.flagged()?;
            let mut block = Block::default();
            if has_arguments {
                for _ in 0..code.count()? {
                    let of = self.argument_type(code)?;
                    let value = values.add(at, of)?;
                    values.define(code.at(), &mut numbers, value)?;
                    block.arguments.push(value);
                }
                self.file.end_of_arguments(code, block.arguments.len())?;
            }
            for _ in 0..operations {
                let operation = self.operation(code, values, &mut numbers, depth, of_function)?;
                block.operations.extend(operation);
            }
            region.blocks.push(block);
        }
        values.end(at, &numbers)?;
        Ok(region)
    }

    /// The type of a block's argument; its location is skipped.
    fn argument_type(&mut self, code: &mut Cursor<'_>) -> Result<Type, ReadError> {
        let (of, _) = self.file.argument(code)?;
        self.type_at(of.at, of.index)
    }

    /// Reads an operation of a function; none for a cast between dialects.
    fn operation(
        &mut self,
        code: &mut Cursor<'a>,
        values: &mut Values<Type>,
        numbers: &mut Numbers,
        depth: usize,
        of_function: bool,
    ) -> Result<Option<Operation>, ReadError> {
        let mut header = self.header(code)?;
        let at = header.at;
        let mut operands = Vec::with_capacity(header.operands.len());
        for &number in &header.operands {
            operands.push(values.get(at, number)?);
        }
        if header.name == "builtin.unrealized_conversion_cast" {
            let same = operands.iter().map(|value| &values.types[value.0 as usize]);
            if header.regions > 0 || !same.eq(&header.results) {
                let what = format!("{} changes types to {}", header.name, brief(&header.results));
                return Err(ReadError::at(at, what));
            }
            for value in operands {
                values.define(at, numbers, value)?;
            }
            return Ok(None);
        }
        let regions = self.regions(code, &header, values, depth + 1, false)?;
        let mut results = Vec::with_capacity(header.results.len());
        for of in std::mem::take(&mut header.results) {
            let value = values.add(at, of)?;
            values.define(at, numbers, value)?;
            results.push(value);
        }
        let name = match &*header.name {
            "stablehlo.call" => Name::Borrowed("func.call"),
            "stablehlo.return" if of_function => Name::Borrowed("func.return"),
            "stablehlo.func" | "func.func" | "builtin.module" => {
                return Err(ReadError::at(at, format!("{} inside of a function", header.name)));
            }
            _ => header.name,
        };
        Ok(Some(Operation {
            name,
            operands,
            results,
            attributes: header.attributes,
            regions,
            location: header.location,
        }))
    }
}

/// A dictionary for each argument or result.
fn each(
    attributes: &mut Attributes,
    name: &str,
    at: usize,
    count: usize,
) -> Result<Vec<Attributes>, ReadError> {
    let items = match attributes.take(name) {
        None => return Ok(vec![Attributes::default(); count]),
        Some(Attribute::Array(items)) if items.is_empty() => {
            return Ok(vec![Attributes::default(); count]);
        }
        Some(Attribute::Array(items)) if items.len() == count => items,
        other => {
            return Err(ReadError::at(
                at,
                format!("{name} for {count} values are {}", brief(&other)),
            ));
        }
    };
    let dictionary = |item| match item {
        Attribute::Dictionary(named) => Ok(named),
        other => Err(ReadError::at(at, format!("{name} has {}", brief(&other)))),
    };
    items.into_iter().map(dictionary).collect()
}
