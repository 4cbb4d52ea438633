// ctstring_internal.h — the 24 bytes of TF_TString and what can be done with them.
//
// The low two bits of the first byte tell the kind. Small text lies inside the struct, large text on the heap of libc
// (bindings free what the library allocates and the other way round), an offset counts from the struct itself, a view
// belongs to somebody else. Sizes are stored shifted left by two. Little-endian only.
#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "TF_TString is defined for little-endian machines only"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_TString_Type {
    TF_TSTR_SMALL = 0,
    TF_TSTR_LARGE = 1,
    TF_TSTR_OFFSET = 2,
    TF_TSTR_VIEW = 3,
    TF_TSTR_TYPE_MASK = 3,
} TF_TString_Type;

// Whoever keeps the text of a view alive. `unref` tells whether it was the last reference.
typedef struct TStringOwnerCApi {
    void (*ref)(struct TStringOwnerCApi *self);
    bool (*unref)(struct TStringOwnerCApi *self);
    void *obj;
} TStringOwnerCApi;

enum { TF_TString_SmallCapacity = 22 };

typedef struct TF_TString_Small {
    uint8_t size;
    char str[TF_TString_SmallCapacity + 1];
} TF_TString_Small;

typedef struct TF_TString_Large {
    size_t size;
    size_t cap;  // bytes at `ptr`, without the NUL
    char *ptr;
} TF_TString_Large;

typedef struct TF_TString_Offset {
    uint32_t size;
    uint32_t offset;
    uint32_t count;
} TF_TString_Offset;

typedef struct TF_TString_View {
    size_t size;
    const char *ptr;
    TStringOwnerCApi *owner_ref;  // may be NULL
} TF_TString_View;

typedef struct TF_TString_Raw {
    uint8_t raw[24];
} TF_TString_Raw;

typedef struct TF_TString {
    union {
        TF_TString_Small smll;
        TF_TString_Large large;
        TF_TString_Offset offset;
        TF_TString_View view;
        TF_TString_Raw raw;
    } u;
} TF_TString;

// ---- looking

static inline TF_TString_Type TF_TString_GetType(const TF_TString *str) {
    return (TF_TString_Type)(str->u.raw.raw[0] & TF_TSTR_TYPE_MASK);
}

static inline size_t TF_TString_ToActualSizeT(size_t size) {
    return size >> 2;
}

static inline size_t TF_TString_ToInternalSizeT(size_t size, TF_TString_Type type) {
    return (size << 2) | (size_t)type;
}

static inline size_t TF_TString_GetSize(const TF_TString *str) {
    switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return str->u.smll.size >> 2;
    case TF_TSTR_OFFSET: return str->u.offset.size >> 2;
    default: return TF_TString_ToActualSizeT(str->u.large.size);  // large and view keep it in the same place
    }
}

// Bytes that fit without another allocation; 0 for text that is not the string's own.
static inline size_t TF_TString_GetCapacity(const TF_TString *str) {
    switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return TF_TString_SmallCapacity;
    case TF_TSTR_LARGE: return str->u.large.cap;
    default: return 0;
    }
}

static inline const char *TF_TString_GetDataPointer(const TF_TString *str) {
    switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return str->u.smll.str;
    case TF_TSTR_LARGE: return str->u.large.ptr;
    case TF_TSTR_OFFSET: return (const char *)str + str->u.offset.offset;
    default: return str->u.view.ptr;
    }
}

// ---- life

// Zeroed memory is an empty small string.
static inline void TF_TString_Init(TF_TString *str) {
    memset(str, 0, sizeof *str);
}

// Lets go of the heap or of a view's owner. What is left is valid: empty, or unchanged where nothing was held.
static inline void TF_TString_Dealloc(TF_TString *str) {
    TF_TString_Type type = TF_TString_GetType(str);
    if (type == TF_TSTR_LARGE && str->u.large.ptr) {
        free(str->u.large.ptr);
        TF_TString_Init(str);
    } else if (type == TF_TSTR_VIEW && str->u.view.owner_ref) {
        (void)str->u.view.owner_ref->unref(str->u.view.owner_ref);
        TF_TString_Init(str);
    }
}

// ---- size. When memory is out, the functions that grow return NULL or do nothing: the string stays as it was.

// The room that is asked from the heap: a multiple of 16 with the NUL.
static inline size_t TF_TString_RoundCapacity(size_t size) {
    return ((size + 16) & ~(size_t)15) - 1;
}

// Makes the string large with this capacity and the size and text that it has; `cap` holds them.
static inline bool TF_TString_Relocate(TF_TString *str, size_t cap) {
    size_t size = TF_TString_GetSize(str);
    if (TF_TString_GetType(str) == TF_TSTR_LARGE) {
        char *moved = (char *)realloc(str->u.large.ptr, cap + 1);
        if (!moved)
            return false;
        str->u.large.ptr = moved;
    } else {
        char *text = (char *)malloc(cap + 1);
        if (!text)
            return false;
        if (size)
            memcpy(text, TF_TString_GetDataPointer(str), size);
        TF_TString_Dealloc(str);
        str->u.large.ptr = text;
    }
    str->u.large.size = TF_TString_ToInternalSizeT(size, TF_TSTR_LARGE);
    str->u.large.cap = cap;
    str->u.large.ptr[size] = 0;
    return true;
}

static inline char *TF_TString_ResizeToSmall(TF_TString *str, size_t new_size) {
    if (TF_TString_GetType(str) != TF_TSTR_SMALL) {
        TF_TString small;
        TF_TString_Init(&small);
        size_t size = TF_TString_GetSize(str);
        size_t kept = size < new_size ? size : new_size;
        if (kept)
            memcpy(small.u.smll.str, TF_TString_GetDataPointer(str), kept);
        TF_TString_Dealloc(str);
        *str = small;
    }
    str->u.smll.size = (uint8_t)(new_size << 2);
    str->u.smll.str[new_size] = 0;
    return str->u.smll.str;
}

// The text for writing, `new_size` bytes long; what was there stays, what is new is unspecified.
static inline char *TF_TString_ResizeUninitialized(TF_TString *str, size_t new_size) {
    if (new_size <= TF_TString_SmallCapacity)
        return TF_TString_ResizeToSmall(str, new_size);
    size_t cap = TF_TString_GetCapacity(str);
    size_t wanted = cap;
    if (TF_TString_GetType(str) != TF_TSTR_LARGE || new_size > cap)
        wanted = TF_TString_RoundCapacity(new_size);
    else if (new_size < cap / 2)
        wanted = TF_TString_RoundCapacity(cap / 2);
    if (wanted != cap || TF_TString_GetType(str) != TF_TSTR_LARGE) {
        size_t size = TF_TString_GetSize(str);
        if (size > new_size) {  // only the part that stays is carried over
            if (TF_TString_GetType(str) == TF_TSTR_OFFSET)
                str->u.offset.size = (uint32_t)(new_size << 2) | TF_TSTR_OFFSET;
            else
                str->u.large.size = TF_TString_ToInternalSizeT(new_size, TF_TString_GetType(str));
        }
        if (!TF_TString_Relocate(str, wanted))
            return NULL;
    }
    str->u.large.size = TF_TString_ToInternalSizeT(new_size, TF_TSTR_LARGE);
    str->u.large.ptr[new_size] = 0;
    return str->u.large.ptr;
}

// The same with new bytes set to `c`.
static inline char *TF_TString_Resize(TF_TString *str, size_t new_size, char c) {
    size_t size = TF_TString_GetSize(str);
    char *text = TF_TString_ResizeUninitialized(str, new_size);
    if (text && new_size > size)
        memset(text + size, c, new_size - size);
    return text;
}

static inline void TF_TString_Reserve(TF_TString *str, size_t new_cap) {
    size_t size = TF_TString_GetSize(str);
    if (new_cap <= TF_TString_SmallCapacity)
        return;
    if (TF_TString_GetType(str) == TF_TSTR_LARGE && new_cap <= str->u.large.cap)
        return;
    (void)TF_TString_Relocate(str, TF_TString_RoundCapacity(new_cap > size ? new_cap : size));
}

// Reserves at least twice what there was, so that appending is linear.
static inline void TF_TString_ReserveAmortized(TF_TString *str, size_t new_cap) {
    size_t cap = TF_TString_GetCapacity(str);
    if (new_cap > cap)
        TF_TString_Reserve(str, new_cap > 2 * cap ? new_cap : 2 * cap);
}

// The text for writing; views and offsets become the string's own first.
static inline char *TF_TString_GetMutableDataPointer(TF_TString *str) {
    switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return str->u.smll.str;
    case TF_TSTR_LARGE: return str->u.large.ptr;
    default: return TF_TString_ResizeUninitialized(str, TF_TString_GetSize(str));
    }
}

// ---- text

// `src` must outlive the string, or be kept alive by the owner.
static inline void TF_TString_AssignViewWithOwner(TF_TString *dst, const char *src, size_t size,
                                                  TStringOwnerCApi *owner_ref) {
    if (owner_ref)
        owner_ref->ref(owner_ref);
    TF_TString_Dealloc(dst);
    dst->u.view.size = TF_TString_ToInternalSizeT(size, TF_TSTR_VIEW);
    dst->u.view.ptr = src;
    dst->u.view.owner_ref = owner_ref;
}

static inline void TF_TString_AssignView(TF_TString *dst, const char *src, size_t size) {
    TF_TString_AssignViewWithOwner(dst, src, size, NULL);
}

static inline void TF_TString_Copy(TF_TString *dst, const char *src, size_t size) {
    char *text = TF_TString_ResizeUninitialized(dst, size);
    if (text && size)
        memcpy(text, src, size);
}

static inline void TF_TString_AppendN(TF_TString *dst, const char *src, size_t src_size) {
    size_t size = TF_TString_GetSize(dst);
    if (!src_size)
        return;
    TF_TString_ReserveAmortized(dst, size + src_size);
    char *text = TF_TString_ResizeUninitialized(dst, size + src_size);
    if (text)
        memcpy(text + size, src, src_size);
}

static inline void TF_TString_Append(TF_TString *dst, const TF_TString *src) {
    TF_TString_AppendN(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
}

// Own text is copied; a view stays a view; an offset becomes a view.
static inline void TF_TString_Assign(TF_TString *dst, const TF_TString *src) {
    if (dst == src)
        return;
    const char *text = TF_TString_GetDataPointer(src);
    size_t size = TF_TString_GetSize(src);
    switch (TF_TString_GetType(src)) {
    case TF_TSTR_VIEW: TF_TString_AssignViewWithOwner(dst, text, size, src->u.view.owner_ref); return;
    case TF_TSTR_OFFSET: TF_TString_AssignView(dst, text, size); return;
    default: TF_TString_Copy(dst, text, size); return;
    }
}

// `src` is empty afterwards; an offset stays where it is, since it cannot move, and is viewed.
static inline void TF_TString_Move(TF_TString *dst, TF_TString *src) {
    if (dst == src)
        return;
    if (TF_TString_GetType(src) == TF_TSTR_OFFSET) {
        TF_TString_AssignView(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
        return;
    }
    TF_TString_Dealloc(dst);
    *dst = *src;
    TF_TString_Init(src);
}

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
