// Device memory for the time of one call.
//
// It is taken from the HBM, so it counts against the device's limit, and the trace shows who took
// it: the handler's C++ line above the Python line that ran the program.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace scratch {
namespace ffi = xla::ffi;

// Reverses an array by way of `bytes` bytes of scratch memory.
ffi::Error Reverse(ffi::ScratchAllocator memory, ffi::BufferR1<ffi::F32> x,
                   ffi::Result<ffi::BufferR1<ffi::F32>> result, int64_t bytes) {
  size_t size = x.element_count();
  if (bytes < 0 || size > static_cast<size_t>(bytes) / sizeof(float)) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "too few bytes of scratch memory");
  }
  std::optional<void*> block = memory.Allocate(static_cast<size_t>(bytes), alignof(float));
  if (!block.has_value()) {
    std::string text = "no scratch memory of " + std::to_string(bytes) + " bytes";
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, text);
  }
  float* reversed = static_cast<float*>(*block);
  for (size_t i = 0; i < size; ++i) reversed[size - 1 - i] = x.typed_data()[i];
  for (size_t i = 0; i < size; ++i) result->typed_data()[i] = reversed[i];
  return ffi::Error::Success();
}
}  // namespace scratch

XLA_FFI_DEFINE_HANDLER_SYMBOL(scratch_reverse, scratch::Reverse,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::ScratchAllocator>()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Attr<int64_t>("bytes"));
