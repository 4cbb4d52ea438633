// Interrupt — steps that a signal ends; see mr_interrupt_from.
#pragma once
#include "thread/cancellation.h"

// The cancellation for a step that this thread begins, or NULL: it hasn't asked for one, or is within a step already.
Cancellation *interrupt_step_begins(void);
void interrupt_step_ended(Cancellation *cancellation);
