//! The messages of XSpaces and of buffer assignments, as far as they are filled here.
use prost::Message;
use std::collections::BTreeMap;

/// A space without its planes, which stand before it under [`PLANES`].
#[derive(Message)]
pub(super) struct XSpace {
    #[prost(string, repeated, tag = "3")]
    pub(super) warnings: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub(super) hostnames: Vec<String>,
}

/// The number of the field of a space that has its planes.
pub(super) const PLANES: u32 = 1;
/// The number of the field of a plane that has its lines.
pub(super) const LINES: u32 = 3;
/// The number of the field of a line that has its events.
pub(super) const EVENTS: u32 = 4;

/// A plane without its lines, which stand behind it under [`LINES`]: ten million events are no messages in memory.
#[derive(Message)]
pub(super) struct XPlane {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(btree_map = "int64, message", tag = "4")]
    pub(super) event_metadata: BTreeMap<i64, XEventMetadata>,
    #[prost(btree_map = "int64, message", tag = "5")]
    pub(super) stat_metadata: BTreeMap<i64, XStatMetadata>,
    #[prost(message, repeated, tag = "6")]
    pub(super) stats: Vec<XStat>,
}

/// A line without its events, which stand behind it under [`EVENTS`].
#[derive(Message)]
pub(super) struct XLine {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int64, tag = "3")]
    pub(super) timestamp_ns: i64,
}

#[derive(Message)]
pub(super) struct XEvent {
    #[prost(int64, tag = "1")]
    pub(super) metadata_id: i64,
    #[prost(int64, tag = "2")]
    pub(super) offset_ps: i64,
    #[prost(int64, tag = "3")]
    pub(super) duration_ps: i64,
    #[prost(message, repeated, tag = "4")]
    pub(super) stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct XStat {
    #[prost(int64, tag = "1")]
    pub(super) metadata_id: i64,
    #[prost(oneof = "Value", tags = "2, 3, 4, 5, 6, 7")]
    pub(super) value: Option<Value>,
}

/// The value of a stat.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Value {
    #[prost(double, tag = "2")]
    Double(f64),
    #[prost(uint64, tag = "3")]
    Uint(u64),
    #[prost(int64, tag = "4")]
    Int(i64),
    #[prost(string, tag = "5")]
    Text(String),
    #[prost(bytes, tag = "6")]
    Bytes(Vec<u8>),
    /// The name of a stat's metadata, as a text that many stats share.
    #[prost(uint64, tag = "7")]
    Shared(u64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct XEventMetadata {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) display_name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct XStatMetadata {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}

#[derive(Message)]
pub(super) struct HloProto {
    #[prost(message, optional, tag = "1")]
    pub(super) hlo_module: Option<tpu_proto::xla::HloModuleProto>,
    #[prost(message, optional, tag = "3")]
    pub(super) buffer_assignment: Option<BufferAssignment>,
}

#[derive(Message)]
pub(super) struct BufferAssignment {
    #[prost(message, repeated, tag = "1")]
    pub(super) logical_buffers: Vec<LogicalBuffer>,
    #[prost(message, repeated, tag = "3")]
    pub(super) buffer_allocations: Vec<BufferAllocation>,
    #[prost(message, repeated, tag = "4")]
    pub(super) heap_simulator_traces: Vec<HeapTrace>,
}

#[derive(Message)]
pub(super) struct LogicalBuffer {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
    #[prost(message, optional, tag = "3")]
    pub(super) defined_at: Option<Location>,
}

#[derive(Message)]
pub(super) struct Location {
    #[prost(string, tag = "2")]
    pub(super) instruction_name: String,
    #[prost(int64, repeated, tag = "3")]
    pub(super) shape_index: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(super) instruction_id: i64,
}

#[derive(Message)]
pub(super) struct BufferAllocation {
    #[prost(int64, tag = "1")]
    pub(super) index: i64,
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
    #[prost(bool, tag = "5")]
    pub(super) is_entry_computation_parameter: bool,
    #[prost(int64, tag = "6")]
    pub(super) parameter_number: i64,
    #[prost(bool, tag = "7")]
    pub(super) maybe_live_out: bool,
    #[prost(message, repeated, tag = "9")]
    pub(super) assigned: Vec<Assigned>,
    #[prost(bool, tag = "12")]
    pub(super) is_constant: bool,
}

#[derive(Message)]
pub(super) struct Assigned {
    #[prost(int64, tag = "1")]
    pub(super) logical_buffer_id: i64,
    #[prost(int64, tag = "2")]
    pub(super) offset: i64,
    #[prost(int64, tag = "3")]
    pub(super) size: i64,
}

#[derive(Message)]
pub(super) struct HeapTrace {
    #[prost(message, repeated, tag = "1")]
    pub(super) events: Vec<HeapEvent>,
    #[prost(int64, tag = "3")]
    pub(super) buffer_allocation_index: i64,
}

#[derive(Message)]
pub(super) struct HeapEvent {
    /// 0 a buffer is taken, 1 it is given back.
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(int64, tag = "2")]
    pub(super) buffer_id: i64,
    #[prost(string, tag = "3")]
    pub(super) computation_name: String,
    #[prost(string, tag = "4")]
    pub(super) instruction_name: String,
}
