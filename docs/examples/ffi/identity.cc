// Which run, on which device: the run's number is that of one execution of the program, the
// device's that of the chip in the topology.
#include <cstdint>

#include "xla/ffi/api/ffi.h"

// The bindings are younger than version 0.1 of the interface, which some headers with them still
// report.
#if defined(EXAMPLE_HAS_RUN_ID) || XLA_FFI_API_MINOR >= 2
namespace identity {
namespace ffi = xla::ffi;

ffi::Error RunAndDevice(ffi::RunId run, int32_t device,
                        ffi::Result<ffi::BufferR1<ffi::S32>> result) {
  if (result->element_count() != 3) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "the result has 3 numbers");
  }
  result->typed_data()[0] = static_cast<int32_t>(run.run_id >> 32);
  result->typed_data()[1] = static_cast<int32_t>(run.run_id);
  result->typed_data()[2] = device;
  return ffi::Error::Success();
}
}  // namespace identity

XLA_FFI_DEFINE_HANDLER_SYMBOL(run_and_device, identity::RunAndDevice,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::RunId>()
                                  .Ctx<xla::ffi::DeviceOrdinal>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::S32>>());
#endif
