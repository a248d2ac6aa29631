//! Elements are moved here and not changed: copies, transposes, gathers.
//!
//! These are the cases; what is chosen inside of one is listed in the order in which it is tried:
//!
//! * A fixed reordering (transpose, broadcast, slice, reversal): [`strided_view`] is the map from
//!   the result's elements to the operand's, with axes joined where that changes nothing.
//!   * The map wants blocks (`AccessMap::wants_blocks`): what lies side by side in the operand does
//!     not in the result, along axes of `MIN_BLOCKED_EXTENT_ELEMENTS` at least. Then [`transpose`]
//!     works block by block.
//!   * Else row by row (`strided_copy`), with a loop for each of the strides -1 to 4 and one for
//!     others. Rows whose first elements lie side by side are transposed too.
//!   * All 2, 3 or 4 columns of rows of as many elements, for a loop that reads them together:
//!     [`deinterleave`].
//! * A matrix to be transposed: [`transpose`].
//!   * 2, 3 or 4 columns: row by row.
//!   * Elements of one or two bytes, with instructions that interleave vectors: blocks by those.
//!   * Else blocks, element by element.
//! * A block of one array into a place of another (pad, concatenate, dynamic slices):
//!   [`block_copy`]. Its axes are joined into as few loops and as long runs as there can be. A loop
//!   over runs of a usual length has that length compiled in. A view that is joined with others is
//!   such a block where its axes end with rows ([`strided_block`]).
//! * One element everywhere: `block_copy::fill`. Equal bytes are set; any other element fills
//!   `FILL_BLOCK_BYTES`, which are copied from then on.
//! * Slices at computed places: [`gather`], with places that [`index`] computes,
//!   [`tuning::OFFSET_BATCH_ELEMENTS`] at a time.
//!   * Slices side by side in each row of the result: the places are computed once for all rows.
//!   * Else loops over index vectors, the outer one in chunks.
//!   * Either way, a slice that is one run is one copy, of a fixed length for elements; else it is
//!     a block.
//! * Numbers that count along an axis: [`iota`].
//!
//! [`loop_nest`] joins axes for all of these. [`for_width!`](crate::for_width) goes from an
//! element's width to a type. [`move_list`] says what a kernel moves, for scalar loops, which move
//! it themselves.
//!
//! What holds for all: but for [`iota`] and indices, an element is bytes of a width, so every bit
//! stays as it is. What is shared by threads here is cut into chunks of about `CHUNK_BYTES`, of the
//! crate's `tuning.rs`; the rest is cut by its callers. Indices that are not inside are moved
//! inside, or their window is skipped ([`index::Outside`]).
pub mod block_copy;
pub mod deinterleave;
pub mod gather;
pub mod index;
pub mod iota;
pub mod loop_nest;
pub mod move_list;
pub mod strided_block;
mod strided_copy;
pub mod strided_view;
pub mod transpose;
pub mod tuning;
mod width;
