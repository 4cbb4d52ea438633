// The struct behind TF_DeviceList: its own copy.
#pragma once
#include "api/api.h"
#include "device/device.h"

// NULL after the status was set.
TF_DeviceList *device_list_new(const DeviceSet *devices, TF_Status *status);
