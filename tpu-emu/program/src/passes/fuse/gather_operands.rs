//! Single elements that are looked up become part of the loop that computes where.
use super::loop_builder::push_operand;
use super::loop_fusion::Fuser;
use crate::graph::Node;
use crate::passes::fuse::LoopInput;
use crate::tuning::{
    MAX_FUSED_LOADS, MAX_FUSED_STEPS, MAX_GATHER_COMPONENTS, MIN_FUSED_GATHER_ELEMENTS,
};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::{ElementwiseOp, Register};
use tpu_kernels::elementwise::take::{NUMBER, take};
use tpu_kernels::movement::gather::Gather;
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::{ADD, CLAMP, CONVERT, Entry, Kernel, MULTIPLY};
use tpu_stablehlo::ir::Attributes;

/// What an element's number is a sum of.
enum Term {
    /// Some of the indices; starts at which a window is inside; how far a start is from the next.
    Index(AccessMap, usize, usize),
    /// An axis along which the array goes too: elements an index, indices; the distance.
    Axis(usize, usize, usize),
}

/// The lookup of single elements, one after the other.
struct Lookup {
    take: ElementwiseOp,
    terms: Vec<Term>,
    /// Extents of the loops.
    dims: Vec<usize>,
}

impl Lookup {
    fn of(gather: &Gather, table: &Shape, elements: usize) -> Option<Self> {
        let width = table.dtype.host_bytes();
        let last = i32::try_from(table.elements().checked_sub(1)?).ok()?;
        let take = take(table.dtype, u32::try_from(last).ok()?)?;
        let loops = &gather.batches;
        let few = gather.components.len() <= MAX_GATHER_COMPONENTS
            && loops.len() <= MAX_GATHER_COMPONENTS;
        if gather.slice.one_run() != Some(width) || gather.components.is_empty() || !few {
            return None;
        }
        let (mut terms, mut inner) = (Vec::new(), 1);
        for axis in loops.iter().rev() {
            if axis.result != inner * width {
                return None;
            }
            if axis.operand > 0 {
                terms.push(Term::Axis(inner, axis.count, axis.operand / width));
            }
            inner *= axis.count;
        }
        let dims: Vec<usize> = loops.iter().map(|axis| axis.count).collect();
        let strides: Option<Vec<isize>> =
            loops.iter().map(|axis| isize::try_from(axis.indices).ok()).collect();
        let strides = strides?;
        for (number, component) in gather.components.iter().enumerate() {
            let offset = number * gather.component_step;
            let map = AccessMap::new(&Access { offset, strides: strides.clone() }, &dims);
            terms.push(Term::Index(map, component.starts, component.step / width));
        }
        (inner == elements).then_some(Self { take, terms, dims })
    }
}

impl Fuser<'_> {
    /// Makes a lookup of single elements part of a loop; says whether it is one.
    pub(super) fn lookup(&mut self, node: &Node, kernel: &dyn Kernel) -> bool {
        let ([table, indices], [array, shape], [result]) =
            (&node.operands[..], &node.shapes[..], &node.results[..])
        else {
            return false;
        };
        let elements = self.graph.value(*result).shape.elements();
        let found = (elements >= MIN_FUSED_GATHER_ELEMENTS).then(|| kernel.lookup()).flatten();
        let found = found.and_then(|gather| Lookup::of(&gather, array, elements));
        let Some(Lookup { take, terms, dims }) = found else { return false };
        let of = shape.dtype;
        let clamp = lowered(&CLAMP, &[of; 3], of);
        let [plus, times] = [ADD, MULTIPLY].map(|entry| lowered(&entry, &[NUMBER; 2], NUMBER));
        let (Some(most), Some(clamp), Some(plus), Some(times)) = (largest(of), clamp, plus, times)
        else {
            return false;
        };
        let narrowed = lowered(&CONVERT, &[of], NUMBER);
        self.require(*table);
        let components = Shape { dims: dims.into(), ..shape.clone() };
        let mut sources = Vec::new();
        for term in &terms {
            if let Term::Index(map, ..) = term {
                let same = shape.elements() == elements && map.run() == Some(0);
                let source = || self.read(*indices, shape, map.clone(), &components);
                sources.push((!same).then(source));
            }
        }
        // What is read as it lies is read from the loop that makes it.
        let dense = sources.iter().all(Option::is_none);
        let (operands, shapes) = (&node.operands[1..], &node.shapes[1..]);
        let joined = if dense { (operands, shapes) } else { (&[][..], &[][..]) };
        let index = match self.join(node, joined.0, joined.1, elements) {
            index if self.has_room(index) => index,
            _ => self.open(elements, node.name.clone(), node.location),
        };
        let mut sources = sources.into_iter();
        let mut sum: Option<Register> = None;
        for term in terms {
            let (number, step) = match term {
                Term::Index(_, starts, step) => {
                    let start = match sources.next().flatten() {
                        Some(source) => self.source_input(index, &source),
                        None => self.input(index, *indices, shape, elements),
                    };
                    let ends = [0, most.min(starts - 1)].map(|end| self.number(index, of, end));
                    let group = &mut self.groups[index];
                    let start = group.operation(clamp, vec![ends[0], start, ends[1]]);
                    // An index of the type of numbers is one.
                    let convert = |convert| group.operation(convert, vec![start]);
                    (narrowed.map_or(start, convert), step)
                }
                Term::Axis(inner, extent, step) => {
                    (self.groups[index].parameter(LoopInput::Iota(inner, extent), NUMBER), step)
                }
            };
            let number = if step == 1 {
                number
            } else {
                let step = self.number(index, NUMBER, step);
                self.groups[index].operation(times, vec![number, step])
            };
            sum = Some(match sum {
                Some(sum) => self.groups[index].operation(plus, vec![sum, number]),
                None => number,
            });
        }
        let group = &mut self.groups[index];
        let operand = push_operand(&mut group.operands, *table);
        let all = group.parameter(LoopInput::Table(operand, array.elements()), array.dtype);
        let inputs = sum.into_iter().chain([all]).collect();
        let register = group.operation(take, inputs);
        self.define(index, node, register);
        true
    }

    /// Whether a loop can hold one more lookup.
    fn has_room(&self, index: usize) -> bool {
        let group = &self.groups[index];
        group.program.steps.len() + 4 * MAX_GATHER_COMPONENTS < MAX_FUSED_STEPS
            && group.inputs.len() + 2 * MAX_GATHER_COMPONENTS < MAX_FUSED_LOADS
    }

    /// A constant.
    fn number(&mut self, index: usize, dtype: DType, number: usize) -> Register {
        let bytes = number.to_le_bytes();
        self.constant(index, dtype, &bytes[..dtype.host_bytes()])
    }
}

/// The largest number of a type of indices; `None` for types that indices do not have.
fn largest(dtype: DType) -> Option<usize> {
    match dtype {
        DType::S8 => Some(0x7f),
        DType::U8 => Some(0xff),
        DType::S16 => Some(0x7fff),
        DType::U16 => Some(0xffff),
        DType::S32 | DType::S64 | DType::U32 | DType::U64 => Some(usize::MAX),
        _ => None,
    }
}

/// An operation on elements of these types; `None` where it is none, or does nothing.
fn lowered(entry: &Entry, operands: &[DType], result: DType) -> Option<ElementwiseOp> {
    entry.on_scalars(&Attributes::default(), operands, result).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_every_type_is_clamped_and_narrowed() {
        for of in [DType::S8, DType::U8, DType::S16, DType::U16, DType::S64, DType::U64] {
            let width = of.host_bytes();
            let ends = [0_u64, 9].map(|end| end.to_le_bytes()[..width].to_vec());
            let clamp = lowered(&CLAMP, &[of; 3], of).unwrap();
            let narrowed = lowered(&CONVERT, &[of], NUMBER).unwrap();
            let unsigned = [DType::U8, DType::U16, DType::U64].contains(&of);
            let negative = if unsigned { 9 } else { 0 };
            for (number, expected) in [(5_i64, 5), (9, 9), (100, 9), (-3, negative)] {
                let bytes = number.to_le_bytes();
                // As many bytes as the widest has: elements are aligned.
                let mut start = [0_u64; 1];
                let start = &mut bytemuck::cast_slice_mut(&mut start)[..width];
                (clamp.run)([0; 2], &[&ends[0], &bytes[..width], &ends[1]], start);
                let mut found = [0_i32];
                (narrowed.run)([0; 2], &[start], bytemuck::cast_slice_mut(&mut found));
                assert_eq!(found, [expected], "{number} as {of:?}");
            }
            assert!(largest(of).is_some());
        }
        assert!(lowered(&CONVERT, &[NUMBER], NUMBER).is_none());
        assert!(largest(DType::F32).is_none() && largest(DType::S4).is_none());
    }
}
