// An enum of the user's as an attribute: the program passes its number, of the enum's own width.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace user_enum {
enum class Rounding : int32_t { kDown = 0, kUp = 1, kNearest = 2 };
}  // namespace user_enum

XLA_FFI_REGISTER_ENUM_ATTR_DECODING(user_enum::Rounding);

namespace user_enum {
namespace ffi = xla::ffi;

ffi::Error Round(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result, Rounding how) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    float value = x.typed_data()[i];
    switch (how) {
      case Rounding::kDown:
        value = std::floor(value);
        break;
      case Rounding::kUp:
        value = std::ceil(value);
        break;
      case Rounding::kNearest:
        value = std::nearbyint(value);
        break;
      default:
        return ffi::Error(ffi::ErrorCode::kInvalidArgument, "no such rounding");
    }
    result->typed_data()[i] = value;
  }
  return ffi::Error::Success();
}
}  // namespace user_enum

XLA_FFI_DEFINE_HANDLER_SYMBOL(enum_round, user_enum::Round,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Attr<user_enum::Rounding>("how"));
