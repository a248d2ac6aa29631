//! Windows that slide over an array: which elements are in which window, and in which order.
//!
//! The family holds geometry. The loops that combine elements stand with their operations,
//! `reduce_window` and `select_and_scatter` in `tpu-emu/ops/src`.
//! [`geometry::WindowAxis`] describes windows along one axis, with padding and dilations.
//!
//! `reduce_window` takes the first of these that fits:
//!
//! | case | algorithm, and where its loops are |
//! |------|------------------------------------|
//! | running results along one axis, known combiner | scan, `scan.rs` |
//! | the same forward, any body | scan, `scan.rs` |
//! | known combiner, no axis with both dilations | row by row: [`pool`], `direct.rs` |
//! | known combiner | place by place: [`geometry::Windows`], `mod.rs` |
//! | any body | place by place: [`geometry::Windows`], `general.rs` |
//!
//! * A *scan* has windows from one end of an axis to each element: [`geometry::WindowAxis::scan`].
//! * A *known combiner* is one that `reduce/combiner.rs` has a fold for, with the element type.
//! * *Row by row*, each row of outputs is computed from the input rows under its windows.
//!   [`pool::Pool::new`] also refuses empty inputs and numbers past those of any array.
//! * *Place by place*, all windows take their first element, then all their second one.
//!   No output comes twice at a place, so a body runs on many outputs at once.
//!
//! Row by row, outputs go one of three ways:
//! * Outputs of `MIN_REDUCE_WINDOW_OUTPUT_ELEMENTS` or more are computed one by one.
//!   So are all outputs where the input is dilated along the row.
//! * Dense windows of `MIN_REDUCE_WINDOW_HALVED_PLACES` or more combine results of halves.
//!   It needs a combiner that may meet an element twice, such as a maximum.
//!   It also needs windows along the row alone, and outputs of one element.
//! * Other outputs are computed place by place, `REDUCE_WINDOW_BLOCK_OUTPUTS` at a time.
//!
//! `select_and_scatter` goes row by row where floats are selected by `>=` or `<=` and then added,
//! as for the gradient of a maximum pooling. Anything else goes place by place.
//!
//! `BLOCK_OUTPUTS` of `window/tuning.rs` says how many outputs [`geometry::Windows`] puts in a
//! block. The other thresholds named here stand in `tpu-emu/ops/src/tuning.rs`.
//!
//! For all of them:
//! * Places in the padding are skipped, not combined.
//! * Outside of scans and halves, elements of a window are combined in row-major order.
//!   Halves have combiners whose results do not depend on the order.
//! * Threads share outputs row by row, and whole rows in scans by a known combiner.
//!   Place by place runs on one thread. So the number of threads changes no bit.
//! * Totals of a known combiner are f64 for sums of shorter floats, and rounded at the end.
//!   Scans of up to `MAX_NARROW_SCAN_ELEMENTS` elements keep the type of partial results.
pub mod geometry;
pub mod pool;
mod tuning;
