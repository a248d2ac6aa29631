//! Loops, branches and code that is written per device.
use super::axes::Layout;
use super::emit::{Emitter, Placed};
use super::propagate::manual_layouts;
use crate::operation_factors::dims;
use tpu_base::error::{Error, Result};
use tpu_stablehlo::ir::{Block, Operation, Region, Type, Value};

/// The block of a region.
fn block_of(operation: &Operation, at: usize) -> Result<&Block> {
    let block = operation.regions.get(at).and_then(|region| region.blocks.first());
    block.ok_or_else(|| Error::bad(format!("{} without code", operation.name)))
}

impl<'m> Emitter<'m> {
    fn wanted(&self, values: &[Value]) -> Vec<Layout> {
        values.iter().map(|&value| self.layouts.of(value).clone()).collect()
    }

    /// A loop: what it carries has one layout throughout.
    pub(super) fn r#while(&mut self, operation: &'m Operation) -> Result<()> {
        let carried = self.wanted(&operation.results);
        let mut operands = Vec::new();
        for (&operand, layout) in operation.operands.iter().zip(&carried) {
            operands.push(self.get(operand, layout)?);
        }
        let mut regions = Vec::new();
        for (at, results) in [(0, &[][..]), (1, &carried[..])] {
            let block = block_of(operation, at)?;
            let arguments = self.arguments(&block.arguments, &carried)?;
            let operations = self.operations(block, results)?;
            regions.push(Region { blocks: vec![Block { arguments, operations }] });
        }
        self.location = operation.location;
        self.results(operation, operands, regions, carried)
    }

    /// A choice: the results have one layout, whatever is chosen.
    pub(super) fn branches(&mut self, operation: &'m Operation) -> Result<()> {
        let made = self.wanted(&operation.results);
        let mut operands = Vec::new();
        for &operand in &operation.operands {
            let layout = Layout::whole(self.rank(operand));
            operands.push(self.get(operand, &layout)?);
        }
        let mut regions = Vec::new();
        for at in 0..operation.regions.len() {
            let operations = self.operations(block_of(operation, at)?, &made)?;
            regions.push(Region { blocks: vec![Block { arguments: Vec::new(), operations }] });
        }
        self.location = operation.location;
        self.results(operation, operands, regions, made)
    }

    fn results(
        &mut self,
        operation: &Operation,
        operands: Vec<Value>,
        regions: Vec<Region>,
        layouts: Vec<Layout>,
    ) -> Result<()> {
        let mut types: Vec<Type> = Vec::new();
        for (&result, layout) in operation.results.iter().zip(&layouts) {
            types.push(self.local(self.function.type_of(result), layout)?);
        }
        let mut attributes = operation.attributes.clone();
        attributes.0.retain(|(name, _)| !name.starts_with("sdy.") && name != "mhlo.sharding");
        let made = self.write(operation.name.clone(), operands, types, (attributes, regions));
        for ((&result, value), layout) in operation.results.iter().zip(made).zip(layouts) {
            self.place(result, value, layout);
        }
        Ok(())
    }

    /// Code that has a name and nothing else.
    pub(super) fn named(&mut self, operation: &'m Operation) -> Result<()> {
        let block = block_of(operation, 0)?;
        for (&operand, &argument) in operation.operands.iter().zip(&block.arguments) {
            let layout = self.layouts.of(argument).clone();
            let value = self.get(operand, &layout)?;
            self.place(argument, value, layout);
        }
        let returned = self.inlined(block)?;
        for (&result, &made) in operation.results.iter().zip(returned) {
            let layout = self.layouts.of(result).clone();
            let value = self.get(made, &layout)?;
            self.place(result, value, layout);
        }
        Ok(())
    }

    /// Writes the operations of a block in the place of the operation around it; gives what it
    /// returns.
    fn inlined(&mut self, block: &'m Block) -> Result<&'m [Value]> {
        let (last, operations) =
            block.operations.split_last().ok_or_else(|| Error::bad("a block without an end"))?;
        operations.iter().try_for_each(|operation| self.operation(operation))?;
        Ok(&last.operands)
    }

    /// Code that is written per device: its arrays are the device's parts along its own axes, and
    /// may be split further along others.
    pub(super) fn manual(&mut self, operation: &'m Operation) -> Result<()> {
        let (ins, outs, _) = manual_layouts((self.module, self.axes), operation)?;
        let block = block_of(operation, 0)?;
        let together = |manual: &Layout, free: &Layout| {
            let pairs = manual.0.iter().zip(&free.0);
            Layout(pairs.map(|(own, more)| [&own[..], more].concat()).collect())
        };
        for ((&operand, &argument), manual) in
            operation.operands.iter().zip(&block.arguments).zip(&ins)
        {
            let free = self.layouts.of(argument).clone();
            let value = self.get(operand, &together(manual, &free))?;
            self.place(argument, value, free);
        }
        let returned = self.inlined(block)?;
        self.location = operation.location;
        for ((&result, &made), manual) in operation.results.iter().zip(returned).zip(&outs) {
            let Placed { value, layout: free } = self.placed(made)?.clone();
            let layout = together(manual, &free);
            let wanted = self.layouts.of(result).clone();
            let value = self.brought(value, &layout, (&wanted, dims(self.function, result)))?;
            self.place(result, value, wanted);
        }
        Ok(())
    }

    /// From an array to a device's part of it.
    pub(super) fn split(&mut self, from: Value, to: Value) -> Result<()> {
        let layout = self.layouts.of(from).clone();
        let value = self.get(from, &layout)?;
        // What is split further than the program says is so along axes that it leaves free.
        let inner = self.minor(&layout, (to, value))?;
        self.place(to, value, inner);
        Ok(())
    }

    /// From a device's part to the array.
    pub(super) fn join(&mut self, from: Value, to: Value) -> Result<()> {
        let layout = self.layouts.of(to).clone();
        let (parts, wholes) = (dims(self.function, from), dims(self.function, to));
        let (Some(parts), Some(wholes)) = (parts, wholes) else {
            return Err(Error::Unimplemented("parts of unknown extents".to_owned()));
        };
        let mut inner = Layout::whole(parts.len());
        for (dim, axes) in layout.0.iter().enumerate() {
            let outer = wholes[dim].checked_div(parts[dim]).unwrap_or(1);
            let at = (0..=axes.len()).find(|&at| self.count(&axes[..at]) == outer);
            let at = at.ok_or_else(|| Error::Unimplemented("parts of parts".to_owned()))?;
            inner.0[dim] = axes[at..].to_vec();
        }
        let value = self.get(from, &inner)?;
        self.place(to, value, layout);
        Ok(())
    }

    /// The minor axes of a layout that part the value's type from what is written.
    fn minor(&self, layout: &Layout, (of, written): (Value, Value)) -> Result<Layout> {
        let written = self.tensor(written)?;
        let whole = dims(self.function, of).unwrap_or_default();
        let mut inner = Layout::whole(whole.len());
        for (dim, axes) in layout.0.iter().enumerate() {
            let count = match (whole.get(dim), written.dims.get(dim)) {
                (Some(&whole), Some(&part)) if part > 0 => whole / part,
                _ => 1,
            };
            let at = (0..=axes.len()).find(|&at| self.count(&axes[at..]) == count);
            let at = at.ok_or_else(|| Error::Unimplemented("parts of parts".to_owned()))?;
            inner.0[dim] = axes[at..].to_vec();
        }
        Ok(inner)
    }
}
