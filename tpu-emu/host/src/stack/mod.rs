//! Stack capture.
