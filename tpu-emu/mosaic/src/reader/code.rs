//! Functions and the code in them.
use super::{PREFIX, Reader, check, kernel, upgrade};
use crate::ir::{
    Attribute, Block, Function, LocationId, Memref, Op, Operation, Region, Type, Value,
};
use crate::print::type_text;
use std::sync::Arc;
use tpu_mlir::code::{Numbers, REGION_DEPTH, Values};
use tpu_mlir::operation::RawOperation;
use tpu_mlir::{Cursor, ReadError};

/// What `func.func` is called without its prefix.
const FUNCTION: &str = "func.func";

impl<'a> Reader<'a> {
    /// The name of an operation without the prefix that every one has.
    fn name_of(header: &RawOperation<'a>) -> Result<&'a str, ReadError> {
        let name = header.name;
        if name.dialect == PREFIX {
            return Ok(name.mnemonic);
        }
        let what = format!("{}.{} is not an operation of {PREFIX}", name.dialect, name.mnemonic);
        Err(ReadError::at(header.at, what))
    }

    /// Reads a function.
    pub(super) fn function(&mut self, code: &mut Cursor<'a>) -> Result<Function, ReadError> {
        let header = self.file.operation(code)?;
        let name = Self::name_of(&header)?;
        let at = header.at;
        if name != FUNCTION || !header.operands.is_empty() || !header.results.is_empty() {
            return Err(ReadError::at(at, format!("the operation {name} beside functions")));
        }
        let location = self.place(Some(header.location))?;
        let mut attributes = self.dictionary(header.dictionary.or(header.properties))?;
        let symbol = attributes.take("sym_name").as_ref().and_then(Attribute::text).cloned();
        let symbol: Arc<str> =
            symbol.ok_or_else(|| ReadError::at(at, "a function without a name"))?;
        let Some(Attribute::Type(Type::Function(arguments, results))) =
            attributes.take("function_type")
        else {
            return Err(ReadError::at(at, format!("function {symbol} without a type")));
        };
        let visibility = attributes.take("sym_visibility");
        let private = matches!(visibility, Some(Attribute::Text(text)) if &*text == "private");
        let kernel = kernel::take(&mut attributes).unwrap_or_else(|what| {
            self.refuse(location, format!("function {symbol}: {what}"));
            None
        });
        for (key, value) in &attributes.0 {
            if !check::is_hint(key) {
                self.refuse(location, format!("function {symbol}: the attribute {key}"));
            } else if let Some(text) = check::unknown_attribute(value) {
                self.refuse(location, format!("function {symbol}: the attribute {key}: {text}"));
            }
        }
        self.core = kernel.as_ref().map(|kernel| kernel.core);
        let mut values = Values::default();
        let regions = self.regions(code, &header, &mut values, 0, true)?;
        let [Region { block: Some(body) }] =
            <[Region; 1]>::try_from(regions).map_err(|regions| {
                let what = format!("function {symbol} with {} regions", regions.len());
                ReadError::at(at, what)
            })?
        else {
            return Err(ReadError::at(at, format!("function {symbol} without a body")));
        };
        let types = body.arguments.iter().map(|value| &values.types[value.0 as usize]);
        if !types.eq(&arguments) {
            let what = format!("function {symbol}: its arguments and its type disagree");
            return Err(ReadError::at(at, what));
        }
        for of in arguments.iter().chain(&results) {
            match of {
                Type::Unknown(text) => {
                    self.refuse(location, format!("function {symbol}: the type {text}"));
                }
                Type::Memref(Memref { layout: Some(_), .. }) => {
                    let of = type_text(of);
                    self.refuse(location, format!("function {symbol}: the type {of}"));
                }
                _ => {}
            }
        }
        if let Some(kernel) = &kernel
            && let Err(what) = kernel.check(arguments.len())
        {
            self.refuse(location, format!("function {symbol}: {what}"));
        }
        Ok(Function {
            name: symbol,
            private,
            kernel,
            attributes,
            results,
            values: values.types,
            body,
            location,
        })
    }

    /// Reads all regions of an operation. `isolated` tells that nothing from outside is seen.
    fn regions(
        &mut self,
        code: &mut Cursor<'a>,
        header: &RawOperation<'a>,
        values: &mut Values<Type>,
        depth: usize,
        isolated: bool,
    ) -> Result<Vec<Region>, ReadError> {
        if header.has_successors {
            let what = format!("{} with successors", header.name.mnemonic);
            return Err(ReadError::at(header.at, what));
        }
        if header.regions == 0 {
            return Ok(Vec::new());
        }
        if depth >= REGION_DEPTH {
            let what = format!("{}: regions nested {depth} deep", header.name.mnemonic);
            return Err(ReadError::at(header.at, what));
        }
        let mut inner = self.file.regions_of(code, header.at, header.isolated)?;
        let code = inner.as_mut().unwrap_or(code);
        let isolated = header.isolated || isolated;
        if isolated {
            values.isolate();
        }
        let mut regions = Vec::new();
        for _ in 0..header.regions {
            regions.push(self.region(code, values, depth)?);
        }
        if isolated {
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
    ) -> Result<Region, ReadError> {
        let at = code.at();
        let blocks = code.count()?;
        if blocks == 0 {
            return Ok(Region { block: None });
        }
        if blocks > 1 {
            return Err(ReadError::at(at, format!("a region with {blocks} blocks")));
        }
        let count = code.count()?;
        self.budget.pay(at, Values::<Type>::bytes(count))?;
        let mut numbers = values.begin(at, count)?;
        let (operations, has_arguments) = code.flagged()?;
        let mut block = Block::default();
        if has_arguments {
            for _ in 0..code.count()? {
                let at = code.at();
                let (of, location) = self.file.argument(code)?;
                let of = self.type_of(of)?;
                self.place(location)?;
                let value = values.add(at, of)?;
                values.define(at, &mut numbers, value)?;
                block.arguments.push(value);
            }
            self.file.end_of_arguments(code, block.arguments.len())?;
        }
        for _ in 0..operations {
            self.operation(code, values, &mut numbers, &mut block, depth)?;
        }
        values.end(at, &numbers)?;
        Ok(Region { block: Some(block) })
    }

    /// Reads an operation to the end of a block. One that is not known is refused, and its results
    /// and regions are read so that what follows can be.
    fn operation(
        &mut self,
        code: &mut Cursor<'a>,
        values: &mut Values<Type>,
        numbers: &mut Numbers,
        block: &mut Block,
        depth: usize,
    ) -> Result<(), ReadError> {
        let header = self.file.operation(code)?;
        let at = header.at;
        let name = Self::name_of(&header)?;
        self.budget.pay(at, size_of::<Operation>())?;
        let location = self.place(Some(header.location))?;
        let mut attributes = self.dictionary(header.dictionary.or(header.properties))?;
        let mut operands = Vec::with_capacity(header.operands.len());
        for &number in &header.operands {
            operands.push(values.get(at, number)?);
        }
        let regions = self.regions(code, &header, values, depth + 1, false)?;
        let mut results = Vec::with_capacity(header.results.len());
        for &of in &header.results {
            let of = self.type_of(of)?;
            let value = values.add(at, of)?;
            values.define(at, numbers, value)?;
            results.push(value);
        }
        let Some(op) = Op::find(name) else {
            self.refuse(location, format!("the operation {name}"));
            return Ok(());
        };
        let op = upgrade::renamed(op, &mut operands, &mut attributes);
        let mut added = upgrade::Added { values, block, at, location };
        let core = self.core;
        if let Err(what) =
            upgrade::apply(self.format, core, op, &mut operands, &mut attributes, &mut added)?
        {
            self.refuse(location, format!("{name}: {what}"));
            return Ok(());
        }
        let mut operation =
            Operation { op, operands, ends: Vec::new(), results, attributes, regions, location };
        self.checked(&mut operation, &values.types, location);
        block.operations.push(operation);
        Ok(())
    }

    /// Holds an operation against its row, and refuses all that is not as it says.
    fn checked(&mut self, operation: &mut Operation, types: &[Type], location: LocationId) {
        let name = operation.op.row().name;
        for what in check::operation(operation, types) {
            self.refuse(location, format!("{name}: {what}"));
        }
    }
}

/// The type of a value, for code that has the list of them.
pub(super) fn type_in(types: &[Type], value: Value) -> &Type {
    &types[value.0 as usize]
}
