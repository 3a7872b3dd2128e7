/* An allocator that fails on demand, to be preloaded: while oom_call() calls a function of the library, the n-th allocation
 * fails, alone or with all later ones. It knows which blocks of a call are still held, to find leaks. For glibc. */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { SLOTS = 1 << 20, FRAMES = 48 };

static atomic_int window, forever;
static atomic_long left, seen, failures, live;
static atomic_size_t smallest; /* allocations of fewer bytes do not fail, and are not counted */
static struct report { /* the first failure; a parent reads it after its child has died */
  size_t size;
  int depth;
  void *frames[FRAMES];
} *report;
static _Atomic(void *) held[SLOTS]; /* blocks allocated during calls; open addressing */
static void *const GONE = (void *)1;
static __thread int inside; /* backtrace() may allocate */

static size_t slot_of(const void *block) {
  return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 44) % SLOTS;
}

static void keep(void *block) {
  if (block == NULL || !atomic_load(&window)) {
    return;
  }
  for (size_t i = slot_of(block), tries = 0; tries < SLOTS; i = (i + 1) % SLOTS, tries++) {
    void *found = atomic_load(&held[i]);
    if ((found == NULL || found == GONE) && atomic_compare_exchange_strong(&held[i], &found, block)) {
      atomic_fetch_add(&live, 1);
      return;
    }
  }
}

static void forget(void *block) {
  if (block == NULL || atomic_load(&live) == 0) {
    return;
  }
  for (size_t i = slot_of(block), tries = 0; tries < SLOTS; i = (i + 1) % SLOTS, tries++) {
    void *found = atomic_load(&held[i]);
    if (found == NULL) {
      return;
    }
    if (found == block && atomic_compare_exchange_strong(&held[i], &found, GONE)) {
      atomic_fetch_sub(&live, 1);
      return;
    }
  }
}

/* Whether this allocation has to fail. */
static int fails(size_t size) {
  long turn;
  if (!atomic_load(&window) || inside || size < atomic_load(&smallest)) {
    return 0;
  }
  atomic_fetch_add(&seen, 1);
  turn = atomic_fetch_sub(&left, 1);
  if (turn == 0 || (turn < 0 && atomic_load(&forever))) {
    if (atomic_fetch_add(&failures, 1) == 0) {
      inside = 1;
      report->size = size;
      report->depth = backtrace(report->frames, FRAMES);
      inside = 0;
    }
    errno = ENOMEM;
    return 1;
  }
  return 0;
}

void *malloc(size_t size) {
  void *block = fails(size) ? NULL : __libc_malloc(size);
  keep(block);
  return block;
}

void *calloc(size_t count, size_t size) {
  void *block = fails(count * size) ? NULL : __libc_calloc(count, size);
  keep(block);
  return block;
}

void *realloc(void *old, size_t size) {
  void *block;
  if (fails(size)) {
    return NULL;
  }
  forget(old);
  block = __libc_realloc(old, size);
  keep(block != NULL ? block : old);
  return block;
}

void *memalign(size_t alignment, size_t size) {
  void *block = fails(size) ? NULL : __libc_memalign(alignment, size);
  keep(block);
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (block == NULL) {
    return ENOMEM;
  }
  *out = block;
  return 0;
}

void free(void *block) {
  forget(block);
  __libc_free(block);
}

__attribute__((constructor)) static void prime(void) {
  void *once[2];
  (void)backtrace(once, 2);
  report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (report == MAP_FAILED) {
    abort();
  }
}

/* Calls a function of the library with its integers and pointers in `i` and its doubles in `d`. Each class of argument has
 * its own registers on x86-64 and AArch64 (System V), so the order between the classes does not matter. */
typedef int64_t function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double,
                         double, double, double, double, double, double, double);

int64_t oom_call(long n, int for_good, size_t least, function *call, const int64_t *i, const double *d) {
  int64_t answer;
  atomic_store(&left, n);
  atomic_store(&forever, for_good);
  atomic_store(&smallest, least);
  atomic_store(&seen, 0);
  atomic_store(&failures, 0);
  atomic_store(&window, 1);
  answer = call(i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
  atomic_store(&window, 0);
  return answer;
}

long oom_seen(void) { return atomic_load(&seen); }
long oom_failures(void) { return atomic_load(&failures); }
long oom_live(void) { return atomic_load(&live); }
const struct report *oom_report(void) { return report; }
