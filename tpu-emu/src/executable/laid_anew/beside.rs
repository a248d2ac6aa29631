//! What is laid anew beside the temporaries of a plan that live at the same time.
//!
//! Operations have no positions in a plan, steps have: an operation stands where the step with its
//! place in the source and its result's type does, or, if it runs in another step, between those
//! that make what it reads and those that read what it makes.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::core;
use super::stored::Stored;
use crate::executable::charge::{Charged, LaidAnew, MIN_BYTES};
use crate::executable::image_padding::{Images, Temporary};
use crate::executable::stored_array::Array;
use std::collections::HashMap;
use tpu_base::tensor::DType;
use tpu_base::units::to_u64;
use tpu_ops::{Operator, Relayout};
use tpu_program::plan::Plan;
use tpu_stablehlo::ir::LocationId;

/// Operations on elements, such as masks, between the gradient of a pool and convolutions.
const MASKS: usize = 2;

/// The operations of a program among the steps of its plan.
struct Moments<'a, 'm> {
    body: &'a WrittenOut<'m>,
    temporaries: &'a [Temporary<'a>],
    /// The temporary that each operation makes, if one is known.
    made: Vec<Option<usize>>,
    /// The first and the last position where each operation can stand.
    between: Vec<(usize, usize)>,
    /// What temporaries take at each position.
    live: Vec<u64>,
}

/// The most that is there at one time of temporaries and of what is laid anew, as the largest array
/// of the latter: what it is beyond the plan's arena. Besides, the most that is left of these in HBM.
pub(super) fn most(
    body: &WrittenOut<'_>,
    all: &[Stored<'_>],
    (mut temporaries, plan): (Vec<Temporary<'_>>, &Plan),
    images: &Images,
) -> (Option<LaidAnew>, Option<u64>) {
    if temporaries.is_empty() {
        return (None, None);
    }
    let total = temporaries.iter().map(|of| of.bytes).chain(all.iter().map(|one| one.own));
    // Values that are rounded for convolutions are less here than there.
    let all_in_hbm = core::is_little(total.fold(0, u64::saturating_add))
        || temporaries.iter().any(|of| of.is(|array| images.narrows(array)));
    let is_image = |array: &Array| images.are_made_as(array);
    if !all.iter().any(|one| one.image) {
        if all_in_hbm {
            return (None, None);
        }
        let level = level(&temporaries, plan.positions);
        let lives = temporaries.iter().filter(|of| of.is(is_image));
        let lives = lives.map(|of| (of.slot.first, of.slot.last, of.bytes));
        return (None, core::left_in_hbm(&level, lives));
    }
    let mut all: Vec<&Stored<'_>> = all.iter().filter(|one| one.image).collect();
    // What stays has the first choice.
    all.sort_by_key(|one| one.value.is_none());
    let made = made(body, &temporaries);
    narrow_gradients(body, &made, &mut temporaries);
    let temporaries = &temporaries;
    let moments = Moments::of(body, (temporaries, made), plan.positions);
    let mut level = moments.live.clone();
    let mut passing = Vec::with_capacity(all.len());
    let mut lives = Vec::with_capacity(all.len());
    // A temporary stands for one array that is laid anew.
    let mut taken = vec![false; temporaries.len()];
    for &one in &all {
        let first = moments.position(one.at);
        let (makers, until) = one.value.map_or((Vec::new(), None), |value| body.made_of(value));
        let last = until.map_or(first, |end| moments.between[end].0.max(first));
        let own = moments.counterparts((one, &makers), first, &mut taken);
        let same = |at: usize| {
            let living = own.iter().map(|&of| &temporaries[of]).filter(|of| of.lives(to_u64(at)));
            living.fold(0_u64, |sum, of| sum.saturating_add(of.bytes))
        };
        for (at, level) in level.iter_mut().enumerate().take(last + 1).skip(first) {
            *level = level.saturating_sub(same(at)).saturating_add(one.own);
        }
        let more = one.passing.saturating_sub(same(first).saturating_sub(one.own));
        passing.push((first, more));
        lives.push((first, last));
    }
    for (at, more) in passing {
        level[at] = level[at].saturating_add(more);
    }
    let largest = largest(&all, &lives, &level, plan);
    if all_in_hbm {
        return (largest, None);
    }
    let images = temporaries.iter().zip(&taken).filter(|(of, taken)| !**taken && of.is(is_image));
    let images = images.map(|(of, _)| (of.slot.first, of.slot.last, of.bytes));
    let stored = all.iter().zip(&lives).filter(|(one, _)| is_image(&one.array));
    let stored = stored.map(|(one, &(first, last))| (first, last, one.own));
    (largest, core::left_in_hbm(&level, images.chain(stored)))
}

/// What is laid anew where `level` is highest, as the largest of these arrays with these lives.
fn largest(
    all: &[&Stored<'_>],
    lives: &[(usize, usize)],
    level: &[u64],
    plan: &Plan,
) -> Option<LaidAnew> {
    let (position, &most) =
        level.iter().enumerate().max_by_key(|&(at, &of)| (of, usize::MAX - at))?;
    let there =
        || all.iter().zip(lives).filter(|(_, lives)| lives.0 <= position && position <= lives.1);
    let (&largest, _) = there().max_by_key(|(one, _)| one.bytes())?;
    let beyond = most.saturating_sub(to_u64(plan.arena));
    (beyond >= MIN_BYTES).then(|| LaidAnew {
        place: Charged::Beside(to_u64(position)),
        ..largest.charged(beyond, there().count() - 1)
    })
}

impl<'a, 'm> Moments<'a, 'm> {
    fn of(
        body: &'a WrittenOut<'m>,
        (temporaries, made): (&'a [Temporary<'a>], Vec<Option<usize>>),
        positions: usize,
    ) -> Self {
        let live = level(temporaries, positions);
        let between = vec![(0, positions); body.operations.len()];
        let mut moments = Self { body, temporaries, made, between, live };
        moments.narrow();
        moments
    }

    /// Narrows where operations can stand: behind what they read, and before what reads them.
    fn narrow(&mut self) {
        let all = &self.body.operations;
        for (at, of) in all.iter().enumerate() {
            let behind = self.makers(of).map(|maker| self.between[maker].0).max().unwrap_or(0);
            self.between[at].0 = self.stands(at).unwrap_or(behind);
        }
        for (at, of) in all.iter().enumerate().rev() {
            let last = self.stands(at).unwrap_or(self.between[at].1).max(self.between[at].0);
            self.between[at].1 = last;
            for maker in self.makers(of).collect::<Vec<_>>() {
                self.between[maker].1 = self.between[maker].1.min(last);
            }
        }
    }

    /// Where the step of an operation is, if it is known.
    fn stands(&self, at: usize) -> Option<usize> {
        self.made[at].map(|of| self.temporaries[of].slot.first.min(self.live.len() - 1))
    }

    fn makers(&self, of: &CallOperation<'m>) -> impl Iterator<Item = usize> {
        self.body.operands(of).filter_map(|value| self.maker(value))
    }

    fn maker(&self, value: CallValue) -> Option<usize> {
        self.body.maker(value).map(|of| of.at)
    }

    /// Where an operation stands: of the positions where it can, the last of those where least lives,
    /// and for sums the first.
    fn position(&self, at: usize) -> usize {
        let (first, last) = self.between[at];
        if self.body.operations[at].is_sum() {
            return first;
        }
        (first..=last).rev().min_by_key(|&at| self.live[at]).unwrap_or(first)
    }

    /// The temporaries that are in a plan what is laid anew on a chip: what the operation makes and
    /// what these `makers` make of that, what it is the last one to read, and those that begin or
    /// end where it stands with as many elements as the array.
    fn counterparts(
        &self,
        (one, makers): (&Stored<'_>, &[usize]),
        at: usize,
        taken: &mut [bool],
    ) -> Vec<usize> {
        let of = &self.body.operations[one.at];
        let own_maker = one.value.and_then(|value| self.maker(value));
        let makers = own_maker.into_iter().chain([one.at]).chain(makers.iter().copied());
        let made = makers.filter_map(|maker| self.made[maker]);
        let until = self.between[one.at].1;
        let read = self.body.operands(of).filter_map(|value| self.replaced(value, until));
        let known = made.chain(read);
        let by_place = !of.is_sum();
        let elements = |dims: &[u64]| dims.iter().fold(1_u64, |all, &dim| all.saturating_mul(dim));
        let own = elements(&one.array.dims);
        let here = (0..self.temporaries.len()).filter(|&of| {
            let slot = self.temporaries[of].slot;
            let shape = slot.shape.as_ref();
            by_place
                && (slot.first == at || slot.last == at)
                && shape.is_some_and(|shape| to_u64(shape.elements()) == own)
        });
        let mut found: Vec<usize> = known.chain(here).filter(|&of| !taken[of]).collect();
        found.sort_unstable();
        found.dedup();
        found.iter().for_each(|&of| taken[of] = true);
        found
    }

    /// The temporary of a value that is not needed behind a position, or of what operations on
    /// elements make it of that nobody else reads.
    fn replaced(&self, mut value: CallValue, until: usize) -> Option<usize> {
        loop {
            let maker = self.body.maker(value)?;
            let once = self.body.is_read_once(value);
            if let Some(of) = self.made[maker.at] {
                return (once || self.temporaries[of].slot.last <= until).then_some(of);
            }
            let dims = self.body.array(value)?.dims;
            let mut whole = self.body.operands_of(&maker, &dims);
            value = whole.next().filter(|_| once && maker.is_by_element())?;
        }
    }
}

/// Gradients of pools that convolutions alone read are made in 16 bits.
fn narrow_gradients(
    body: &WrittenOut<'_>,
    made: &[Option<usize>],
    temporaries: &mut [Temporary<'_>],
) {
    for of in &body.operations {
        let is_gradient =
            matches!(of.operator, Operator::Row(row) if row.relayout == Relayout::Selected);
        let wide = is_gradient && of.result().is_some_and(|of| of.dtype == DType::F32);
        if let (true, Some(slot), Some(result)) = (wide, made[of.at], body.result(of))
            && body.ends_in(result, Relayout::Convolved, MASKS)
        {
            temporaries[slot].bytes /= 2;
        }
    }
}

/// What temporaries take at each position.
fn level(temporaries: &[Temporary<'_>], positions: usize) -> Vec<u64> {
    let mut changes = vec![(0_u64, 0_u64); positions + 2];
    for of in temporaries {
        let (first, last) = (of.slot.first.min(positions), of.slot.last.min(positions));
        changes[first].0 = changes[first].0.saturating_add(of.bytes);
        changes[last + 1].1 = changes[last + 1].1.saturating_add(of.bytes);
    }
    let mut live = 0_u64;
    let levels = changes.into_iter().take(positions + 1).map(|(more, less)| {
        live = live.saturating_add(more).saturating_sub(less);
        live
    });
    levels.collect()
}

/// The temporary that each operation makes: the n-th one of a place and a type belongs to the n-th
/// operation, where there are as many.
fn made(body: &WrittenOut<'_>, temporaries: &[Temporary<'_>]) -> Vec<Option<usize>> {
    /// Temporaries of a place and a type, and the operations that make such arrays.
    struct Alike {
        array: Array,
        temporaries: Vec<usize>,
        makers: Vec<usize>,
    }
    let mut by_place: HashMap<LocationId, Vec<usize>> = HashMap::new();
    let mut all: Vec<Alike> = Vec::new();
    for (at, of) in temporaries.iter().enumerate() {
        let Some(array) = Array::in_slot(of.slot) else { continue };
        let here = by_place.entry(of.slot.location).or_default();
        match here.iter().find(|&&alike| all[alike].array == array) {
            Some(&alike) => all[alike].temporaries.push(at),
            None => {
                here.push(all.len());
                all.push(Alike { array, temporaries: vec![at], makers: Vec::new() });
            }
        }
    }
    for of in &body.operations {
        let Some(here) = by_place.get(&of.location) else { continue };
        for (array, _) in body.results(of) {
            if let Some(&alike) = here.iter().find(|&&alike| all[alike].array == array) {
                all[alike].makers.push(of.at);
            }
        }
    }
    let mut found = vec![None; body.operations.len()];
    for Alike { temporaries, makers, .. } in all {
        if temporaries.len() == makers.len() {
            makers.into_iter().zip(temporaries).for_each(|(of, at)| found[of] = Some(at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::largest;
    use super::*;
    use crate::hbm::layout::TileRules;
    use tpu_base::tensor::Shape;
    use tpu_program::plan::ArenaSlot;
    use tpu_stablehlo::text::parse;

    const CONVOLUTION: &str = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad \
        = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}";

    /// What is there of a program of these lines beyond its temporaries, which are the first results
    /// of the operations on these lines, from one position to another; in MiB.
    fn beyond(body: &str, result: &str, lives: &[(usize, usize, usize)]) -> Option<u64> {
        let lines: Vec<String> =
            body.lines().map(|line| line.trim()).enumerate().map(located).collect();
        let text = format!(
            "func.func @main(%x: {GIVEN}, %w: tensor<1x1x128x128xf32>, %g: {POOLED}) -> {result} {{\n\
             {}\n  return %r : {result}\n}}",
            lines.join("\n")
        );
        let module = parse(&text).unwrap();
        let entry = module.entry().unwrap();
        let operations = &entry.block().unwrap().operations;
        let slot = |&(line, first, last): &(usize, usize, usize)| {
            let of = &operations[line];
            let ty = entry.type_of(of.results[0]).tensor().unwrap();
            let dims: Vec<usize> =
                ty.dims.iter().map(|&dim| usize::try_from(dim).unwrap()).collect();
            let shape = Shape::new(DType::F32, dims);
            let (offset, bytes, location) = (0, shape.bytes(), of.location);
            ArenaSlot { offset, bytes, first, last, shape: Some(shape), name: "".into(), location }
        };
        let slots: Vec<ArenaSlot> = lives.iter().map(slot).collect();
        let most = |at| {
            slots.iter().filter(move |of| (of.first..=of.last).contains(&at)).map(|of| of.bytes)
        };
        let arena = (0..operations.len()).map(|at| most(at).sum()).max().unwrap_or(0);
        let mut plan = Plan::default();
        (plan.slots, plan.arena, plan.positions) = (slots, arena, operations.len());
        let found = largest((&module, &plan), TileRules::V4, vec![None; 3], &[None]);
        found.beside.map(|of| of.bytes.0 >> 20)
    }

    const GIVEN: &str = "tensor<8x64x64x128xf32>";
    const POOLED: &str = "tensor<8x32x32x128xf32>";

    fn located((at, line): (usize, &str)) -> String {
        format!("{line} loc(\"line {at}\")")
    }

    /// A convolution, its positive part, the gradient of a pool of that, where the convolution was
    /// positive, and what comes of it.
    fn pooled(mask: &str, last: &str) -> String {
        let select = "\"stablehlo.select_and_scatter\"";
        format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %o = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {GIVEN}\n\
             %c = stablehlo.convolution(%x, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %p = stablehlo.maximum %c, %o : {GIVEN}\n\
             %m = stablehlo.compare GT, {mask}, %o : ({GIVEN}, {GIVEN}) -> tensor<8x64x64x128xi1>\n\
             %s = {select}(%p, %g, %z) ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %k = \
             stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return \
             %k : tensor<i1> }}, {{ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %k = stablehlo.add %a, %b \
             : tensor<f32> stablehlo.return %k : tensor<f32> }}) {{window_dimensions = array<i64: 1, \
             2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}} : ({GIVEN}, {POOLED}, tensor<f32>) \
             -> {GIVEN}\n\
             %d = stablehlo.select %m, %s, %o : tensor<8x64x64x128xi1>, {GIVEN}\n\
             {last}"
        )
    }

    #[test]
    fn what_a_gradient_of_a_pool_reads_is_kept_beside_what_it_is_made_of() {
        let convolved = format!(
            "%r = stablehlo.convolution(%d, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}"
        );
        let lives = [(2, 2, 6), (5, 5, 7)];
        // Half of the gradient, which is made in 16 bits, and the positive part.
        assert_eq!(beyond(&pooled("%c", &convolved), GIVEN, &lives), Some(8));
        let negated = format!("%r = stablehlo.negate %d : {GIVEN}");
        assert_eq!(beyond(&pooled("%c", &negated), GIVEN, &lives), Some(16));
        // The positive part takes the place of the convolution.
        assert_eq!(beyond(&pooled("%x", &negated), GIVEN, &[(2, 2, 5), (5, 5, 7)]), None);
    }

    /// A convolution whose features are normalized in groups, and what reads the difference later.
    fn grouped(later: &str) -> String {
        let groups = "tensor<8x64x64x32x4xf32>";
        format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %c = stablehlo.convolution(%x, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %y = stablehlo.reshape %c : ({GIVEN}) -> {groups}\n\
             %u = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : \
             ({groups}, tensor<f32>) -> tensor<8x32xf32>\n\
             %v = stablehlo.broadcast_in_dim %u, dims = [0, 3] : (tensor<8x32xf32>) -> {groups}\n\
             %d = stablehlo.subtract %y, %v : {groups}\n\
             %e = stablehlo.negate {later} : {groups}\n\
             %q = stablehlo.convolution(%x, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %f = stablehlo.reshape %q : ({GIVEN}) -> {groups}\n\
             %h = stablehlo.multiply %e, %f : {groups}\n\
             %r = stablehlo.reduce(%h init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : \
             ({groups}, tensor<f32>) -> tensor<8x32xf32>"
        )
    }

    #[test]
    fn features_in_groups_are_kept_until_the_last_of_what_is_made_of_them_is_read() {
        // Rows of 64 in 128 lanes, in place of the convolution, twice.
        let lives = [(1, 1, 9), (7, 7, 9)];
        assert_eq!(beyond(&grouped("%d"), "tensor<8x32xf32>", &lives), Some(32));
    }

    /// A convolution, normalized by the greatest of each feature if so, and added to its image; what
    /// is read by one convolution, or by two.
    fn residual(normalized: bool, second: &str) -> String {
        let features = "tensor<128xf32>";
        let scale = if normalized { "%u" } else { "%f" };
        format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %f = stablehlo.constant dense<2.0> : {features}\n\
             %c = stablehlo.convolution(%x, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %u = stablehlo.reduce(%c init: %z) applies stablehlo.maximum across dimensions = [0, 1, \
             2] : ({GIVEN}, tensor<f32>) -> {features}\n\
             %v = stablehlo.broadcast_in_dim {scale}, dims = [3] : ({features}) -> {GIVEN}\n\
             %n = stablehlo.multiply %c, %v : {GIVEN}\n\
             %s = stablehlo.add %x, %n : {GIVEN}\n\
             %d = stablehlo.convolution(%s, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %e = stablehlo.convolution({second}, %w) {CONVOLUTION} : ({GIVEN}, \
             tensor<1x1x128x128xf32>) -> {GIVEN}\n\
             %r = stablehlo.add %d, %e : {GIVEN}"
        )
    }

    #[test]
    fn the_sum_of_an_image_and_a_normalized_one_is_kept_for_its_gradient() {
        let lives = [(2, 0, 3), (7, 1, 3), (8, 2, 3)];
        // One image more than three.
        assert_eq!(beyond(&residual(true, "%s"), GIVEN, &lives), Some(16));
        assert_eq!(beyond(&residual(true, "%x"), GIVEN, &lives), None, "read once");
        // The last one of those that a convolution makes as it goes is kept too.
        assert_eq!(beyond(&residual(false, "%s"), GIVEN, &lives), Some(16));
    }
}
