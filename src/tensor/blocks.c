// Blocks — see blocks.h: free lists by size class, and one list of all that is kept by the time it came back.
//
// What the C library gives back to the system comes again page by page, each cleared at its first touch. So large
// blocks are kept here for their next use, by whichever plan, until they have rested too long or what is held would
// exceed what was ever in use at once.
#include "tensor/blocks.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "thread/mutex.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define KEEPS_NONE
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define KEEPS_NONE
#endif

enum {
    STEPS = 8,                          // classes of each power of two: a block is at most an eighth too large
    CLASSES = (48 - 16) * STEPS,
    TWICE = STEPS,                      // classes up to twice the size
    NEAR = 1,
};

// A kept block, in its own first bytes.
typedef struct Block {
    size_t bytes;
    int64_t since;
    struct Block *newer, *older;
    struct Block *next, **link;         // of its class; link: the pointer to this one
} Block;

static struct {
    Mutex lock;
    Block *of_class[CLASSES];
    Block *newest, *oldest;
    size_t idle;                        // bytes of all in the lists
    size_t held;                        // bytes that the system gave: kept or taken
    size_t most;                        // bytes ever taken at once, since the last trimming
    size_t fresh;
} all = {.lock = MUTEX_INIT};

// ---- size classes

// Eight classes to a power of two: at most an eighth is wasted.
static int class_of(size_t bytes, size_t *out_bytes) {
    int power = 63 - __builtin_clzll((unsigned long long)(bytes | 1));
    size_t step = (size_t)1 << (power - 3);
    *out_bytes = round_up(bytes, step);
    int c = (power - 16) * STEPS + (int)((*out_bytes - ((size_t)1 << power)) / step);
    return c < CLASSES ? c : CLASSES;
}

// ---- the lists

static void link_newest(Block *block, size_t bytes, int c) REQUIRES(all.lock) {
    *block = (Block){.bytes = bytes, .since = clock_now(), .older = all.newest, .next = all.of_class[c],
                     .link = &all.of_class[c]};
    *(all.newest ? &all.newest->newer : &all.oldest) = block;
    all.newest = block;
    if (block->next)
        block->next->link = &block->next;
    all.of_class[c] = block;
    all.idle += bytes;
}

static void unlink_block(Block *block) REQUIRES(all.lock) {
    *(block->newer ? &block->newer->older : &all.newest) = block->older;
    *(block->older ? &block->older->newer : &all.oldest) = block->newer;
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    all.idle -= block->bytes;
}

// Takes the oldest out, onto the list `given_up`, which is freed without the lock.
static void give_up_oldest(Block **given_up) REQUIRES(all.lock) {
    Block *block = all.oldest;
    unlink_block(block);
    all.held -= block->bytes;
    block->next = *given_up;
    *given_up = block;
}

static void free_all(Block *block) {
    while (block) {
        Block *next = block->next;
        free(block);
        block = next;
    }
}

// ---- across a fork: a leaf, so that any order among the locks that are held will do

static pthread_once_t once = PTHREAD_ONCE_INIT;

// A child must not inherit the lock as held by a thread that it hasn't got.
static void before_fork(void) UNCHECKED_LOCKING {
    mutex_lock(&all.lock);
}

static void after_fork(void) UNCHECKED_LOCKING {
    mutex_unlock(&all.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
}

// ---- taking and giving

// Large requests take a block up to twice as large rather than fault a new one in; others the next class at most.
static Block *find(int c) REQUIRES(all.lock) {
    int last = c + (c >= class_of(BLOCKS_LARGE, &(size_t){0}) ? TWICE : NEAR);
    for (; c <= last && c < CLASSES; c++)
        if (all.of_class[c])
            return all.of_class[c];
    return NULL;
}

// Asks for huge pages under a large block: the strided walks of products and convolutions miss fewer translations.
static void want_huge_pages(char *block, size_t total) {
    enum { HUGE_PAGE = 2 << 20 };
    size_t first = round_up((size_t)block, HUGE_PAGE), last = ((size_t)block + total) / HUGE_PAGE * HUGE_PAGE;
    if (total >= 4 * HUGE_PAGE && last > first)
        (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
}

static void *take_fresh(size_t bytes) {
    char *block = malloc(bytes);
    if (block)
        want_huge_pages(block, bytes);
    return block;
}

void *blocks_take(size_t bytes, size_t *out_bytes) {
    size_t size;
    int c = bytes > SIZE_MAX / 2 ? CLASSES : class_of(bytes, &size);
    if (c == CLASSES)
        return NULL;
#ifdef KEEPS_NONE
    *out_bytes = bytes;
    return take_fresh(bytes);
#endif
    Block *given_up = NULL;
    mutex_lock(&all.lock);
    Block *block = find(c);
    size_t taken = all.held - all.idle + size;
    all.most = taken > all.most ? taken : all.most;
    if (block) {
        unlink_block(block);
        size = block->bytes;
    } else {
        all.fresh++;
        while (all.oldest && all.held + size > all.most)
            give_up_oldest(&given_up);
        all.held += size;
    }
    mutex_unlock(&all.lock);
    free_all(given_up);
    if (!block)
        block = take_fresh(size);
    if (!block) {
        blocks_trim();
        block = take_fresh(size);
    }
    if (!block) {
        mutex_lock(&all.lock);
        all.held -= size;
        mutex_unlock(&all.lock);
    }
    *out_bytes = size;
    return block;
}

void blocks_give(void *memory, size_t bytes) {
#ifdef KEEPS_NONE
    free(memory);
    return;
#endif
    Block *given_up = NULL;
    size_t same;
    pthread_once(&once, watch_forks);
    mutex_lock(&all.lock);
    link_newest(memory, bytes, class_of(bytes, &same));
    while (all.oldest->since < all.newest->since - BLOCKS_REST_NS)
        give_up_oldest(&given_up);
    mutex_unlock(&all.lock);
    free_all(given_up);
}

void blocks_trim(void) {
    Block *given_up = NULL;
    mutex_lock(&all.lock);
    while (all.oldest)
        give_up_oldest(&given_up);
    all.most = all.held;
    mutex_unlock(&all.lock);
    free_all(given_up);
}

BlocksUse blocks_use(void) {
    mutex_lock(&all.lock);
    BlocksUse use = {.taken = all.held - all.idle, .idle = all.idle, .fresh = all.fresh};
    mutex_unlock(&all.lock);
    return use;
}
