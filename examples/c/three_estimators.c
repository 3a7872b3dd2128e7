/* The difference between unbiased and consistent. An estimate g of a number h from N samples is unbiased if its mean is
   h, and consistent if P(|g - h| >= δ) tends to 0 as N grows, for every δ > 0. Each of these three estimators has one
   property without the other:

   first     h is the mean of a normal distribution, g the first of N draws from it. Unbiased, but not consistent,
             because it ignores the other draws.
   variance  h is the variance, g = Σ (X_i - X̄)²/N. Consistent, but its mean is too small by h/N.
   spike     h is 0, g is N with probability 1/N and otherwise 0. Consistent, but its mean is 1 for every N.

   The first table shows the estimators themselves. In the second, SGD minimises f(w) = w²/2 with gradients w + (g - h)
   and steps 1/k: after T steps, w is minus the mean of the T errors. More steps heal the unbiased estimator, and more
   samples the consistent ones. The runs with the spike are wrong on average for every N, yet nearly all of them are
   right once N is well above T. A bound for consistent gradients therefore holds "with probability 1 - ε", a bound for
   unbiased gradients "on average", and the sample must grow with the number of steps.

   The argument names a CSV file for both tables; steps = 0 stands for the estimate itself. */
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST, VARIANCE, SPIKE, ESTIMATORS, MOST = 10000 };
static const char *const names[ESTIMATORS] = {"first", "variance", "spike"};
static const double delta = 0.2;

static uint64_t state = 1;

/* Returns a uniform number in (0, 1). */
static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* Returns a standard normal number (Box-Muller). */
static double normal(void) {
    const double radius = sqrt(-2 * log(uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

/* Draws the estimator's error g - h for N samples. The normal distribution has mean 0 and variance 1. */
static double error_of(int estimator, size_t n) {
    double sum = 0, squares = 0;
    if (estimator == FIRST) return normal();
    if (estimator == SPIKE) return uniform() < 1 / (double)n ? (double)n : 0;
    for (size_t i = 0; i < n; i++) {
        const double x = normal();
        sum += x;
        squares += x * x;
    }
    return squares / (double)n - pow(sum / (double)n, 2) - 1;
}

/* The theoretical mean and standard deviation of the error, and P(|mean of T errors| >= δ), or NAN. */
static double bias_of(int estimator, double n) {
    return estimator == FIRST ? 0 : estimator == VARIANCE ? -1 / n : 1;
}

static double spread_of(int estimator, double n) {
    return estimator == FIRST ? 1 : estimator == VARIANCE ? sqrt(2 * (n - 1)) / n : sqrt(n - 1);
}

static double miss_of(int estimator, double n, double t) {
    if (estimator == FIRST) return erfc(delta * sqrt(t / 2));
    return estimator == SPIKE && n / t >= delta ? 1 - pow(1 - 1 / n, t) : NAN; /* if one spike is enough to miss */
}

struct task {
    int estimator;
    size_t n;
};

/* Computes the gradient of w²/2 plus the estimator's error. */
static int32_t oracle(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
    const struct task *task = user_data;
    (void)step;
    (void)dim;
    gradient[0] = w[0] + error_of(task->estimator, task->n);
    return 0; /* anything else cancels */
}

/* Draws `count` errors of the estimator or, if steps > 0, of the point where SGD ends (with the sign changed, which is
   the mean of the gradients' errors). Prints a row and returns the share of misses. */
static plim_status measure(struct task task, size_t steps, int count, FILE *file, double *missed, int *wrong) {
    const double n = (double)task.n, t = steps > 0 ? (double)steps : 1;
    const double bias = bias_of(task.estimator, n), sure = spread_of(task.estimator, n) / sqrt(t * count);
    const double miss = miss_of(task.estimator, n, t);
    double mean = 0, squares = 0, misses = 0;
    plim_optimizer *optimizer = NULL;
    plim_status status = plim_optimizer_sgd(1, &optimizer);
    if (!status) status = plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE);
    for (int i = 0; i < count && !status; i++) {
        double w = 1, error;
        if (steps > 0) status = plim_optimizer_minimize(optimizer, oracle, &task, steps, &w, NULL, 1);
        error = steps > 0 ? -w : error_of(task.estimator, task.n);
        mean += error / count;
        squares += error * error / count;
        misses += fabs(error) >= delta;
    }
    plim_optimizer_free(optimizer);

    const double spread = sqrt(fmax(0, squares - mean * mean));
    *missed = misses / count;
    printf("%-9s %6zu", names[task.estimator], task.n);
    if (steps > 0) printf(" %6zu", steps);
    printf("  %8.4f  %8.4f  %8.4f  %8.4f", mean, bias, spread, *missed);
    if (file != NULL)
        fprintf(file, "%s,%zu,%zu,%.6f,%.6f,%.6f\n", names[task.estimator], task.n, steps, mean, spread, *missed);
    /* Five standard errors, and one more miss for a share, are far beyond chance. */
    const int bad = fabs(mean - bias) > 5 * sure + 1e-12 ||
                    fabs(*missed - miss) > 5 * sqrt(miss * (1 - miss) / count) + 1.0 / count; /* never for NAN */
    printf("%s\n", bad ? "  NOT AS THEORY HAS IT" : "");
    *wrong += bad;
    return status;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {1, 4, 16, 64, 256, 1024}, few[] = {4, 32, 256}, lengths[] = {16, 256};
    const int count = getenv("PLIM_VALGRIND") != NULL ? MOST / 20 : MOST, runs = count / 50;
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    double one[ESTIMATORS][6], end[ESTIMATORS][3][2]; /* shares of misses */
    int wrong = 0, written = argc < 2 || file != NULL;
    plim_status status = PLIM_OK;

    if (!written) perror(argv[1]);
    if (file != NULL) fprintf(file, "estimator,sample_size,steps,bias,spread,miss_probability\n");
    printf("%d estimates each, missed if |g - h| >= %g\n", count, delta);
    printf("estimator      N      bias    theory    spread    missed\n");
    for (int e = 0; e < ESTIMATORS; e++)
        for (int i = 0; i < 6 && !status; i++)
            status = measure((struct task){e, sizes[i]}, 0, count, file, &one[e][i], &wrong);
    printf("\n%d runs of SGD each, missed if |w - w*| >= %g\n", runs, delta);
    printf("estimator      N      T      bias    theory    spread    missed\n");
    for (int e = 0; e < ESTIMATORS; e++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2 && !status; j++)
                status = measure((struct task){e, few[i]}, lengths[j], runs, file, &end[e][i][j], &wrong);
    if (file != NULL) written = fclose(file) == 0;
    if (status) fprintf(stderr, "%s: %s\n", plim_status_name(status), plim_last_error());
    if (status || !written) return 1;

    const int shown[] = {
        one[FIRST][5] > 0.7 && one[VARIANCE][5] < 0.01 && one[SPIKE][5] < 0.01,
        end[FIRST][0][0] > 0.2 && end[FIRST][0][1] < 0.1,
        end[VARIANCE][0][1] > 0.7 && end[VARIANCE][2][1] < 0.1,
        end[SPIKE][2][0] < 0.25 && end[SPIKE][2][1] > 0.35,
    };
    printf("\nmore samples heal variance and spike, not first      %s\n", shown[0] ? "yes" : "NO");
    printf("first: more steps heal, whatever N                   %s\n", shown[1] ? "yes" : "NO");
    printf("variance: more steps do not heal a small N           %s\n", shown[2] ? "yes" : "NO");
    printf("spike: more steps need more samples                  %s\n", shown[3] ? "yes" : "NO");
    return wrong == 0 && shown[0] && shown[1] && shown[2] && shown[3] ? 0 : 1;
}
