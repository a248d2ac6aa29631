//! Sizes and limits that planning and interpreting programs tune, by pass.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;

/// Devices of a mesh that no program was compiled for, which may say any number.
pub(crate) const MAX_MESH_DEVICES: usize = 1 << 20;

/// Results in whose memory a place is looked for, for a value that ends before they are made: the
/// time for that grows with the values of a program alone.
pub(crate) const MAX_TRIED_ARRAYS: usize = 64;

/// Calls inside of calls that are inlined.
pub(crate) const MAX_CALL_DEPTH: usize = 256;

/// Nodes that a program may have once its calls are inlined.
pub(crate) const MAX_PROGRAM_NODES: usize = 4 << 20;

/// Operations of a program over several devices with its calls inlined, past which the program of
/// one device keeps calls, and does whole what is called.
pub(crate) const MAX_PARTITIONED_OPERATIONS: usize = 1 << 20;

/// Pieces of other devices that a device reads on either side of its own, of at most half of all:
/// each is an exchange of its own, and more of them are a gather. XLA for CPUs passed on four pieces of
/// eight devices (jax 0.10.2).
pub(crate) const MAX_HALO_PIECES: i64 = 8;

/// Calls that are inlined.
pub(crate) const MAX_INLINED_CALLS: usize = 1 << 16;

/// Reasons of a refusal that are collected before the rest of a program is left unread.
pub(crate) const MAX_REPORTED_REASONS: usize = 100;

/// Operations of a body that runs elementwise, each with a register of its own.
pub(crate) const MAX_REGION_STEPS: usize = 1024;

/// Bytes of results that are computed at compile time where the operands are known.
pub(crate) const MAX_FOLDED_BYTES: usize = 512;

/// Bytes of constants that are compared, for operations that are there already.
pub(crate) const MAX_COMPARED_BYTES: usize = 64;

/// Bytes of a value up to which it is not made once more for a reader, if it is no product.
pub(crate) const MAX_MERGED_BYTES: usize = 16 << 20;

/// Operations on elements, one behind the other, from which on a value is not made once more for a
/// reader.
pub(crate) const MIN_MERGED_STEPS: usize = 16;

/// Bytes up to which a value is made before a loop rather than in every iteration.
pub(crate) const MAX_HOISTED_BYTES: usize = 4096;

/// Bytes of an array of which a function is computed before the loop that takes slices of it.
pub(crate) const MAX_EARLY_FUNCTION_BYTES: usize = 1 << 18;

/// Bytes of such a slice.
pub(crate) const MAX_EARLY_SLICE_BYTES: usize = 256;

/// Bytes from which on what costs nothing where it is read is made in a loop's body, and not stored
/// outside.
pub(crate) const MIN_SUNK_BYTES: usize = 1 << 16;

/// Bytes of an array from which on a product reads what it is made of instead: less is not worth
/// looking for.
pub(crate) const MIN_ABSORBED_BYTES: usize = 1 << 16;

/// Bytes of an array with one update to a row from which on its elements are chosen where they are
/// read: less is not worth looking for.
pub(crate) const MIN_ONE_HOT_BYTES: usize = 1 << 16;

/// Bytes of an elementwise result from which on a gather takes elements of what it is made of: less
/// is not worth looking for.
pub(crate) const MIN_PICKED_BYTES: usize = 1 << 16;

/// How many parts an array has at least, each as large as what is picked of it.
pub(crate) const MIN_PICKED_PARTS: usize = 4;

/// Operations that are done for picked elements alone.
pub(crate) const MAX_PICKED_NODES: usize = 32;

/// Bytes of an array from which on a product gives its result in the order in which that is read behind
/// operations on elements: less is not worth looking for.
pub(crate) const MIN_LIFTED_BYTES: usize = 16 << 20;

/// Bytes of an array that one product or reduction makes for the next from which on it is made part
/// by part.
pub(crate) const MIN_PARTED_BYTES: usize = 64 << 20;

/// How many parts of what is made part by part make one that is made as a whole: arrays of fewer
/// bytes are stored.
pub(crate) const PARTS_OF_PARTED_BYTES: usize = 4;

/// Indices along the first axis that a part of an array has at least.
pub(crate) const MIN_PART_ROWS: usize = 128;

/// Arrays that have another order together for the sake of views that are not made.
pub(crate) const MAX_SUNK_NODES: usize = 64;

/// Operations that are done part by part together.
pub(crate) const MAX_PARTED_NODES: usize = 64;

/// Operations that one fused loop may hold.
pub(crate) const MAX_FUSED_STEPS: usize = 128;

/// Those of a loop with elements of 64 bits and others.
pub(crate) const MAX_MIXED_STEPS: usize = 48;

/// Arrays that one fused loop may read.
pub(crate) const MAX_FUSED_LOADS: usize = 24;

/// Elements from which on a transposed matrix is made by a loop of its own.
pub(crate) const MIN_BLOCKED_TRANSPOSE_ELEMENTS: usize = 4096;

/// Elements of a run of one operand from which on it pays to begin a span where the run changes, in
/// a loop that is machine code as a whole.
pub(crate) const MIN_SPAN_ELEMENTS: usize = 256;

/// Elements from which on a run of an operand that does not begin again is read where it lies: else
/// it is gathered. A call of machine code for so many elements costs no more than gathering them.
pub(crate) const MIN_SHORT_SPAN_ELEMENTS: usize = 64;

/// Indices of a count along an axis that are made at once, one for each span of a loop.
pub(crate) const IOTA_BATCH_ELEMENTS: usize = 64;

/// Elements that are kept of an operand that begins again and again.
pub(crate) const MAX_KEPT_PERIOD_ELEMENTS: usize = 4 * TILE_ELEMENTS;

/// Elements of a concatenation from which on a loop reads its operands by itself.
pub(crate) const MIN_FUSED_CONCAT_ELEMENTS: usize = 1024;

/// Elements that an operand of a fused concatenation has in a row at least, in the mean.
pub(crate) const MIN_CONCAT_OPERAND_ELEMENTS: usize = 256;

/// Operands of a fused concatenation.
pub(crate) const MAX_CONCAT_OPERANDS: usize = 8;

/// Elements from which on a gather is part of a loop.
pub(crate) const MIN_FUSED_GATHER_ELEMENTS: usize = 256;

/// Elements of a part of what is converted to wider elements from which on it is converted by itself:
/// a loop is a step, and for few elements costs more than it saves.
pub(crate) const MIN_WIDENED_PART_ELEMENTS: usize = 256;

/// Components and loops over index vectors that a fused gather may have.
pub(crate) const MAX_GATHER_COMPONENTS: usize = 4;

/// Steps that a row fusion may have.
pub(crate) const MAX_ROW_FUSION_STEPS: usize = 64;

/// Bytes that one row of a row fusion's values may have together: logits of 256,000 words in f32 and
/// three arrays that are made of them.
pub(crate) const MAX_ROW_BYTES: usize = 4 << 20;

/// Bytes that one row of a row fusion's values may have together where there are fewer rows than
/// [`MANY_ROWS`], which threads could not share.
pub(crate) const MAX_BYTES_OF_FEW_ROWS: usize = 512 << 10;

/// Rows of which each thread of a large machine has some.
pub(crate) const MANY_ROWS: usize = 128;

/// Bytes that a row block's values have together, if a row has not more.
pub(crate) const ROW_BLOCK_BYTES: usize = 96 << 10;

/// Bytes that a row block's values have together where rows are columns of another value: of its
/// cache lines, much should be used at once.
pub(crate) const COLUMN_BLOCK_BYTES: usize = 512 << 10;

/// Elements of the widest value that one thread's chunk of rows has.
pub(crate) const ROW_CHUNK_ELEMENTS: usize = 32 << 10;

/// In how many parts of the size of what a reduction of all rows reads the widest value can be cut at
/// least for the reduction to wait for all rows, where blocks of it would be too much for one thread.
pub(crate) const MIN_TOTAL_PARTS: usize = 8;

/// Bytes from which on a reduction alone is shared by threads.
pub(crate) const MIN_SHARED_REDUCTION_BYTES: usize = 1 << 20;

/// Elements of one thread's chunk of a fused loop.
pub(crate) const LOOP_CHUNK_ELEMENTS: usize = 32 * TILE_ELEMENTS;

/// Parts of a fused loop in a hot loop, one a span, up to which each is bound to its arrays.
pub(crate) const MAX_BOUND_PARTS: usize = 16;

/// Operands and results that a loop takes without an allocation.
pub(crate) const INLINE_LOOP_ARRAYS: usize = 16;

/// Arrays that a step takes without an allocation.
pub(crate) const INLINE_STEP_ARRAYS: usize = 8;

/// Iterations, of one run or of several, after which a loop is hot, and gets machine code.
pub(crate) const HOT_LOOP_ITERATIONS: usize = 32;

/// Bytes of the largest joined array whose parts are made there. A chip copies parts together, and
/// what it takes for those of larger ones is part of what is planned.
pub(crate) const MAX_PLACED_PARTS_BYTES: usize = 4 << 20;

/// Where in a joined array parts may begin that are made there: the largest elements are so long.
pub(crate) const PART_ALIGN_BYTES: usize = 16;

/// Bytes from which on a piece of an array is read where it lies. Steps of hot loops that read such
/// are not bound to their arrays, which costs them more than copying less does.
pub(crate) const MIN_WINDOW_BYTES: usize = 1 << 15;

/// Bytes of one thread's chunk of a copy between slots.
pub(crate) const COPY_CHUNK_BYTES: usize = 1 << 20;

/// Bytes of a slot that are given back to the system early: less does not pay for the call.
pub(crate) const MIN_DISCARDED_BYTES: usize = 1 << 20;

/// Operations of an iteration that becomes one piece of machine code.
pub(crate) const MAX_SCALAR_LOOP_STEPS: usize = 512;

/// Elements of an array that becomes as many values of a scalar loop.
pub(crate) const MAX_SCALAR_LOOP_ARRAY_ELEMENTS: usize = 32;

/// Calls inside of calls that shardings are followed into.
pub(crate) const MAX_SHARDED_CALL_DEPTH: usize = 64;

/// Operations whose shardings are looked at; what later ones make is whole everywhere.
pub(crate) const MAX_SHARDED_OPERATIONS: usize = 1 << 20;

/// Elements of an array that is taken apart only because a scalar loop or a branch hands it on.
pub(crate) const MAX_HANDED_ON_ELEMENTS: usize = 2 * MAX_SCALAR_LOOP_ARRAY_ELEMENTS;

/// In how many parts a kernel moves its operands at most, to be known as one that does only that.
pub(crate) const MAX_MOVED_PARTS: usize = 1024;

/// Bytes of a value of f32 from outside of a loop that is rounded before the loop, where only products
/// that round it read it. There is a copy of half the size then.
pub(crate) const ROUNDED_WEIGHT_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=4 << 20;

/// Bytes of a value from which on it is kept in 16 bits where only products read it that round it.
pub(crate) const MIN_ROUNDED_BYTES: usize = 1 << 20;

/// Bytes of a product from which on it is asked whether a chip keeps it in wider elements.
pub(crate) const MIN_WIDENED_BYTES: usize = 1 << 20;

/// Elements of a row of which a chip stores the differences to its greatest one, at most.
pub(crate) const MAX_DIFFERENCE_ROW_ELEMENTS: usize = 8192;

/// Elements of a row that one loop of a chip makes a softmax of, at most.
pub(crate) const MAX_SOFTMAX_ROW_ELEMENTS: usize = 4096;

/// Elements of a row of masked scores from which on a chip's product does not make it at one time: of
/// 3,072 it does.
pub(crate) const MIN_SCORES_ELEMENTS: usize = 4096;

/// Elements of a query, each of which is a term of a score, from which on a chip stores scores before
/// it makes their exponentials: of 64 it does not.
pub(crate) const MIN_STORED_QUERY_ELEMENTS: usize = 128;

/// Bytes of a program's temporaries from which on values are made again rather than kept: a small
/// program is to be compiled at once.
pub(crate) const MIN_SHRUNK_BYTES: usize = 24 << 20;

/// How many nodes it takes until the bytes of [`MIN_SHRUNK_BYTES`] are asked for once more: the time
/// for a plan grows with the nodes.
pub(crate) const SHRUNK_NODES: usize = 128;

/// Bytes of a program's temporaries from which on no more is asked for, however many nodes it has: a
/// run takes longer than the plans do.
pub(crate) const ALWAYS_SHRUNK_BYTES: usize = 256 << 20;

/// Nodes of a block up to which they are put in another order.
pub(crate) const MAX_SCHEDULED_NODES: usize = 1 << 14;

/// Nodes of a block, each with what is done where it reads, of which a second order is tried in any
/// case.
pub(crate) const MAX_TRIED_NODES: usize = 128;

/// How many parts of what is alive at once make one that a step may need while it runs wherever it is.
pub(crate) const SCRATCH_PARTS: usize = 16;

/// Plans that a program is given at most, after the first, to find one that needs less.
pub(crate) const MAX_SHRINKING_ITERATIONS: usize = 12;

/// Moments that are looked at in one plan, and how full the arena is then at least, in 256ths of
/// the fullest.
pub(crate) const MAX_PEAK_PLACES: usize = 8;
/// See [`MAX_PEAK_PLACES`].
pub(crate) const PEAK_SHARE: u64 = 224;

/// What part of a program's temporaries a value is at most that each of its readers gathers from
/// other devices. A larger one, begun while products before it run, would take its room long before.
pub(crate) const GATHERED_VALUE_PARTS: usize = 32;

/// What part of a program's temporaries an elementwise value is at least that is made again.
pub(crate) const SMALL_VALUE_PARTS: usize = 1024;

/// Values between which a cut is looked for, and rounds of that.
pub(crate) const MAX_CUT_NODES: usize = 1 << 16;
/// See [`MAX_CUT_NODES`].
pub(crate) const MAX_CUT_ITERATIONS: usize = 1 << 10;

/// What it costs to make an element again, in 256ths of a byte that is kept: by an operation, and by
/// a function.
pub(crate) const COST_OF_OPERATION: u64 = 8;
/// See [`COST_OF_OPERATION`].
pub(crate) const COST_OF_FUNCTION: u64 = 64;

/// Nodes between two that read the same copy of a value that is made again.
pub(crate) const WIDE_WINDOW_NODES: usize = 48;
/// See [`WIDE_WINDOW_NODES`].
pub(crate) const NARROW_WINDOW_NODES: usize = 6;

/// Bytes of an arena that is also laid out largest first.
pub(crate) const MIN_SORTED_ARENA_BYTES: usize = 16 << 20;

/// Values of an arena that are also laid out largest first: that takes a time that grows with the
/// square of their number.
pub(crate) const MAX_ARENA_ARRAYS: usize = 4096;

/// Several sums over devices that take less than this are made in a core's memory; others, and one
/// alone, take the place of what is summed: what the memory of a core holds.
///
/// Measured: no time, but what libtpu 0.0.51 plans for data parallel steps on a v5e. Three gradients
/// of 17 MB each lie beside their sums, four of 67 MB do not.
pub(crate) const SUMS_IN_PLACE_FROM_BYTES: usize = 128 << 20;

/// Bytes that views of arrays have in a row from which on they are put side by side without a copy.
pub(crate) const MIN_JOINED_RUN_BYTES: usize = 32;

/// Bytes from which on a plan tells the shape of a constant: padding of smaller ones is little.
pub(crate) const MIN_TOLD_CONSTANT_BYTES: usize = 4096;
