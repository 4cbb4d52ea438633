// Trainer tests — a small network with dropout is trained, killed, damaged and warmed up, by the C interface alone.
#include "millrace/trainer.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suite_test.h"

static char folder[] = "/tmp/trainer_test_XXXXXX";

enum { FEATURES = 3, BATCH = 4, PER_EPOCH = 5, MOST_STEPS = 64 };

// A network, its session, and a training of it.
typedef struct {
    TF_Graph *graph;
    mr_net *net;
    TF_Session *session;
    TF_Output feeds[1], fetches[2];
    TF_Operation *train, *init;
    int64_t at;                       // batches of this pass that were given
    double losses[MOST_STEPS];        // by step
    int epochs_seen;
    bool give_nan;
} Toy;

static const char *const NAMES[] = {"loss", "mean"};

static void ok(TF_Status *status) {
    ck_assert_msg(TF_GetCode(status) == TF_OK, "%s", TF_Message(status));
}

static void toy_open(Toy *toy, const char *head) {
    TF_Status *status = TF_NewStatus();
    int64_t dims[] = {-1, FEATURES};
    *toy = (Toy){.graph = TF_NewGraph()};
    toy->net = mr_net_new(toy->graph, 7);
    toy->feeds[0] = mr_input(toy->net, "x", TF_FLOAT, dims, 2);
    TF_Output h = mr_dense(toy->net, "body", toy->feeds[0], 8, "Relu");
    h = mr_dropout(toy->net, "drop", h, mr_scalar(toy->net, 0.5, TF_FLOAT));
    TF_Output y = mr_dense(toy->net, head, h, strcmp(head, "head") == 0 ? 1 : 2, NULL);
    toy->fetches[0] = mr_loss_squared(toy->net, y, mr_scalar(toy->net, 1, TF_FLOAT));
    toy->fetches[1] = toy->fetches[0];
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam"};
    toy->train = mr_minimize(toy->net, &adam, mr_scalar(toy->net, 0.05, TF_FLOAT), toy->fetches[0]);
    toy->init = mr_init(toy->net);
    mr_net_status(toy->net, status);
    ok(status);
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_SetConfig(options, (unsigned char[]){0x10, 1, 0x28, 1}, 4, status);
    toy->session = TF_NewSession(toy->graph, options, status);
    ok(status);
    TF_DeleteSessionOptions(options);
    TF_DeleteStatus(status);
}

static void toy_close(Toy *toy) {
    TF_Status *status = TF_NewStatus();
    TF_DeleteSession(toy->session, status);
    mr_net_delete(toy->net);
    TF_DeleteGraph(toy->graph);
    TF_DeleteStatus(status);
}

static int next(void *input, int64_t step, TF_Tensor **values, TF_Status *status) {
    Toy *toy = input;
    (void)status;
    if (toy->at == PER_EPOCH) {
        toy->at = 0;
        return 0;
    }
    int64_t dims[] = {BATCH, FEATURES};
    values[0] = TF_AllocateTensor(TF_FLOAT, dims, 2, sizeof(float) * BATCH * FEATURES);
    float *x = TF_TensorData(values[0]);
    for (int i = 0; i < BATCH * FEATURES; i++)
        x[i] = toy->give_nan && step == 3 ? NAN : (float)((toy->at * 7 + i * 3) % 11) / 11;
    toy->at++;
    return 1;
}

static void free_bytes(void *data, size_t size) {
    (void)size;
    free(data);
}

static void save_position(void *input, TF_Buffer *out, TF_Status *status) {
    const Toy *toy = input;
    int64_t *at = malloc(sizeof *at);
    (void)status;
    *at = toy->at;
    *out = (TF_Buffer){at, sizeof *at, free_bytes};
}

static void load_position(void *input, const void *bytes, size_t n, TF_Status *status) {
    Toy *toy = input;
    (void)status;
    ck_assert_uint_eq(n, sizeof toy->at);
    memcpy(&toy->at, bytes, n);
}

static int after_step(void *hooks, const mr_trainer_progress *progress) {
    ((Toy *)hooks)->losses[progress->step - 1] = progress->values[0];
    return 0;
}

static int after_epoch(void *hooks, const mr_trainer_progress *progress) {
    Toy *toy = hooks;
    toy->epochs_seen++;
    return progress->epoch >= 100;
}

static mr_trainer_options options_of(Toy *toy) {
    return (mr_trainer_options){
        .struct_size = sizeof(mr_trainer_options), .train = toy->train, .init = toy->init, .fetches = toy->fetches,
        .names = NAMES, .num_fetches = 2, .feeds = toy->feeds, .num_feeds = 1, .next = next,
        .save_position = save_position, .load_position = load_position, .input = toy, .after_step = after_step,
        .after_epoch = after_epoch, .hooks = toy,
    };
}

static mr_trainer_end train(const Toy *toy, const mr_trainer_options *options, TF_Code wanted, char *report, char *message) {
    TF_Status *status = TF_NewStatus();
    mr_trainer *trainer = mr_trainer_new(toy->session, options, status);
    mr_trainer_end end = MR_END_FAILED;
    if (trainer) {
        snprintf(report, 500, "%s", mr_trainer_report(trainer));
        end = mr_trainer_run(trainer, status);
    }
    ck_assert_msg(TF_GetCode(status) == wanted, "%s", TF_Message(status));
    snprintf(message, 500, "%s", TF_Message(status));
    mr_trainer_delete(trainer);
    TF_DeleteStatus(status);
    return end;
}

static char report[500], message[500];

static const char *in_folder(const char *name) {
    static char path[sizeof folder + 100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

// Ended after every few steps and begun in another session, the losses are those of one that went through.
START_TEST(goes_on_exactly) {
    Toy whole;
    toy_open(&whole, "head");
    mr_trainer_options options = options_of(&whole);
    options.steps = 30;
    ck_assert_int_eq(train(&whole, &options, TF_OK, report, message), MR_END_STEPS);
    ck_assert_int_eq(whole.epochs_seen, 5);
    double losses[MOST_STEPS] = {0};
    for (int64_t steps = 7; steps < 37; steps += 7) {
        Toy part;
        toy_open(&part, "head");
        options = options_of(&part);
        options.folder = folder;
        options.steps = steps < 30 ? steps : 30;
        options.keep = 2;
        ck_assert_int_eq(train(&part, &options, TF_OK, report, message), MR_END_STEPS);
        ck_assert_msg(steps == 7 ? !*report : strstr(report, "going on from ") != NULL, "%s", report);
        for (int i = (int)steps - 7; i < options.steps; i++)
            losses[i] = part.losses[i];
        toy_close(&part);
    }
    for (int i = 0; i < 30; i++)
        ck_assert_msg(memcmp(&losses[i], &whole.losses[i], sizeof(double)) == 0, "step %d: %.17g, %.17g", i + 1, losses[i],
                      whole.losses[i]);
    toy_close(&whole);
}
END_TEST

START_TEST(a_damaged_checkpoint_is_passed_over) {
    Toy toy;
    toy_open(&toy, "head");
    mr_trainer_options options = options_of(&toy);
    options.folder = folder;
    options.save_steps = 2;
    options.steps = 8;
    train(&toy, &options, TF_OK, report, message);
    toy_close(&toy);
    char path[200];
    snprintf(path, sizeof path, "%s/model-8.data-00000-of-00001", folder);
    ck_assert_int_eq(truncate(path, 5), 0);
    toy_open(&toy, "head");
    options = options_of(&toy);
    options.folder = folder;
    options.steps = 9;
    train(&toy, &options, TF_OK, report, message);
    ck_assert_msg(strstr(report, "model-8: ") && strstr(report, "step 6\n"), "%s", report);
    toy_close(&toy);
    char command[200];
    snprintf(command, sizeof command, "for f in %s/*.index; do echo > $f; done", folder);
    ck_assert_int_eq(system(command), 0);
    toy_open(&toy, "head");
    options = options_of(&toy);
    options.folder = folder;
    train(&toy, &options, TF_NOT_FOUND, report, message);  // nothing is begun anew over what can't be read
    toy_close(&toy);
}
END_TEST

START_TEST(ends) {
    Toy toy;
    toy_open(&toy, "head");
    mr_trainer_options options = options_of(&toy);
    options.epochs = 2;
    ck_assert_int_eq(train(&toy, &options, TF_OK, report, message), MR_END_EPOCHS);
    ck_assert_int_eq(toy.epochs_seen, 2);
    options.epochs = 0;
    options.seconds = 1e-6;
    ck_assert_int_eq(train(&toy, &options, TF_OK, report, message), MR_END_TIME);
    volatile int stop = 1;
    options.seconds = 0;
    options.stop = &stop;
    ck_assert_int_eq(train(&toy, &options, TF_OK, report, message), MR_END_STOPPED);
    options.stop = NULL;
    options.patience = 3;
    options.more_is_better = 1;  // losses fall
    ck_assert_int_eq(train(&toy, &options, TF_OK, report, message), MR_END_NO_BETTER);
    options.patience = 0;
    toy.give_nan = true;
    ck_assert_int_eq(train(&toy, &options, TF_INVALID_ARGUMENT, report, message), MR_END_FAILED);
    ck_assert_msg(strstr(message, "'loss' is nan in step 4") != NULL, "%s", message);
    toy_close(&toy);
}
END_TEST

START_TEST(a_new_head_on_a_warm_body) {
    Toy old, new;
    toy_open(&old, "head");
    mr_trainer_options options = options_of(&old);
    options.folder = in_folder("old");
    options.steps = 5;
    train(&old, &options, TF_OK, report, message);
    toy_close(&old);
    toy_open(&new, "top");
    options = options_of(&new);
    char prefix[200];
    snprintf(prefix, sizeof prefix, "%s/old/model-5", folder);
    options.warm_start = prefix;
    options.steps = 1;
    train(&new, &options, TF_OK, report, message);
    ck_assert_msg(strstr(report, "top") && !strstr(report, "body"), "%s", report);
    const char *except[] = {"body*"}, *renames[] = {"top=head"};
    options.warm_except = except;
    options.num_warm_except = 1;
    options.warm_renames = renames;
    options.num_warm_renames = 1;
    train(&new, &options, TF_OK, report, message);
    ck_assert_msg(strstr(report, "body") && strstr(report, "excepted") && strstr(report, "of the checkpoint is"), "%s", report);
    toy_close(&new);
}
END_TEST

START_TEST(events_and_the_best) {
    Toy toy;
    toy_open(&toy, "head");
    mr_trainer_options options = options_of(&toy);
    options.folder = options.logdir = in_folder("best");
    options.keep = 1;
    options.keep_best = 1;
    options.save_steps = 3;
    options.summary_steps = 2;
    options.trace_step = 4;
    options.steps = 20;
    train(&toy, &options, TF_OK, report, message);
    ck_assert_int_eq(access(in_folder("best/best"), R_OK), 0);
    char command[200];
    snprintf(command, sizeof command, "test $(ls %s/best/events.out.tfevents.* | wc -l) = 1", folder);
    ck_assert_int_eq(system(command), 0);
    toy_close(&toy);
}
END_TEST

static void clean(void) {
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    if (system(command))
        exit(2);
}

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("trainer");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, clean, clean);
    tcase_add_test(tests, goes_on_exactly);
    tcase_add_test(tests, a_damaged_checkpoint_is_passed_over);
    tcase_add_test(tests, ends);
    tcase_add_test(tests, a_new_head_on_a_warm_body);
    tcase_add_test(tests, events_and_the_best);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    rmdir(folder);
    return failed;
}
