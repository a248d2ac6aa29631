//! Finds steps that can run together, some rows at a time.
use super::fusion_candidate::FusionCandidate;
use super::row_step::{RowFusion, RowStage, StageKind, ValueSlot};
use super::{EachStep, FusedStep, LoopInput, StepBlock, StepKind};
use crate::graph::{Graph, ValueId};
use crate::tuning::{
    COLUMN_BLOCK_BYTES, MANY_ROWS, MAX_BYTES_OF_FEW_ROWS, MAX_ROW_BYTES, MAX_ROW_FUSION_STEPS,
    MIN_SHARED_REDUCTION_BYTES, MIN_SHRUNK_BYTES, MIN_TOTAL_PARTS, ROW_BLOCK_BYTES,
    ROW_CHUNK_ELEMENTS,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::Reduced;

/// Joins steps of a program that run over the same rows.
pub(crate) fn fuse(graph: &Graph, code: StepBlock) -> StepBlock {
    let parameters = code.parameters;
    let results = code.results;
    let steps: Vec<FusedStep> = code.steps.into_iter().map(|step| inside(graph, step)).collect();
    let mut uses: FxHashMap<ValueId, usize> = FxHashMap::default();
    results.iter().for_each(|&value| *uses.entry(value).or_default() += 1);
    let reads: Vec<Vec<ValueId>> = steps.iter().map(reads).collect();
    reads.iter().flatten().for_each(|&value| *uses.entry(value).or_default() += 1);
    let mut grouper = Grouper { graph, groups: Vec::new(), group_of: FxHashMap::default() };
    for (index, (step, reads)) in steps.iter().zip(&reads).enumerate() {
        grouper.step(index, step, reads);
    }
    let mut steps: Vec<Option<FusedStep>> = steps.into_iter().map(Some).collect();
    // A group runs in the place of its last step.
    let mut last: FxHashMap<usize, RowGroup> = FxHashMap::default();
    for group in grouper.groups.into_iter().filter(|group| group.pays()) {
        if let Some(&(index, _)) = group.members.last() {
            last.insert(index, group);
        }
    }
    let mut written = Vec::with_capacity(steps.len());
    let members: FxHashSet<usize> =
        last.values().flat_map(|group| group.members.iter().map(|&(index, _)| index)).collect();
    for index in 0..steps.len() {
        if let Some(group) = last.remove(&index) {
            written.push(write(graph, group, &mut steps, &uses));
        } else if !members.contains(&index) {
            written.extend(steps[index].take());
        }
    }
    StepBlock { parameters, steps: written, results }
}

/// Fuses rows in the code inside of a step.
fn inside(graph: &Graph, mut step: FusedStep) -> FusedStep {
    step.kind = match step.kind {
        StepKind::While { condition, body, scalar } => {
            StepKind::While { condition: fuse(graph, condition), body: fuse(graph, body), scalar }
        }
        StepKind::Branch(branches) => {
            StepKind::Branch(branches.into_iter().map(|branch| fuse(graph, branch)).collect())
        }
        StepKind::Each(each) => {
            StepKind::Each(Box::new(EachStep { body: fuse(graph, each.body), ..*each }))
        }
        other => other,
    };
    step
}

/// The values that a step reads, those of the code inside of it included, once each.
fn reads(step: &FusedStep) -> Vec<ValueId> {
    fn collect(code: &StepBlock, into: &mut Vec<ValueId>) {
        for step in &code.steps {
            into.extend(&step.operands);
            step.kind.blocks().for_each(|block| collect(block, into));
        }
        into.extend(&code.results);
    }
    let mut found = step.operands.clone();
    step.kind.blocks().for_each(|block| collect(block, &mut found));
    found.sort_unstable();
    found.dedup();
    found
}

#[derive(Debug, Default)]
struct RowGroup {
    /// Numbers of the steps in order.
    members: Vec<(usize, FusionCandidate)>,
    rows: usize,
    /// Bytes of all values together.
    bytes: usize,
    closed: bool,
    /// How members read one another's values: maps, and elements of what they read.
    maps: Vec<(AccessMap, usize)>,
    values: Vec<ValueId>,
    /// Results that are there at the end only.
    totals: Vec<ValueId>,
    /// Large arrays of which elements of any place are read.
    looked_up: Vec<ValueId>,
}

impl RowGroup {
    /// Whether it is better than its steps one by one.
    fn pays(&self) -> bool {
        match &self.members[..] {
            [(_, FusionCandidate::Fold(Reduced { dims, .. }))] => {
                let elements: usize = dims.iter().product();
                self.rows > 1 && elements * 4 >= MIN_SHARED_REDUCTION_BYTES
            }
            members => members.len() > 1,
        }
    }
}

struct Grouper<'g> {
    graph: &'g Graph,
    groups: Vec<RowGroup>,
    group_of: FxHashMap<ValueId, usize>,
}

impl Grouper<'_> {
    fn step(&mut self, index: usize, step: &FusedStep, reads: &[ValueId]) {
        let mut from: Vec<usize> =
            reads.iter().filter_map(|value| self.group_of.get(value).copied()).collect();
        from.sort_unstable();
        from.dedup();
        from.retain(|&group| !self.groups[group].closed);
        let Some(candidate) = FusionCandidate::of(self.graph, step) else {
            from.iter().for_each(|&group| self.groups[group].closed = true);
            return;
        };
        // All that it reads from, or one of them.
        let joined = std::iter::once(&from[..])
            .chain(from.iter().rev().map(std::slice::from_ref))
            .find_map(|from| Some((from, self.joined(from, index, step, &candidate)?)));
        let (mut taken, group) = match joined {
            Some((from, group)) => (from.to_vec(), group),
            None => (Vec::new(), self.alone(index, step, &candidate)),
        };
        for &other in from.iter().filter(|other| !taken.contains(other)) {
            self.groups[other].closed = true;
        }
        let at = taken.pop().unwrap_or_else(|| {
            self.groups.push(RowGroup::default());
            self.groups.len() - 1
        });
        for other in taken {
            self.groups[other] = RowGroup { closed: true, ..RowGroup::default() };
        }
        group.values.iter().for_each(|&value| {
            self.group_of.insert(value, at);
        });
        self.groups[at] = group;
    }

    fn alone(&self, index: usize, step: &FusedStep, candidate: &FusionCandidate) -> RowGroup {
        let bytes = self.bytes(step, candidate);
        RowGroup {
            members: vec![(index, candidate.clone())],
            rows: candidate.rows(),
            bytes,
            closed: false,
            maps: Vec::new(),
            values: step.results.clone(),
            totals: if candidate.is_total() { step.results.clone() } else { Vec::new() },
            looked_up: self.looked_up(step, candidate),
        }
    }

    /// The large arrays of which a step reads elements of any place.
    fn looked_up(&self, step: &FusedStep, candidate: &FusionCandidate) -> Vec<ValueId> {
        let tables: Vec<ValueId> = match candidate {
            FusionCandidate::Loop(fused) => {
                let table = |input: &LoopInput| match input {
                    LoopInput::Table(at, _) => Some(step.operands[*at]),
                    _ => None,
                };
                fused.inputs.iter().filter_map(table).collect()
            }
            FusionCandidate::Gather(..) => vec![step.operands[0]],
            FusionCandidate::Copy(_) | FusionCandidate::Fold(_) => Vec::new(),
        };
        let large = |&table: &ValueId| self.graph.bytes(table) >= MIN_SHRUNK_BYTES;
        tables.into_iter().filter(large).collect()
    }

    /// Whether a step might lie where an array lies of which a group looks up elements: not so
    /// together with the group.
    fn would_take_over(&self, from: &[usize], step: &FusedStep) -> bool {
        let mut tables = from.iter().flat_map(|&at| &self.groups[at].looked_up);
        tables.any(|table| {
            let bytes = self.graph.bytes(*table);
            step.results.iter().any(|&result| self.graph.bytes(result) == bytes)
        })
    }

    /// Bytes that a step adds to those of all rows.
    fn bytes(&self, step: &FusedStep, candidate: &FusionCandidate) -> usize {
        if candidate.is_total() {
            return 0;
        }
        step.results.iter().map(|&value| self.graph.bytes(value)).sum()
    }

    /// The group that open groups and a step that reads from them become.
    fn joined(
        &self,
        from: &[usize],
        index: usize,
        step: &FusedStep,
        candidate: &FusionCandidate,
    ) -> Option<RowGroup> {
        if from.is_empty() || self.would_take_over(from, step) {
            return None;
        }
        let mut group = self.alone(index, step, candidate);
        let own = |value: &ValueId| {
            let group_of = self.group_of.get(value);
            group_of.is_some_and(|group_of| from.contains(group_of))
        };
        for &other in from {
            let other = &self.groups[other];
            group.rows = gcd(group.rows, other.rows);
            group.bytes = group.bytes.saturating_add(other.bytes);
        }
        let made = |value: &ValueId| from.iter().any(|&at| self.groups[at].totals.contains(value));
        if step.operands.iter().any(made) {
            return None;
        }
        let mut read_by = |value: ValueId, map: &AccessMap, dtype: DType| {
            if own(&value) {
                group.rows = gcd(group.rows, map.outermost());
                let elements = self.graph.bytes(value) / dtype.host_bytes();
                group.maps.push((map.clone(), elements));
            }
        };
        match candidate {
            FusionCandidate::Loop(fused) => {
                // What is read in another place than its own is there before too.
                let elsewhere = |input: &LoopInput| match input {
                    LoopInput::Table(at, _) => own(&step.operands[*at]),
                    LoopInput::Concat(view) => {
                        let mut operands = step.operands.iter().enumerate();
                        operands.any(|(at, value)| view.reads(at) && own(value))
                    }
                    LoopInput::Dense(_) | LoopInput::Strided(..) | LoopInput::Iota(..) => false,
                };
                if fused.inputs.iter().any(elsewhere) {
                    return None;
                }
                for (input, dtype) in fused.inputs.iter().zip(&fused.code.program().parameters) {
                    let LoopInput::Strided(operand, map) = input else { continue };
                    read_by(step.operands[*operand], map, *dtype);
                }
            }
            FusionCandidate::Copy(copy) => read_by(step.operands[0], &copy.map, copy.dtype),
            // The initial value is there before.
            FusionCandidate::Fold(_) => {
                if step.operands.get(1).is_some_and(own) {
                    return None;
                }
            }
            // So is what slices are taken of.
            FusionCandidate::Gather(..) => {
                if own(&step.operands[0]) {
                    return None;
                }
            }
        }
        let count: usize = from.iter().map(|&at| self.groups[at].members.len()).sum();
        let rows = group.rows;
        let most = if rows < MANY_ROWS { MAX_BYTES_OF_FEW_ROWS } else { MAX_ROW_BYTES };
        if rows < 2 || count >= MAX_ROW_FUSION_STEPS || group.bytes / rows > most {
            return None;
        }
        for &other in from {
            let other = &self.groups[other];
            // Maps that were good for more rows may be for fewer, or not.
            let known = if other.rows == rows { 0 } else { other.maps.len() };
            if !other.maps[..known].iter().all(|(map, operand)| map.keeps_rows(rows, *operand)) {
                return None;
            }
        }
        if !group.maps.iter().all(|(map, operand)| map.keeps_rows(rows, *operand)) {
            return None;
        }
        for &other in from {
            let other = &self.groups[other];
            group.members.extend(other.members.iter().cloned());
            group.maps.extend(other.maps.iter().cloned());
            group.values.extend(&other.values);
            group.totals.extend(&other.totals);
            group.looked_up.extend(&other.looked_up);
        }
        group.members.sort_by_key(|&(index, _)| index);
        Some(group)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The step of a group.
fn write(
    graph: &Graph,
    group: RowGroup,
    steps: &mut [Option<FusedStep>],
    uses: &FxHashMap<ValueId, usize>,
) -> FusedStep {
    let rows = group.rows;
    let taken = group
        .members
        .into_iter()
        .filter_map(|(index, candidate)| Some((steps[index].take()?, candidate)));
    let members: Vec<(FusedStep, FusionCandidate)> = taken.collect();
    let mut inside: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (step, _) in &members {
        reads(step).into_iter().for_each(|value| *inside.entry(value).or_default() += 1);
    }
    let mut slots: FxHashMap<ValueId, ValueSlot> = FxHashMap::default();
    let (mut operands, mut results) = (Vec::new(), Vec::new());
    let mut inner: Vec<usize> = Vec::new();
    let mut stages = Vec::new();
    let mut state_bytes = 0;
    let mut align = 1;
    let widths = members.iter().map(|(step, candidate)| candidate.width(graph, step, rows));
    let widest = widths.max().unwrap_or(1).max(1);
    let mut bytes = 0;
    let (name, location) = members
        .last()
        .map(|(step, _)| (Arc::clone(&step.name), step.location))
        .unwrap_or_else(|| ("rows".into(), tpu_stablehlo::ir::LocationId::UNKNOWN));
    for (step, candidate) in members {
        let read = step.operands.iter().map(|&value| {
            *slots.entry(value).or_insert_with(|| {
                operands.push(value);
                ValueSlot::Operand(operands.len() - 1)
            })
        });
        let read: Vec<ValueSlot> = read.collect();
        let total = candidate.is_total();
        let written = step.results.iter().map(|&value| {
            let outside =
                uses.get(&value).copied().unwrap_or(0) > inside.get(&value).copied().unwrap_or(0);
            let slot = if outside || total {
                results.push(value);
                ValueSlot::Result(results.len() - 1)
            } else {
                inner.push(graph.bytes(value) / rows);
                ValueSlot::Inner(inner.len() - 1)
            };
            slots.insert(value, slot);
            if !total {
                bytes += graph.bytes(value) / rows;
            }
            slot
        });
        let written: Vec<ValueSlot> = written.collect();
        let kind = match candidate {
            FusionCandidate::Loop(fused) => {
                for input in &fused.inputs {
                    if let LoopInput::Dense(at) = input {
                        bytes += graph.bytes(step.operands[*at]) / rows;
                    }
                }
                StageKind::Loop(fused)
            }
            FusionCandidate::Copy(copy) => StageKind::Copy(copy),
            FusionCandidate::Fold(Reduced { fold, dims: [1, count, columns] }) => {
                let block = fold.block(columns);
                let own = count / rows;
                let aligned = block.rows / gcd(block.rows, own);
                // Blocks of a narrow value would be chunks of many rows of the wide ones.
                let narrow = own * columns * MIN_TOTAL_PARTS <= widest;
                let late = narrow && aligned.min(rows) * widest > 2 * ROW_CHUNK_ELEMENTS;
                let start = state_bytes;
                if late {
                    state_bytes += graph.bytes(step.operands[0]);
                } else {
                    align = lcm(align, aligned);
                    state_bytes += count.div_ceil(block.rows) * block.bytes;
                }
                let state = start..state_bytes;
                state_bytes = state_bytes.next_multiple_of(64);
                if late {
                    StageKind::LateTotal { fold, rows: count, columns, state }
                } else {
                    StageKind::Total { fold, rows: count, columns, state }
                }
            }
            FusionCandidate::Gather(gather, all) => StageKind::Gather(gather, all / rows),
            FusionCandidate::Fold(Reduced { fold, dims: [_, count, inner] }) => {
                StageKind::Fold { fold, count, inner }
            }
        };
        stages.push(RowStage { kind, operands: read, results: written });
    }
    let chunk_rows = (ROW_CHUNK_ELEMENTS / widest).max(1).next_multiple_of(align).min(rows);
    let blocks =
        |stage: &RowStage| matches!(&stage.kind, StageKind::Copy(copy) if copy.map.wants_blocks());
    let most = if stages.iter().any(blocks) { COLUMN_BLOCK_BYTES } else { ROW_BLOCK_BYTES };
    let block_rows = (most / bytes.max(1)).clamp(1, chunk_rows);
    let mut end = 0;
    let inner = inner
        .into_iter()
        .map(|row| {
            let at = end;
            end += (row * block_rows).next_multiple_of(64);
            (at, row)
        })
        .collect();
    let fusion =
        RowFusion { rows, block_rows, chunk_rows, inner, block_bytes: end, stages, state_bytes };
    FusedStep { kind: StepKind::Rows(Arc::new(fusion)), operands, results, name, location }
}

fn lcm(a: usize, b: usize) -> usize {
    a / gcd(a, b) * b
}

#[cfg(test)]
mod tests {
    use crate::differential::plan_of;
    use crate::tuning::MIN_SHRUNK_BYTES;

    #[test]
    fn what_an_element_of_each_row_is_looked_up_in_gives_its_memory_to_the_next_array() {
        let arena = |columns: usize| {
            let (rows, all) = ("tensor<512xf32>", format!("tensor<512x{columns}xf32>"));
            plan_of(&format!(
                "func.func public @main(%x: tensor<512x8xf32>, %w: tensor<8x{columns}xf32>, %n: tensor<512x1xi32>) -> ({rows}, tensor<512x8xf32>) {{
                   %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x8xf32>, tensor<8x{columns}xf32>) -> {all}
                   %z = stablehlo.constant dense<0.0> : tensor<f32>
                   %m = stablehlo.reduce(%p init: %z) applies stablehlo.maximum across dimensions = [1] : ({all}, tensor<f32>) -> {rows}
                   %b = stablehlo.broadcast_in_dim %m, dims = [0] : ({rows}) -> {all}
                   %s = stablehlo.subtract %p, %b : {all}
                   %e = stablehlo.exponential %s : {all}
                   %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : ({all}, tensor<f32>) -> {rows}
                   %g = \"stablehlo.gather\"(%p, %n) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}} : ({all}, tensor<512x1xi32>) -> {rows}
                   %l = stablehlo.subtract %t, %g : {rows}
                   %c = stablehlo.broadcast_in_dim %t, dims = [0] : ({rows}) -> {all}
                   %q = stablehlo.divide %e, %c : {all}
                   %d = stablehlo.dot_general %q, %w, contracting_dims = [1] x [1] : ({all}, tensor<8x{columns}xf32>) -> tensor<512x8xf32>
                   return %l, %d : {rows}, tensor<512x8xf32>
                 }}"
            ))
            .arena
        };
        let (bytes, columns) = (MIN_SHRUNK_BYTES, MIN_SHRUNK_BYTES / 512 / 4);
        let large = arena(columns);
        assert!((bytes..bytes + bytes / 8).contains(&large), "{large}");
        // Small ones go on in the cache.
        assert!(arena(columns / 2) >= bytes, "two arrays of half the bytes");
    }
}
