/* The limits of the machine: bandwidth of the STREAM triad a = b + q·c on arrays much larger than the caches, bandwidth of reading
   prefetched 256-byte rows at random places in one of them, and flops of fused multiply-adds in registers, with 256-bit and with
   512-bit vectors. Plain code, no streaming stores. Prints a JSON line. Compile with -O3 -march=native -ffp-contract=fast -pthread.

       machine threads=2 megabytes=512 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, TRIALS = 8, SUMS = 12 };

static double *a, *b, *c;
static size_t length, num_threads;
static int wide;
static pthread_barrier_t barrier;
/* The start and end of each thread in a trial. */
static double begun[MOST_THREADS][TRIALS], ended[MOST_THREADS][TRIALS];
static volatile float sink[MOST_THREADS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All threads at once. */
static void begin(size_t thread, int trial) {
    pthread_barrier_wait(&barrier);
    begun[thread][trial] = now();
}

static void end(size_t thread, int trial) {
    ended[thread][trial] = now();
    pthread_barrier_wait(&barrier);
}

static void triad(size_t from, size_t to, double q) {
    for (size_t i = from; i < to; i++) a[i] = b[i] + q * c[i];
}

/* SUMS independent chains hide the latency of one; `ROUNDS` steps of each. */
#define ROUNDS 20000000
#define FUSED(name, bytes, features)                                                               \
    typedef float name##_vector __attribute__((vector_size(bytes)));                               \
    __attribute__((features, noinline)) static float name(float seed) {                           \
        name##_vector x[SUMS], m = {0}, s = {0};                                                   \
        m += 0.999f, s += seed;                                                                    \
        for (int k = 0; k < SUMS; k++) x[k] = s + (float)k;                                        \
        for (long i = 0; i < ROUNDS; i++)                                                          \
            for (int k = 0; k < SUMS; k++) x[k] = x[k] * m + s;                                    \
        for (int k = 1; k < SUMS; k++) x[0] += x[k];                                               \
        return x[0][0];                                                                            \
    }
#ifdef __x86_64__
FUSED(fused_256, 32, target("avx2,fma"))
FUSED(fused_512, 64, target("avx512f"))
#else
FUSED(fused_256, 32, noinline)
FUSED(fused_512, 64, noinline)
#endif

static void *run_triad(void *which) {
    const size_t i = (size_t)(uintptr_t)which;
    const size_t from = length * i / num_threads, to = length * (i + 1) / num_threads;
    /* Each thread touches its own part first. */
    for (size_t j = from; j < to; j++) a[j] = 0, b[j] = 1, c[j] = 2;
    for (int trial = 0; trial < TRIALS; trial++) {
        begin(i, trial);
        triad(from, to, 3.0 + trial);
        end(i, trial);
    }
    return NULL;
}

/* Random rows of b; each thread has its own generator. */
enum { ROW = 32, GATHERS = 1 << 20, AHEAD = 16 };
static void *run_gather(void *which) {
    uint64_t state = 1 + (uint64_t)(uintptr_t)which;
    const uint64_t rows = length / ROW;
    const double *coming[AHEAD];
    for (int k = 0; k < AHEAD; k++) coming[k] = b;
    begin((size_t)(uintptr_t)which, 0);
    double sum = 0;
    for (size_t i = 0; i < GATHERS; i++) {
        const double *row = coming[i % AHEAD];
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double *next = b + ROW * ((state >> 33) % rows);
        for (int k = 0; k < ROW; k += 8) __builtin_prefetch(next + k);
        coming[i % AHEAD] = next;
        for (int k = 0; k < ROW; k++) sum += row[k];
    }
    sink[(size_t)(uintptr_t)which] = (float)sum;
    end((size_t)(uintptr_t)which, 0);
    return NULL;
}

static void *run_fused(void *which) {
    const size_t i = (size_t)(uintptr_t)which;
    begin(i, 0);
    sink[i] = wide ? fused_512(1.0f + (float)i) : fused_256(1.0f + (float)i);
    end(i, 0);
    return NULL;
}

/* The shortest time of a trial, from the start of the first thread to the end of the last. The caller is one of the threads: one
   more, to look at the clock, would wait for a core while they are at work, and find that little time has passed. */
static double best_of(void *(*run)(void *), int trials) {
    pthread_t threads[MOST_THREADS];
    double best = 1e9;
    pthread_barrier_init(&barrier, NULL, (unsigned)num_threads);
    for (size_t i = 1; i < num_threads; i++) pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
    run((void *)0);
    for (size_t i = 1; i < num_threads; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int trial = 0; trial < trials; trial++) {
        double first = begun[0][trial], last = ended[0][trial];
        for (size_t i = 1; i < num_threads; i++) {
            first = begun[i][trial] < first ? begun[i][trial] : first;
            last = ended[i][trial] > last ? ended[i][trial] : last;
        }
        best = last - first < best ? last - first : best;
    }
    return best;
}

int main(int argc, char **argv) {
    size_t megabytes = 512;
    num_threads = 1;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "threads=", 8)) num_threads = strtoul(argv[i] + 8, NULL, 10);
        if (!strncmp(argv[i], "megabytes=", 10)) megabytes = strtoul(argv[i] + 10, NULL, 10);
    }
    if (num_threads < 1 || num_threads > MOST_THREADS) return 2;
    length = megabytes * 1000000 / sizeof(double);
    a = malloc(length * sizeof *a), b = malloc(length * sizeof *b), c = malloc(length * sizeof *c);
    if (!a || !b || !c) return 1;

    const double triad_seconds = best_of(run_triad, TRIALS);
    double gather_seconds = 1e9;
    for (int trial = 0; trial < 5; trial++) {
        const double seconds = best_of(run_gather, 1);
        gather_seconds = seconds < gather_seconds ? seconds : gather_seconds;
    }
    double gflops[2] = {0, 0};
    for (wide = 0; wide < 2; wide++) {
#ifdef __x86_64__
        if (wide ? !__builtin_cpu_supports("avx512f") : !__builtin_cpu_supports("avx2")) continue;
#endif
        double best = 1e9;
        for (int trial = 0; trial < 3; trial++) {
            const double seconds = best_of(run_fused, 1);
            best = seconds < best ? seconds : best;
        }
        gflops[wide] = 2.0 * (wide ? 16 : 8) * SUMS * (double)ROUNDS * (double)num_threads / best / 1e9;
    }
    printf("{\"threads\": %zu, \"triad_gb_s\": %.4g, \"gather_gb_s\": %.4g, \"peak_256_gflops\": %.4g, "
           "\"peak_512_gflops\": %.4g}\n",
        num_threads, 24e-9 * (double)length / triad_seconds,
        8e-9 * ROW * GATHERS * (double)num_threads / gather_seconds, gflops[0], gflops[1]);
    return 0;
}
