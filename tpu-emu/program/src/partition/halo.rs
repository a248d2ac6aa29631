//! Pieces with what lies next to them in other pieces: devices pass on the ends of theirs.
use super::axes::{Layout, piece};
use super::collective::table;
use super::emit::Emitter;
use super::reach::{Halo, beside, overhangs};
use tpu_base::error::Result;
use tpu_ops::factors::{Bounds, FactorKind, Factors, Local, Past, Reach};
use tpu_stablehlo::ir::{Attribute, Attributes, Operation, Value};

impl Emitter<'_> {
    /// Takes whole what lies beside others and is too short or too far away to be split as the
    /// result is.
    pub(super) fn with_short_ones_whole(&self, factors: &Factors, ins: &mut [Layout]) {
        for reach in factors.reaches.iter().filter(|reach| reach.bounds == Bounds::Places) {
            let (operand, axis) = reach.operand;
            let size = factors.factors[reach.factor].size;
            let devices = self.count(&ins[operand].0[axis]);
            if beside(reach, size, devices).is_none() {
                ins[operand].0[axis].clear();
            }
        }
    }

    /// Operands that are summed along pieces of different lengths, filled up with what changes no
    /// sum.
    pub(super) fn filled_up(
        &mut self,
        factors: &Factors,
        ins: &[Layout],
        operands: &mut [Value],
    ) -> Result<()> {
        let Some(neutral) = factors.neutral else { return Ok(()) };
        let all = operands.to_vec();
        for (at, map) in factors.operands.iter().enumerate() {
            for (axis, list) in map.iter().enumerate() {
                let &[factor] = &list[..] else { continue };
                let of = factors.factors[factor];
                let axes = &ins[at].0[axis];
                let devices = self.count(axes);
                if of.kind != FactorKind::Summed || of.size % devices == 0 {
                    continue;
                }
                let place = [0, piece(of.size, devices)];
                let fill = filling(neutral, &all);
                operands[at] = self.bounded(operands[at], (axis, axes), (place, of.size), fill)?;
            }
        }
        Ok(())
    }

    /// The operands of an operation with what it reads of other pieces, and its attributes for
    /// them; operands that lie side by side are joined to one.
    pub(super) fn reached(
        &mut self,
        factors: &Factors,
        (ins, out): (&[Layout], Option<&Layout>),
        operands: &mut Vec<Value>,
        attributes: &mut Attributes,
    ) -> Result<()> {
        if let (Local::Joined(axis), Some(out)) = (factors.local, out) {
            let axes = &out.0[axis];
            if !axes.is_empty() {
                let joined = self.side_by_side(factors, (ins, (axis, axes)), operands)?;
                *operands = vec![joined];
            }
            return Ok(());
        }
        let all = operands.clone();
        for reach in &factors.reaches {
            let (operand, axis) = reach.operand;
            let axes = &ins[operand].0[axis];
            let devices = self.count(axes);
            let size = factors.factors[reach.factor].size;
            let Some(halo) = (devices > 1).then(|| Halo::of(reach, size, devices)).flatten() else {
                continue;
            };
            let mut value = self.lengthened(operands[operand], (axis, axes), &halo)?;
            // What comes from no device is zeros.
            let zeros = reach.past == Past::Zero && reach.size % devices == 0;
            if reach.past != Past::Nothing && !zeros && overhangs(reach, size) {
                let fill = filling(reach.past, &all);
                value = self.bounded(value, (axis, axes), (halo.place, reach.size), fill)?;
            }
            operands[operand] = value;
            set_bounds(attributes, (reach, axis), &halo);
        }
        Ok(())
    }

    /// Of an operand whose pieces have more than a slice reads of all of them: what the slice reads
    /// along that axis, from whichever device has it.
    pub(super) fn few_of_pieces(
        &mut self,
        operation: &Operation,
        factors: &Factors,
        layout: &Layout,
    ) -> Result<Option<FewOfPieces>> {
        let &[operand] = &operation.operands[..] else { return Ok(None) };
        let had = self.placed(operand)?.layout.clone();
        for reach in factors.reaches.iter().filter(|reach| reach.bounds == Bounds::Slice) {
            let axis = reach.operand.1;
            let axes = &had.0[axis];
            let read = (factors.factors[reach.factor].size - 1) * reach.stride + 1;
            let own = piece(reach.size, self.count(axes));
            let free = layout.0[axis].is_empty() && !axes.iter().any(|&axis| layout.uses(axis));
            if axes.is_empty() || !free || read > own {
                continue;
            }
            let mut split = layout.clone();
            split.0[axis].clone_from(axes);
            let value = self.get(operand, &split)?;
            // Nothing but zeros lies around a piece.
            let around = self.extended(value, axis, [read, read])?;
            let start = self.place_at(axes, [reach.offset + read, -own]);
            let there = self.read_at(around, (axis, start), read)?;
            let value = self.combined(there, axes.clone(), None)?;
            return Ok(Some(FewOfPieces { value, along: (axis, read) }));
        }
        Ok(None)
    }

    /// A piece with the ends of those around it, as far as it is read.
    fn lengthened(
        &mut self,
        value: Value,
        (axis, axes): (usize, &[u8]),
        halo: &Halo,
    ) -> Result<Value> {
        let had = self.tensor(value)?.dims[axis];
        let groups = self.axes.groups(axes);
        let [before, behind] = halo.beside;
        let taken = |far: i64, all: i64| (all - (far - 1) * had).min(had);
        let mut parts = Vec::new();
        for far in (1..=piece(before, had)).rev() {
            let end = self.cut_out(value, axis, had - taken(far, before)..had)?;
            parts.push(self.passed_on(end, &groups, far));
        }
        parts.push(value);
        for far in 1..=piece(behind, had) {
            let begin = self.cut_out(value, axis, 0..taken(far, behind))?;
            parts.push(self.passed_on(begin, &groups, -far));
        }
        let all = self.concatenated(parts, axis)?;
        let length = self.tensor(all)?.dims[axis];
        if halo.step == 0 {
            return self.cut_out(all, axis, halo.start..halo.start + halo.length);
        }
        debug_assert!(halo.length <= length, "a piece is as long as what is read of it");
        let start = self.place_at(axes, [halo.start, halo.step]);
        self.read_at(all, (axis, start), halo.length)
    }

    /// Gives an array to the device that is so many places further along some axes, in each of
    /// their groups.
    fn passed_on(&mut self, value: Value, groups: &[Vec<usize>], by: i64) -> Value {
        let mut pairs = Vec::new();
        for group in groups {
            for (at, &source) in group.iter().enumerate() {
                let to = i64::try_from(at).ok().and_then(|at| usize::try_from(at + by).ok());
                pairs.extend(to.and_then(|to| group.get(to)).map(|&target| vec![source, target]));
            }
        }
        pairs.sort_unstable();
        self.passed(value, &pairs)
    }

    /// Pieces in the places of those at the other end, along the axes that are turned.
    pub(super) fn mirrored(&mut self, mut value: Value, turned: &[i64], layout: &Layout) -> Value {
        for &axis in turned {
            let axis = usize::try_from(axis).unwrap_or(usize::MAX);
            let axes = layout.0.get(axis).map_or(&[][..], |axes| axes);
            if axes.is_empty() {
                continue;
            }
            let groups = self.axes.groups(axes);
            let swapped = |group: &Vec<usize>| {
                let pairs = group.iter().zip(group.iter().rev());
                pairs.map(|(&source, &target)| vec![source, target]).collect::<Vec<_>>()
            };
            let mut pairs: Vec<Vec<usize>> = groups.iter().flat_map(swapped).collect();
            pairs.sort_unstable();
            value = self.passed(value, &pairs);
        }
        value
    }

    /// A piece of operands that lie side by side: of each what lies in it.
    fn side_by_side(
        &mut self,
        factors: &Factors,
        (ins, (axis, axes)): (&[Layout], (usize, &[u8])),
        operands: &[Value],
    ) -> Result<Value> {
        let devices = self.count(axes);
        let mut made: Option<Value> = None;
        for (reach, &operand) in factors.reaches.iter().zip(operands) {
            let size = factors.factors[reach.factor].size;
            let own = piece(size, devices);
            let before = -reach.offset;
            let split = !ins[reach.operand.0].0[axis].is_empty();
            let there = match Halo::of(reach, size, devices).filter(|_| split) {
                Some(halo) => self.lengthened(operand, (axis, axes), &halo)?,
                None => self.out_of_whole(operand, (axis, axes), (own, before))?,
            };
            made = Some(match made {
                None => there,
                Some(others) => {
                    let inside = self.behind_place((axis, axes), (there, own), before)?;
                    self.selected(inside, there, others)
                }
            });
        }
        made.ok_or_else(|| tpu_base::error::Error::bad("nothing is joined"))
    }

    /// So many elements of a whole array on each device, from the place of the device's piece on;
    /// `before` places lie before the array.
    fn out_of_whole(
        &mut self,
        value: Value,
        (axis, axes): (usize, &[u8]),
        (own, before): (i64, i64),
    ) -> Result<Value> {
        let around = self.extended(value, axis, [own, own])?;
        // Where nothing of the array is read, it does not matter what is.
        let start = self.place_at(axes, [own - before, own]);
        self.read_at(around, (axis, start), own)
    }
}

/// What a slice reads of an operand along one axis.
pub(super) struct FewOfPieces {
    pub(super) value: Value,
    /// The axis, and how many elements are read.
    pub(super) along: (usize, i64),
}

/// Makes a slice one of all that it reads along an axis, as far as it reads.
pub(super) fn bounds_of_few(attributes: &mut Attributes, (axis, read): (usize, i64)) {
    for (name, to) in [("start_indices", 0), ("limit_indices", read)] {
        set_one(attributes, (name, axis), to);
    }
}

/// The operand with the element that lies past the ends; `None` for zeros.
fn filling(past: Past, operands: &[Value]) -> Option<Value> {
    match past {
        Past::Operand(at) => operands.get(at).copied(),
        Past::Zero | Past::Nothing => None,
    }
}

/// Makes attributes say that an operand is read from its begin on.
fn set_bounds(attributes: &mut Attributes, (reach, axis): (&Reach, usize), halo: &Halo) {
    let [low, high] = halo.edges;
    match reach.bounds {
        Bounds::Slice => {
            set_one(attributes, ("start_indices", axis), 0);
            set_one(attributes, ("limit_indices", axis), halo.length);
        }
        Bounds::Edges => {
            set_one(attributes, ("edge_padding_low", axis), low);
            set_one(attributes, ("edge_padding_high", axis), high);
        }
        Bounds::Padding(number) => set_padding(attributes, number, [low, high]),
        Bounds::Places => {}
    }
}

/// One of a list of integers.
fn set_one(attributes: &mut Attributes, (name, at): (&'static str, usize), to: i64) {
    if let Some(mut all) = attributes.integers(name)
        && let Some(one) = all.get_mut(at)
    {
        *one = to;
        attributes.set(name, Attribute::Integers(all));
    }
}

/// The padding of a window with a number, among all.
fn set_padding(attributes: &mut Attributes, number: usize, pair: [i64; 2]) {
    let stated = attributes.get("padding").and_then(Attribute::integers);
    let windows = ["window_dimensions", "input_spatial_dimensions"];
    let count =
        windows.iter().find_map(|name| attributes.integers(name)).map_or(0, |all| all.len());
    let mut all = stated.unwrap_or_else(|| vec![0; 2 * count]);
    if let Some(own) = all.get_mut(2 * number..2 * number + 2) {
        own.copy_from_slice(&pair);
    }
    let rows: Vec<[i64; 2]> = all.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    attributes.set("padding", table(&rows));
}
