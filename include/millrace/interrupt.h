// interrupt.h — a signal ends the step that is under way: for languages whose handlers wait until C returns.
#ifndef MILLRACE_INTERRUPT_H_
#define MILLRACE_INTERRUPT_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a signal's number is written to the descriptor by the language's own handler, at once (Python's signal.set_wakeup_fd),
 * SIGINT ends the step of TF_SessionRun that the calling thread has in flight, with CANCELLED; the session goes on. A thread
 * reads the descriptor until its other end is closed. A forked child has to ask again, with a descriptor of its own. */
MR_EXPORT void mr_interrupt_from(int fd, TF_Status *status);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_INTERRUPT_H_ */
