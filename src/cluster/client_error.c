// Client error — see client_error.h.
#include "cluster/client_error.h"

#include <string.h>

// The reading of a variable for a node goes by that node's name and a bit more, which the client has never heard of.
static int name_length(const char *name, int length) {
    int known = length;
    for (int i = 0; i + 7 < length && known == length; i++)
        if (!strncmp(name + i, "/_read/", 7))
            known = i;
    return known;
}

Status *client_error(Status *status) {
    const char *message = status_message(status);
    const char *node = strstr(message, "{{node "), *end = node ? strstr(node, "}}") : NULL;
    if (!status || !end || strstr(message, "[[{{node "))
        return status;
    int length = name_length(node, (int)(end - node));
    Status *named = status_new(status_code(status), __FILE__, __LINE__, "%s\n\t [[%.*s}}]]", message, length, node);
    status_free(status);
    return named;
}
