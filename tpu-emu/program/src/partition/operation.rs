//! One operation over parts of arrays.
use super::Form;
use super::axes::{Layout, piece};
use super::emit::Emitter;
use super::factors::{chosen, joined};
use super::halo::bounds_of_few;
use super::lookup::{PieceIndices, TablePiece};
use crate::operation_factors::{adds, dims, factors_of};
use tpu_base::error::Result;
use tpu_ops::factors::{FactorKind, Factors, Local, LookedUp};
use tpu_ops::{
    ADD, BROADCAST_IN_DIM, CollectiveKind, DeviceDependence, Entry, LayoutRule, Operator,
    ShardingRule, Structural,
};
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Element, Elements, Operation, Region, TensorType, Type, Value,
};

impl<'m> Emitter<'m> {
    /// An operation, whatever it is.
    pub(super) fn operation(&mut self, operation: &'m Operation) -> Result<()> {
        self.location = operation.location;
        match Operator::of(operation) {
            Operator::Structural(Structural::While) => self.r#while(operation),
            Operator::Structural(Structural::If | Structural::Case) => self.branches(operation),
            Operator::Structural(Structural::ManualComputation) => self.manual(operation),
            Operator::Structural(Structural::NamedComputation) => self.named(operation),
            Operator::Structural(_) | Operator::Registered | Operator::Unknown => {
                self.per_device = false;
                self.whole(operation, None)
            }
            Operator::Row(entry) => self.row(operation, entry),
        }
    }

    fn row(&mut self, operation: &'m Operation, entry: &'static Entry) -> Result<()> {
        match (entry.sharding, &operation.operands[..], &operation.results[..]) {
            (ShardingRule::Grouped, ..) => return Ok(()),
            (ShardingRule::Moved, &[from], &[to])
                if self.form != Form::Plan || entry.layout != LayoutRule::Stated =>
            {
                let layout = self.layouts.of(to).clone();
                let value = self.get(from, &layout)?;
                let of = self.local(self.function.type_of(to), &layout)?;
                let attributes = operation.attributes.clone();
                let kept = self.write(
                    operation.name.clone(),
                    vec![value],
                    vec![of],
                    (attributes, Vec::new()),
                );
                self.place(to, kept[0], layout);
                return Ok(());
            }
            (
                ShardingRule::Stated
                | ShardingRule::Annotated
                | ShardingRule::Inspected
                | ShardingRule::Moved,
                &[from],
                &[to],
            ) => {
                let layout = self.layouts.of(to).clone();
                let value = self.get(from, &layout)?;
                self.place(to, value, layout);
                return Ok(());
            }
            (ShardingRule::Split, &[from], &[to]) => return self.split(from, to),
            (ShardingRule::Join, &[from], &[to]) => return self.join(from, to),
            _ => {}
        }
        let around = self.layouts.manual(&operation.results);
        let own = self.axes.count(around) == self.axes.devices;
        // Constants and counts have the same bits everywhere.
        self.per_device &= own || operation.operands.is_empty();
        let kind = match entry.devices {
            DeviceDependence::PartitionId | DeviceDependence::ReplicaId => {
                return self.own_number(operation, entry.devices);
            }
            DeviceDependence::Collective(kind) => Some((entry, kind)),
            _ => None,
        };
        match factors_of(self.function, operation) {
            Some(factors) => self.in_pieces(operation, kind, &factors),
            None => self.whole(operation, kind),
        }
    }

    /// The number of the device among its replicas or partitions.
    fn own_number(&mut self, operation: &Operation, which: DeviceDependence) -> Result<()> {
        let &[result] = &operation.results[..] else { return Ok(()) };
        self.everywhere = false;
        let of = TensorType::new(Element::U32, Vec::new());
        let zero = Elements { of: of.clone(), data: [0; 4].into(), splat: false };
        let value = match (self.form, which) {
            #[cfg(test)]
            (Form::Replicas, DeviceDependence::PartitionId) => self.simple(
                &tpu_ops::REPLICA_ID,
                Vec::new(),
                Type::Tensor(of),
                Attributes::default(),
            ),
            (Form::Text, _) => {
                let attributes = operation.attributes.clone();
                let name = operation.name.clone();
                self.write(name, Vec::new(), vec![Type::Tensor(of)], (attributes, Vec::new()))[0]
            }
            _ => self.splat(&zero, of),
        };
        self.place(result, value, Layout::default());
        Ok(())
    }

    /// Every device does all of it.
    fn whole(
        &mut self,
        operation: &'m Operation,
        kind: Option<(&Entry, CollectiveKind)>,
    ) -> Result<()> {
        if !operation.regions.is_empty() {
            // The code inside may read what is to be summed outside.
            self.sum_all();
        }
        let mut operands = Vec::with_capacity(operation.operands.len());
        for &operand in &operation.operands {
            let layout = Layout::whole(self.rank(operand));
            operands.push(self.get(operand, &layout)?);
        }
        let types: Vec<Type> =
            operation.results.iter().map(|&value| self.function.type_of(value).clone()).collect();
        let made = self.made(operation, kind, (operands, types), operation.attributes.clone())?;
        for (&result, value) in operation.results.iter().zip(made) {
            let layout = Layout::whole(self.rank(result));
            self.finish(result, value, &layout)?;
        }
        Ok(())
    }

    /// Writes an operation or a collective with the code inside of it.
    fn made(
        &mut self,
        operation: &'m Operation,
        kind: Option<(&Entry, CollectiveKind)>,
        (operands, types): (Vec<Value>, Vec<Type>),
        attributes: Attributes,
    ) -> Result<Vec<Value>> {
        if let Some(kind) = kind {
            return self.stated(operation, kind, operands, types);
        }
        let regions =
            operation.regions.iter().map(|region| self.copied(region)).collect::<Result<_>>()?;
        Ok(self.write(operation.name.clone(), operands, types, (attributes, regions)))
    }

    /// Brings a result to the layout that it is to have.
    fn finish(&mut self, result: Value, value: Value, layout: &Layout) -> Result<()> {
        let wanted = self.layouts.of(result).clone();
        let value = self.brought(value, layout, (&wanted, dims(self.function, result)))?;
        self.place(result, value, wanted);
        Ok(())
    }

    /// An operation whose axes belong together.
    fn in_pieces(
        &mut self,
        operation: &'m Operation,
        kind: Option<(&Entry, CollectiveKind)>,
        factors: &Factors,
    ) -> Result<()> {
        let mut arrays = Vec::new();
        for &operand in &operation.operands {
            arrays.push((&self.placed(operand)?.layout, self.elements(operand)));
        }
        for &result in &operation.results {
            arrays.push((self.layouts.of(result), self.elements(result)));
        }
        let around = self.layouts.manual(&operation.operands);
        let manual = around.iter().chain(self.layouts.manual(&operation.results));
        let chosen = chosen(self.axes, factors, &arrays, manual.copied().collect());
        let layout = |map: &Vec<Vec<usize>>| {
            let axes = map.iter().map(|list| joined(self.axes, list, &factors.factors, &chosen));
            Layout(axes.collect())
        };
        let mut ins: Vec<Layout> = factors.operands.iter().map(layout).collect();
        let outs: Vec<Layout> = factors.results.iter().map(layout).collect();
        self.with_short_ones_whole(factors, &mut ins);
        let sums = factors.factors.iter().zip(&chosen);
        let sums = sums.filter(|(factor, _)| factor.kind == FactorKind::Summed);
        let partial: Vec<u8> = sums.flat_map(|(_, axes)| axes.iter().copied()).collect();
        let added = factors.added.filter(|_| !partial.is_empty());
        let mut operands = Vec::new();
        let mut few = None;
        for (at, (&operand, layout)) in operation.operands.iter().zip(&ins).enumerate() {
            operands.push(if added == Some(at) {
                self.zeros(operand, layout)?
            } else if let Some(found) = self.few_of_pieces(operation, factors, layout)? {
                few = Some(found.along);
                found.value
            } else {
                self.get(operand, layout)?
            });
        }
        let mut types = Vec::new();
        for (&result, layout) in operation.results.iter().zip(&outs) {
            types.push(self.local(self.function.type_of(result), layout)?);
        }
        let found = self.looked_up(operation, factors, (&ins, &operands))?;
        if let (Some(found), Some(indices)) = (&found, operands.get_mut(1)) {
            *indices = found.indices;
        }
        let of = types.first().cloned();
        self.filled_up(factors, &ins, &mut operands)?;
        let mut attributes = self.local_attributes(operation, factors, (&ins, of.as_ref()));
        if let Some(along) = few {
            bounds_of_few(&mut attributes, along);
        }
        self.reached(factors, (&ins, outs.first()), &mut operands, &mut attributes)?;
        let made = self.made(operation, kind, (operands, types), attributes)?;
        for ((&result, mut value), mut layout) in operation.results.iter().zip(made).zip(outs) {
            match factors.local {
                Local::Counting => value = self.counted(operation, value, &layout)?,
                Local::Elements => {
                    if let Some(Attribute::Elements(elements)) = operation.attributes.get("value") {
                        self.splats.insert(value, elements.clone());
                    }
                }
                Local::Mirrored => {
                    let turned = operation.attributes.integers("dimensions").unwrap_or_default();
                    value = self.mirrored(value, &turned, &layout);
                }
                Local::Same | Local::Limits | Local::Sizes | Local::Joined(_) => {}
            }
            if let Some(inside) = found.as_ref().and_then(|found| found.inside) {
                value = self.masked(operation, value, inside)?;
            }
            if !partial.is_empty() {
                let by = operation.regions.first().filter(|_| !adds(operation));
                value = self.summed(value, &mut layout, (partial.clone(), by), result)?;
                if let Some(at) = added.filter(|&at| !self.is_zero(operation.operands[at])) {
                    let more = self.get(operation.operands[at], &layout)?;
                    let of = self.written(value).clone();
                    value = self.simple(&ADD, vec![value, more], of, Attributes::default());
                }
            }
            self.finish(result, value, &layout)?;
        }
        Ok(())
    }

    /// The indices of an operation into the device's piece of its first operand, where that is
    /// split along axes in which they look elements up.
    fn looked_up(
        &mut self,
        operation: &Operation,
        factors: &Factors,
        (ins, operands): (&[Layout], &[Value]),
    ) -> Result<Option<PieceIndices>> {
        let (Some(table), &[first, indices, ..]) = (ins.first(), operands) else {
            return Ok(None);
        };
        let mut pieces = Vec::new();
        for &lookup in &factors.looked_up {
            let axes = table.0[lookup.axis].clone();
            if !axes.is_empty() {
                let part = self.tensor(first)?.dims[lookup.axis];
                pieces.push(TablePiece { lookup, part, whole: part * self.count(&axes), axes });
            }
        }
        if pieces.is_empty() {
            return Ok(None);
        }
        let vector = operation.attributes.integer("index_vector_dim").unwrap_or_default();
        let vector = usize::try_from(vector).unwrap_or_default();
        let clamped = operation.regions.is_empty();
        self.found(indices, (vector, clamped), &pieces).map(Some)
    }

    fn elements(&self, value: Value) -> usize {
        let dims = dims(self.function, value).unwrap_or_default();
        dims.iter().fold(1, |all, &dim| all.saturating_mul(usize::try_from(dim).unwrap_or(1)))
    }

    /// Whether a value is zero everywhere.
    fn is_zero(&self, value: Value) -> bool {
        let splat = self.placed(value).ok().and_then(|placed| self.splats.get(&placed.value));
        splat.is_some_and(|elements| elements.data.iter().all(|&byte| byte == 0))
    }

    /// Zeros like a value.
    fn zeros(&mut self, like: Value, layout: &Layout) -> Result<Value> {
        let Type::Tensor(of) = self.local(self.function.type_of(like), layout)? else {
            return self.get(like, layout);
        };
        let width = of.element.bytes().unwrap_or(1);
        let elements = Elements { of: of.clone(), data: vec![0; width].into(), splat: true };
        Ok(self.splat(&elements, of))
    }

    /// The attributes of an operation over parts.
    fn local_attributes(
        &self,
        operation: &Operation,
        factors: &Factors,
        (ins, of): (&[Layout], Option<&Type>),
    ) -> Attributes {
        let mut attributes = operation.attributes.clone();
        // Indices past the ends of a piece are in no order.
        let split =
            |lookup: &LookedUp| ins.first().is_some_and(|table| !table.0[lookup.axis].is_empty());
        let sorted = attributes.get("indices_are_sorted").is_some();
        if sorted && factors.looked_up.iter().any(split) {
            attributes.set("indices_are_sorted", Attribute::Bool(false));
        }
        let name = match factors.local {
            Local::Same | Local::Counting | Local::Joined(_) | Local::Mirrored => {
                return attributes;
            }
            Local::Elements => {
                if let (Some(Attribute::Elements(elements)), Some(Type::Tensor(of))) =
                    (attributes.get("value"), of)
                {
                    let mut part = Elements { of: of.clone(), ..elements.clone() };
                    part.splat = of.dims.iter().product::<i64>() > 1;
                    attributes.set("value", Attribute::Elements(part));
                }
                return attributes;
            }
            Local::Limits => "limit_indices",
            Local::Sizes => "slice_sizes",
        };
        let (Some(mut sizes), Some(layout)) = (attributes.integers(name), ins.first()) else {
            return attributes;
        };
        let whole = operation.operands.first().and_then(|&value| dims(self.function, value));
        for ((size, axes), whole) in sizes.iter_mut().zip(&layout.0).zip(whole.unwrap_or_default())
        {
            if size == whole {
                *size = piece(*size, self.count(axes));
            }
        }
        attributes.set(name, Attribute::Integers(sizes));
        attributes
    }

    /// A count that goes on from the place of the part.
    fn counted(&mut self, operation: &Operation, value: Value, layout: &Layout) -> Result<Value> {
        let axis = operation.attributes.integer("iota_dimension").unwrap_or_default();
        let axis = usize::try_from(axis).unwrap_or_default();
        let Some(axes) = layout.0.get(axis).filter(|axes| !axes.is_empty()).cloned() else {
            return Ok(value);
        };
        let of = self.tensor(value)?;
        let start = self.start(&axes, of.dims[axis]);
        let start = self.converted(start, of.element);
        let none = Attribute::Integers(Vec::new());
        let attributes = Attributes(vec![("broadcast_dimensions".into(), none)]);
        let of = Type::Tensor(of);
        let start = self.simple(&BROADCAST_IN_DIM, vec![start], of.clone(), attributes);
        Ok(self.simple(&ADD, vec![value, start], of, Attributes::default()))
    }

    /// Code inside of an operation as it is.
    pub(super) fn copied(&mut self, region: &Region) -> Result<Region> {
        let mut blocks = Vec::new();
        for block in &region.blocks {
            let layouts: Vec<Layout> =
                block.arguments.iter().map(|&value| Layout::whole(self.rank(value))).collect();
            let arguments = self.arguments(&block.arguments, &layouts)?;
            let outer = std::mem::take(&mut self.out);
            for operation in &block.operations {
                let mut operands = Vec::new();
                for &operand in &operation.operands {
                    let layout = Layout::whole(self.rank(operand));
                    operands.push(self.get(operand, &layout)?);
                }
                let regions = operation
                    .regions
                    .iter()
                    .map(|region| self.copied(region))
                    .collect::<Result<_>>()?;
                let types = operation.results.iter();
                let types = types.map(|&value| self.function.type_of(value).clone()).collect();
                self.location = operation.location;
                let attributes = operation.attributes.clone();
                let made =
                    self.write(operation.name.clone(), operands, types, (attributes, regions));
                for (&result, value) in operation.results.iter().zip(made) {
                    self.place(result, value, Layout::whole(self.rank(result)));
                }
            }
            let operations = std::mem::replace(&mut self.out, outer);
            blocks.push(Block { arguments, operations });
        }
        Ok(Region { blocks })
    }
}
