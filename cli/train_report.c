// Report — what a trained network answers to the pictures that it is tested with: which classes it confuses, and its worst mistakes.
#define _GNU_SOURCE
#include "train.h"

enum { MOST_CLASSES = 20, MOST_CONFUSIONS = 10, MOST_MISTAKES = 6, GAP = 2 };

static unsigned char label_of(const Report *r, int64_t i) {
    return ((const unsigned char *)TF_TensorData(r->tests->labels))[i];
}

static const char *class_name(const Report *r, int class) {
    static char texts[4][16];
    static int next;
    if (r->names)
        return r->names[class];
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%d", class);
    return text;
}

// ---------------------------------------- which classes are taken for which

static int *count_pairs(const Report *r) {
    int *counts = calloc((size_t)r->classes * (size_t)r->classes, sizeof *counts);
    if (!counts)
        fail("out of memory for the confusion matrix");
    for (int64_t i = 0; counts && i < r->tests->n; i++)
        counts[label_of(r, i) * r->classes + r->guesses[i]]++;
    return counts;
}

static int digits(int number) {
    int n = 1;
    for (; number >= 10; number /= 10)
        n++;
    return n;
}

typedef struct {
    int name, count;   // columns of a class's name, of a count
} Layout;

static Layout layout_of(const Report *r, const int *counts) {
    Layout layout = {0, digits(r->classes - 1)};
    for (int i = 0; i < r->classes; i++) {
        const char *name = class_name(r, i);
        int n = letters(name, strlen(name));
        layout.name = n > layout.name ? n : layout.name;
    }
    for (int i = 0; i < r->classes * r->classes; i++)
        layout.count = digits(counts[i]) > layout.count ? digits(counts[i]) : layout.count;
    return layout;
}

static void print_class(const Report *r, int class, int width) {
    const char *name = class_name(r, class);
    if (r->names)
        printf("%*d ", digits(r->classes - 1), class);
    printf("%s%*s", name, width - letters(name, strlen(name)), "");
}

static void print_matrix(const Report *r, const int *counts, Layout layout) {
    print_text(stdout, 2, "Confusion matrix of %lld pictures: a row for each label, a column for each prediction",
               (long long)r->tests->n);
    printf("%*s", layout.name + (r->names ? digits(r->classes - 1) + 1 : 0), "");
    for (int i = 0; i < r->classes; i++)
        printf(" %*d", layout.count, i);
    printf("  right\n");
    for (int label = 0; label < r->classes; label++) {
        const int *row = counts + label * r->classes;
        int all = 0;
        print_class(r, label, layout.name);
        for (int i = 0; i < r->classes; i++) {
            all += row[i];
            if (row[i])
                printf(" %*d", layout.count, row[i]);
            else
                printf(" %*s", layout.count, ".");
        }
        if (all)
            printf("  %4.*f %%\n", row[label] == all ? 0 : 1, 100.0 * row[label] / all);
        else
            printf("     -\n");
    }
}

// The most frequent pairs, where there are too many classes for a matrix or too few columns.
static void print_confusions(const Report *r, int *counts) {
    print_text(stdout, 2, "The classes that are confused most often, in %lld pictures", (long long)r->tests->n);
    for (int n = 0; n < MOST_CONFUSIONS; n++) {
        int worst = -1;
        for (int i = 0; i < r->classes * r->classes; i++)
            if (i / r->classes != i % r->classes && counts[i] && (worst < 0 || counts[i] > counts[worst]))
                worst = i;
        if (worst < 0)
            break;
        print_text(stdout, 8, "%6d  %s taken for %s", counts[worst], class_name(r, worst / r->classes),
                   class_name(r, worst % r->classes));
        counts[worst] = 0;
    }
}

// ---------------------------------------- the worst mistakes

// Those that the network was surest of; gives their number.
static int find_mistakes(const Report *r, int64_t *worst, int most) {
    int n = 0;
    for (int64_t i = 0; i < r->tests->n; i++) {
        if (r->guesses[i] == label_of(r, i))
            continue;
        int place = n;
        while (place > 0 && r->chances[i] > r->chances[worst[place - 1]])
            place--;
        if (place >= most)
            continue;
        n += n < most;
        memmove(worst + place + 1, worst + place, (size_t)(n - 1 - place) * sizeof *worst);
        worst[place] = i;
    }
    return n;
}

enum { CAPTION_LINES = 3 };

static void caption(const Report *r, int64_t i, int line, char *text, size_t room) {
    if (line == 0)
        snprintf(text, room, "picture %lld", (long long)i);
    else if (line == 1)
        snprintf(text, room, "label %s", class_name(r, label_of(r, i)));
    else
        snprintf(text, room, "predicted %s %.1f %%", class_name(r, r->guesses[i]), 100 * (double)r->chances[i]);
}

// One beside the other, as many as there is room for.
static void draw_mistakes(const Report *r, const int64_t *worst, int n) {
    int height = r->tests->height, width = r->tests->width, cell = drawn_width(width);
    char text[400];
    for (int i = 0; i < n; i++)
        for (int line = 0; line < CAPTION_LINES; line++) {
            caption(r, worst[i], line, text, sizeof text);
            cell = letters(text, strlen(text)) > cell ? letters(text, strlen(text)) : cell;
        }
    int fit = (text_width(stdout) + GAP) / (cell + GAP);
    fit = fit < 1 ? 1 : fit;
    n = n > 2 * fit ? 2 * fit : n;
    const unsigned char *pictures[MOST_MISTAKES], *all = TF_TensorData(r->tests->images);
    for (int first = 0; first < n; first += fit) {
        int some = n - first < fit ? n - first : fit;
        for (int i = 0; i < some; i++)
            pictures[i] = all + worst[first + i] * height * width;
        putchar('\n');
        draw_images(pictures, some, height, width, cell + GAP);
        for (int line = 0; line < CAPTION_LINES; line++)
            for (int i = 0; i < some; i++) {
                caption(r, worst[first + i], line, text, sizeof text);
                int left = i + 1 < some ? cell + GAP - letters(text, strlen(text)) : 0;
                printf("%s%*s%s", text, left, "", i + 1 < some ? "" : "\n");
            }
    }
}

// ---------------------------------------- all of it

bool report_print(const Report *r) {
    int64_t worst[MOST_MISTAKES + 1];
    int *counts = count_pairs(r);
    if (!counts)
        return false;
    Layout layout = layout_of(r, counts);
    int width = (r->names ? digits(r->classes - 1) + 1 : 0) + layout.name + r->classes * (layout.count + 1) + 8;
    putchar('\n');
    if (r->classes <= MOST_CLASSES && width <= text_width(stdout))
        print_matrix(r, counts, layout);
    else
        print_confusions(r, counts);
    free(counts);
    int n = find_mistakes(r, worst, MOST_MISTAKES);
    if (n) {
        putchar('\n');
        print_text(stdout, 2, "The worst mistakes: wrong, and surest of it");
        draw_mistakes(r, worst, n);
    }
    putchar('\n');
    return true;
}

static void print_json_class(const Report *r, const char *key, int class) {
    printf(", \"%s\": ", key);
    print_json_text(class_name(r, class));
}

bool report_print_json(const Report *r) {
    int64_t worst[MOST_MISTAKES + 1];
    int *counts = count_pairs(r);
    if (!counts)
        return false;
    printf("{\"classes\": [");
    for (int i = 0; i < r->classes; i++) {
        printf("%s", i ? ", " : "");
        print_json_text(class_name(r, i));
    }
    printf("], \"confusion\": [");
    for (int i = 0; i < r->classes * r->classes; i++)
        printf("%s%d%s", i % r->classes ? ", " : i ? ", [" : "[", counts[i], (i + 1) % r->classes ? "" : "]");
    free(counts);
    printf("], \"mistakes\": [");
    int n = find_mistakes(r, worst, MOST_MISTAKES);
    for (int i = 0; i < n; i++) {
        printf("%s{\"picture\": %lld", i ? ", " : "", (long long)worst[i]);
        print_json_class(r, "label", label_of(r, worst[i]));
        print_json_class(r, "predicted", r->guesses[worst[i]]);
        printf(", \"probability\": ");
        print_json_number((double)r->chances[worst[i]], 5);
        printf("}");
    }
    printf("]}\n");
    return true;
}
