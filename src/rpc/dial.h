// Dial — what a channel's loop runs to connect.
#pragma once
#include "rpc/channel_internal.h"

void dial_run(EventTask *task);                         // Channel.dial: looks the address up and tries
void dial_timer(EventTimer *timer);                     // Channel.timer: a try took too long, or a rest is over
void dial_ready(EventSource *source, uint32_t events);  // Channel.source: a try has ended
