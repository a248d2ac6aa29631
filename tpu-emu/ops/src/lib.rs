//! The operations: one file each, one table. An operation knows shapes and bytes; it knows no
//! HBM, no threads, no traces, and no other operation.
mod access;
pub mod across;
mod body;
mod body_reduce;
mod call_compiler;
mod channel;
mod collective;
mod contraction;
mod convolve;
pub mod core_arrays;
pub mod core_records;
pub mod custom;
mod edges;
mod elementwise;
mod entry;
pub mod exchange;
mod extents;
mod factor;
pub mod factors;
mod gather_dimensions;
mod kernel;
mod normalization;
mod one_hot;
mod precision;
mod reducer;
mod resolve;
mod sharding;
mod site;
#[cfg(test)]
mod testing;
mod tuning;
#[cfg(test)]
mod vm_differential;
mod windowed;

// A file an operation.
mod abs;
mod acos;
mod acosh;
mod add;
mod after_all;
mod all_gather;
mod all_reduce;
mod all_to_all;
mod and;
mod asin;
mod asinh;
mod atan;
mod atan2;
mod atanh;
mod batch_norm_grad;
mod batch_norm_inference;
mod batch_norm_training;
mod bessel_i1e;
mod bitcast_convert;
mod broadcast;
mod broadcast_in_dim;
mod cbrt;
mod ceil;
mod cholesky;
mod clamp;
mod collective_broadcast;
mod collective_permute;
mod compare;
mod complex;
mod concatenate;
mod conj;
mod constant;
mod convert;
mod convolution;
mod cosh;
mod cosine;
mod count_leading_zeros;
mod create_token;
mod cross_replica_sum;
pub mod custom_call;
pub mod decision;
mod digamma;
mod divide;
mod dot;
mod dot_general;
mod dynamic_broadcast_in_dim;
mod dynamic_conv;
mod dynamic_gather;
mod dynamic_iota;
mod dynamic_pad;
mod dynamic_reshape;
mod dynamic_slice;
mod dynamic_update_slice;
mod erf;
mod erf_inv;
mod erfc;
mod exponential;
mod exponential_minus_one;
mod fft;
mod floor;
mod gather;
mod get_dimension_size;
pub mod host_transfer;
mod imag;
mod iota;
mod is_finite;
mod is_inf;
mod is_neg_inf;
mod is_pos_inf;
mod lgamma;
mod log;
mod log_plus_one;
mod logistic;
mod map;
mod maximum;
mod minimum;
mod mulhi;
mod multiply;
mod negate;
mod next_after;
mod not;
mod optimization_barrier;
mod or;
mod pad;
mod partition_id;
mod polygamma;
mod popcnt;
mod power;
mod real;
mod real_dynamic_slice;
mod recv;
mod reduce;
mod reduce_precision;
mod reduce_scatter;
mod reduce_window;
mod remainder;
pub mod replica_exchange;
mod replica_id;
mod reshape;
mod reverse;
mod rng;
mod rng_bit_generator;
mod round_nearest_afz;
mod round_nearest_even;
pub mod rows;
mod rsqrt;
mod scatter;
mod select;
mod select_and_scatter;
mod send;
mod set_dimension_size;
mod shift_left;
mod shift_right_arithmetic;
mod shift_right_logical;
mod sign;
mod sine;
mod sinh;
mod slice;
mod sort;
mod sqrt;
mod square;
mod subtract;
mod tan;
mod tanh;
mod top_k;
mod torch_index_select;
mod transpose;
mod triangular_solve;
mod xor;
mod zeta;

pub use body::{RegionCode, combiner};
pub use call_compiler::CallCompiler;
pub use entry::{
    CollectiveKind, DeviceDependence, Entry, LayoutRule, Relayout, ShardingRule, Simplification,
};
pub use kernel::{Absorbed, Cost, Cx, FewReduced, Kernel, Reduced, Regrouped, Sorts};
pub use resolve::{
    CALL, CUSTOM_CALL, MANUAL_COMPUTATION, MANUAL_YIELD, Operator, STRUCTURAL, Structural, YIELD,
    callee, find, full_name, name_of, top_k,
};
pub use site::{Declared, Site};
#[cfg(test)]
pub(crate) use testing::lane_operation;
pub use top_k::OP as TOP_K;
// What the compiler adds to programs itself.
pub use add::OP as ADD;
pub use all_gather::OP as ALL_GATHER;
pub use all_reduce::OP as ALL_REDUCE;
pub use all_to_all::OP as ALL_TO_ALL;
pub use and::OP as AND;
pub use broadcast_in_dim::OP as BROADCAST_IN_DIM;
pub use clamp::OP as CLAMP;
pub use collective_permute::OP as COLLECTIVE_PERMUTE;
pub use compare::{OP as COMPARE, differs};
pub use concatenate::{OP as CONCATENATE, side_by_side, views_side_by_side};
pub use constant::OP as CONSTANT;
pub use convert::{OP as CONVERT, conversion};
pub use dot_general::OP as DOT_GENERAL;
pub use dynamic_slice::OP as DYNAMIC_SLICE;
pub use dynamic_update_slice::OP as DYNAMIC_UPDATE_SLICE;
pub use iota::OP as IOTA;
pub use maximum::OP as MAXIMUM;
pub use minimum::OP as MINIMUM;
pub use multiply::OP as MULTIPLY;
pub use one_hot::OneHot;
pub use or::OP as OR;
pub use pad::OP as PAD;
pub use partition_id::OP as PARTITION_ID;
pub use reduce::OP as REDUCE;
pub use reduce_scatter::OP as REDUCE_SCATTER;
pub use replica_id::OP as REPLICA_ID;
pub use reshape::OP as RESHAPE;
pub use scatter::OP as SCATTER;
pub use select::OP as SELECT;
pub use slice::OP as SLICE;
pub use subtract::OP as SUBTRACT;
pub use xor::OP as XOR;

use std::sync::Arc;
use tpu_base::tensor::subnormals::Subnormals;
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_kernels::movement::strided_view::Access;

/// How matrix products round, and what becomes of subnormal floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Numerics {
    /// As the TPU's matrix unit: at DEFAULT precision operands of f32 are rounded to bf16 and
    /// products summed in f32; subnormal floats of 32 and 64 bits count as zeros.
    #[default]
    Tpu,
    /// In the types that the program states.
    Ieee,
}

impl Numerics {
    /// What becomes of subnormal floats.
    pub fn subnormals(self) -> Subnormals {
        match self {
            Self::Tpu => Subnormals::Flushed,
            Self::Ieee => Subnormals::Kept,
        }
    }
}

/// What an operation becomes when it is compiled.
#[derive(Debug)]
pub enum Lowered {
    /// One element of the result from the elements at the same index of the operands.
    Elementwise(ElementwiseOp),
    /// As [`Lowered::Elementwise`], after the elements of each operand are put in this order.
    Spread(ElementwiseOp, Vec<Access>),
    /// Elements of the first operand in another order, some of them several times.
    Access(Access),
    /// The result counts up along an axis.
    Iota(usize),
    /// The first operand's bytes as they are.
    View,
    /// Result `k` is operand `k` as it is.
    Forward,
    /// Result `k` is operand `k` as it is, and nothing that rewrites programs looks through it.
    Barrier,
    /// Known now: the bytes of the result.
    Constant(Arc<[u8]>),
    /// Known now: one element that every element of the result equals.
    Splat(Arc<[u8]>),
    /// Anything else.
    Kernel(Box<dyn Kernel>),
}

/// Writes the table, sorted by mnemonic. A file that it leaves out is dead code, which is reported.
macro_rules! table {
    ($($file:ident)*) => {
        &[$(&$file::OP),*]
    };
}

/// The operations of StableHLO and CHLO.
static OPS: &[&Entry] = table! {
    abs
    acos
    acosh
    add
    after_all
    all_gather
    all_reduce
    all_to_all
    and
    asin
    asinh
    atan
    atan2
    atanh
    batch_norm_grad
    batch_norm_inference
    batch_norm_training
    bessel_i1e
    bitcast_convert
    broadcast
    broadcast_in_dim
    cbrt
    ceil
    cholesky
    clamp
    collective_broadcast
    collective_permute
    compare
    complex
    concatenate
    conj
    constant
    convert
    convolution
    cosh
    cosine
    count_leading_zeros
    create_token
    cross_replica_sum
    digamma
    divide
    dot
    dot_general
    dynamic_broadcast_in_dim
    dynamic_conv
    dynamic_gather
    dynamic_iota
    dynamic_pad
    dynamic_reshape
    dynamic_slice
    dynamic_update_slice
    erf
    erf_inv
    erfc
    exponential
    exponential_minus_one
    fft
    floor
    gather
    get_dimension_size
    imag
    iota
    is_finite
    is_inf
    is_neg_inf
    is_pos_inf
    lgamma
    log
    log_plus_one
    logistic
    map
    maximum
    minimum
    mulhi
    multiply
    negate
    next_after
    not
    optimization_barrier
    or
    pad
    partition_id
    polygamma
    popcnt
    power
    real
    real_dynamic_slice
    recv
    reduce
    reduce_precision
    reduce_scatter
    reduce_window
    remainder
    replica_id
    reshape
    reverse
    rng
    rng_bit_generator
    round_nearest_afz
    round_nearest_even
    rsqrt
    scatter
    select
    select_and_scatter
    send
    set_dimension_size
    shift_left
    shift_right_arithmetic
    shift_right_logical
    sign
    sine
    sinh
    slice
    sort
    sqrt
    square
    subtract
    tan
    tanh
    top_k
    torch_index_select
    transpose
    triangular_solve
    xor
    zeta
};

/// The operations of other dialects.
static OTHERS: &[&[Entry]] = &[sharding::OPS, &[optimization_barrier::COPY]];

/// The operations, named as programs spell them without StableHLO's dialect.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    OPS.iter().copied().chain(OTHERS.iter().copied().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name() {
        assert!(OPS.is_sorted_by_key(|entry| entry.mnemonic));
        for entry in entries() {
            assert!(std::ptr::eq(find(entry.mnemonic).unwrap(), entry), "{}", entry.mnemonic);
        }
    }
}
