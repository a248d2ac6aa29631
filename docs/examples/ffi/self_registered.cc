// A library that registers its handlers itself, when it is loaded.
//
// TPU_EMU_FFI=path/to/lib.so loads it into the process of the emulated TPU, which exports
// XLA_FFI_GetApi. A handler of platform "Host" serves the TPU too, one of "CUDA" does not.
#include "xla/ffi/api/ffi.h"

extern "C" const XLA_FFI_Api* XLA_FFI_GetApi();

namespace self_registered {
namespace ffi = xla::ffi;

using Float = ffi::BufferR0<ffi::F32>;

ffi::Error Twice(Float x, ffi::Result<Float> result) {
  *result->typed_data() = 2 * *x.typed_data();
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kTwice, Twice, ffi::Ffi::Bind().Arg<Float>().Ret<Float>());

XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "twice_tpu", "TPU", kTwice);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "twice_host", "Host", kTwice);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "twice_cuda", "CUDA", kTwice);
}  // namespace self_registered
