// A struct of the user's, decoded from attributes.
//
// Alone, its fields are the call's attributes; under a name, a dictionary of that name.
#include <algorithm>
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace struct_attributes {
struct Range {
  float low;
  float high;
};
}  // namespace struct_attributes

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(struct_attributes::Range,
                                      xla::ffi::StructMember<float>("low"),
                                      xla::ffi::StructMember<float>("high"));

namespace struct_attributes {
namespace ffi = xla::ffi;

ffi::Error Clip(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result, Range range) {
  if (range.low > range.high) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "a range ends before it begins");
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    result->typed_data()[i] = std::clamp(x.typed_data()[i], range.low, range.high);
  }
  return ffi::Error::Success();
}
}  // namespace struct_attributes

XLA_FFI_DEFINE_HANDLER_SYMBOL(struct_clip, struct_attributes::Clip,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Attrs<struct_attributes::Range>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(named_struct_clip, struct_attributes::Clip,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Attr<struct_attributes::Range>("range"));
