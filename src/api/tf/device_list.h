// The struct behind TF_DeviceList: its own copy.
#pragma once
#include "api/api.h"
#include "session/session.h"

// Of the session; NULL after the status was set.
TF_DeviceList *device_list_new(Session *session, TF_Status *status);
