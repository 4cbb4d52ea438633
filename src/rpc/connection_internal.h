// Connection, inside — what its three files share: the socket (connection.c), HTTP/2 (http.c), time (connection_time.c).
#pragma once
#include "rpc/connection.h"

// Under the guard, but for opening.
FALLIBLE Status *connection_open_session(Connection *connection);
FALLIBLE Status *connection_receive(Connection *connection, const uint8_t *bytes, size_t n);
void connection_adopt(Connection *connection, HttpStream *stream);
bool connection_queue_is_full(const Connection *connection);
void connection_enough(Connection *connection, const char *why);  // GOAWAY ENHANCE_YOUR_CALM
void connection_heard_ping(Connection *connection);

// Timers.
void connection_set_tick(Connection *connection);
void connection_tick(EventTimer *timer);
