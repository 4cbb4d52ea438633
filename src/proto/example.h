// Example — a walk over the bytes of Example and SequenceExample: nothing is made of them but views.
//
// What is read is what TensorFlow's parsers read: of a feature the first list counts; a list of numbers is packed, or
// each has its tag; the fields of an entry come in either order. A length that points beyond its message is malformed.
#pragma once
#include "base/cursor.h"
#include "tensor/dtype.h"
#include "tensor/tstring.h"

// The values of one feature, as they lie on the wire.
typedef struct {
    Str bytes;         // of packed numbers, without their tag; else of the list
    DType dtype;       // string, float or int64; DT_INVALID: the feature says nothing
    bool is_packed;
} FeatureList;

typedef struct {
    Cursor outer, inner;  // messages, and the entries of the map in the one that was begun
    uint32_t field;       // of the maps: 1 of an Example, 1 and 2 of a SequenceExample
    bool is_malformed;    // set at the end of the walk
} FeatureWalk;

static inline FeatureWalk feature_walk(Str message, uint32_t field) {
    return (FeatureWalk){.outer = cursor_of(message.p, message.n), .field = field};
}
// The next entry of the map: a Feature, or in `field` 2 of a SequenceExample a FeatureList. False at the end.
bool feature_walk_next(FeatureWalk *walk, Str *out_key, Str *out_feature);
// The next Feature of a FeatureList; false at the end, and with `is_malformed` set where it is no good.
bool feature_list_next(Cursor *list, Str *out_feature, bool *is_malformed);

// False where the feature is malformed or of a kind that there isn't.
bool feature_list_open(Str feature, FeatureList *out);
// How many values there are; -1 where they are malformed.
int64_t feature_list_count(const FeatureList *list);
// Writes all of feature_list_count's values, of their type. False: no memory for a string.
bool feature_list_read(const FeatureList *list, void *out);
