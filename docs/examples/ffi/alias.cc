// A result in the memory of an argument.
//
// input_output_aliases={0: 0} in JAX: the result begins with the argument's values. If the caller
// donates the argument, no memory is taken; if not, the device copies it first.
#include <cstddef>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace alias {
namespace ffi = xla::ffi;

using Floats = ffi::BufferR1<ffi::F32>;

// Adds 1 in place. The second result says whether argument and result were at one address.
ffi::Error Increment(Floats x, ffi::Result<Floats> result,
                     ffi::Result<ffi::BufferR0<ffi::S32>> shared) {
  *shared->typed_data() = x.untyped_data() == result->untyped_data() ? 1 : 0;
  for (size_t i = 0; i < result->element_count(); ++i) result->typed_data()[i] += 1;
  return ffi::Error::Success();
}
}  // namespace alias

XLA_FFI_DEFINE_HANDLER_SYMBOL(alias_increment, alias::Increment,
                              xla::ffi::Ffi::Bind()
                                  .Arg<alias::Floats>()
                                  .Ret<alias::Floats>()
                                  .Ret<xla::ffi::BufferR0<xla::ffi::S32>>());
