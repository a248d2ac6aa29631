// As many arguments and results as the call has.
//
// The first argument is a factor; each further one is scaled into the result at its place.
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace variadic {
namespace ffi = xla::ffi;

ffi::Error Scale(ffi::BufferR0<ffi::F32> factor, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  if (args.size() != rets.size()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "as many results as arguments are needed");
  }
  for (size_t n = 0; n < args.size(); ++n) {
    // Decoding may fail, so it gives a value or an error.
    auto from = args.get<ffi::Buffer<ffi::F32>>(n);
    auto to = rets.get<ffi::Buffer<ffi::F32>>(n);
    if (from.has_error()) return from.error();
    if (to.has_error()) return to.error();
    if (from->element_count() != (*to)->element_count()) {
      return ffi::Error(ffi::ErrorCode::kInvalidArgument, "a result has another size");
    }
    for (size_t i = 0; i < from->element_count(); ++i) {
      (*to)->typed_data()[i] = *factor.typed_data() * from->typed_data()[i];
    }
  }
  return ffi::Error::Success();
}
}  // namespace variadic

XLA_FFI_DEFINE_HANDLER_SYMBOL(variadic_scale, variadic::Scale,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::BufferR0<xla::ffi::F32>>()
                                  .RemainingArgs()
                                  .RemainingRets());
