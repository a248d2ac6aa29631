// An argument and a result that a call may leave out.
//
// x + y with both arguments, x with one. The second result, if the call has it, is the number of
// arguments.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "xla/ffi/api/ffi.h"

namespace optional {
namespace ffi = xla::ffi;

using Floats = ffi::Buffer<ffi::F32>;
using Count = ffi::BufferR0<ffi::S32>;

ffi::Error Add(Floats x, std::optional<Floats> y, ffi::Result<Floats> sum,
               std::optional<ffi::Result<Count>> count) {
  if (x.element_count() != sum->element_count() ||
      (y.has_value() && y->element_count() != x.element_count())) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "all arrays must have one size");
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    sum->typed_data()[i] = x.typed_data()[i] + (y.has_value() ? y->typed_data()[i] : 0);
  }
  if (count.has_value()) *(*count)->typed_data() = y.has_value() ? 2 : 1;
  return ffi::Error::Success();
}
}  // namespace optional

XLA_FFI_DEFINE_HANDLER_SYMBOL(optional_add, optional::Add,
                              xla::ffi::Ffi::Bind()
                                  .Arg<optional::Floats>()
                                  .OptionalArg<optional::Floats>()
                                  .Ret<optional::Floats>()
                                  .OptionalRet<optional::Count>());
