// The two smallest handlers: one that fails, one that does nothing.
//
// A handler is a function that returns `ffi::Error`, and a binding that says how to call it. The
// macro makes a C function of both, under the name that is registered. The error's text reaches
// the program that runs the call; the device stays usable. The one that fails takes whatever
// arguments and results the call has.
#include "xla/ffi/api/ffi.h"

namespace always {
namespace ffi = xla::ffi;

ffi::Error Fail(ffi::RemainingArgs, ffi::RemainingRets) { return ffi::Error(ffi::ErrorCode::kInternal, "this handler always fails"); }

ffi::Error Succeed() { return ffi::Error::Success(); }
}  // namespace always

XLA_FFI_DEFINE_HANDLER_SYMBOL(always_error, always::Fail,
                              xla::ffi::Ffi::Bind().RemainingArgs().RemainingRets());

XLA_FFI_DEFINE_HANDLER_SYMBOL(always_success, always::Succeed, xla::ffi::Ffi::Bind());
