// millrace.h — what Millrace offers beyond TensorFlow's C interface: text, ops, plans, networks.
/*
 * A complement to tensorflow/c/c_api.h, and made of the same parts: graphs, sessions, tensors, buffers and statuses are
 * those of TF_*. As there, a function that can fail sets its last argument, `status`, which must not be NULL; what a
 * function hands out is the caller's to delete, but for strings, which live as long as what they were asked of.
 *
 * The rules by which this header may change: functions and the members of structs are added, never changed or taken
 * away; a struct that the caller provides carries its size, so that older programs run with newer libraries.
 */
#ifndef MILLRACE_MILLRACE_H_
#define MILLRACE_MILLRACE_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

#define MR_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of this library; TF_Version tells the version of TensorFlow that it stands in for. */
MR_EXPORT const char *mr_version(void);
/* INVALID_ARGUMENT where a variable of the environment, MILLRACE_LOG and so on, holds what means nothing; the message names
 * it and what is allowed. Opening a session asks the same. */
MR_EXPORT void mr_environment_check(TF_Status *status);

/* ---------------------------------------- text ---------------------------------------- */

/* How tensors are written. Plain text reads back as the same tensor: "[[1 2 3] [4 5 6]]", "int32 [1 2]", "zeros[2 3]". */
enum {
    MR_PLAIN = 0,
    MR_LINES = 1,    /* one line per row */
    MR_SHORT = 2,    /* the edges of large tensors only */
    MR_JSON = 4,     /* lists of numbers; "NaN", "Infinity" and "-Infinity" are texts, as in protobuf's JSON */
};

/* Reads a tensor; `dtype` 0 takes the type that the text names or has by nature (numbers are float). */
MR_EXPORT TF_Tensor *mr_tensor_parse(const char *text, TF_DataType dtype, TF_Status *status);
/* Writes a tensor into an empty buffer, followed by a NUL that `length` does not count. */
MR_EXPORT void mr_tensor_print(const TF_Tensor *tensor, int style, TF_Buffer *out, TF_Status *status);
/* The name of a type, "float", and back; NULL and 0 where there is none. */
MR_EXPORT const char *mr_dtype_name(TF_DataType dtype);
MR_EXPORT TF_DataType mr_dtype_find(const char *name);

/* Reads a message of TensorFlow's in its text form, as in files called .pbtxt, and writes it in its binary form into an empty
 * buffer; and the way back. `message`: "GraphDef", "SavedModel", "MetaGraphDef" or "FunctionDef". */
MR_EXPORT void mr_message_parse(const char *message, const char *text, size_t length, TF_Buffer *out, TF_Status *status);
MR_EXPORT void mr_message_print(const char *message, const void *bytes, size_t length, TF_Buffer *out, TF_Status *status);

/* Calculates a call of an op, "Sum([[1 2] [3 4]], 0; keep_dims=true)": arguments are tensors as text, calls, and lists of
 * them in braces. Gives the number of results, of which at most `most` are stored (release them with TF_DeleteTensor);
 * -1 on failure. */
MR_EXPORT int mr_eval(const char *call, TF_Tensor **results, int most, TF_Status *status);

/* ---------------------------------------- ops ---------------------------------------- */

typedef enum {
    MR_GRADIENT_UNDEFINED = 0,
    MR_GRADIENT_ZERO = 1,      /* by nature: a comparison, a shape */
    MR_GRADIENT_DEFINED = 2,
} mr_gradient;

typedef struct mr_op_info {
    size_t struct_size;         /* to be set: sizeof(mr_op_info) */
    const char *name;
    const char *doc;            /* one sentence; "" where there is none */
    int has_kernel;             /* whether it can run */
    int is_stateful;
    int is_composed;            /* runs as the graph that it stands for */
    mr_gradient gradient;
    const TF_DataType *dtypes;  /* of the op's first type attribute; valid until this thread asks for another op */
    int num_dtypes;             /* -1: every type */
} mr_op_info;

/* The op at that place in the list, from 0; returns 0 behind the last. All ops that a graph may hold are listed. */
MR_EXPORT int mr_op_at(size_t index, mr_op_info *info);
/* The op of that name; returns 0 where there is none. */
MR_EXPORT int mr_op_find(const char *name, mr_op_info *info);
/* The signature: inputs, outputs and attributes, on one line. */
MR_EXPORT void mr_op_signature(const char *name, TF_Buffer *out, TF_Status *status);

/* ---------------------------------------- plans ---------------------------------------- */

/* What a session runs for one choice of feeds, fetches and targets. */
typedef struct mr_plan mr_plan;

typedef enum {
    MR_NODE_DYNAMIC = 0,      /* sized and prepared in each run */
    MR_NODE_SPECIALISED = 1,     /* sized and prepared beforehand: its outputs have their places in memory */
    MR_NODE_KNOWN = 2,      /* known beforehand, or only another view of its input: does not run */
} mr_node_mode;

typedef struct mr_plan_node {
    size_t struct_size;        /* to be set: sizeof(mr_plan_node) */
    const char *name, *op, *device;
    mr_node_mode mode;
    int num_outputs;
    int64_t bytes;             /* of its outputs together; -1 where unknown */
    int64_t offset;            /* of the first output in the step's memory; -1: a buffer of its own, or none */
    const char *implementation; /* which of several was chosen, by its name; NULL: one, or not known yet */
    int64_t reordered_bytes;   /* that each run lays out anew: weights that changed, [n, c, h, w] as [n, h, w, c] */
    int depth;                 /* how many loops it is in; the nodes of a loop come behind the loop's own */
    const char *const *inputs; /* what it reads, "name" or "name:1"; lives as long as the plan */
    int num_inputs;
} mr_plan_node;

typedef struct mr_plan_info {
    size_t struct_size;        /* to be set: sizeof(mr_plan_info) */
    size_t num_nodes;
    size_t num_run;            /* nodes that run in each step, when the shapes are known */
    int is_propagated;         /* control flow: nodes run in the order in which their inputs arrive */
    int is_specialised;              /* the shapes given sized at least one node */
    int64_t arena_bytes;       /* memory of a step, packed: results of specialised nodes, and what their kernels need */
    int64_t lower_bound;       /* the most of that in use at one time: no packing needs less */
    int64_t own_bytes;         /* sized results outside, in buffers of their own: a variable's, or fetched */
    size_t num_dynamic;           /* nodes whose results lie outside too, and get their size when they run */
    size_t num_reorders;       /* nodes that lay something out anew in each run */
    int64_t reordered_bytes;   /* how much, at most */
    size_t num_recomputed;     /* values that are computed a second time, for late readers, instead of being kept */
    int64_t recompute_saves;   /* by which lower_bound is less for it */
} mr_plan_info;

/* The plan as it would be for these feeds; `values` as for TF_SessionRun. Runs nothing. */
MR_EXPORT mr_plan *mr_plan_new(TF_Session *session, const TF_Output *inputs, TF_Tensor *const *values, int ninputs,
                               const TF_Output *outputs, int noutputs, const TF_Operation *const *targets, int ntargets,
                               TF_Status *status);
MR_EXPORT void mr_plan_delete(mr_plan *plan);
MR_EXPORT void mr_plan_get_info(const mr_plan *plan, mr_plan_info *info);
/* The node at that place in the order of running; returns 0 behind the last. */
MR_EXPORT int mr_plan_node_at(const mr_plan *plan, size_t index, mr_plan_node *node);

/* ---------------------------------------- networks ---------------------------------------- */

/* A network being written into a graph: its variables, and the first error, which the next mr_net_status tells. After an
 * error the functions that write do nothing, so a network can be written without a check after each line. */
typedef struct mr_net mr_net;

/* `seed` makes the first values of the variables. The graph must live until the net is deleted. */
MR_EXPORT mr_net *mr_net_new(TF_Graph *graph, int64_t seed);
MR_EXPORT void mr_net_delete(mr_net *net);
MR_EXPORT void mr_net_status(const mr_net *net, TF_Status *status);

/* A placeholder; unknown extents are -1. */
MR_EXPORT TF_Output mr_input(mr_net *net, const char *name, TF_DataType dtype, const int64_t *dims, int num_dims);
/* A variable with that first value; gives its value. */
MR_EXPORT TF_Output mr_variable(mr_net *net, const char *name, TF_Output initial, int trainable);
/* A constant; takes a copy. */
MR_EXPORT TF_Output mr_constant(mr_net *net, const TF_Tensor *value);
MR_EXPORT TF_Output mr_scalar(mr_net *net, double value, TF_DataType dtype);
/* A node of any op with these inputs and no attributes but those that follow from them; its first output. */
MR_EXPORT TF_Output mr_op(mr_net *net, const char *op, const TF_Output *inputs, int ninputs);
/* The same values as another type; the edge itself where it has that type. */
MR_EXPORT TF_Output mr_cast(mr_net *net, TF_Output x, TF_DataType dtype);
/* One behind the other along that dimension. */
MR_EXPORT TF_Output mr_concat(mr_net *net, const TF_Output *xs, int nxs, int axis);
/* The same elements as rows of that many, or in other words [-1 width]; 0: all in one row, [-1]. */
MR_EXPORT TF_Output mr_rows(mr_net *net, TF_Output x, int64_t width);
/* The same edge under a name of its own, to be found in a saved graph. */
MR_EXPORT TF_Output mr_named(mr_net *net, const char *name, TF_Output x);

/* A network that behaves otherwise while it learns is written twice: first as it is, and after mr_testing(net, 1) once more
 * by the same names. The second takes the variables of the first, drops nothing out and normalises by what was seen. */
MR_EXPORT void mr_testing(mr_net *net, int on);

/* Layers. `activation`: the name of an op of one argument, "Relu", or NULL. Images are [batch height width channels]. */
MR_EXPORT TF_Output mr_dense(mr_net *net, const char *name, TF_Output x, int64_t units, const char *activation);
MR_EXPORT TF_Output mr_conv(mr_net *net, const char *name, TF_Output x, int64_t filters, int size, int stride,
                            const char *activation);
MR_EXPORT TF_Output mr_max_pool(mr_net *net, const char *name, TF_Output x, int size, int stride);
MR_EXPORT TF_Output mr_average_pool(mr_net *net, const char *name, TF_Output x, int size, int stride);
MR_EXPORT TF_Output mr_flatten(mr_net *net, const char *name, TF_Output x);
MR_EXPORT TF_Output mr_dropout(mr_net *net, const char *name, TF_Output x, TF_Output rate);
MR_EXPORT TF_Output mr_bias(mr_net *net, const char *name, TF_Output x, const char *activation);
/* mr_conv without a bias. `padding`: "SAME", "VALID", or a number of rows and columns on each side, "2". */
MR_EXPORT TF_Output mr_convolve(mr_net *net, const char *name, TF_Output x, int64_t filters, int height, int width,
                                int stride, const char *padding);
/* `op`: "MaxPool" or "AvgPool"; `padding`: "SAME" or "VALID". */
MR_EXPORT TF_Output mr_pool(mr_net *net, const char *name, const char *op, TF_Output x, int size, int stride,
                            const char *padding);
/* The mean of each channel: [batch channels]. */
MR_EXPORT TF_Output mr_global_average(mr_net *net, const char *name, TF_Output x);
/* Each channel to mean 0 and deviation 1 over the batch, then scaled and moved as learned. */
MR_EXPORT TF_Output mr_batch_norm(mr_net *net, const char *name, TF_Output x, const char *activation);
/* x / (bias + alpha * sum of the squares of 2 radius + 1 neighbouring channels)^beta. */
MR_EXPORT TF_Output mr_lrn(mr_net *net, const char *name, TF_Output x, int radius, double bias, double alpha,
                           double beta);
/* The rows `ids`, integers, of a learned table [count width]. */
MR_EXPORT TF_Output mr_embedding(mr_net *net, const char *name, TF_Output ids, int64_t count, int64_t width);
/* Memory cells: [steps batch features], the first and last known, to [steps batch units]. `state` is {h, c} before the
 * first step, each [batch units], zeros where {NULL}; it is set to what it is after the last. */
MR_EXPORT TF_Output mr_lstm(mr_net *net, const char *name, TF_Output x, int64_t units, TF_Output state[2]);

/* Losses: the mean over the batch. `labels` are integers [batch]. */
MR_EXPORT TF_Output mr_loss_softmax(mr_net *net, TF_Output logits, TF_Output labels);
MR_EXPORT TF_Output mr_loss_squared(mr_net *net, TF_Output predictions, TF_Output targets);
/* For many classes, the most frequent first: x [batch width], labels [batch]; only `samples` of the classes are looked at,
 * drawn so that class i comes up about 1 / (i + 1) as often as class 0, and the true one. When testing, all are. */
MR_EXPORT TF_Output mr_loss_sampled_softmax(mr_net *net, const char *name, TF_Output x, TF_Output labels,
                                            int64_t classes, int64_t samples);
/* The same, as a yes or no for each class: noise contrastive estimation. */
MR_EXPORT TF_Output mr_loss_nce(mr_net *net, const char *name, TF_Output x, TF_Output labels, int64_t classes,
                                int64_t samples);
/* [batch classes]: the logits of all, by the variables that the two above have under that name. */
MR_EXPORT TF_Output mr_all_logits(mr_net *net, const char *name, TF_Output x, int64_t classes);
/* The part of the batch whose largest logit is the label's. */
MR_EXPORT TF_Output mr_accuracy(mr_net *net, TF_Output logits, TF_Output labels);

/* How often the training step has run: an int64 scalar, one more after each run of what mr_minimize gives. */
MR_EXPORT TF_Output mr_steps(mr_net *net);

typedef struct mr_schedule {
    size_t struct_size;        /* to be set: sizeof(mr_schedule) */
    const char *name;          /* "constant", "exponential", "polynomial", "cosine", "inverse-time" */
    double rate;               /* of the first step */
    double steps;              /* in which the rate falls by `factor`, or to `last` and stays there */
    double factor;             /* exponential: rate factor^(step/steps); inverse-time: rate / (1 + factor step/steps) */
    double last, power;        /* polynomial, cosine; power 0: 1 */
    int staircase;             /* exponential: in whole steps only */
    double warmup;             /* in so many steps the rate rises to what it would be */
} mr_schedule;

/* The rate of learning as a function of the steps so far, for mr_minimize. */
MR_EXPORT TF_Output mr_rate(mr_net *net, const mr_schedule *schedule);

typedef struct mr_optimizer {
    size_t struct_size;        /* to be set: sizeof(mr_optimizer); zero in every other member means the usual value */
    const char *name;          /* "gradient-descent", "momentum", "adagrad", "rmsprop", "adam" */
    int as_formulas;           /* written out in simple ops instead of the fused one */
    double momentum, rho, beta1, beta2, epsilon;
    double clip_value, clip_norm, clip_global_norm;  /* 0: gradients are not cut */
} mr_optimizer;

/* The operation that changes all trainable variables so that `loss` gets smaller. `rate` is a scalar: a constant, a
 * placeholder, or a function of a step counter. */
MR_EXPORT TF_Operation *mr_minimize(mr_net *net, const mr_optimizer *optimizer, TF_Output rate, TF_Output loss);
/* The operation that gives all variables their first values. To be asked for when the net is complete. */
MR_EXPORT TF_Operation *mr_init(mr_net *net);

/* A GraphDef of what `outputs` need, with the values that variables have in the session as constants: a file that any
 * TensorFlow loads. */
MR_EXPORT void mr_freeze(TF_Session *session, const TF_Output *outputs, int noutputs, TF_Buffer *graph_def,
                         TF_Status *status);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_MILLRACE_H_ */
