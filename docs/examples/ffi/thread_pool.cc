// The device's threads. A handler that schedules tasks says by a future when the last one is done.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace thread_pool {
namespace ffi = xla::ffi;

// Squares an array in `tasks` parts.
ffi::Future Square(ffi::ThreadPool threads, ffi::BufferR1<ffi::F32> x,
                   ffi::Result<ffi::BufferR1<ffi::F32>> result, int64_t tasks) {
  auto promise = std::make_shared<ffi::Promise>();
  ffi::Future done(*promise);
  size_t size = x.element_count(), count = tasks < 1 ? 1 : static_cast<size_t>(tasks);
  auto left = std::make_shared<std::atomic<size_t>>(count);
  const float* from = x.typed_data();
  float* to = result->typed_data();
  for (size_t task = 0; task < count; ++task) {
    threads.Schedule([=] {
      for (size_t i = size * task / count; i < size * (task + 1) / count; ++i) {
        to[i] = from[i] * from[i];
      }
      if (--*left == 0) promise->SetAvailable();
    });
  }
  return done;
}

ffi::Error Count(ffi::ThreadPool threads, ffi::Result<ffi::BufferR0<ffi::S32>> count) {
  *count->typed_data() = static_cast<int32_t>(threads.num_threads());
  return ffi::Error::Success();
}
}  // namespace thread_pool

XLA_FFI_DEFINE_HANDLER_SYMBOL(parallel_square, thread_pool::Square,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::ThreadPool>()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Attr<int64_t>("tasks"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(thread_count, thread_pool::Count,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::ThreadPool>()
                                  .Ret<xla::ffi::BufferR0<xla::ffi::S32>>());
