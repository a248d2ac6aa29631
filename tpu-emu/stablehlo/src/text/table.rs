//! The words that pretty forms use for attributes: `dims = [1]` of a transposition is its
//! `permutation`.

/// What stands behind the `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AliasKind {
    /// A number of 64 bits without a type.
    Number,
    /// `[1, 2]`.
    List,
    /// A word of an enumeration.
    Word,
    /// A string.
    String,
    /// `true` or `false`.
    Flag,
    /// `[0] x [1]`: two attributes, the second with `rhs_` for `lhs_`.
    Pair,
    /// `[HIGHEST, DEFAULT]`.
    Words,
    /// `e8m23`.
    Format,
    /// `<…>` of a `dot_algorithm`.
    Algorithm,
}

/// Mnemonic, word, attribute, and what it holds.
const WORDS: &[(&str, &str, &str, AliasKind)] = &[
    ("broadcast", "sizes", "broadcast_sizes", AliasKind::List),
    ("broadcast_in_dim", "dims", "broadcast_dimensions", AliasKind::List),
    ("cholesky", "lower", "lower", AliasKind::Flag),
    ("concatenate", "dim", "dimension", AliasKind::Number),
    ("dot", "precision", "precision_config", AliasKind::Words),
    ("dot_general", "algorithm", "", AliasKind::Algorithm),
    ("dot_general", "batching_dims", "lhs_batching_dimensions", AliasKind::Pair),
    ("dot_general", "contracting_dims", "lhs_contracting_dimensions", AliasKind::Pair),
    ("dot_general", "precision", "precision_config", AliasKind::Words),
    ("dynamic_broadcast_in_dim", "dims", "broadcast_dimensions", AliasKind::List),
    ("dynamic_iota", "dim", "iota_dimension", AliasKind::Number),
    ("dynamic_slice", "sizes", "slice_sizes", AliasKind::List),
    ("einsum", "config", "einsum_config", AliasKind::String),
    ("fft", "length", "fft_length", AliasKind::List),
    ("fft", "type", "fft_type", AliasKind::Word),
    ("get_dimension_size", "dim", "dimension", AliasKind::Number),
    ("iota", "dim", "iota_dimension", AliasKind::Number),
    ("pad", "high", "edge_padding_high", AliasKind::List),
    ("pad", "interior", "interior_padding", AliasKind::List),
    ("pad", "low", "edge_padding_low", AliasKind::List),
    ("reduce_precision", "format", "", AliasKind::Format),
    ("reverse", "dims", "dimensions", AliasKind::List),
    ("rng", "distribution", "rng_distribution", AliasKind::Word),
    ("rng_bit_generator", "algorithm", "rng_algorithm", AliasKind::Word),
    ("set_dimension_size", "dim", "dimension", AliasKind::Number),
    ("top_k", "is_stable", "is_stable", AliasKind::Flag),
    ("top_k", "k", "k", AliasKind::Number),
    ("transpose", "dims", "permutation", AliasKind::List),
    ("unary_einsum", "config", "einsum_config", AliasKind::String),
];

/// The attribute that a word of a mnemonic's pretty form gives.
pub(super) fn word(mnemonic: &str, word: &str) -> Option<(&'static str, AliasKind)> {
    WORDS.iter().find(|row| row.0 == mnemonic && row.1 == word).map(|row| (row.2, row.3))
}
