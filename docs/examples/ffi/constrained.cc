// Buffers whose type and rank the binding demands.
//
// A call with another type or rank fails before the handler's function runs, with a text of the
// binding that says what it got. `BufferR1<F32>` is short for `Buffer<F32, 1>`.
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace constrained {
namespace ffi = xla::ffi;

ffi::Error Dot(ffi::BufferR1<ffi::F32> x, ffi::BufferR1<ffi::F32> y,
               ffi::Result<ffi::BufferR0<ffi::F32>> result) {
  if (x.element_count() != y.element_count()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "both vectors must have one length");
  }
  float sum = 0;
  for (size_t i = 0; i < x.element_count(); ++i) {
    sum += x.typed_data()[i] * y.typed_data()[i];
  }
  *result->typed_data() = sum;
  return ffi::Error::Success();
}
}  // namespace constrained

XLA_FFI_DEFINE_HANDLER_SYMBOL(constrained_dot, constrained::Dot,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR0<xla::ffi::F32>>());
