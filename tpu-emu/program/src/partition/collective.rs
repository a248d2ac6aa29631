//! What devices exchange.
use super::Form;
use super::axes::Layout;
use super::emit::Emitter;
use crate::operation_factors::adds;
use crate::sharding::groups::{Devices, groups};
use crate::tuning::SUMS_IN_PLACE_FROM_BYTES;
use tpu_base::error::{Error, Result};
use tpu_ops::{
    ADD, ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLLECTIVE_PERMUTE, CUSTOM_CALL, CollectiveKind,
    Entry, REDUCE_SCATTER, YIELD, full_name,
};
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Element, Elements, Operation, OutputAlias, Region, TensorType,
    Type, Value,
};

const GROUPS: &str = "replica_groups";
const PAIRS: &str = "source_target_pairs";

/// Rows of devices as an array: shorter ones end with -1.
fn rows(rows: &[Vec<usize>]) -> Attribute {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let padded = |row: &Vec<usize>| {
        let numbers = row.iter().map(|&device| number(device));
        numbers.chain(std::iter::repeat_n(-1, longest - row.len())).collect::<Vec<i64>>()
    };
    table(&rows.iter().map(padded).collect::<Vec<_>>())
}

/// Rows of one length as an array.
pub(super) fn table<R: AsRef<[i64]>>(rows: &[R]) -> Attribute {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let length = rows.first().map_or(0, |row| row.as_ref().len());
    let dims = vec![number(rows.len()), number(length)];
    let data: Vec<i64> = rows.iter().flat_map(|row| row.as_ref().iter().copied()).collect();
    let splat = data.len() > 1 && data.iter().all(|one| *one == data[0]);
    let data = data.iter().take(if splat { 1 } else { data.len() });
    let data = data.flat_map(|number| number.to_le_bytes()).collect();
    Attribute::Elements(Elements { of: TensorType::new(Element::S64, dims), data, splat })
}

/// Begins the name of an exchange that is planned only.
const EXCHANGE: &str = "exchange by ";

/// Whether a node of this name adds up what devices have, each a part, in the plan of one of them.
pub(crate) fn is_planned_scatter(name: &str) -> bool {
    name.strip_prefix(EXCHANGE).is_some_and(|by| by == REDUCE_SCATTER.mnemonic)
}

/// Whether a node of this name gathers the parts of other devices, in the plan of one of them.
pub(crate) fn is_planned_gather(name: &str) -> bool {
    name.strip_prefix(EXCHANGE).is_some_and(|by| by == ALL_GATHER.mnemonic)
}

impl Emitter<'_> {
    /// The groups along some axes, as an operation has them.
    pub(super) fn groups_along(&mut self, axes: &[u8]) -> Attributes {
        Attributes(vec![(GROUPS.into(), self.along(axes))])
    }

    /// The groups along some axes, as an attribute.
    fn along(&mut self, axes: &[u8]) -> Attribute {
        if let Some(known) = self.groups.get(axes) {
            return known.clone();
        }
        let made = rows(&self.axes.groups(axes));
        self.groups.insert(axes.to_vec(), made.clone());
        made
    }

    /// Writes a collective.
    fn exchanged(
        &mut self,
        entry: &Entry,
        operands: Vec<Value>,
        types: Vec<Type>,
        inside: (Attributes, Vec<Region>),
    ) -> Vec<Value> {
        let results: Vec<Value> = types.into_iter().map(|of| self.value(of)).collect();
        self.exchanged_as(entry, operands, results.clone(), inside);
        results
    }

    /// Writes a collective whose results have their names.
    pub(super) fn exchanged_as(
        &mut self,
        entry: &Entry,
        operands: Vec<Value>,
        results: Vec<Value>,
        (mut attributes, regions): (Attributes, Vec<Region>),
    ) {
        let channel = match self.form {
            Form::Plan => return self.planned(entry, operands, results),
            Form::Text => {
                self.channels += 1;
                self.channels
            }
            #[cfg(test)]
            Form::Replicas => 0,
        };
        attributes.set("channel_id", Attribute::Integer(channel.into(), Element::S64));
        let numbered = [ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER];
        if numbered.iter().any(|one| one.mnemonic == entry.mnemonic) {
            attributes.set("use_global_device_ids", Attribute::Bool(channel > 0));
        }
        attributes.sort();
        self.write_as(full_name(entry).into(), operands, results, (attributes, regions));
    }

    /// A collective as a call that nobody answers. Its name is that of no operation: some
    /// collectives are calls with names of their own. Sums are made in the place of what is summed, but
    /// several for which a core has room.
    fn planned(&mut self, entry: &Entry, operands: Vec<Value>, results: Vec<Value>) {
        let target = format!("{EXCHANGE}{}", entry.mnemonic);
        let mut attributes = Attributes(vec![
            ("api_version".into(), Attribute::Word("API_VERSION_ORIGINAL".into())),
            ("call_target_name".into(), Attribute::string(&target)),
            ("has_side_effect".into(), Attribute::Bool(false)),
        ]);
        let sums = entry.mnemonic == ALL_REDUCE.mnemonic && operands.len() == results.len();
        let several = results.len() > 1;
        let bytes = results.iter().fold(0_usize, |sum, &of| sum.saturating_add(self.bytes(of)));
        if sums && (!several || bytes >= SUMS_IN_PLACE_FROM_BYTES) {
            let place = |number: i64| {
                let output = several.then_some(number).into_iter().collect();
                Attribute::OutputAlias(OutputAlias {
                    output,
                    operand: number,
                    operand_path: Vec::new(),
                })
            };
            let places = (0..).zip(&results).map(|(number, _)| place(number)).collect();
            attributes.set("output_operand_aliases", Attribute::Array(places));
            attributes.sort();
        }
        self.write_as(CUSTOM_CALL.into(), operands, results, (attributes, Vec::new()));
    }

    /// The bytes of the elements of an array.
    fn bytes(&self, value: Value) -> usize {
        let Ok(of) = self.tensor(value) else { return 0 };
        let width = of.element.bytes().unwrap_or(1);
        of.dims
            .iter()
            .fold(width, |all, &dim| all.saturating_mul(usize::try_from(dim).unwrap_or_default()))
    }

    /// The parts of the devices along some axes, side by side.
    pub(super) fn all_gather(&mut self, value: Value, dim: usize, axes: &[u8]) -> Result<Value> {
        let mut of = self.tensor(value)?;
        of.dims[dim] *= self.count(axes);
        let at = Attribute::Integer(i128::try_from(dim).unwrap_or_default(), Element::S64);
        let attributes =
            Attributes(vec![("all_gather_dim".into(), at), (GROUPS.into(), self.along(axes))]);
        let of = vec![Type::Tensor(of)];
        Ok(self.exchanged(&ALL_GATHER, vec![value], of, (attributes, Vec::new()))[0])
    }

    /// Every device gives each other one along some axes a piece.
    pub(super) fn all_to_all(
        &mut self,
        value: Value,
        (split, concat): (usize, usize),
        axes: &[u8],
    ) -> Result<Value> {
        let mut of = self.tensor(value)?;
        let count = self.count(axes);
        of.dims[split] /= count;
        of.dims[concat] *= count;
        let integer = |number: usize| {
            Attribute::Integer(i128::try_from(number).unwrap_or_default(), Element::S64)
        };
        let attributes = Attributes(vec![
            ("split_dimension".into(), integer(split)),
            ("concat_dimension".into(), integer(concat)),
            ("split_count".into(), Attribute::Integer(count.into(), Element::S64)),
            (GROUPS.into(), self.along(axes)),
        ]);
        let of = vec![Type::Tensor(of)];
        Ok(self.exchanged(&ALL_TO_ALL, vec![value], of, (attributes, Vec::new()))[0])
    }

    /// Every device gives its part to the one that needs it.
    pub(super) fn permuted(&mut self, value: Value, now: &Layout, to: &Layout) -> Result<Value> {
        let place = |layout: &Layout| -> Vec<Vec<usize>> {
            let by_axis: Vec<Vec<usize>> =
                layout.0.iter().map(|axes| self.axes.numbers(axes)).collect();
            (0..self.axes.devices)
                .map(|device| by_axis.iter().map(|numbers| numbers[device]).collect())
                .collect()
        };
        // The devices that have a part, and those that need it, in their order.
        let mut sources: Vec<(Vec<usize>, usize)> = place(now).into_iter().zip(0..).collect();
        let mut targets: Vec<(Vec<usize>, usize)> = place(to).into_iter().zip(0..).collect();
        sources.sort_unstable();
        targets.sort_unstable();
        let pairs = sources.iter().zip(&targets).map(|(source, target)| vec![source.1, target.1]);
        let mut pairs: Vec<Vec<usize>> = pairs.collect();
        pairs.sort_unstable();
        Ok(self.passed(value, &pairs))
    }

    /// An array from the first device of each pair at the second one; zeros where it comes from
    /// none.
    pub(super) fn passed(&mut self, value: Value, pairs: &[Vec<usize>]) -> Value {
        let attributes = Attributes(vec![(PAIRS.into(), rows(pairs))]);
        let of = vec![self.written(value).clone()];
        self.exchanged(&COLLECTIVE_PERMUTE, vec![value], of, (attributes, Vec::new()))[0]
    }

    /// The sum of what devices along some axes have, or what else `by` makes of it; where a part
    /// of it is wanted, that part. `result` is what it stands for.
    pub(super) fn summed(
        &mut self,
        mut value: Value,
        layout: &mut Layout,
        (mut partial, by): (Vec<u8>, Option<&Region>),
        result: Value,
    ) -> Result<Value> {
        let wanted = self.layouts.of(result);
        for dim in 0..layout.0.len() {
            let Some(rest) = wanted.0[dim].strip_prefix(&layout.0[dim][..]) else { continue };
            let axes: Vec<u8> =
                rest.iter().copied().take_while(|axis| partial.contains(axis)).collect();
            let mut of = self.tensor(value)?;
            if axes.is_empty() || of.dims[dim] % self.count(&axes) != 0 {
                continue;
            }
            of.dims[dim] /= self.count(&axes);
            let at = Attribute::Integer(i128::try_from(dim).unwrap_or_default(), Element::S64);
            let attributes = Attributes(vec![
                ("scatter_dimension".into(), at),
                (GROUPS.into(), self.along(&axes)),
            ]);
            let code = vec![self.combiner(value, by)?];
            let types = vec![Type::Tensor(of)];
            value = self.exchanged(&REDUCE_SCATTER, vec![value], types, (attributes, code))[0];
            partial.retain(|axis| !axes.contains(axis));
            layout.0[dim].extend(axes);
        }
        if partial.is_empty() {
            return Ok(value);
        }
        if by.is_none() {
            partial.sort_unstable();
            return Ok(self.later(value, partial, result));
        }
        self.combined(value, partial, by)
    }

    /// The sum of what devices along some axes have, or what else `by` makes of it, made now.
    pub(super) fn combined(
        &mut self,
        value: Value,
        mut axes: Vec<u8>,
        by: Option<&Region>,
    ) -> Result<Value> {
        axes.sort_unstable();
        let of = self.written(value).clone();
        let attributes = self.groups_along(&axes);
        let code = vec![self.combiner(value, by)?];
        Ok(self.exchanged(&ALL_REDUCE, vec![value], vec![of], (attributes, code))[0])
    }

    /// The code that combines two elements: of an operation, or their sum.
    fn combiner(&mut self, value: Value, by: Option<&Region>) -> Result<Region> {
        if let Some(region) = by {
            return self.copied(region);
        }
        let element = self.tensor(value)?.element;
        Ok(self.sum_of_two(TensorType::new(element, Vec::new())))
    }

    /// The code that adds two scalars.
    pub(super) fn sum_of_two(&mut self, scalar: TensorType) -> Region {
        let scalar = Type::Tensor(scalar);
        let arguments = vec![self.value(scalar.clone()), self.value(scalar.clone())];
        let outer = std::mem::take(&mut self.out);
        let sum = self.simple(&ADD, arguments.clone(), scalar, Attributes::default());
        self.write(YIELD, vec![sum], Vec::new(), (Attributes::default(), Vec::new()));
        let operations = std::mem::replace(&mut self.out, outer);
        Region { blocks: vec![Block { arguments, operations }] }
    }

    /// A collective of code that is written per device.
    pub(super) fn stated(
        &mut self,
        operation: &Operation,
        (entry, kind): (&Entry, CollectiveKind),
        operands: Vec<Value>,
        types: Vec<Type>,
    ) -> Result<Vec<Value>> {
        let devices = Devices { count: self.axes.devices, replicas: false, only: None };
        if let (CollectiveKind::AllReduce, &[value], &[result]) =
            (kind, &operands[..], &operation.results[..])
            && adds(operation)
            && let Ok(listed) = groups(operation, kind, self.module, devices)
            && let Some(axes) = self.axes.along(listed)
        {
            return Ok(vec![self.later(value, axes, result)]);
        }
        if self.form == Form::Plan {
            let results: Vec<Value> = types.into_iter().map(|of| self.value(of)).collect();
            self.planned(entry, operands, results.clone());
            return Ok(results);
        }
        let key = if kind == CollectiveKind::CollectivePermute { PAIRS } else { GROUPS };
        let listed = groups(operation, kind, self.module, devices)?;
        if listed.is_empty() && key == GROUPS {
            return Err(Error::bad(format!("{} without groups", operation.name)));
        }
        let regions =
            operation.regions.iter().map(|region| self.copied(region)).collect::<Result<_>>()?;
        let mut attributes = operation.attributes.clone();
        // One that came as a call has no name among StableHLO's operations.
        if operation.name.ends_with(".custom_call") {
            let results: Vec<Value> = types.into_iter().map(|of| self.value(of)).collect();
            self.write_as(CUSTOM_CALL.into(), operands, results.clone(), (attributes, regions));
            return Ok(results);
        }
        attributes.set(key, rows(&listed));
        Ok(self.exchanged(entry, operands, types, (attributes, regions)))
    }
}
