// Reader — records of one file after the other, the files' names coming out of a queue, as several steps ask for them.
//
// One operation has the reader at a time, in the order in which they came; whoever waits, for its turn or for a name,
// holds no thread and ends with its step. Files are opened on elastic threads, and read there where that may take long;
// the records of an open file are read on the thread that asks. What a file's records are the kind of the reader says.
#pragma once
#include "resource/queue.h"

typedef struct Reader Reader;

extern const ResourceType reader_type;

typedef struct {
    int64_t offset;  // bytes that lie behind, decompressed
    int64_t number;  // records or lines
} ReaderPosition;

// What one call of a kind's `read` gives: a record, the end of the work, or both. Views are valid until the next call.
typedef struct {
    Str key, value;
    bool produced, at_end;
} ReaderRecord;

// "Work" is a name from the queue. Calls come one at a time, from any thread.
typedef struct {
    const char *name;  // "TextLineReader"
    FALLIBLE Status *(*begin)(void *state, Str work);  // NULL: nothing to open
    FALLIBLE Status *(*read)(void *state, Str work, ReaderRecord *out);
    void (*end)(void *state);                          // closes what is open, if anything is
    // Where the next record begins; NULL: the state is never within a work.
    ReaderPosition (*tell)(const void *state);
    // After `begin`: goes on from there.
    FALLIBLE Status *(*seek)(void *state, ReaderPosition position);
    bool (*is_slow)(const void *state);                // read on an elastic thread; NULL: never
    void (*free)(void *state);
} ReaderKind;

// One reference. Takes over `state`, on failure too.
FALLIBLE Status *reader_new(const ReaderKind *kind, void *state, Reader **out);
// NULL where the resource is something else.
Reader *reader_of(Resource *resource);

// Takes a record over; the views are valid during the call.
typedef Status *ReaderPutFn(void *arg, Str key, Str value);
// Takes over `status`. Called exactly once, before the function returns or later on any thread, with no lock held.
typedef void ReaderDoneFn(void *arg, Status *status);

// One record, from the next work where this one ends. `queue`: names, one string each; `cancellation` outlives the wait.
//   OUT_OF_RANGE       the queue is closed and empty
//   INVALID_ARGUMENT   what came from the queue is no single string
// and the kind's errors. A work that can't be opened is left; an error within one comes again with every read.
void reader_read(Reader *reader, Queue *queue, Cancellation *cancellation, ReaderPutFn *put, ReaderDoneFn *done,
                 void *arg);
// Up to `most` records; fewer at the end of a work.
void reader_read_up_to(Reader *reader, Queue *queue, int64_t most, Cancellation *cancellation, ReaderPutFn *put,
                       ReaderDoneFn *done, void *arg);
// Calls act(arg) when it is this operation's turn: inside, the three functions below may be used.
typedef Status *ReaderActFn(Reader *reader, void *arg);
void reader_act(Reader *reader, Cancellation *cancellation, ReaderActFn *act, ReaderDoneFn *done, void *arg);

typedef struct {
    int64_t started, finished, records;  // works begun and ended, records given
    Str work;                            // the last one
    bool is_within;                      // between two of its records:
    ReaderPosition position;
} ReaderState;

ReaderState reader_state(const Reader *reader);  // `work` is valid until the next read
void reader_reset(Reader *reader);
// INVALID_ARGUMENT where the numbers don't fit together; then the reader is as reset.
FALLIBLE Status *reader_restore(Reader *reader, ReaderState state);

int64_t reader_records(const Reader *reader);  // at any time
int64_t reader_works(const Reader *reader);
