//! The words that pretty forms use for attributes: `dims = [1]` of a transposition is its
//! `permutation`.

/// What stands behind the `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
const WORDS: &[(&str, &str, &str, Kind)] = &[
    ("broadcast", "sizes", "broadcast_sizes", Kind::List),
    ("broadcast_in_dim", "dims", "broadcast_dimensions", Kind::List),
    ("cholesky", "lower", "lower", Kind::Flag),
    ("concatenate", "dim", "dimension", Kind::Number),
    ("dot", "precision", "precision_config", Kind::Words),
    ("dot_general", "algorithm", "", Kind::Algorithm),
    ("dot_general", "batching_dims", "lhs_batching_dimensions", Kind::Pair),
    ("dot_general", "contracting_dims", "lhs_contracting_dimensions", Kind::Pair),
    ("dot_general", "precision", "precision_config", Kind::Words),
    ("dynamic_broadcast_in_dim", "dims", "broadcast_dimensions", Kind::List),
    ("dynamic_iota", "dim", "iota_dimension", Kind::Number),
    ("dynamic_slice", "sizes", "slice_sizes", Kind::List),
    ("einsum", "config", "einsum_config", Kind::String),
    ("fft", "length", "fft_length", Kind::List),
    ("fft", "type", "fft_type", Kind::Word),
    ("get_dimension_size", "dim", "dimension", Kind::Number),
    ("iota", "dim", "iota_dimension", Kind::Number),
    ("pad", "high", "edge_padding_high", Kind::List),
    ("pad", "interior", "interior_padding", Kind::List),
    ("pad", "low", "edge_padding_low", Kind::List),
    ("reduce_precision", "format", "", Kind::Format),
    ("reverse", "dims", "dimensions", Kind::List),
    ("rng", "distribution", "rng_distribution", Kind::Word),
    ("rng_bit_generator", "algorithm", "rng_algorithm", Kind::Word),
    ("set_dimension_size", "dim", "dimension", Kind::Number),
    ("top_k", "is_stable", "is_stable", Kind::Flag),
    ("top_k", "k", "k", Kind::Number),
    ("transpose", "dims", "permutation", Kind::List),
    ("unary_einsum", "config", "einsum_config", Kind::String),
];

/// The attribute that a word of a mnemonic's pretty form gives.
pub(super) fn word(mnemonic: &str, word: &str) -> Option<(&'static str, Kind)> {
    WORDS.iter().find(|row| row.0 == mnemonic && row.1 == word).map(|row| (row.2, row.3))
}
