// Hint — the name that was meant, of those there are.
#include <ctype.h>

#include "cli.h"

enum { LONGEST = 255 };

static int least(int a, int b) {
    return a < b ? a : b;
}

// How many letters must be changed, added, taken away or swapped with their neighbour; case counts for nothing.
static int distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), rows[3][LONGEST + 2];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = least(least(before[j] + 1, row[j - 1] + 1), before[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
                row[j] = least(row[j], earlier[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void hint_offer(Hint *hint, const char *name) {
    int most = (int)strlen(hint->wanted) / 3 + 1, far = distance(hint->wanted, name);
    size_t n = strlen(hint->wanted);
    if (n >= 3 && strncmp(name, hint->wanted, n) == 0)  // the beginning of it
        far = 1;
    if (far > most || (*hint->best && far >= hint->distance) || strlen(name) >= sizeof hint->best)
        return;
    hint->distance = far;
    snprintf(hint->best, sizeof hint->best, "%s", name);
}

const char *hint_text(const Hint *hint) {
    static char text[320];
    snprintf(text, sizeof text, "; did you mean '%s'?", hint->best);
    if (!*hint->best)
        *text = 0;
    return text;
}
