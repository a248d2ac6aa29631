// Work on "the device": A[i] = B[i % size of B] + C[i].
//
// A handler for a real accelerator starts a kernel on a stream and returns. The memory of the
// emulated TPU is the host's, so the handler computes in place; the addresses are those that the
// trace shows.
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace on_device {
namespace ffi = xla::ffi;

ffi::Error AddWrapped(ffi::BufferR1<ffi::F32> b, ffi::BufferR1<ffi::F32> c,
                      ffi::Result<ffi::BufferR1<ffi::F32>> a) {
  size_t wrap = b.element_count(), size = c.element_count();
  if (wrap == 0 || a->element_count() != size) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "A has the size of C, and B is not empty");
  }
  for (size_t i = 0; i < size; ++i) {
    a->typed_data()[i] = b.typed_data()[i % wrap] + c.typed_data()[i];
  }
  return ffi::Error::Success();
}
}  // namespace on_device

XLA_FFI_DEFINE_HANDLER_SYMBOL(do_custom_call, on_device::AddWrapped,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::F32>>());
