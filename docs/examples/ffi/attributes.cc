// Attributes: constants that the program fixes when it is compiled.
//
// A scalar, an array and a string. JAX makes them of keyword arguments: numpy.float32(2) is a
// scalar, a numpy array is an array, a str is a string. Names and types must match exactly.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace attributes {
namespace ffi = xla::ffi;

// Result = x * scale + offsets[i % size], if `mode` is "affine".
ffi::Error Affine(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result, float scale,
                  ffi::Span<const int64_t> offsets, std::string_view mode) {
  if (mode != "affine") {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "unknown mode " + std::string(mode));
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    int64_t offset = offsets.size() == 0 ? 0 : offsets[i % offsets.size()];
    result->typed_data()[i] = x.typed_data()[i] * scale + static_cast<float>(offset);
  }
  return ffi::Error::Success();
}
}  // namespace attributes

XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes_affine, attributes::Affine,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Attr<float>("scale")
                                  .Attr<xla::ffi::Span<const int64_t>>("offsets")
                                  .Attr<std::string_view>("mode"));
