// Net — networks written with formulas: variables and their first values, layers, losses, schedules, clipping.
//
// Everything here is graph: each function adds nodes and gives an edge, nothing runs. A Net is a Formula with a list of
// the variables that were made on the way; as in a formula, the first error stays in net->f.status and later calls do
// nothing. optimizer.h changes the variables so that a loss gets smaller; freeze.h writes them into the graph as
// constants.
//
// A network that behaves otherwise while it learns is written twice: the second time with net->testing set, when layers
// take the variables that those of the same name made, drop nothing and normalise by what they have seen.
//
// net_devices says where all this goes, for graphs that several tasks of a cluster run; replicas.h trains by many such.
#pragma once
#include "formula/formula.h"

typedef struct {
    Output handle;           // of the resource, or the reference
    Output value;            // what it was at the beginning of the step
    Node *init;              // gives it its first value
    Shape shape;
    bool trainable;
    bool by_rows;            // read by ResourceGather: the gradient is that of the handle
    Str name;                // "layer/variable" as asked for: by it layers of the same name share
    Str device;              // where it is, and all that reads and changes it; empty: nowhere in particular
} NetVariable;

// Where new nodes go: variables by turns to one of the stores, or to that with the fewest bytes, all else here. Without
// stores variables are like all else; an empty device is nowhere in particular.
typedef struct {
    Str here;
    const Str *stores;
    int n_stores;
    bool by_size;
} NetDevices;

typedef struct Net {
    Formula f;               // where new nodes go: f.scope is the layer's
    VEC(NetVariable) variables;
    VEC(Node *) updates;     // what each training step changes beside the weights: running averages
    int steps;               // the variable that counts steps, + 1; 0: none
    Node *count;             // adds one to it
    NetDevices devices;
    int64_t *stored;         // bytes on each store
    int next_store;
    Str pinned;              // where variables go instead, unless empty
    int shards;              // of new tables (layer_embedding, classes that are sampled); 0 and 1: one variable each
    bool refs;               // variables are references, as in TensorFlow's first graphs
    bool testing;            // see above
    Str layer;               // the scope as asked for
    int64_t seed;            // of the next random node
    Arena names;
} Net;

void net_init(Net *net, Graph *graph, int64_t seed);
void net_clear(Net *net);
static inline void net_auto(Net *net) {
    net_clear(net);
}
void net_devices(Net *net, const NetDevices *devices);   // of what is new; takes a copy
// New nodes go there until that is called with what it gave; variables too, if that is `pin`.
typedef struct {
    Str device, pinned;
} NetPlace;
NetPlace net_go(Net *net, Str device, bool pin);
void net_return(Net *net, NetPlace place);
// The store for a variable of so many bytes, which count as lying there; where nodes go where there are none.
Str net_store(Net *net, int64_t bytes);
// New nodes are named below "name/", made unique, until the next call.
void net_scope(Net *net, const char *name);

// ---- variables
// A variable with that first value, or when testing the one of that name in this layer; its index in net->variables, or
// -1.
int net_variable(Net *net, const char *name, Output initial, bool trainable);
Output net_value(const Net *net, int variable);      // {NULL} for -1
Node *net_assign(Net *net, int variable, Output value);
// How often the training step that optimizer.h makes has run: an int64 scalar. Replicas count together.
Output net_steps(Net *net);
// A control edge: `node` runs after `before`. Either may be NULL: nothing.
void net_order(Net *net, Node *node, Node *before);
// A node that does nothing, after all of these.
Node *net_group(Net *net, const char *name, Node *const *nodes, int n);
Node *net_init_all(Net *net);                        // gives every variable so far its first value

// ---- first values; fans are counted from the shape: [in out], [height width in out]
Output initial_constant(Net *net, Shape shape, DType dtype, double value);
Output initial_uniform(Net *net, Shape shape, DType dtype, double low, double high);
Output initial_truncated_normal(Net *net, Shape shape, DType dtype, double deviation);
Output initial_glorot_uniform(Net *net, Shape shape, DType dtype);  // +- sqrt(6 / (in + out))
Output initial_glorot_normal(Net *net, Shape shape, DType dtype);   // deviation sqrt(2 / (in + out)), truncated
Output initial_he_uniform(Net *net, Shape shape, DType dtype);      // +- sqrt(6 / in)
Output initial_he_normal(Net *net, Shape shape, DType dtype);       // deviation sqrt(2 / in), truncated

// ---- layers; `activation` is the name of an op of one argument ("Relu", "Tanh"), or NULL
Output layer_dense(Net *net, const char *name, Output x, int64_t units, const char *activation);
Output layer_bias(Net *net, const char *name, Output x, const char *activation);
Output layer_flatten(Net *net, const char *name, Output x);   // all but the first dimension in one
Output layer_dropout(Net *net, const char *name, Output x, Output rate);  // a scalar: how many are set to zero
// Images [batch height width channels]. `padding`: "SAME", "VALID", or a number of rows and columns on each side, "2".
// layer_conv: square filters, "SAME", with a bias; layer_convolve: filters of any size, without.
Output layer_conv(Net *net, const char *name, Output x, int64_t filters, int size, int stride, const char *activation);
Output layer_convolve(Net *net, const char *name, Output x, int64_t filters, int height, int width, int stride,
                      const char *padding);
Output layer_pool(Net *net, const char *name, const char *op, Output x, int size, int stride, const char *padding);
Output layer_global_average(Net *net, const char *name, Output x);        // [batch channels]
// Each channel to mean 0 and deviation 1 over the batch, then scaled and moved as learned.
Output layer_batch_norm(Net *net, const char *name, Output x, const char *activation);
// x / (bias + alpha * sum of the squares of 2 radius + 1 neighbouring channels)^beta
Output layer_lrn(Net *net, const char *name, Output x, int radius, double bias, double alpha, double beta);
// Sequences. Rows `ids` of a learned table [count width], which lies in net->shards variables.
Output layer_embedding(Net *net, const char *name, Output ids, int64_t count, int64_t width);
// [steps batch features], the first and last known -> [steps batch units]. `state` is {h, c}, each [batch units],
// before the first step, and is set to that after the last; {NULL} for zeros.
Output layer_lstm(Net *net, const char *name, Output x, int64_t units, Output state[2]);

// ---- losses: scalars, the mean over the batch
Output loss_softmax(Net *net, Output logits, Output labels);          // labels: integers [batch]
Output loss_softmax_dense(Net *net, Output logits, Output targets);   // targets: probabilities [batch classes]
Output loss_sigmoid(Net *net, Output logits, Output targets);
Output loss_squared(Net *net, Output predictions, Output targets);
Output loss_absolute(Net *net, Output predictions, Output targets);
Output loss_huber(Net *net, Output predictions, Output targets, double delta);
Output loss_weights(Net *net, double scale);                          // scale * sum(w^2) / 2 over trainable variables
// Of `samples` classes only, drawn so that class i comes up about 1 / (i + 1) as often as class 0, and the true one:
// x [batch width], labels [batch] out of `classes`, the most frequent first. When testing, of all classes.
Output loss_sampled_softmax(Net *net, const char *name, Output x, Output labels, int64_t classes, int64_t samples);
// The same, as a yes or no for each class: noise contrastive estimation.
Output loss_nce(Net *net, const char *name, Output x, Output labels, int64_t classes, int64_t samples);
// x [batch width] to [batch classes]: of all, by the variables that the two above have under that name.
Output layer_all_logits(Net *net, const char *name, Output x, int64_t classes);
Output net_accuracy(Net *net, Output logits, Output labels);      // how many of the batch are right, 0 to 1

// ---- schedules: the rate as a function of the step (an integer scalar), as a float scalar
Output schedule_exponential(Net *net, double rate, Output step, double steps, double factor, bool staircase);
Output schedule_polynomial(Net *net, double rate, Output step, double steps, double last, double power);
Output schedule_cosine(Net *net, double rate, Output step, double steps, double last);
Output schedule_inverse_time(Net *net, double rate, Output step, double steps, double factor);
Output schedule_piecewise(Net *net, Output step, const int64_t *bounds, const double *rates, int n_bounds);
Output schedule_warmup(Net *net, Output rate, Output step, double steps);  // from 0 up to `rate`

// ---- clipping; {NULL} gradients stay
Output clip_value(Net *net, Output x, double limit);
Output clip_norm(Net *net, Output x, double limit);
Output clip_global_norm(Net *net, Output *xs, int n, double limit);  // in place; gives the norm that was
