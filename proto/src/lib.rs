//! Protobuf messages that cross our ABIs.
