// Data that a client attaches to an execution.
//
// A C client makes an execute context, adds a pointer under the number of a registered type, and
// executes with it (PJRT_FFI_UserData_Add). JAX has no way to do so.
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace user_data {
namespace ffi = xla::ffi;

struct Bias {
  static ffi::TypeId id;
  float value;
};

ffi::TypeId Bias::id = {};

ffi::Error Add(Bias* bias, ffi::BufferR0<ffi::F32> x, ffi::Result<ffi::BufferR0<ffi::F32>> result) {
  *result->typed_data() = *x.typed_data() + bias->value;
  return ffi::Error::Success();
}
}  // namespace user_data

XLA_FFI_DEFINE_HANDLER_SYMBOL(add_user_data, user_data::Add,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::UserData<user_data::Bias>>()
                                  .Arg<xla::ffi::BufferR0<xla::ffi::F32>>()
                                  .Ret<xla::ffi::BufferR0<xla::ffi::F32>>());

// What a client registers as the type "user_data.Bias".
extern "C" xla::ffi::TypeId* user_data_type_id() { return &user_data::Bias::id; }
