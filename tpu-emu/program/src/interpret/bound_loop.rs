//! Fused loops with their arrays, for hot loops: one span after the other, without asking again where
//! each of them lies.
use super::frame::Frame;
use super::fused_loop::Stretch;
use crate::passes::fuse::operand_access::AddressMode;
use crate::passes::fuse::{FusedLoop, LoopInput};
use crate::plan::Step;
use crate::tuning::{LOOP_CHUNK_ELEMENTS, MAX_BOUND_PARTS};
use std::ops::Range;
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::movement::iota::fill_iota;
use tpu_kernels::vm::{Bound, CompiledLoop, Input, Output};

/// The counts along axes that a loop reads, as arrays: they are the same in each iteration.
#[derive(Debug)]
pub(super) struct Counts(Vec<Option<Aligned>>);

impl Counts {
    /// Those of a loop that may be bound; `None` for another one.
    pub(super) fn of(fused: &FusedLoop) -> Option<Self> {
        if !may_be_bound(fused) {
            return None;
        }
        let dtypes = &fused.code.program().parameters;
        let array = |(input, &dtype): (&LoopInput, &DType)| match *input {
            LoopInput::Iota(inner, extent) => {
                let mut array = Aligned::zeros(fused.elements * dtype.host_bytes());
                fill_iota(dtype, 0, inner, extent, array.bytes_mut());
                Some(array)
            }
            _ => None,
        };
        Some(Self(fused.inputs.iter().zip(dtypes).map(array).collect()))
    }
}

/// The spans of a loop.
#[derive(Debug)]
pub(super) struct BoundLoop<'f>(Vec<BoundSpan<'f>>);

#[derive(Debug)]
enum BoundSpan<'f> {
    /// Machine code as a whole.
    Code(Bound<'f>),
    /// Pieces of it, and operations between them.
    Pieces { code: CompiledLoop, count: usize, inputs: Vec<Input<'f>>, outputs: Vec<Output<'f>> },
}

impl<'f> BoundLoop<'f> {
    /// The loop of a step with its counts; `None` where it is not a few spans.
    pub(super) fn new(
        frame: &'f Frame,
        fused: &FusedLoop,
        step: &Step,
        counts: &'f Counts,
    ) -> Option<Self> {
        let spans = spans(fused)?;
        let bind = |span: &Range<usize>| bind(frame, fused, step, counts, span);
        spans.iter().map(bind).collect::<Option<_>>().map(Self)
    }

    /// Runs it.
    pub(super) fn run(&self) {
        for span in &self.0 {
            match span {
                BoundSpan::Code(bound) => bound.run(),
                BoundSpan::Pieces { code, count, inputs, outputs } => {
                    code.run(*count, inputs, outputs);
                }
            }
        }
    }
}

/// Whether a loop is one thread's, and none of its inputs is gathered from what may change.
fn may_be_bound(fused: &FusedLoop) -> bool {
    let gathered =
        |mode: &AddressMode| matches!(mode, AddressMode::Gathered | AddressMode::Periodic { .. });
    let lies = |(input, mode): (&LoopInput, &AddressMode)| {
        matches!(input, LoopInput::Iota(..)) || !gathered(mode)
    };
    fused.elements <= LOOP_CHUNK_ELEMENTS && fused.inputs.iter().zip(&fused.modes).all(lies)
}

/// Elements that each input has side by side, or one of for all; `None` if those are too many.
fn spans(fused: &FusedLoop) -> Option<Vec<Range<usize>>> {
    let mut spans = Vec::new();
    let mut start = 0;
    while start < fused.elements {
        let span = |(input, mode): (&LoopInput, &AddressMode)| match (input, mode) {
            (LoopInput::Iota(..), AddressMode::Gathered | AddressMode::Periodic { .. }) => {
                usize::MAX
            }
            _ => mode.span(input, start),
        };
        let least = fused.inputs.iter().zip(&fused.modes).map(span).min();
        let end =
            least.map_or(fused.elements, |count| fused.elements.min(start.saturating_add(count)));
        spans.push(start..end);
        if spans.len() > MAX_BOUND_PARTS {
            return None;
        }
        start = end;
    }
    Some(spans)
}

fn bind<'f>(
    frame: &'f Frame,
    fused: &FusedLoop,
    step: &Step,
    counts: &'f Counts,
    span: &Range<usize>,
) -> Option<BoundSpan<'f>> {
    let dtypes = &fused.code.program().parameters;
    let count = span.len();
    let mut inputs = Vec::with_capacity(fused.inputs.len());
    for (index, (input, &mode)) in fused.inputs.iter().zip(&fused.modes).enumerate() {
        let width = dtypes[index].host_bytes();
        let each = mode.read_by(count);
        let bytes = |element: usize| element * width..(element + each) * width;
        let Some(operand) = input.operand_with(span.start) else {
            let array = counts.0.get(index)?.as_ref()?;
            inputs.push(Input::from(&array.bytes()[bytes(span.start)]));
            continue;
        };
        let element = Stretch::of(input, mode, span.start, count).element;
        inputs.push(Input::from(&frame.cells(step.operands[operand])[bytes(element)]));
    }
    let widths = fused.code.widths();
    let output = |(&slot, width): (&_, usize)| {
        Output::from(&frame.cells(slot)[span.start * width..span.end * width])
    };
    let outputs: Vec<Output<'f>> = step.results.iter().zip(widths).map(output).collect();
    Some(match fused.code.bind(count, &inputs, &outputs) {
        Some(bound) => BoundSpan::Code(bound),
        None => BoundSpan::Pieces { code: fused.code.clone(), count, inputs, outputs },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::plan_of;
    use crate::plan::PlannedStep;

    /// The spans of the fused loops in the body of a `while` over an array.
    fn spans_of(extent: usize, body: &str) -> Vec<Option<Vec<[usize; 2]>>> {
        let of = format!("tensor<{extent}xf32>");
        let text = format!(
            "func.func public @main(%x: {of}) -> ({of}) {{
            %zero = stablehlo.constant dense<0> : tensor<i32>
            %r:2 = stablehlo.while(%n = %zero, %a = %x) : tensor<i32>, {of}
            cond {{
                %most = stablehlo.constant dense<50> : tensor<i32>
                %go = stablehlo.compare LT, %n, %most, SIGNED :
                    (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %go : tensor<i1>
            }} do {{
                %one = stablehlo.constant dense<1> : tensor<i32>
                %next = stablehlo.add %n, %one : tensor<i32>
                {body}
                stablehlo.return %next, %y : tensor<i32>, {of}
            }}
            return %r#1 : {of}
            }}"
        );
        let plan = plan_of(&text);
        let body = plan.steps.iter().find_map(|step| match &step.kind {
            PlannedStep::While { body, .. } => Some(body),
            _ => None,
        });
        let ends = |span: Range<usize>| [span.start, span.end];
        let long = |step: &Step| match &step.kind {
            PlannedStep::Fused(fused) if fused.elements == extent => {
                let spans = if may_be_bound(fused) { spans(fused) } else { None };
                Some(spans.map(|spans| spans.into_iter().map(ends).collect()))
            }
            _ => None,
        };
        body.unwrap().iter().filter_map(long).collect()
    }

    #[test]
    fn turned_arrays_are_a_few_spans() {
        let turned = "%l = stablehlo.slice %a [1:1100] : (tensor<1100xf32>) -> tensor<1099xf32>
            %f = stablehlo.slice %a [0:1] : (tensor<1100xf32>) -> tensor<1xf32>
            %t = stablehlo.concatenate %l, %f, dim = 0 :
                (tensor<1099xf32>, tensor<1xf32>) -> tensor<1100xf32>
            %y = stablehlo.add %a, %t : tensor<1100xf32>";
        assert_eq!(spans_of(1100, turned), [Some(vec![[0, 1099], [1099, 1100]])]);
    }

    #[test]
    fn counts_do_not_cut_a_loop() {
        let counted = "%i = stablehlo.iota dim = 0 : tensor<1100xf32>
            %y = stablehlo.add %a, %i : tensor<1100xf32>";
        assert_eq!(spans_of(1100, counted), [Some(vec![[0, 1100]])]);
    }

    #[test]
    fn what_is_gathered_is_looked_up_in_each_iteration() {
        let reversed = "%b = stablehlo.reverse %a, dims = [0] : tensor<1100xf32>
            %y = stablehlo.add %a, %b : tensor<1100xf32>";
        assert_eq!(spans_of(1100, reversed), [None]);
    }
}
