// A handler in four stages, with a state that lives as long as the compiled program.
//
// instantiate runs once when a program is compiled, for each place that calls the target; its
// state is handed to the other stages. prepare and initialize run before each execution, execute
// whenever the call is reached. The state's type is registered under a name of its own.
#include <atomic>
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace stages {
namespace ffi = xla::ffi;

std::atomic<int64_t> live_states{0};

struct Counts {
  static ffi::TypeId id;

  explicit Counts(int64_t start) : executed(start) { ++live_states; }
  ~Counts() { --live_states; }

  std::atomic<int64_t> prepared{0};
  std::atomic<int64_t> initialized{0};
  std::atomic<int64_t> executed;
};

ffi::TypeId Counts::id = {};

#if XLA_FFI_API_MINOR >= 2
ffi::TypeInfo counts_info = ffi::MakeTypeInfo<Counts>();
#endif

ffi::ErrorOr<std::unique_ptr<Counts>> Instantiate(int64_t start) {
  if (start < 0) {
    return ffi::Unexpected(ffi::Error(ffi::ErrorCode::kInvalidArgument, "start is below 0"));
  }
  return std::make_unique<Counts>(start);
}

// The stages see all of a call. Early headers want all of it bound, used or not.
ffi::Error Prepare(Counts* counts, ffi::RemainingRets, ffi::Dictionary) {
  ++counts->prepared;
  return ffi::Error::Success();
}

ffi::Error Initialize(Counts* counts, ffi::RemainingRets, ffi::Dictionary) {
  ++counts->initialized;
  return ffi::Error::Success();
}

// The result is how often each stage ran.
ffi::Error Execute(Counts* counts, ffi::Result<ffi::BufferR1<ffi::S32>> result, ffi::Dictionary) {
  if (result->element_count() != 3) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "there are 3 counts");
  }
  result->typed_data()[0] = static_cast<int32_t>(counts->prepared);
  result->typed_data()[1] = static_cast<int32_t>(counts->initialized);
  result->typed_data()[2] = static_cast<int32_t>(++counts->executed);
  return ffi::Error::Success();
}
}  // namespace stages

XLA_FFI_DEFINE_HANDLER_SYMBOL(stages_instantiate, stages::Instantiate,
                              xla::ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(stages_prepare, stages::Prepare,
                              xla::ffi::Ffi::Bind<xla::ffi::ExecutionStage::kPrepare>()
                                  .Ctx<xla::ffi::State<stages::Counts>>()
                                  .RemainingRets()
                                  .Attrs());

XLA_FFI_DEFINE_HANDLER_SYMBOL(stages_initialize, stages::Initialize,
                              xla::ffi::Ffi::Bind<xla::ffi::ExecutionStage::kInitialize>()
                                  .Ctx<xla::ffi::State<stages::Counts>>()
                                  .RemainingRets()
                                  .Attrs());

XLA_FFI_DEFINE_HANDLER_SYMBOL(stages_execute, stages::Execute,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::State<stages::Counts>>()
                                  .Ret<xla::ffi::BufferR1<xla::ffi::S32>>()
                                  .Attrs());

// What a program registers as the type "stages.Counts".
extern "C" xla::ffi::TypeId* stages_type_id() { return &stages::Counts::id; }

#if XLA_FFI_API_MINOR >= 2
extern "C" xla::ffi::TypeInfo* stages_type_info() { return &stages::counts_info; }
#endif

// How many states are alive: each dies with its program.
extern "C" int64_t stages_live_states() { return stages::live_states; }
