// Training progress — a bar in a terminal, lines elsewhere, JSON where it is asked for.
#include "train.h"

static void show_time(char *text, size_t room, double seconds) {
    int s = seconds > 0 && seconds < 1e6 ? (int)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, room, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, room, "%d:%02d", s / 60, s % 60);
}

// One line, drawn over the last one: the bar takes what the terminal's width leaves; what has no room is left out.
static void show_bar(const Progress *p, double rate, const char *left) {
    int columns = text_width(stdout) - 1, n = 0;   // a full line would begin the next one
    char parts[4][48], text[200] = "", front[32];
    snprintf(parts[0], sizeof parts[0], "%3d %%", (int)(p->step * 100 / (p->steps ? p->steps : 1)));
    snprintf(parts[1], sizeof parts[1], "  loss %.4f  accuracy %5.2f %%", p->loss, 100 * p->right);
    snprintf(parts[2], sizeof parts[2], "  ETA %s", left);
    snprintf(parts[3], sizeof parts[3], "  %.0f images/s", rate);
    int used = snprintf(front, sizeof front, "epoch %d/%d ", p->epoch, p->epochs);
    for (int i = 0; i < 4; i++)
        if (used + n + (int)strlen(parts[i]) <= columns)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s", parts[i]);
    int width = columns - n - used - 1;
    width = width > 40 ? 40 : width;
    int full = width > 0 ? (int)(p->step * width / (p->steps ? p->steps : 1)) : 0;
    printf("\r\033[K%s", front);
    for (int i = 0; i < width; i++)
        printf("%s", i < full ? "━" : i == full ? "╸" : "─");
    printf("%s%s", width > 0 ? " " : "", text);
}

void print_report(const mr_trainer *trainer) {
    const char *lines = mr_trainer_report(trainer);
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        print_text(stdout, 2, "%.*s", (int)(end - lines), lines);
}

void progress_show(Progress *p, bool last) {
    double time = now(), rate = p->seconds > 0 ? (double)p->seen / p->seconds : 0;
    if (!last && time - p->shown < (p->bar ? 0.1 : 5))
        return;
    p->shown = time;
    char left[32];
    show_time(left, sizeof left, p->left);
    if (p->json) {
        printf("{\"epoch\": %d, \"step\": %lld, \"steps\": %lld, \"loss\": ", p->epoch, (long long)p->step,
               (long long)p->steps);
        print_json_number(p->loss, 5);
        printf(", \"accuracy\": ");
        print_json_number(p->right, 5);
        printf(", \"images_per_second\": %.1f, \"seconds_left\": %.1f}\n", rate, p->left);
    } else if (p->bar) {
        show_bar(p, rate, left);
    } else {
        print_text(stdout, 2, "epoch %d/%d  step %lld/%lld  loss %.4f  accuracy %5.2f %%  %.0f images/s  ETA %s", p->epoch,
                   p->epochs, (long long)p->step, (long long)p->steps, p->loss, 100 * p->right, rate, left);
    }
    fflush(stdout);
}
