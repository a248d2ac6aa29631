//! Sorting orders the elements of rows, and finds the greatest few of them.
//!
//! `tpu-ops` reads a comparator's program first, by [`comparator::keys`]: is it a known,
//! lexicographic order, and have rows less than 2³² elements? Then the first of these that fits:
//!
//! | case | algorithm |
//! |---|---|
//! | one array, dense rows, one key | [`keys`]: elements become numbers and come back |
//! | keys of 32 bits together, or fewer | codes of the keys with the index below them, in 64 bits |
//! | keys of 96 bits together, or fewer | the same in 128 bits |
//! | any other comparator | a merge sort in `tpu-ops` that asks it about many pairs at once |
//!
//! * In the first case, elements that count as equal and are not the same have one code: the zeros,
//!   and NaN. They are put in their places at the end, in the order of the row.
//! * The types of [`keys`] are booleans, integers and floats of 16 bits and more. [`small`] has the
//!   codes of shorter floats, which are sorted with indices.
//!
//! [`radix::sort`] sorts the numbers. It chooses by the length of a row (constants of [`tuning`]):
//!
//! 1. Below [`tuning::MIN_RADIX_ELEMENTS`]: a comparison sort.
//! 2. In order already: nothing.
//! 3. One thread, or below twice `CHUNK_ELEMENTS`: digits of a byte are counted, the lowest first.
//! 4. Else halves are sorted by counting on several threads, and merged.
//!
//! [`top_k`] is a selection in one pass over each row. It encodes `TOP_K_BLOCK_ELEMENTS` at a time,
//! and passes over a block none of whose elements is among the first so far. Chunks of about
//! `TOP_K_CHUNK_ELEMENTS`, in whole rows, go to threads. `TOP_K_HELD_ELEMENTS` bounds what is found
//! before it is written.
//!
//! What holds for all: sorts are stable whether or not that is asked for. Equal elements of
//! [`top_k`] come in the order of the row. The number of threads changes no bit: elements with
//! equal codes differ by their index, or are the same.
pub mod comparator;
pub mod keys;
pub mod radix;
pub mod small;
pub mod top_k;
pub mod tuning;
