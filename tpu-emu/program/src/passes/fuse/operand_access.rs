//! How a loop gets at the elements that its loads read, span by span.
use super::{FusedLoop, LoopInput};
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{ElementwiseProgram, TILE};
use tpu_kernels::elementwise::vm::{CompiledLoop, OperandMode};
use tpu_kernels::jit::knows;

/// Elements of a span that a load is filled for.
pub(crate) const SPAN: usize = TILE;
/// Lanes from which on it pays to begin a span where an element changes, in a loop that is machine
/// code as a whole.
const LEAST: usize = 256;
/// Elements that are kept of a load that begins again and again.
const KEPT: usize = 4 * TILE;

/// A way to the elements of a load. Numbers of elements count from the load's first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressMode {
    /// They lie side by side in the operand, from this one on.
    Run(usize),
    /// One serves the whole loop: its number in the operand.
    One(usize),
    /// All of the operand, so many, for each lane.
    All(usize),
    /// They lie side by side in operands, piece by piece.
    Pieces,
    /// One serves so many.
    Steps(usize),
    /// So many lie side by side in the operand, the next ones elsewhere.
    Runs(usize),
    /// They begin again after `period`; `kept` of them are filled once.
    Again {
        /// Elements until the first one comes again.
        period: usize,
        /// A multiple of them.
        kept: usize,
    },
    /// They are filled for each span.
    Fill,
}

impl AddressMode {
    fn of(load: &LoopInput, elements: usize, least: usize) -> Self {
        let (steps, run, period) = match load {
            LoopInput::Dense(_) => return Self::Run(0),
            LoopInput::All(_, elements) => return Self::All(*elements),
            LoopInput::Pieces(_) => return Self::Pieces,
            LoopInput::Map(_, map) => {
                if let Some(at) = map.one_element() {
                    return Self::One(at);
                }
                if let Some(at) = map.run() {
                    return Self::Run(at);
                }
                let (steps, run) = map.innermost();
                (steps, run, map.period())
            }
            LoopInput::Iota(inner, extent) => (*inner, 1, inner.saturating_mul(*extent)),
        };
        if steps >= least {
            return Self::Steps(steps);
        }
        if run >= least {
            return Self::Runs(run);
        }
        let kept = period.saturating_mul((SPAN / period.max(1)).max(1));
        if period > 0 && period < elements && kept <= KEPT {
            return Self::Again { period, kept };
        }
        Self::Fill
    }

    fn feed(self) -> OperandMode {
        match self {
            Self::One(_) | Self::Steps(_) => OperandMode::Scalar,
            Self::All(elements) => OperandMode::Table(elements),
            Self::Run(_) | Self::Runs(_) | Self::Pieces | Self::Again { .. } | Self::Fill => {
                OperandMode::PerElement
            }
        }
    }

    /// Elements that are put aside.
    fn aside(self, load: &LoopInput) -> usize {
        match (self, load) {
            (Self::Steps(_), LoopInput::Iota(..)) => 1,
            (Self::Again { kept, .. }, _) => kept,
            (Self::Fill, _) => SPAN,
            _ => 0,
        }
    }

    /// How many elements from number `local` on, counted from the load's first one, are there at
    /// once.
    pub(crate) fn span(self, load: &LoopInput, local: usize) -> usize {
        match self {
            Self::Pieces => match load {
                LoopInput::Pieces(pieces) => pieces.span(local),
                _ => usize::MAX,
            },
            Self::Run(_) | Self::One(_) | Self::All(_) => usize::MAX,
            Self::Steps(count) | Self::Runs(count) => count - local % count,
            Self::Again { period, kept } => kept - local % period,
            Self::Fill => SPAN,
        }
    }
}

impl FusedLoop {
    /// A loop of so many elements with a load for each parameter of the program.
    pub(crate) fn new(elements: usize, loads: Vec<LoopInput>, program: ElementwiseProgram) -> Self {
        // What is not machine code works on whole tiles.
        let native = program.steps.iter().all(|step| knows(&step.op));
        let least = if native { LEAST } else { TILE };
        let ways: Vec<AddressMode> =
            loads.iter().map(|load| AddressMode::of(load, elements, least)).collect();
        let feeds = ways.iter().map(|way| way.feed()).collect();
        let mut aside = Vec::with_capacity(loads.len());
        let mut room = 0;
        for ((load, way), dtype) in loads.iter().zip(&ways).zip(&program.parameters) {
            aside.push(room);
            room += bytes(*dtype, way.aside(load));
        }
        Self { elements, loads, ways, aside, room, code: CompiledLoop::new(program, feeds) }
    }
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

    fn way(strides: &[isize], dims: &[usize]) -> AddressMode {
        let access = Access { offset: 0, strides: strides.to_vec() };
        let map = AccessMap::new(&access, dims);
        AddressMode::of(&LoopInput::Map(0, map), dims.iter().product(), LEAST)
    }

    #[test]
    fn what_stays_the_same_for_long_is_one_element_a_span() {
        assert_eq!(way(&[1, 0], &[30, 1000]), AddressMode::Steps(1000));
        assert_eq!(way(&[0, 1, 0, 0], &[4, 8, 32, 32]), AddressMode::Steps(1024));
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(512, 30), 512 * 30, LEAST),
            AddressMode::Steps(512)
        );
        assert_eq!(way(&[1, 0], &[30, 10]), AddressMode::Fill);
    }

    #[test]
    fn what_lies_side_by_side_is_read_where_it_is() {
        assert_eq!(way(&[0, 1], &[30, 1000]), AddressMode::Runs(1000));
        assert_eq!(way(&[1100, 1], &[30, 1000]), AddressMode::Runs(1000));
        assert_eq!(way(&[1], &[30]), AddressMode::Run(0));
        assert_eq!(way(&[0, 0], &[30, 1000]), AddressMode::One(0));
    }

    #[test]
    fn short_periods_are_filled_once() {
        assert_eq!(way(&[0, 1], &[300, 60]), AddressMode::Again { period: 60, kept: 1020 });
        assert_eq!(
            AddressMode::of(&LoopInput::Iota(1, 1000), 5000, LEAST),
            AddressMode::Again { period: 1000, kept: 1000 }
        );
        assert_eq!(AddressMode::of(&LoopInput::Iota(1, 5000), 50_000, LEAST), AddressMode::Fill);
        assert_eq!(AddressMode::of(&LoopInput::Iota(1, 5000), 5000, LEAST), AddressMode::Fill);
    }
}
