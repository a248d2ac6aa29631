//! Factorizations and eigenvalues.
pub mod eigh;
pub mod factor;
pub mod householder;
pub mod scalar;
#[cfg(test)]
mod tests;
mod tuning;
