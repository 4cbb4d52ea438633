// Client error — see client_error.h.
#include "cluster/client_error.h"

#include <string.h>

Status *client_error(Status *status) {
    const char *message = status_message(status);
    const char *node = strstr(message, "{{node "), *end = node ? strstr(node, "}}") : NULL;
    if (!end || strstr(message, "[[{{node "))
        return status;
    int length = (int)(end + 2 - node);
    Status *named = status_new(status_code(status), __FILE__, __LINE__, "%s\n\t [[%.*s]]", message, length, node);
    status_free(status);
    return named;
}
