/* Device events: the light events of raw buffers, with reference counts instead of an owner.
   Part of the raw buffer extension. */
#ifndef TPU_EMU_PJRT_C_API_DEVICE_EVENT_H_
#define TPU_EMU_PJRT_C_API_DEVICE_EVENT_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called exactly once. */
typedef void (*PJRT_DeviceEvent_AndThen)(void* user_arg);

typedef enum {
  PJRT_DeviceEvent_State_Unavailable = 0,
  PJRT_DeviceEvent_State_Ready = 1,
  PJRT_DeviceEvent_State_Error = 2,
} PJRT_DeviceEvent_State;

typedef struct PJRT_DeviceEvent_FunctionTable PJRT_DeviceEvent_FunctionTable;

struct PJRT_DeviceEvent_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(void* device_event);
  void (*dec_ref)(void* device_event);
  void (*and_then)(void* device_event, PJRT_DeviceEvent_AndThen callback, void* user_arg);
  /* 0 if there is none; message lives as long as the event */
  int (*get_error_if_present)(
      void* device_event, PJRT_Error_Code* code, const char** message, size_t* message_size);
  /* NULL, or a table this event may be used with too */
  const PJRT_DeviceEvent_FunctionTable* parent;
  PJRT_DeviceEvent_State (*get_state)(void* device_event);
  /* 0 if there is none */
  intptr_t (*get_definition_stream)(void* device_event, uint64_t* sequence_number);
};

/* An event with its functions, passed by value. */
typedef struct PJRT_DeviceEvent {
  const PJRT_DeviceEvent_FunctionTable* vtable;
  void* device_event;
} PJRT_DeviceEvent;

typedef struct PJRT_DeviceEventVector {
  PJRT_DeviceEvent* data;
  size_t size;
  size_t capacity;
  void (*destroy)(PJRT_DeviceEvent* data);  /* drops the events and frees data */
} PJRT_DeviceEventVector;

typedef struct PJRT_DeviceEventPromise PJRT_DeviceEventPromise;

typedef struct PJRT_DeviceEventPromise_FunctionTable {
  size_t struct_size;
  size_t instance_size;  /* of PJRT_DeviceEventPromise */
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_DeviceEventPromise* promise);
  void (*dec_ref)(PJRT_DeviceEventPromise* promise);
  PJRT_DeviceEvent (*event)(PJRT_DeviceEventPromise* promise);
  /* takes a reference of its own */
  void (*set)(PJRT_DeviceEventPromise* promise, PJRT_DeviceEvent event);
  void (*set_error)(PJRT_DeviceEventPromise* promise, PJRT_Error* error);  /* owns error */
  void (*set_ready)(PJRT_DeviceEventPromise* promise);
} PJRT_DeviceEventPromise_FunctionTable;

struct PJRT_DeviceEventPromise {
  const PJRT_DeviceEventPromise_FunctionTable* vtable;
};

#ifdef __cplusplus
}
#endif

#endif
