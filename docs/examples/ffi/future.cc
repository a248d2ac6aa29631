// Handlers that go on after they have returned.
//
// The promise is fulfilled on another thread, or fails there. Results are ready, and scratch
// memory and buffers are released, when it is. One that is never fulfilled ends in an error when
// the device's patience does.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace future {
namespace ffi = xla::ffi;

// Negates an array on a thread of its own.
ffi::Future Negate(ffi::BufferR1<ffi::F32> x, ffi::Result<ffi::BufferR1<ffi::F32>> result) {
  // Early headers have promises that cannot be copied.
  auto promise = std::make_shared<ffi::Promise>();
  ffi::Future done(*promise);
  std::thread([=, from = x.typed_data(), to = result->typed_data(), size = x.element_count()] {
    for (size_t i = 0; i < size; ++i) to[i] = -from[i];
    promise->SetAvailable();
  }).detach();
  return done;
}

ffi::Future Fail(ffi::RemainingArgs, ffi::RemainingRets, std::string_view text) {
  auto promise = std::make_shared<ffi::Promise>();
  ffi::Future done(*promise);
  std::thread([promise, text = std::string(text)] {
    promise->SetError(ffi::Error(ffi::ErrorCode::kInternal, text));
  }).detach();
  return done;
}

// The promise is kept by nobody who fulfils it.
ffi::Future Forget(ffi::RemainingArgs, ffi::RemainingRets) {
  static ffi::Promise* forgotten = nullptr;
  forgotten = new ffi::Promise();
  return ffi::Future(*forgotten);
}
}  // namespace future

XLA_FFI_DEFINE_HANDLER_SYMBOL(future_negate, future::Negate,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::BufferR1<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(future_error, future::Fail,
                              xla::ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("text"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(future_never, future::Forget,
                              xla::ffi::Ffi::Bind().RemainingArgs().RemainingRets());
