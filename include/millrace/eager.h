// eager.h — eager operations that are run again and again: what TFE_Execute finds out about a call is found out once.
#ifndef MILLRACE_EAGER_H_
#define MILLRACE_EAGER_H_

#include "millrace/millrace.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An op with its attributes, its device and the types of its inputs. Any number of threads may run it at once; its context
 * must live. */
typedef struct mr_call mr_call;

/* The call that `op` is, which keeps nothing of it: the inputs that it has stand for any of their types. */
MR_EXPORT mr_call *mr_call_new(const TFE_Op *op, TF_Status *status);
MR_EXPORT void mr_call_delete(mr_call *call);
MR_EXPORT int mr_call_num_outputs(const mr_call *call);
MR_EXPORT TF_DataType mr_call_output_type(const mr_call *call, int index);

/* Runs it. `inputs` are as many as the op had, of the same types; `outputs` has room for mr_call_num_outputs and is untouched on
 * failure. */
MR_EXPORT void mr_call_run(const mr_call *call, TFE_TensorHandle *const *inputs, TFE_TensorHandle **outputs,
                           TF_Status *status);
/* The same for a call of two inputs with one result; NULL on failure, and only then is `status` touched. */
MR_EXPORT TFE_TensorHandle *mr_call_one(const mr_call *call, TFE_TensorHandle *a, TFE_TensorHandle *b, TF_Status *status);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_EAGER_H_ */
