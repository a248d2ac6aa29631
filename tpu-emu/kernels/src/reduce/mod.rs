//! Reductions combine elements along axes into one, by combiners known here or by any body.
//!
//! `tpu-emu/ops/src/reduce.rs` compiles the operation `reduce` to these loops.
//! `reduce_window`, `select_and_scatter` and `scatter` use the combiners.
//! Thresholds stand in `reduce/tuning.rs`, unless a line names another file.
//!
//! A body that does one commutative operation to its two parameters is a [`combiner::Combiner`].
//! [`combiner::dispatch`] has a [`combiner::Fold`] for most pairs of a combiner and a type.
//! The operation `reduce` takes the first of these that fits:
//!
//! | case | algorithm |
//! |------|-----------|
//! | integers, one element for each result, an initial value that changes nothing | none: a view |
//! | known fold, the innermost axis stays | columns side by side, [`axis`] |
//! | known fold, the innermost axis is reduced | runs in a tree, [`axis`] and [`tree`] |
//! | argmax or argmin ([`argminmax`]) of common types, runs of `MIN_PICKED_ELEMENTS` | the extreme, then its index |
//! | other argmax or argmin, few long rows | rows cut into parts, `ops/src/body_reduce.rs` |
//! | any other body | one element after the other, for many results, `ops/src/body_reduce.rs` |
//!
//! * *Columns*: up to `AXIS_BLOCK_COLUMNS` go together.
//!   `BLOCK_ROWS` rows become one partial result of each column.
//! * *Runs*: a block of `BLOCK_ELEMENTS` has `BLOCK_PARTIALS` interleaved partial results.
//!   A tree joins them. A run of at most `BLOCK_PARTIALS` elements is folded in order.
//!   Of many such runs with elements of four bytes, 16 are transposed at a time: a lane is a run.
//!   Some lengths are known to the compiler, which makes vectors of elements of up to four bytes.
//!   Where runs of one result lie apart, each result of a block takes one before any takes the next.
//! * *Parts*: up to `MAX_REDUCE_ROW_PARTS` of `tpu-emu/ops/src/tuning.rs` to a row.
//!   A row needs four times as many elements. Such a body is known to be associative.
//!
//! Where a reduction joins other steps row by row, [`dyn_combiner::Folder`] does the same.
//! It hides types, and keeps a state between strips of rows.
//! The pass is `tpu-emu/program/src/passes/fuse/row_fusion.rs`; [`axis::Reduction::middle`] tells
//! whether the axes allow it. `STACK_COLUMNS` columns at a time have their totals on the stack.
//!
//! A sum of what is converted to a wider type reads it as it is stored, by
//! [`converted::dispatch_converted`]; the pass is `tpu-emu/program/src/passes/absorbed_work.rs`.
//!
//! Batch normalisation ([`batch_norm`]) sums in f64 and rounds each result once.
//!
//! A step of an argmax of common types is one loop of [`argminmax`] for many results.
//!
//! For all of them:
//! * Nothing here starts threads. The operation `reduce` shares results, each of which is whole; where
//!   row fusion shares rows, chunks begin at whole blocks. So the number of threads changes no bit.
//! * The order in which a fold combines follows from shapes and from three sizes.
//!   They are `BLOCK_ELEMENTS`, `BLOCK_PARTIALS` and `BLOCK_ROWS`; changing them changes bits.
//! * A [`dyn_combiner::Folder`] gives the bits of one reduction, whatever the strips are.
//!   Row fusion leaves out a single run of up to `BLOCK_PARTIALS`: its order is another.
//! * Partial results of bf16 and f16 are f32 in sums and products; totals of float sums are f64.
//!   A total is rounded once, to the type of the elements.
//! * Maximum and minimum of floats compare integers in the order of the floats.
//!   NaN is beyond all of them, and the signs of zeros count.
//! * [`axis::Reduction::scratch`] says how much scratch memory the caller gives.
pub mod argminmax;
pub mod axis;
pub mod batch_norm;
pub mod combiner;
pub mod converted;
pub mod dyn_combiner;
pub mod tree;
pub mod tuning;
