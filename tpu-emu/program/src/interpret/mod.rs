//! The interpreter runs the steps of a plan over a frame.
//!
//! A [`frame::Frame`] holds the memories of one run, and is the one place that makes slices of
//! slots. [`step::Interpreter`] goes from step to step:
//!
//! | step | how it runs |
//! |---|---|
//! | fused loop | chunks of `LOOP_CHUNK_ELEMENTS` on threads, each span by span (`fused_loop`) |
//! | strided copy | all by blocks where its map wants that, else in such chunks |
//! | row fusion | chunks of rows on threads, each row block by row block (`row_fusion`) |
//! | kernel | first the copies that results in place start from, then one call |
//! | custom call | the launch dispatches it ([`custom_call`]); it may go on after it returns |
//! | window | nothing moves: the piece of an array that steps read from then on is noted |
//! | copies between slots | one after the other, in chunks of `COPY_CHUNK_BYTES` |
//! | packing, unpacking | whole arrays of elements of less than a byte |
//! | branch | one block; a number that is out of range takes the last |
//!
//! A `while` is tried in this order:
//!
//! 1. A scalar loop that is hot runs as machine code to its end (`scalar_loop`).
//! 2. Else it runs step by step, for up to `HOT_LOOP_ITERATIONS`.
//! 3. A scalar loop that is hot by then goes on as machine code.
//! 4. Any other loop binds its fused loops to their arrays, where they are one chunk at most and of
//!    few spans (`bound_loop`), and what kernels move to its places, where that is few short runs
//!    (`bound_moves`). What counts iterations is done without machine code (`bound_number`). Then it runs to its end without looking these up again.
//!
//! Iterations of scalar loops are counted over all runs of the program. Both forms of machine code
//! need AVX2 and memory for code; without them the steps run as before.
//!
//! A region that is not a straight line of elementwise operations has a plan of its own, which runs
//! once for each element ([`region`]). Other regions are elementwise programs and do not come here.
//!
//! What holds for all: chunks follow from shapes alone, so results do not depend on the number of
//! threads. A reduction over all rows keeps a state for each block of rows, and a chunk begins with
//! a block. So its order is that of the reduction alone. Every slot is checked against its memory's
//! size when it is used. An error has the source line and the name of its step, where these are
//! known.
//!
//! Memory of a run's own is given back to the system early where somebody asks for it
//! ([`frame::Frame::forget`]), from `MIN_DISCARDED_BYTES` on. The constants are those of
//! `tuning.rs`.
mod bound_loop;
mod bound_moves;
mod bound_number;
pub mod custom_call;
pub mod frame;
mod fused_loop;
pub mod region;
mod row_fusion;
mod scalar_loop;
pub mod step;
