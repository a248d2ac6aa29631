// All attributes as one dictionary, whatever their names.
//
// The result is the polynomial whose coefficients are the attributes "c0", "c1", … as long as
// there are such; "c0" must be there.
#include <cstddef>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace dictionary {
namespace ffi = xla::ffi;

ffi::Error Polynomial(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result,
                      ffi::Dictionary coefficients) {
  // An attribute that is missing, or of another type, gives an error with a text.
  ffi::ErrorOr<float> constant = coefficients.get<float>("c0");
  if (constant.has_error()) return constant.error();
  for (size_t i = 0; i < x.element_count(); ++i) {
    float sum = constant.value(), power = 1;
    for (int n = 1;; ++n) {
      std::string name = "c" + std::to_string(n);
      if (!coefficients.contains(name)) break;
      ffi::ErrorOr<float> coefficient = coefficients.get<float>(name);
      if (coefficient.has_error()) return coefficient.error();
      power *= x.typed_data()[i];
      sum += coefficient.value() * power;
    }
    result->typed_data()[i] = sum;
  }
  return ffi::Error::Success();
}
}  // namespace dictionary

XLA_FFI_DEFINE_HANDLER_SYMBOL(dictionary_polynomial, dictionary::Polynomial,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                                  .Attrs());
