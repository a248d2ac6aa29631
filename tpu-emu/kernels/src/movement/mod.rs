//! Elements moved and not changed: copies, transposes, gathers.
pub mod block_copy;
pub mod gather;
pub mod index;
pub mod iota;
pub mod loop_nest;
pub mod move_list;
mod strided_copy;
pub mod strided_view;
pub mod transpose;
pub mod tuning;
mod width;
