//! Protobuf messages that cross our ABIs.
//!
//! The `.proto` files in `proto/` are in our own words: names and numbers of fields are the
//! interface, the rest is not. Encoding and decoding are [`prost`]'s.

pub use prost::{DecodeError, Message, encoding};

/// Messages of XLA: ABI versions, shapes, shardings, compile options.
pub mod xla {
    #![expect(missing_docs, reason = "the names of element types say what they are")]
    include!("generated/xla.rs");
}

/// Messages of TensorFlow about TPUs: the topology that sets up a system.
pub mod tpu {
    include!("generated/tensorflow.tpu.rs");
}

/// Messages of the TpuDriver interface.
pub mod tpu_driver {
    include!("generated/tpu_driver.rs");
}

/// Messages of the service that a TPU's runtime tells its metrics by.
pub mod runtime_metrics {
    #![expect(missing_docs, reason = "requests and responses are named by their calls")]
    include!("generated/tpu.monitoring.runtime.rs");
}

#[cfg(test)]
mod tests {
    use super::Message;
    use super::xla::{LayoutProto, PjRtRuntimeAbiVersionProto, PrimitiveType, ShapeProto};

    #[test]
    fn an_abi_version_is_two_fields_on_the_wire() {
        let version = PjRtRuntimeAbiVersionProto { platform: 300, version: b"v1".to_vec() };
        let bytes = version.encode_to_vec();
        assert_eq!(bytes, b"\x08\xac\x02\x12\x02v1");
        assert_eq!(PjRtRuntimeAbiVersionProto::decode(&*bytes).unwrap(), version);
    }

    #[test]
    fn a_shape_is_packed_as_on_the_wire_of_xla() {
        let layout = LayoutProto { minor_to_major: vec![1, 0], memory_space: 5, ..<_>::default() };
        let shape = ShapeProto {
            element_type: PrimitiveType::Bf16.into(),
            dimensions: vec![8, 128],
            layout: Some(layout),
            ..<_>::default()
        };
        let wire = b"\x10\x10\x1a\x03\x08\x80\x01\x2a\x06\x0a\x02\x01\x00\x40\x05";
        assert_eq!(shape.encode_to_vec(), wire);
    }
}
