// Values test — statuses, buffers, tensors and strings through the C interface, as bindings use them.
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "tensorflow/c/c_api.h"

static int released;
static void *released_data;

static void release(void *data, size_t length, void *arg) {
    (void)length;
    released++;
    released_data = data;
    if (arg)
        free(data);
}

static void set_up(void) {
    released = 0;
}

// ---------------------------------------- status

START_TEST(status_life) {
    TF_Status *s = TF_NewStatus();
    ck_assert_int_eq(TF_GetCode(s), TF_OK);
    ck_assert_str_eq(TF_Message(s), "");
    TF_SetStatus(s, TF_CANCELLED, "stop %s");
    ck_assert_int_eq(TF_GetCode(s), TF_CANCELLED);
    ck_assert_str_eq(TF_Message(s), "stop %s");
    TF_SetStatus(s, TF_OK, "ignored");
    ck_assert_str_eq(TF_Message(s), "");
    TF_DeleteStatus(s);
    TF_DeleteStatus(NULL);
}
END_TEST

static void collect(const char *key, const char *value, void *capture) {
    strcat(capture, key);
    strcat(capture, value);
}

START_TEST(status_payloads) {
    char seen[64] = "";
    TF_Status *s = TF_NewStatus();
    TF_SetPayload(s, "k", "dropped");  // an OK status has none
    TF_ForEachPayload(s, collect, seen);
    ck_assert_str_eq(seen, "");
    TF_SetStatus(s, TF_INTERNAL, "x");
    TF_SetPayload(s, "k", "old");
    TF_SetPayload(s, "k", "new");
    TF_ForEachPayload(s, collect, seen);
    ck_assert_str_eq(seen, "knew");
    TF_SetStatus(s, TF_INTERNAL, "y");
    TF_ForEachPayload(s, collect, seen);
    ck_assert_str_eq(seen, "knew");  // gone with the old status
    TF_DeleteStatus(s);
}
END_TEST

START_TEST(status_from_errno) {
    TF_Status *s = TF_NewStatus();
    TF_SetStatusFromIOError(s, ENOENT, "a file");
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    ck_assert_ptr_eq(strstr(TF_Message(s), "a file"), TF_Message(s));
    TF_SetStatusFromIOError(s, 0, "nothing");
    ck_assert_int_eq(TF_GetCode(s), TF_OK);
    TF_DeleteStatus(s);
}
END_TEST

// ---------------------------------------- buffers

START_TEST(buffers) {
    TF_Buffer *b = TF_NewBuffer();
    ck_assert(!b->data && b->length == 0 && !b->data_deallocator);
    TF_DeleteBuffer(b);
    char text[] = "abc";
    b = TF_NewBufferFromString(text, 3);
    text[0] = 'x';
    TF_Buffer view = TF_GetBuffer(b);
    ck_assert_uint_eq(view.length, 3);
    ck_assert_mem_eq(view.data, "abc", 3);
    TF_DeleteBuffer(b);
    b = TF_NewBuffer();
    b->data = text;  // no deallocator: not freed
    b->length = 3;
    TF_DeleteBuffer(b);
    TF_DeleteBuffer(NULL);
}
END_TEST

START_TEST(filling_a_used_buffer) {
    TF_Status *s = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TF_Buffer *b = TF_NewBufferFromString("abc", 3);
    TF_GraphToGraphDef(graph, b, s);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    ck_assert_str_eq(TF_Message(s), "Passing non-empty TF_Buffer is invalid.");
    TF_DeleteBuffer(b);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(s);
}
END_TEST

// ---------------------------------------- tensors

START_TEST(unaligned_memory_is_copied) {
    char *block = aligned_alloc(64, 128);
    float *data = (float *)(block + 4);
    for (int i = 0; i < 6; i++)
        data[i] = (float)i;
    int64_t dims[] = {2, 3};
    TF_Tensor *t = TF_NewTensor(TF_FLOAT, dims, 2, data, 24, release, NULL);
    ck_assert_int_eq(released, 1);  // at once
    ck_assert_ptr_ne(TF_TensorData(t), data);
    ck_assert(TF_TensorIsAligned(t));
    data[5] = 77;
    ck_assert_float_eq(((float *)TF_TensorData(t))[5], 5);
    ck_assert_int_eq(TF_NumDims(t), 2);
    ck_assert_int_eq(TF_Dim(t, 1), 3);
    ck_assert_int_eq(TF_TensorElementCount(t), 6);
    ck_assert_uint_eq(TF_TensorByteSize(t), 24);
    TF_DeleteTensor(t);
    ck_assert_int_eq(released, 1);
    free(block);
}
END_TEST

START_TEST(aligned_memory_is_adopted) {
    void *data = aligned_alloc(64, 64);
    int64_t dims[] = {2};
    TF_Tensor *t = TF_NewTensor(TF_INT32, dims, 1, data, 64, release, data);
    ck_assert_int_eq(released, 0);
    ck_assert_ptr_eq(TF_TensorData(t), data);
    ck_assert_uint_eq(TF_TensorByteSize(t), 64);  // the client's own length
    ck_assert_ptr_null(TF_TensorMaybeMove(t));  // still the client's
    TF_DeleteTensor(t);
    ck_assert_int_eq(released, 1);
    ck_assert_ptr_eq(released_data, data);
}
END_TEST

START_TEST(too_little_memory) {
    int64_t dims[] = {4};
    char data[64];
    ck_assert_ptr_null(TF_NewTensor(TF_FLOAT, dims, 1, data, 15, release, NULL));
    ck_assert_int_eq(released, 1);
    ck_assert_ptr_null(TF_AllocateTensor(TF_FLOAT, dims, 1, 15));
    dims[0] = -1;
    ck_assert_ptr_null(TF_NewTensor(TF_FLOAT, dims, 1, data, 64, release, NULL));
    ck_assert_int_eq(released, 2);
    dims[0] = INT64_MAX / 2;
    ck_assert_ptr_null(TF_NewTensor(TF_FLOAT, dims, 1, data, 64, release, NULL));
    ck_assert_ptr_null(TF_AllocateTensor(TF_FLOAT, dims, 1, 64));
    ck_assert_int_eq(released, 3);
    TF_DeleteTensor(NULL);
}
END_TEST

START_TEST(empty_and_scalar) {
    int64_t dims[] = {0, 3};
    TF_Tensor *t = TF_AllocateTensor(TF_DOUBLE, dims, 2, 0);
    ck_assert_uint_eq(TF_TensorByteSize(t), 0);
    ck_assert_int_eq(TF_TensorElementCount(t), 0);
    TF_DeleteTensor(t);
    t = TF_NewTensor(TF_DOUBLE, dims, 2, NULL, 0, release, NULL);
    ck_assert_ptr_nonnull(t);
    TF_DeleteTensor(t);
    t = TF_AllocateTensor(TF_INT64, NULL, 0, 8);
    ck_assert_int_eq(TF_NumDims(t), 0);
    ck_assert_int_eq(TF_TensorElementCount(t), 1);
    ck_assert_ptr_eq(TF_TensorMaybeMove(t), t);
    ck_assert_int_eq((int)((uintptr_t)TF_TensorData(t) % TF_TensorDefaultAlignment()), 0);
    TF_DeleteTensor(t);
}
END_TEST

START_TEST(bitcast) {
    TF_Status *s = TF_NewStatus();
    int64_t two[] = {2}, four[] = {2, 2};
    TF_Tensor *from = TF_AllocateTensor(TF_INT64, two, 1, 16), *to = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
    memset(TF_TensorData(from), 0, 16);
    TF_TensorBitcastFrom(from, TF_FLOAT, to, four, 2, s);
    ck_assert_int_eq(TF_GetCode(s), TF_OK);
    ck_assert_ptr_eq(TF_TensorData(to), TF_TensorData(from));
    ck_assert_int_eq(TF_TensorType(to), TF_FLOAT);
    ck_assert_int_eq(TF_Dim(to, 1), 2);
    ck_assert_ptr_null(TF_TensorMaybeMove(to));  // shared now
    TF_TensorBitcastFrom(from, TF_FLOAT, to, two, 1, s);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    TF_TensorBitcastFrom(from, TF_STRING, to, two, 1, s);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    TF_DeleteTensor(from);
    ((char *)TF_TensorData(to))[15] = 1;  // still alive
    TF_DeleteTensor(to);
    TF_DeleteStatus(s);
}
END_TEST

START_TEST(set_shape) {
    int64_t six[] = {6}, dims[] = {3, 2};
    TF_Tensor *t = TF_AllocateTensor(TF_UINT8, six, 1, 6);
    TF_SetShape(t, dims, 2);
    ck_assert_int_eq(TF_NumDims(t), 2);
    ck_assert_int_eq(TF_Dim(t, 0), 3);
    TF_DeleteTensor(t);
}
END_TEST

START_TEST(string_tensors) {
    int64_t dims[] = {2};
    TF_Tensor *t = TF_AllocateTensor(TF_STRING, dims, 1, 2 * sizeof(TF_TString));
    TF_TString *strings = TF_TensorData(t);
    TF_StringInit(&strings[0]);
    TF_StringInit(&strings[1]);
    TF_StringCopy(&strings[0], "short", 5);
    TF_StringCopy(&strings[1], "longer than what fits inside the struct", 39);
    ck_assert_int_eq(TF_StringGetType(&strings[0]), TF_TSTR_SMALL);
    ck_assert_int_eq(TF_StringGetType(&strings[1]), TF_TSTR_LARGE);
    ck_assert_uint_eq(TF_StringGetSize(&strings[1]), 39);
    ck_assert_uint_eq(TF_StringGetCapacity(&strings[1]), 47);  // a multiple of 16, less one
    ck_assert_mem_eq(TF_StringGetDataPointer(&strings[0]), "short", 6);
    TF_DeleteTensor(t);  // frees the long one: the leak checker sees to it
}
END_TEST

START_TEST(strings_of_the_client) {
    TF_TString *strings = calloc(2, sizeof *strings);
    TF_StringCopy(&strings[0], "longer than what fits inside the struct", 39);
    TF_StringAssignView(&strings[1], "somebody else's text", 20);
    ck_assert_int_eq(TF_StringGetType(&strings[1]), TF_TSTR_VIEW);
    int64_t dims[] = {2};
    TF_Tensor *t = TF_NewTensor(TF_STRING, dims, 1, strings, 2 * sizeof *strings, release, NULL);
    ck_assert_ptr_eq(TF_TensorData(t), strings);  // never copied
    TF_DeleteTensor(t);
    ck_assert_int_eq(released, 1);
    ck_assert_uint_eq(TF_StringGetSize(&strings[0]), 39);  // the client's to free
    TF_StringDealloc(&strings[0]);
    TF_StringDealloc(&strings[1]);
    free(strings);
}
END_TEST

START_TEST(raw_resources) {
    char handle[] = "serialized";
    TF_Tensor *t = TF_NewTensor(TF_RESOURCE, NULL, 0, handle, sizeof handle, release, NULL);
    ck_assert_ptr_eq(TF_TensorData(t), handle);
    ck_assert_uint_eq(TF_TensorByteSize(t), sizeof handle);
    TF_DeleteTensor(t);
    ck_assert_int_eq(released, 1);
    t = TF_AllocateTensor(TF_VARIANT, NULL, 0, 8);
    memset(TF_TensorData(t), 0xff, 8);
    TF_DeleteTensor(t);
}
END_TEST

START_TEST(type_sizes) {
    ck_assert_uint_eq(TF_DataTypeSize(TF_FLOAT), 4);
    ck_assert_uint_eq(TF_DataTypeSize(TF_COMPLEX128), 16);
    ck_assert_uint_eq(TF_DataTypeSize(TF_BOOL), 1);
    ck_assert_uint_eq(TF_DataTypeSize(TF_STRING), 0);
    ck_assert_uint_eq(TF_DataTypeSize((TF_DataType)999), 0);
    ck_assert_int_gt((int)strlen(TF_Version()), 4);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("api values");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, NULL);
    tcase_add_test(c, status_life);
    tcase_add_test(c, status_payloads);
    tcase_add_test(c, status_from_errno);
    tcase_add_test(c, buffers);
    tcase_add_test(c, filling_a_used_buffer);
    tcase_add_test(c, unaligned_memory_is_copied);
    tcase_add_test(c, aligned_memory_is_adopted);
    tcase_add_test(c, too_little_memory);
    tcase_add_test(c, empty_and_scalar);
    tcase_add_test(c, bitcast);
    tcase_add_test(c, set_shape);
    tcase_add_test(c, string_tensors);
    tcase_add_test(c, strings_of_the_client);
    tcase_add_test(c, raw_resources);
    tcase_add_test(c, type_sizes);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return run_suite(suite());
}
