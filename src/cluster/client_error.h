// Client error — an error as a TensorFlow client expects it: its last line names the node, as "[[{{node NAME}}]]". Python looks
// for that to show the user's lines that made the node, and as `e.op`.
#pragma once
#include "base/status.h"

// Takes and returns the status. The node is the first that the message names; without one nothing changes.
Status *client_error(Status *status) FALLIBLE;
