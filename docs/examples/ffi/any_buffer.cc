// Buffers of any type and rank.
//
// `ffi::AnyBuffer` takes every array. What it is, the handler asks: type, dimensions, bytes.
#include <cstdint>
#include <cstring>

#include "xla/ffi/api/ffi.h"

namespace any_buffer {
namespace ffi = xla::ffi;

ffi::Error Copy(ffi::AnyBuffer from, ffi::Result<ffi::AnyBuffer> to) {
  if (from.element_type() != to->element_type() || from.size_bytes() != to->size_bytes()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "a copy has the type and size of its source");
  }
  std::memcpy(to->untyped_data(), from.untyped_data(), from.size_bytes());
  return ffi::Error::Success();
}

// The element type as XLA numbers it, the rank, the elements and the bytes of an array.
ffi::Error Describe(ffi::AnyBuffer array, ffi::Result<ffi::Buffer<ffi::S32>> description) {
  if (description->element_count() != 4) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "a description has 4 numbers");
  }
  int32_t* numbers = description->typed_data();
  numbers[0] = static_cast<int32_t>(array.element_type());
  numbers[1] = static_cast<int32_t>(array.dimensions().size());
  numbers[2] = static_cast<int32_t>(array.element_count());
  numbers[3] = static_cast<int32_t>(array.size_bytes());
  return ffi::Error::Success();
}
}  // namespace any_buffer

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    copy_any, any_buffer::Copy,
    xla::ffi::Ffi::Bind().Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    describe_any, any_buffer::Describe,
    xla::ffi::Ffi::Bind().Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::Buffer<xla::ffi::S32>>());
