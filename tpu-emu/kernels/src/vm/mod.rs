//! A [`CompiledLoop`] is an elementwise program that is made ready to run: where every value lies
//! is decided once.
//!
//! It has up to two layouts, and each run takes the first of these that fits:
//!
//! 1. The processor has no AVX-512, or the process may not use it: the portable layout. Every step
//!    is a call of the operation's own loop, a tile of `TILE_ELEMENTS` after the other.
//! 2. The program is not hot, and nobody has made its native layout: the portable layout. It is hot
//!    once its runs, this one included, make `HOT_ELEMENT_OPERATIONS` operations on elements. Both
//!    numbers stand in [`crate::elementwise::tuning`].
//! 3. The native layout, made by the first run that gets here (`segments`). As many steps as
//!    possible are one piece of machine code; the others are calls between pieces. Where one piece
//!    makes all results, a run is one call without tiles.
//! 4. The system gives no memory for code: the portable layout, from then on.
//!
//! [`CompiledLoop::bind`] is for a loop that runs again and again on the same arrays. It makes the
//! native layout at once, and gives nothing unless one piece makes all results.
//!
//! Where values lie (`layout`):
//!
//! | value | place |
//! |---|---|
//! | a parameter with an element for each lane, or a whole table | the input's own memory |
//! | one element for all lanes, a constant | read by machine code; for calls, spread over a tile |
//! | a step's value that is a result | the output's memory |
//! | such a value, where an input shares the output's memory | scratch, copied after each tile |
//! | a parameter or constant as a result, a result again | copied after each tile |
//! | any other step's value | scratch memory, which later values take over; in a piece, registers |
//!
//! A piece of machine code at the end needs no such copy if all results are steps' values. It reads
//! each group of elements before it writes.
//!
//! What holds for all runs: both layouts give the same bits, but for which NaN comes of two.
//! Scratch memory belongs to the thread. Every array's length and alignment is checked before
//! machine code or a loop sees it. Machine code looks elements up unchecked, so a look-up in a
//! shorter array stops [`CompiledLoop::new`].
//!
//! Why machine code: calls read and write memory for every operation, and a chain of ten cheap ones
//! goes through the first cache ten times. What runs once on little data is never compiled, as
//! docs/decisions/0022 says. Tiles in scratch memory are 64 bytes further apart than they need be.
//! At a distance of a page's size they would share cache lines.
mod layout;
mod run;
mod segments;

pub use run::{Bound, Input, Output, Stretched};

use crate::elementwise::kind::ElementwiseKind;
use crate::elementwise::program::{ElementwiseProgram, Instr, Register};
use crate::elementwise::tuning::HOT_ELEMENT_OPERATIONS;
use crate::jit::is_here;
use layout::TileLayout;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How a program gets the elements of one of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandMode {
    /// One element a lane.
    PerElement,
    /// One element, the same for all lanes.
    Scalar,
    /// So many elements, in which each lane looks up its own.
    Table(usize),
}

/// A program that is ready to run.
#[derive(Debug, Clone)]
pub struct CompiledLoop(Arc<Ready>);

#[derive(Debug)]
struct Ready {
    program: ElementwiseProgram,
    feeds: Vec<OperandMode>,
    portable: TileLayout,
    /// With machine code, once that is worth it and if the system allows it.
    native: OnceLock<Option<TileLayout>>,
    /// Operations on elements so far.
    work: AtomicUsize,
}

impl Ready {
    /// What to run for so many elements. All layouts give the same bits.
    fn layout(&self, lanes: usize) -> &TileLayout {
        if !is_here() {
            return &self.portable;
        }
        if self.native.get().is_none() {
            let more = lanes.saturating_mul(self.program.steps.len());
            let before = self.work.fetch_add(more, Ordering::Relaxed);
            if before.saturating_add(more) < HOT_ELEMENT_OPERATIONS {
                return &self.portable;
            }
        }
        self.native().unwrap_or(&self.portable)
    }

    fn native(&self) -> Option<&TileLayout> {
        let make = || TileLayout::new(&self.program, &self.feeds, &segments::groups(&self.program));
        self.native.get_or_init(make).as_ref()
    }
}

impl CompiledLoop {
    /// Makes a program ready; `feeds` has an item for each parameter.
    ///
    /// # Panics
    /// Where an operation looks up what is no array of as many elements, or another one reads it.
    pub fn new(program: ElementwiseProgram, feeds: Vec<OperandMode>) -> Self {
        check_lookups(&program, &feeds);
        let calls = segments::calls(&program);
        let portable = TileLayout::new(&program, &feeds, &calls).unwrap_or_default();
        let (native, work) = (OnceLock::new(), AtomicUsize::new(0));
        Self(Arc::new(Ready { program, feeds, portable, native, work }))
    }

    /// Makes a program ready all of whose parameters have an element for each lane.
    pub fn of(program: ElementwiseProgram) -> Self {
        let feeds = vec![OperandMode::PerElement; program.parameters.len()];
        Self::new(program, feeds)
    }

    /// The program.
    pub fn program(&self) -> &ElementwiseProgram {
        &self.0.program
    }

    /// Bytes of an element of each result.
    pub fn widths(&self) -> impl Iterator<Item = usize> {
        self.0.portable.results.iter().map(|result| result.width)
    }

    /// How parameters are read.
    pub fn feeds(&self) -> &[OperandMode] {
        &self.0.feeds
    }

    /// Runs the program on `lanes` elements.
    ///
    /// The output of a step may lie in memory that an input has too, if element `i` of both is at
    /// the same place.
    ///
    /// # Panics
    /// Where an input or an output is missing, too short, or not aligned for its elements.
    pub fn run(&self, lanes: usize, inputs: &[Input<'_>], outputs: &[Output<'_>]) {
        run::run(&self.0, lanes, inputs, outputs);
    }

    /// Runs the program on one stretch of so many elements after the other, `[elements, stretches]`.
    /// What stretches write lies side by side.
    ///
    /// # Panics
    /// As for [`CompiledLoop::run`].
    pub fn run_stretches(
        &self,
        size: [usize; 2],
        inputs: &[Stretched<'_>],
        outputs: &[Output<'_>],
    ) {
        run::run_stretches(&self.0, size, inputs, outputs);
    }

    /// As [`CompiledLoop::run`], all of it machine code, or none.
    #[cfg(any(test, feature = "testing"))]
    pub fn run_by(&self, native: bool, lanes: usize, inputs: &[Input<'_>], outputs: &[Output<'_>]) {
        let layout = if native { self.0.native().expect("machine code") } else { &self.0.portable };
        run::run_with(&self.0, layout, lanes, inputs, outputs);
    }

    /// The program with the arrays that it will run on, again and again; `None` where not all of
    /// it is machine code.
    ///
    /// # Panics
    /// As for [`CompiledLoop::run`].
    pub fn bind<'a>(
        &self,
        lanes: usize,
        inputs: &[Input<'a>],
        outputs: &[Output<'a>],
    ) -> Option<Bound<'a>> {
        Bound::new(&self.0, lanes, inputs, outputs)
    }

    /// Runs the program on arrays that share no memory.
    pub fn apply(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        let inputs: Vec<Input<'_>> = inputs.iter().map(|&input| input.into()).collect();
        let outputs: Vec<Output<'_>> =
            outputs.iter_mut().map(|output| Output::from(&mut **output)).collect();
        self.run(lanes, &inputs, &outputs);
    }
}

/// Machine code looks elements up without asking how many there are.
fn check_lookups(program: &ElementwiseProgram, feeds: &[OperandMode]) {
    let elements = |register: &Register| match *register {
        Register::Parameter(index) => match feeds[index] {
            OperandMode::Table(elements) => Some(elements),
            OperandMode::PerElement | OperandMode::Scalar => None,
        },
        _ => None,
    };
    assert!(program.results.iter().all(|result| elements(result).is_none()), "an array as result");
    for Instr { op, inputs } in &program.steps {
        for (at, input) in inputs.iter().enumerate() {
            let last = usize::try_from(op.immediate[0]).unwrap_or(usize::MAX);
            let wanted =
                if op.kind == ElementwiseKind::Take && at == 1 { Some(last) } else { None };
            let fits = match (elements(input), wanted) {
                (Some(elements), Some(last)) => last < elements,
                (None, None) => true,
                _ => false,
            };
            assert!(fits, "operand {at} of {:?} with {feeds:?}", op.kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::loops::lane;
    use crate::elementwise::program::{ElementwiseConstant, ElementwiseOp};
    use crate::elementwise::tuning::TILE_ELEMENTS;
    use std::cell::Cell;
    use tpu_base::tensor::DType;

    /// An operation that machine code does not know.
    fn op(run: crate::elementwise::program::LoopFn) -> ElementwiseOp {
        let dtype = DType::S32;
        ElementwiseOp {
            kind: ElementwiseKind::NextAfter,
            operand: dtype,
            result: dtype,
            run,
            immediate: [0; 2],
            transcendental: false,
        }
    }

    fn add() -> ElementwiseOp {
        op(lane!(|a: i32, b: i32| a.wrapping_add(b)))
    }

    fn negate() -> ElementwiseOp {
        op(lane!(|a: i32| a.wrapping_neg()))
    }

    fn step(op: ElementwiseOp, inputs: &[Register]) -> Instr {
        Instr { op, inputs: inputs.to_vec() }
    }

    /// a + 5, −(a + 5) + b, b, 5.
    fn program() -> ElementwiseProgram {
        use crate::elementwise::program::Register::{Constant, Parameter, Step};
        let five = ElementwiseConstant { dtype: DType::S32, bytes: 5_i32.to_le_bytes().into() };
        ElementwiseProgram {
            parameters: vec![DType::S32; 2],
            constants: vec![five],
            steps: vec![
                step(add(), &[Parameter(0), Constant(0)]),
                step(negate(), &[Step(0)]),
                step(add(), &[Step(1), Parameter(1)]),
            ],
            results: vec![Step(0), Step(2), Parameter(1), Constant(0)],
        }
    }

    fn bytes(values: &[i32]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    #[test]
    fn results_are_steps_parameters_and_constants() {
        for lanes in [0_i32, 1, 7, 1024, 2500] {
            let count = usize::try_from(lanes).unwrap();
            let [a, b]: [Vec<i32>; 2] = [(0..lanes).collect(), (0..lanes).map(|i| 3 * i).collect()];
            let mut results = [(); 4].map(|()| vec![0; count]);
            let outputs = results.each_mut().map(|r| Output::from(bytemuck::cast_slice_mut(r)));
            let inputs = [Input::from(bytes(&a)), Input::from(bytes(&b))];
            CompiledLoop::of(program()).run(count, &inputs, &outputs);
            for i in 0..count {
                let expected = [a[i] + 5, -(a[i] + 5) + b[i], b[i], 5];
                assert_eq!([0, 1, 2, 3].map(|k| results[k][i]), expected, "{i} of {lanes}");
            }
        }
    }

    #[test]
    fn one_element_serves_all_lanes() {
        let code = CompiledLoop::new(program(), vec![OperandMode::PerElement, OperandMode::Scalar]);
        let a = [1, 2, 3];
        let mut results = [[0; 3]; 4];
        let outputs = results.each_mut().map(|r| Output::from(bytemuck::cast_slice_mut(r)));
        code.run(3, &[Input::from(bytes(&a)), Input::from(bytes(&[9]))], &outputs);
        assert_eq!(results, [[6, 7, 8], [3, 2, 1], [9; 3], [5; 3]]);
    }

    #[test]
    fn stretches_give_what_each_gives_alone() {
        let twice = |kind| {
            let dtype = DType::S32;
            let run = lane!(|a: i32, b: i32| a.wrapping_add(b));
            let (immediate, transcendental) = ([0; 2], false);
            let op = ElementwiseOp {
                kind,
                operand: dtype,
                result: dtype,
                run,
                immediate,
                transcendental,
            };
            ElementwiseProgram {
                parameters: vec![dtype; 2],
                constants: Vec::new(),
                steps: vec![step(op, &[Register::Parameter(0), Register::Parameter(1)])],
                results: vec![Register::Step(0)],
            }
        };
        crate::simd::at_every_level(|_| {
            for kind in [ElementwiseKind::Add, ElementwiseKind::NextAfter] {
                let feeds = vec![OperandMode::PerElement, OperandMode::Scalar];
                let code = CompiledLoop::new(twice(kind), feeds);
                for lanes in [1, 19, 300] {
                    for stretches in [0, 1, 2, 40] {
                        let numbers: Vec<i32> = (0..10_000).collect();
                        let mut sums = vec![0; lanes * stretches];
                        let inputs = [(bytes(&numbers).into(), 7), (bytes(&numbers).into(), 3)];
                        let outputs = [Output::from(bytemuck::cast_slice_mut(&mut sums))];
                        code.run_stretches([lanes, stretches], &inputs, &outputs);
                        for (at, &sum) in sums.iter().enumerate() {
                            let (stretch, lane) = (at / lanes, at % lanes);
                            let wanted = numbers[stretch * 7 + lane] + numbers[stretch * 3];
                            assert_eq!(sum, wanted, "{kind:?} {lanes} {stretches} {at}");
                        }
                    }
                }
            }
        });
    }

    #[test]
    fn stretches_of_many_arrays_give_their_sum() {
        const ARRAYS: usize = 40;
        let dtype = DType::S32;
        let run = lane!(|a: i32, b: i32| a.wrapping_add(b));
        let kind = ElementwiseKind::Add;
        let (operand, result, immediate, transcendental) = (dtype, dtype, [0; 2], false);
        let op = ElementwiseOp { kind, operand, result, run, immediate, transcendental };
        let (all, last) = (1..ARRAYS, ARRAYS - 2);
        let sum = |at: usize| if at == 1 { Register::Parameter(0) } else { Register::Step(at - 2) };
        let program = ElementwiseProgram {
            parameters: vec![dtype; ARRAYS],
            constants: Vec::new(),
            steps: all.map(|at| step(op, &[sum(at), Register::Parameter(at)])).collect(),
            results: vec![Register::Step(last)],
        };
        crate::simd::at_every_level(|_| {
            let code = CompiledLoop::of(program.clone());
            let numbers: Vec<i32> = (0..1000).collect();
            let inputs: Vec<Stretched<'_>> =
                (0..ARRAYS).map(|at| (bytes(&numbers[at..]).into(), 3)).collect();
            let mut sums = vec![0; 300 * 20];
            let outputs = [Output::from(bytemuck::cast_slice_mut(&mut sums))];
            code.run_stretches([20, 300], &inputs, &outputs);
            for (at, &sum) in (0..).zip(&sums) {
                let first: i32 = at / 20 * 3 + at % 20;
                assert_eq!(sum, (0..40).map(|array| first + array).sum::<i32>(), "{at}");
            }
        });
    }

    #[test]
    #[should_panic(expected = "for 3 lanes of 4")]
    fn a_last_stretch_that_is_too_short_is_a_bug_that_stops() {
        let mut results = [[0; 6]; 4];
        let outputs = results.each_mut().map(|r| Output::from(bytemuck::cast_slice_mut(r)));
        let inputs = [(bytes(&[1; 6]).into(), 3), (bytes(&[1; 6]).into(), 4)];
        CompiledLoop::of(program()).run_stretches([3, 2], &inputs, &outputs);
    }

    #[test]
    fn results_may_take_the_place_of_operands() {
        let count = 2 * TILE_ELEMENTS + 3;
        let numbers: Vec<i32> = (0..).take(count).collect();
        let mut memory = [numbers.clone(), numbers];
        let [a, b] = memory.each_mut().map(|values| {
            Cell::from_mut(bytemuck::cast_slice_mut::<i32, u8>(values)).as_slice_of_cells()
        });
        let mut rest = [(); 2].map(|()| vec![0; count]);
        let [c, d] = rest.each_mut().map(|r| Output::from(bytemuck::cast_slice_mut(r)));
        let outputs = [Output::from(a), Output::from(b), c, d];
        CompiledLoop::of(program()).run(count, &[Input::from(a), Input::from(b)], &outputs);
        for (i, number) in (0..).take(count).enumerate() {
            let got = [memory[0][i], memory[1][i], rest[0][i], rest[1][i]];
            assert_eq!(got, [number + 5, -5, number, 5]);
        }
    }

    #[test]
    #[should_panic(expected = "8 bytes for 3 lanes of 4")]
    fn an_input_that_is_too_short_is_a_bug_that_stops() {
        let mut results = [[0; 3]; 4];
        let outputs = results.each_mut().map(|r| Output::from(bytemuck::cast_slice_mut(r)));
        let short = Input::from(bytes(&[1, 2]));
        CompiledLoop::of(program()).run(3, &[short, Input::from(bytes(&[1, 2, 3]))], &outputs);
    }
}
