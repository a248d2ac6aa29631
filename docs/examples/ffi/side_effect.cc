// A call for its effect.
//
// Without a declared effect a call whose results nobody uses may be dropped. With one
// (has_side_effect=True in JAX) it is kept, and such calls run in the program's order.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace side_effect {
namespace ffi = xla::ffi;

std::mutex mutex;
std::vector<int64_t> journal;

ffi::Error Append(int64_t entry) {
  std::lock_guard<std::mutex> lock(mutex);
  journal.push_back(entry);
  return ffi::Error::Success();
}
}  // namespace side_effect

XLA_FFI_DEFINE_HANDLER_SYMBOL(journal_append, side_effect::Append,
                              xla::ffi::Ffi::Bind().Attr<int64_t>("entry"));

// The entries so far, `room` at most; returns how many there are.
extern "C" size_t journal_read(int64_t* entries, size_t room) {
  std::lock_guard<std::mutex> lock(side_effect::mutex);
  for (size_t i = 0; i < room && i < side_effect::journal.size(); ++i) {
    entries[i] = side_effect::journal[i];
  }
  return side_effect::journal.size();
}

extern "C" void journal_clear() {
  std::lock_guard<std::mutex> lock(side_effect::mutex);
  side_effect::journal.clear();
}
