// The three signatures from before XLA FFI: pointers, no types, sizes known to both sides.
//
// Registered with api_version=0. The call's own api_version says which signature it is: 1, 2 or 3.
#include <cstddef>
#include <cstring>

struct XlaCustomCallStatus;

// The runtime's, found in the emulated TPU. Weak: the library also loads where nobody has it.
extern "C" __attribute__((weak)) void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status,
                                                                    const char* text, size_t size);

namespace untyped {
constexpr size_t kWrap = 128, kSize = 2048;

void AddWrapped(float* a, const float* b, const float* c) {
  for (size_t i = 0; i < kSize; ++i) a[i] = b[i % kWrap] + c[i];
}

void Fail(XlaCustomCallStatus* status, const char* text, size_t size) {
  if (XlaCustomCallStatusSetFailure != nullptr) XlaCustomCallStatusSetFailure(status, text, size);
}
}  // namespace untyped

// Version 1. One result: its memory; several: an array of theirs.
extern "C" void untyped_original(void* out, const void** in) {
  untyped::AddWrapped(static_cast<float*>(out), static_cast<const float*>(in[0]),
                      static_cast<const float*>(in[1]));
}

// Version 2: the same, and it may fail. It does where the first value of B is negative.
extern "C" void untyped_status(void* out, const void** in, XlaCustomCallStatus* status) {
  const float* b = static_cast<const float*>(in[0]);
  if (b[0] < 0) {
    const char* text = "B begins with a negative value";
    return untyped::Fail(status, text, std::strlen(text));
  }
  untyped::AddWrapped(static_cast<float*>(out), b, static_cast<const float*>(in[1]));
}

// Version 3: the same, and a text of the program's. A text other than "add" is its error.
extern "C" void untyped_unified(void* out, const void** in, const char* opaque, size_t size,
                                XlaCustomCallStatus* status) {
  if (size != 3 || std::memcmp(opaque, "add", size) != 0) {
    return untyped::Fail(status, opaque, size);
  }
  untyped::AddWrapped(static_cast<float*>(out), static_cast<const float*>(in[0]),
                      static_cast<const float*>(in[1]));
}
