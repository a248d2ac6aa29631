// C++ exceptions that leave a handler: the call fails with their type and words.
//
// A handler should catch what it can and say it by an error. What it does not catch ends at the
// runtime, which is better than the end of the process; on other processors than x86-64 it is the
// end of the process.
#include <atomic>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace exceptions {
namespace ffi = xla::ffi;

// Something that is thrown and is no std::exception.
struct Plain {
  Plain() { ++live; }
  Plain(const Plain&) { ++live; }
  ~Plain() { --live; }
  static std::atomic<int64_t> live;
};

std::atomic<int64_t> Plain::live{0};

// A std::exception behind two bases, one of them virtual.
struct Detail {
  virtual ~Detail() = default;
  int64_t line = 7;
};
struct Failure : Detail, virtual std::exception {
  const char* what() const noexcept override { return "behind two bases"; }
};

// The first words and the rest are longer than a short string.
void Throw(int64_t kind) {
  switch (kind) {
    case 0:
      throw std::runtime_error("the matrix is singular, which nobody expected");
    case 1:
      throw 42;
    case 2:
      throw "only words";
    case 3:
      throw Plain();
    case 4:
      throw Failure();
    case 5:
      try {
        throw std::out_of_range("thrown again");
      } catch (...) {
        std::rethrow_exception(std::current_exception());
      }
    default:
      return;
  }
}

// Throws in the stage that the call asks for.
ffi::Error Stage(int64_t own, int64_t stage, int64_t kind) {
  Plain unwound;
  if (stage == own) Throw(kind);
  return ffi::Error::Success();
}

ffi::Error Instantiate(int64_t stage, int64_t kind) { return Stage(0, stage, kind); }

ffi::Error Prepare(ffi::RemainingArgs, ffi::RemainingRets, int64_t stage, int64_t kind) {
  return Stage(1, stage, kind);
}

ffi::Error Initialize(ffi::RemainingArgs, ffi::RemainingRets, int64_t stage, int64_t kind) {
  return Stage(2, stage, kind);
}

ffi::Error Execute(ffi::RemainingArgs, ffi::RemainingRets, int64_t stage, int64_t kind) {
  return Stage(3, stage, kind);
}

// How many exceptions this thread has thrown that nobody caught: none.
ffi::Error Uncaught(ffi::Result<ffi::BufferR0<ffi::S32>> count) {
  *count->typed_data() = std::uncaught_exceptions();
  return ffi::Error::Success();
}

// A task that throws where the handler waits for it by a future.
ffi::Future Task(ffi::ThreadPool threads, ffi::RemainingRets) {
  static ffi::Promise* kept = nullptr;
  kept = new ffi::Promise();
  threads.Schedule([] { Throw(0); });
  return ffi::Future(*kept);
}
}  // namespace exceptions

extern "C" int64_t exceptions_live() { return exceptions::Plain::live; }

extern "C" void exceptions_untyped(void*, const void**) { exceptions::Throw(0); }

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    exceptions_instantiate, exceptions::Instantiate,
    xla::ffi::Ffi::BindInstantiate().Attr<int64_t>("stage").Attr<int64_t>("kind"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(exceptions_prepare, exceptions::Prepare,
                              xla::ffi::Ffi::Bind<xla::ffi::ExecutionStage::kPrepare>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("stage")
                                  .Attr<int64_t>("kind"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(exceptions_initialize, exceptions::Initialize,
                              xla::ffi::Ffi::Bind<xla::ffi::ExecutionStage::kInitialize>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("stage")
                                  .Attr<int64_t>("kind"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(exceptions_execute, exceptions::Execute,
                              xla::ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("stage")
                                  .Attr<int64_t>("kind"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(exceptions_uncaught, exceptions::Uncaught,
                              xla::ffi::Ffi::Bind().Ret<xla::ffi::BufferR0<xla::ffi::S32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    exceptions_task, exceptions::Task,
    xla::ffi::Ffi::Bind().Ctx<xla::ffi::ThreadPool>().RemainingRets());
