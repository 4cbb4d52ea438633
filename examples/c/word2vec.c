// word2vec — a point for each word, near to those of words that are used alike: skip-grams, noise contrastive
// estimation.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/learning.h"
#include "shared/words.h"

typedef struct Sizes {
    int words, width, batch, samples;
} Sizes;

typedef struct Model {
    TF_Output center, context, rate, loss, table;
    TF_Operation *train, *init;
} Model;

static Model write_model(TF_Graph *graph, const Sizes *s, int fixed_rate) {
    Model m;
    mr_net *net = mr_net_new(graph, 1);
    m.center = mr_input(net, "center", TF_INT32, (int64_t[]){s->batch}, 1);
    m.context = mr_input(net, "context", TF_INT32, (int64_t[]){s->batch}, 1);
    m.rate = fixed_rate ? mr_scalar(net, 0.2, TF_FLOAT) : mr_input(net, "rate", TF_FLOAT, NULL, 0);
    TF_Output x = mr_embedding(net, "words", m.center, s->words, s->width);
    m.loss = mr_named(net, "loss", mr_loss_nce(net, "nce", x, m.context, s->words, s->samples));
    mr_optimizer descent = {.struct_size = sizeof descent, .name = "gradient-descent"};
    m.train = mr_minimize(net, &descent, m.rate, m.loss);
    m.init = mr_init(net);
    mr_testing(net, 1);
    TF_Tensor *all = tensor_of(TF_INT32, 1, (int64_t[]){s->words});
    for (int i = 0; i < s->words; i++)
        ((int32_t *)TF_TensorData(all))[i] = i;
    if (!fixed_rate)
        m.table = mr_embedding(net, "words", mr_constant(net, all), s->words, s->width);
    TF_DeleteTensor(all);
    TF_Status *status = TF_NewStatus();
    mr_net_status(net, status);
    check(status);
    TF_DeleteStatus(status);
    mr_net_delete(net);
    return m;
}

// Pairs of words that stand within four of each other; frequent words are passed over more often.
static void take(const Words *words, const double *keep, int batch, int64_t *at, uint32_t *seed, int32_t *center,
                 int32_t *context) {
    for (int n = 0; n < batch; (*at)++) {
        *at %= words->n - 8;
        *seed = *seed * 1664525 + 1013904223;
        int64_t middle = *at + 4;
        if ((double)(*seed >> 8) / (1 << 24) > keep[words->ids[middle]])
            continue;
        *seed = *seed * 1664525 + 1013904223;
        int64_t away = 1 + (*seed >> 16) % 4, other = *seed >> 31 ? middle + away : middle - away;
        center[n] = words->ids[middle];
        context[n++] = words->ids[other];
    }
}

static double *keeping(const Words *words) {
    double *keep = calloc((size_t)words->count, sizeof *keep);
    if (!keep)
        quit("no memory for %d words", words->count);
    for (int64_t i = 0; i < words->n; i++)
        keep[words->ids[i]]++;
    for (int i = 0; i < words->count; i++)
        keep[i] = fmin(1, sqrt(1e-4 * (double)words->n / fmax(keep[i], 1)));
    return keep;
}

// The words whose points lie in the most similar direction.
static void print_nearest(const Words *words, const float *table, int width, int word) {
    enum { NEAREST = 6 };
    int best[NEAREST];
    double score[NEAREST];
    for (int i = 0; i < NEAREST; i++)
        score[i] = -2;
    for (int other = 0; other < words->count; other++) {
        double dot = 0, a = 0, b = 0;
        for (int i = 0; i < width; i++) {
            double x = table[word * width + i], y = table[other * width + i];
            dot += x * y;
            a += x * x;
            b += y * y;
        }
        double now = dot / sqrt(a * b + 1e-30);
        if (other == word || strlen(words->names[other]) < 2)
            continue;
        int place = NEAREST;
        for (; place && now > score[place - 1]; place--) {
            if (place == NEAREST)
                continue;
            score[place] = score[place - 1];
            best[place] = best[place - 1];
        }
        if (place < NEAREST) {
            score[place] = now;
            best[place] = other;
        }
    }
    printf("  %-10s", words->names[word]);
    for (int i = 0; i < NEAREST && score[i] > -2; i++)
        printf(" %s", words->names[best[i]]);
    printf("\n");
}

static void print_some(TF_Session *session, const Model *m, const Words *words, int width) {
    static const char *const ASKED[] = {"king", "water", "son", "seven", "went", "river"};
    TF_Tensor *table = session_fetch(session, NULL, NULL, 0, m->table);
    for (int i = 0; i < (int)(sizeof ASKED / sizeof *ASKED); i++) {
        int word = words_find(words, ASKED[i]);
        if (word >= 0)
            print_nearest(words, TF_TensorData(table), width, word);
    }
    TF_DeleteTensor(table);
}

static const char ABOUT[] =
    "Learns a point for each word of a text, near to those of words that are used alike, and tells "
    "the nearest words of a few. Ctrl-C ends it; what was learned until then is kept.";
static const Option OPTIONS[] = {
    {"text", "FILE", "the Bible (package bible-kjv); without it made-up sentences"},
    {"words", "N", "different words, the rarer ones being one; 50000"},
    {"width", "N", "numbers in a point, 128"},
    {"batch", "N", "pairs of words in a step, 128"},
    {"samples", "N", "words besides that each pair is told apart from, 64"},
    {"steps", "N", "steps to take, 60000"},
    {"rate", "R", "of learning at the beginning, 1"},
    {"report", "N", "steps between reports, and between checkpoints; a quarter of all"},
    LEARNING_OPTIONS,
    {"threads", "N", "1 unless said otherwise"},
    {"graph", "FILE", "writes the training step as a GraphDef instead of learning"},
    {0}};

#define NUMBER(name, otherwise) ((int)option_number(argc, argv, (name), (otherwise)))

typedef struct Learning {
    TF_Session *session;
    const Model *model;
    const Words *words;
    const Sizes *sizes;
    const Checkpoint *kept;
    int steps, report;
    double rate;
    int64_t begin;    // the steps that were taken before
} Learning;

// Gives the steps that are taken in all.
static int64_t learn(const Learning *l) {
    const Model *m = l->model;
    int64_t batch = l->sizes->batch, at = l->begin * 7919 % l->words->n;   // on from about where it was
    TF_Tensor *values[] = {tensor_of(TF_INT32, 1, &batch), tensor_of(TF_INT32, 1, &batch), tensor_of(TF_FLOAT, 0, NULL)};
    double *keep = keeping(l->words), loss = 0, now, begin = seconds();
    uint32_t seed = 1 + (uint32_t)l->begin;
    int i = 0;
    while (i < l->steps && !learning_asked_to_end()) {
        take(l->words, keep, (int)batch, &at, &seed, TF_TensorData(values[0]), TF_TensorData(values[1]));
        *(float *)TF_TensorData(values[2]) = (float)(l->rate * (1 - 0.9 * ++i / l->steps));
        session_step(l->session, (TF_Output[]){m->center, m->context, m->rate}, values, 3, &m->loss, &now, 1, m->train);
        loss += now;
        if (i % l->report && i != l->steps)
            continue;
        printf("step %6lld  loss %.3f  %.0f steps/s\n", (long long)l->begin + i, loss / ((i - 1) % l->report + 1),
               i / (seconds() - begin));
        print_some(l->session, m, l->words, l->sizes->width);
        fflush(stdout);
        checkpoint_save(l->kept, l->session, l->begin + i, words_kind(l->words));
        loss = 0;
    }
    for (int v = 0; v < 3; v++)
        TF_DeleteTensor(values[v]);
    free(keep);
    return l->begin + i;
}

int main(int argc, char **argv) {
    check_options(argc, argv, ABOUT, OPTIONS);
    Sizes s = {NUMBER("words", 50000), NUMBER("width", 128), NUMBER("batch", 128), NUMBER("samples", 64)};
    const char *path = option(argc, argv, "graph", NULL);
    TF_Graph *graph = TF_NewGraph();
    if (path) {
        write_model(graph, &s, 1);
        graph_save(graph, path);
        TF_DeleteGraph(graph);
        return 0;
    }
    Words words = words_read(option(argc, argv, "text", NULL), s.words, 0);
    Learning l = {.words = &words, .sizes = &s, .steps = NUMBER("steps", 60000), .rate = option_number(argc, argv, "rate", 1)};
    l.report = NUMBER("report", l.steps >= 4 ? l.steps / 4 : 1);
    if (words.n < 100 || l.report < 1)
        quit("a text of %lld words is too short", (long long)words.n);
    s.words = words.count;
    printf("%lld words, %d different ones, of %s\n", (long long)words.n, words.count, words.source);
    Model m = write_model(graph, &s, 0);
    Checkpoint kept = checkpoint_new(graph, argc, argv);
    l.model = &m;
    l.kept = &kept;
    l.session = session_new(graph, NUMBER("threads", 1));
    session_step(l.session, NULL, NULL, 0, NULL, NULL, 0, m.init);
    l.begin = checkpoint_load(&kept, l.session, words_kind(&words));
    learning_begin();
    int64_t steps = learn(&l);
    checkpoint_save(&kept, l.session, steps, words_kind(&words));
    checkpoint_tell(&kept, steps);
    session_delete(l.session);
    TF_DeleteGraph(graph);
    words_clear(&words);
    output_written();
    return learning_code();
}
