//! Functions that older versions of JAX call by name instead of by an operation.
use crate::{
    Entry, acos, acosh, asin, asinh, atan, atanh, bessel_i1e, conj, cosh, digamma, erf, erf_inv,
    erfc, is_inf, is_neg_inf, is_pos_inf, lgamma, mulhi, next_after, polygamma, sinh, square, tan,
    zeta,
};

/// An operation as a target, which nobody sees through.
const fn opaque(operation: Entry) -> Entry {
    Entry::target(operation.mnemonic, operation.infer, operation.lower)
}

macro_rules! targets {
    ($($operation:ident)*) => {
        /// The operations of CHLO as targets, under both dialects that they have been in.
        pub(super) const TARGETS: &[Entry] = &[
            $(
                Entry { mnemonic: concat!("mhlo.", stringify!($operation)), ..opaque($operation::OP) },
                Entry { mnemonic: concat!("chlo.", stringify!($operation)), ..opaque($operation::OP) },
            )*
        ];
    };
}

targets! {
    acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf
    is_neg_inf is_pos_inf lgamma mulhi next_after polygamma sinh square tan zeta
}
