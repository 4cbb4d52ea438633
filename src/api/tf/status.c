// TF_Status — see tf_status.h.
#include <errno.h>
#include <stdlib.h>

#include "api/api.h"

static char *copy_text(const char *text) {
    size_t n = text ? strlen(text) : 0;
    char *copy = malloc(n + 1);
    if (copy) {
        memcpy(copy, text ? text : "", n);
        copy[n] = 0;
    }
    return copy;
}

static void payloads_clear(TF_Status *s) {
    while (s->payloads) {
        Payload *next = s->payloads->next;
        free(s->payloads->key);
        free(s->payloads->value);
        free(s->payloads);
        s->payloads = next;
    }
}

void api_set(TF_Status *out, Status *status) {
    if (!out) {
        status_free(status);
        return;
    }
    if (out->payloads)
        payloads_clear(out);
    if (!out->error && !status)
        return;  // OK after OK writes nothing: statuses are small, those of several callers lie on one cache line
    status_free(out->error);
    out->error = status;
}

TF_Status *TF_NewStatus(void) {
    return calloc(1, sizeof(TF_Status));
}

void TF_DeleteStatus(TF_Status *s) {
    if (!s)
        return;
    api_ok(s);
    free(s);
}

void TF_SetStatus(TF_Status *s, TF_Code code, const char *msg) {
    Status *status = code == TF_OK ? OK : status_new((Code)code, "", 0, "%s", msg ? msg : "");
    api_set(s, status);
}

// As upstream, an OK status has no payloads.
void TF_SetPayload(TF_Status *s, const char *key, const char *value) {
    if (!s || !s->error || !key)
        return;
    for (Payload *p = s->payloads; p; p = p->next)
        if (strcmp(p->key, key) == 0) {
            char *copy = copy_text(value);
            if (copy) {
                free(p->value);
                p->value = copy;
            }
            return;
        }
    Payload *payload = calloc(1, sizeof *payload);
    if (!payload)
        return;
    payload->key = copy_text(key);
    payload->value = copy_text(value);
    payload->next = s->payloads;
    if (!payload->key || !payload->value) {
        free(payload->key);
        free(payload->value);
        free(payload);
        return;
    }
    s->payloads = payload;
}

void TF_ForEachPayload(const TF_Status *s, TF_PayloadVisitor visitor, void *capture) {
    for (const Payload *p = s ? s->payloads : NULL; p; p = p->next)
        visitor(p->key, p->value, capture);
}

void TF_SetStatusFromIOError(TF_Status *s, int error_code, const char *context) {
    if (error_code == 0) {
        api_ok(s);
        return;
    }
    char reason[128];
    if (strerror_r(error_code, reason, sizeof reason) != 0)
        reason[0] = 0;
    api_set(s, API_ERROR(code_from_errno(error_code), "%s; %s", context ? context : "", reason));
}

TF_Code TF_GetCode(const TF_Status *s) {
    return s ? (TF_Code)status_code(s->error) : TF_OK;
}

const char *TF_Message(const TF_Status *s) {
    return s ? status_message(s->error) : "";
}

void TF_MakeInternalErrorStatus(TF_Status *status, const char *errMsg) {
    TF_SetStatus(status, TF_INTERNAL, errMsg);
}
