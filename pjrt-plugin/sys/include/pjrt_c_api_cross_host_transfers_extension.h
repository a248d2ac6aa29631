/* Extension 12, versions 2 to 5: arrays that one process sends and another receives, without a
   program. Both name a transfer by its key. Of version 1, which exchanges descriptors through the
   client, only the places in the table are declared: its structs differ between versions. */
#ifndef TPU_EMU_PJRT_C_API_CROSS_HOST_TRANSFERS_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_CROSS_HOST_TRANSFERS_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_CROSS_HOST_TRANSFERS_EXTENSION_VERSION 5

typedef struct PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
} PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args;

typedef struct PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
} PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args;

typedef struct PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_buffers;
  PJRT_Buffer** buffers;
  const int32_t* dst_global_device_ids;  /* one a buffer; of 8 bytes in some clients */
  const int64_t* transfer_keys;  /* one a buffer; version 2 has one number for all in its place */
  PJRT_Event** send_events;  /* out, one a buffer */
} PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args;

typedef struct PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_shapes;
  size_t* shape_num_dims;
  const int64_t** num_dims;  /* the dimensions of each */
  PJRT_Buffer_Type* element_types;
  PJRT_Buffer_MemoryLayout** layouts;  /* NULL for the default */
  PJRT_Device* device;
  const int32_t* src_global_device_ids;  /* as above */
  const int64_t* transfer_keys;  /* as above */
  PJRT_Buffer** buffers;  /* out, one a shape */
} PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args;

typedef struct PJRT_CrossHostTransfers_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers)(
      PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args* args);
  void (*PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice)(
      PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args* args);
  PJRT_Error* (*PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers)(
      PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args* args);
  PJRT_Error* (*PJRT_Transfers_PJRT_Client_CrossHostSendBuffers)(
      PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args* args);
} PJRT_CrossHostTransfers_Extension;

#ifdef __cplusplus
}
#endif

#endif
