// Several results: XLA's tuple, opened. A handler sees one result for each leaf.
#include <algorithm>
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace tuples {
namespace ffi = xla::ffi;

using Floats = ffi::BufferR1<ffi::F32>;
using Float = ffi::BufferR0<ffi::F32>;

ffi::Error MinMax(Floats x, ffi::Result<Float> least, ffi::Result<Float> greatest) {
  if (x.element_count() == 0) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "an empty array has neither");
  }
  const float *begin = x.typed_data(), *end = begin + x.element_count();
  *least->typed_data() = *std::min_element(begin, end);
  *greatest->typed_data() = *std::max_element(begin, end);
  return ffi::Error::Success();
}

// The middle value. The second result is memory to sort in; the program does not use it.
ffi::Error Median(Floats x, ffi::Result<Float> median, ffi::Result<Floats> temporary) {
  size_t size = x.element_count();
  if (size == 0 || temporary->element_count() != size) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "the temporary has the size of x, not 0");
  }
  float* sorted = temporary->typed_data();
  std::copy_n(x.typed_data(), size, sorted);
  std::nth_element(sorted, sorted + size / 2, sorted + size);
  *median->typed_data() = sorted[size / 2];
  return ffi::Error::Success();
}
}  // namespace tuples

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    min_max, tuples::MinMax,
    xla::ffi::Ffi::Bind().Arg<tuples::Floats>().Ret<tuples::Float>().Ret<tuples::Float>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    median_with_temporary, tuples::Median,
    xla::ffi::Ffi::Bind().Arg<tuples::Floats>().Ret<tuples::Float>().Ret<tuples::Floats>());
