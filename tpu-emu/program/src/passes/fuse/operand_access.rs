//! How a loop gets at the elements of its inputs, span by span.
use super::{FusedLoop, LoopInput};
use crate::tuning::{
    IOTA_BATCH_ELEMENTS, MAX_KEPT_PERIOD_ELEMENTS, MIN_SHORT_SPAN_ELEMENTS, MIN_SPAN_ELEMENTS,
};
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::ElementwiseProgram;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::jit::knows;
use tpu_kernels::movement::tuning::MAX_SHORT_ROW_ELEMENTS;
use tpu_kernels::vm::{CompiledLoop, OperandMode};

/// Elements of a span that an input is gathered for.
pub(crate) const SPAN_ELEMENTS: usize = TILE_ELEMENTS;
/// How a loop gets at the elements of an input. Numbers of elements count from the input's first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressMode {
    /// They lie side by side in the operand, from this one on.
    Contiguous(usize),
    /// One serves the whole loop: its number in the operand.
    Scalar(usize),
    /// All of the operand, so many, for each element.
    Table(usize),
    /// They lie side by side in operands, piece by piece.
    Concat,
    /// One serves so many.
    ScalarRuns(usize),
    /// So many lie side by side in the operand, the next ones elsewhere.
    ContiguousRuns(usize),
    /// They begin again after `period`; `kept` of them are gathered once.
    Periodic {
        /// Elements until the first one comes again.
        period: usize,
        /// A multiple of them.
        kept: usize,
    },
    /// They are gathered for each span.
    Gathered,
}

impl AddressMode {
    fn of(input: &LoopInput, elements: usize, least: usize) -> Self {
        let (steps, run, period) = match input {
            LoopInput::Dense(_) => return Self::Contiguous(0),
            LoopInput::Table(_, elements) => return Self::Table(*elements),
            LoopInput::Concat(_) => return Self::Concat,
            LoopInput::Strided(_, map) => {
                if let Some(at) = map.one_element() {
                    return Self::Scalar(at);
                }
                if let Some(at) = map.run() {
                    return Self::Contiguous(at);
                }
                let (steps, run) = map.innermost();
                (steps, run, map.period())
            }
            LoopInput::Iota(inner, extent) => (*inner, 1, inner.saturating_mul(*extent)),
        };
        if steps >= least {
            return Self::ScalarRuns(steps);
        }
        if run >= least {
            return Self::ContiguousRuns(run);
        }
        let kept = period.saturating_mul((SPAN_ELEMENTS / period.max(1)).max(1));
        if period > 0 && period < elements && kept <= MAX_KEPT_PERIOD_ELEMENTS {
            return Self::Periodic { period, kept };
        }
        // Whole tiles are wanted of what is not machine code.
        let least = if least < TILE_ELEMENTS { MIN_SHORT_SPAN_ELEMENTS } else { least };
        if steps >= least {
            return Self::ScalarRuns(steps);
        }
        if run >= least {
            return Self::ContiguousRuns(run);
        }
        Self::Gathered
    }

    fn operand_mode(self) -> OperandMode {
        match self {
            Self::Scalar(_) | Self::ScalarRuns(_) => OperandMode::Scalar,
            Self::Table(elements) => OperandMode::Table(elements),
            Self::Contiguous(_)
            | Self::ContiguousRuns(_)
            | Self::Concat
            | Self::Periodic { .. }
            | Self::Gathered => OperandMode::PerElement,
        }
    }

    /// How many elements a span of so many reads.
    pub(crate) fn read_by(self, count: usize) -> usize {
        match self {
            Self::Scalar(_) | Self::ScalarRuns(_) => 1,
            Self::Table(elements) => elements,
            _ => count,
        }
    }

    /// Elements that are gathered in the scratch memory.
    fn scratch_elements(self, input: &LoopInput) -> usize {
        match (self, input) {
            (Self::ScalarRuns(_), LoopInput::Iota(..)) => IOTA_BATCH_ELEMENTS,
            (Self::Periodic { kept, .. }, _) => kept,
            (Self::Gathered, _) => SPAN_ELEMENTS,
            _ => 0,
        }
    }

    /// How many elements from number `local` on, counted from the input's first one, are there at
    /// once.
    pub(crate) fn span(self, input: &LoopInput, local: usize) -> usize {
        match self {
            Self::Concat => match input {
                LoopInput::Concat(view) => view.span(local),
                _ => usize::MAX,
            },
            Self::Contiguous(_) | Self::Scalar(_) | Self::Table(_) => usize::MAX,
            Self::ScalarRuns(count) | Self::ContiguousRuns(count) => count - local % count,
            Self::Periodic { period, kept } => kept - local % period,
            Self::Gathered => SPAN_ELEMENTS,
        }
    }
}

impl FusedLoop {
    /// A loop of so many elements with an input for each parameter of the program.
    pub(crate) fn new(
        elements: usize,
        inputs: Vec<LoopInput>,
        program: ElementwiseProgram,
    ) -> Self {
        // What is not machine code works on whole tiles.
        let native = program.steps.iter().all(|step| knows(&step.op));
        let least = if native { MIN_SPAN_ELEMENTS } else { TILE_ELEMENTS };
        let modes: Vec<AddressMode> =
            inputs.iter().map(|input| AddressMode::of(input, elements, least)).collect();
        let operand_modes = modes.iter().map(|mode| mode.operand_mode()).collect();
        let mut scratch_offsets = Vec::with_capacity(inputs.len());
        let mut scratch_bytes = 0;
        for ((input, mode), dtype) in inputs.iter().zip(&modes).zip(&program.parameters) {
            scratch_offsets.push(scratch_bytes);
            scratch_bytes += bytes(*dtype, mode.scratch_elements(input));
        }
        let columns = columns(&inputs, &modes, &program.parameters);
        let code = CompiledLoop::new(program, operand_modes);
        Self { elements, inputs, modes, columns, scratch_offsets, scratch_bytes, native, code }
    }

    /// Whether an input is gathered together with others.
    pub(crate) fn is_column(&self, input: usize) -> bool {
        self.columns.iter().any(|columns| columns.contains(&input))
    }
}

/// Gathered inputs that are all the columns of an operand of short rows, in order. For elements of
/// other widths each column by itself is faster.
fn columns(inputs: &[LoopInput], modes: &[AddressMode], dtypes: &[DType]) -> Vec<Vec<usize>> {
    let place = |input: usize| {
        let LoopInput::Strided(operand, map) = &inputs[input] else { return None };
        let (first, step) = map.steps()?;
        let gathered = modes[input] == AddressMode::Gathered && dtypes[input].host_bytes() == 4;
        gathered.then_some((*operand, dtypes[input], step, first))
    };
    let all_of = |input: usize| {
        let (operand, dtype, step, first) = place(input)?;
        let count = usize::try_from(step)
            .ok()
            .filter(|count| (2..=MAX_SHORT_ROW_ELEMENTS).contains(count))?;
        let column = |at: usize| {
            let wanted = Some((operand, dtype, step, first + at));
            (0..inputs.len()).find(|&input| place(input) == wanted)
        };
        if first.is_multiple_of(count) { (0..count).map(column).collect() } else { None }
    };
    (0..inputs.len()).filter_map(all_of).collect()
}

/// Bytes for so many elements, with a gap to the next ones: places at the distance of a page's
/// size would share their lines of the cache.
fn bytes(dtype: DType, elements: usize) -> usize {
    match elements * dtype.host_bytes() {
        0 => 0,
        bytes => bytes.next_multiple_of(64) + 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_kernels::movement::strided_view::Access;
    use tpu_kernels::movement::strided_view::AccessMap;

    fn mode(strides: &[isize], dims: &[usize]) -> AddressMode {
        let access = Access { offset: 0, strides: strides.to_vec() };
        let map = AccessMap::new(&access, dims);
        AddressMode::of(&LoopInput::Strided(0, map), dims.iter().product(), MIN_SPAN_ELEMENTS)
    }

    #[test]
    fn what_stays_the_same_for_long_is_one_element_a_span() {
        assert_eq!(mode(&[1, 0], &[30, 1000]), AddressMode::ScalarRuns(1000));
        assert_eq!(mode(&[0, 1, 0, 0], &[4, 8, 32, 32]), AddressMode::ScalarRuns(1024));
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(512, 30), 512 * 30, MIN_SPAN_ELEMENTS),
            AddressMode::ScalarRuns(512)
        );
        assert_eq!(mode(&[1, 0], &[30, 100]), AddressMode::ScalarRuns(100));
        assert_eq!(mode(&[1, 0], &[30, 10]), AddressMode::Gathered);
    }

    #[test]
    fn what_lies_side_by_side_is_read_where_it_is() {
        assert_eq!(mode(&[0, 1], &[30, 1000]), AddressMode::ContiguousRuns(1000));
        assert_eq!(mode(&[1100, 1], &[30, 1000]), AddressMode::ContiguousRuns(1000));
        assert_eq!(mode(&[1100, 1], &[30, 100]), AddressMode::ContiguousRuns(100));
        assert_eq!(mode(&[1100, 1], &[30, 60]), AddressMode::Gathered);
        assert_eq!(mode(&[1], &[30]), AddressMode::Contiguous(0));
        assert_eq!(mode(&[0, 0], &[30, 1000]), AddressMode::Scalar(0));
    }

    #[test]
    fn short_periods_are_filled_once() {
        assert_eq!(mode(&[0, 1], &[300, 60]), AddressMode::Periodic { period: 60, kept: 1020 });
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(1, 1000), 5000, MIN_SPAN_ELEMENTS),
            AddressMode::Periodic { period: 1000, kept: 1000 }
        );
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(1, 5000), 50_000, MIN_SPAN_ELEMENTS),
            AddressMode::Gathered
        );
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(1, 5000), 5000, MIN_SPAN_ELEMENTS),
            AddressMode::Gathered
        );
    }

    #[test]
    fn all_columns_of_an_operand_are_gathered_together() {
        let slice = |operand: usize, offset: usize, step: isize| {
            let access = Access { offset, strides: vec![step] };
            LoopInput::Strided(operand, AccessMap::new(&access, &[100]))
        };
        let found = |inputs: &[LoopInput]| {
            let modes: Vec<AddressMode> =
                inputs.iter().map(|input| AddressMode::of(input, 100, MIN_SPAN_ELEMENTS)).collect();
            columns(inputs, &modes, &vec![DType::F32; inputs.len()])
        };
        let all = [slice(0, 8, 3), slice(1, 1, 2), slice(0, 6, 3), slice(1, 0, 2), slice(0, 7, 3)];
        assert_eq!(found(&all), [vec![2, 4, 0], vec![3, 1]]);
        let none: [Vec<usize>; 0] = [];
        assert_eq!(found(&[slice(0, 0, 2), slice(1, 1, 2)]), none);
        assert_eq!(found(&[slice(0, 1, 2), slice(0, 2, 2)]), none);
        assert_eq!(found(&[slice(0, 0, 3), slice(0, 1, 3)]), none);
        assert_eq!(found(&[slice(0, 1, -2), slice(0, 0, -2)]), none);
        let five: Vec<LoopInput> = (0..5).map(|offset| slice(0, offset, 5)).collect();
        assert_eq!(found(&five), none);
    }
}
