// Tables — see layer.h: rows of one variable, or of several, which may lie on several tasks of a cluster.
//
// Of several: the ids, each once, are parted by shard, each shard gathers its own, and the rows are stitched together. All of
// this has gradients: what comes back to a shard are the rows that were asked of it, and the optimizer changes them there.
#include <stdio.h>

#include "formula/ops.h"
#include "train/layer.h"

enum { MOST_SHARDS = 1024 };

static int make_shard(Net *net, const char *name, Shape shape, TableInitial *initial, double number, Str device) {
    NetPlace place = net_go(net, device, true);
    int variable = net_variable(net, name, initial(net, shape, number), true);
    net_return(net, place);
    return variable;
}

Table table_new(Net *net, const char *name, Shape shape, TableInitial *initial, double number, const Table *beside) {
    int64_t rows = shape.dims[0], width = 1;
    Table table = {.n = net->shards > 1 ? net->shards : 1, .rows = rows, .first = -1};
    table.n = (int)(rows < table.n ? rows : table.n);
    for (int i = 1; i < shape.rank; i++)
        width *= shape.dims[i];
    for (int i = 0; i < table.n && !net->f.status; i++) {
        char numbered[128];
        snprintf(numbered, sizeof numbered, table.n > 1 ? "%s_%d" : "%s", name, i);
        shape.dims[0] = (rows - i + table.n - 1) / table.n;
        Str device = beside ? net->variables.p[beside->first + i].device : net_store(net, shape.dims[0] * width * 4);
        int variable = make_shard(net, numbered, shape, initial, number, device);
        table.first = i ? table.first : variable;
    }
    return table;
}

// Of a resource without reading the rest of it.
static Output shard_rows(Net *net, int shard, Output ids) {
    Formula *f = &net->f;
    if (f->status || shard < 0)
        return NONE;
    NetVariable *variable = &net->variables.p[shard];
    NetPlace place = net_go(net, variable->device, false);
    variable->by_rows |= !net->refs;
    Output y = net->refs ? Gather(variable->value, ids, Int(0))
                         : OpWith("ResourceGather", ATTRS(TYPE_ATTR("dtype", output_type(variable->value))), variable->handle, ids);
    net_return(net, place);
    return y;
}

static Output stitch(Net *net, const Output *places, const Output *rows, int n) {
    FormulaArg args[] = {{places, n, true}, {rows, n, true}};
    return (Output){formula_node(&net->f, "DynamicStitch", args, 2, NULL), 0};
}

Output table_rows(Net *net, const Table *table, Output ids) {
    Formula *f = &net->f;
    if (table->n == 1)
        return shard_rows(net, table->first, ids);
    Output places[MOST_SHARDS], rows[MOST_SHARDS];
    Output n = Scalar(table->n, ids), unique = Op("Unique", Reshape(ids, Ints(-1)));
    Output shard = Cast(Op("FloorMod", unique, n), DT_int32), row = Op("FloorDiv", unique, n);
    Output parts = OpWith("DynamicPartition", ATTRS(INT_ATTR("num_partitions", table->n)), row, shard);
    Output order = Range(Int(0), SizeOf(unique), Int(1));
    Output order_parts = OpWith("DynamicPartition", ATTRS(INT_ATTR("num_partitions", table->n)), order, shard);
    for (int i = 0; i < table->n; i++) {
        places[i] = At(order_parts, i);
        rows[i] = shard_rows(net, table->first + i, At(parts, i));
    }
    if (f->status)
        return NONE;
    const Shape *of_row = output_shape(net_value(net, table->first));
    Output merged = Gather(stitch(net, places, rows, table->n), At(unique, 1), Int(0));
    Output shape[] = {ShapeOf(ids), formula_ints(f, of_row->dims + 1, of_row->rank - 1, DT_int32)};
    return Reshape(merged, Concat(shape, 2, Int(0)));
}
