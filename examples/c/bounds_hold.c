/* Compares the bounds of Theorems 2 to 7 for SGD with inexact gradients with measurements. The gradients of each run are
   wrong, but never by more than the theorem allows, so the run must end below the bound (plim_bound_…) and fall at least
   as fast as promised. Prints a table per theorem and kind of error. The argument names a CSV file for all rows.

   The problem is the one-layer GCN on the Mixture graph with a penalty:

       f(w) = mean over the training nodes v of -log softmax(x_v W)[y_v]  +  (λ/2) ‖w‖²

   where x_v is row v of ÂX, W is 2 × 3, and w is W as a vector of 6. The theorems' constants follow from the data:

   l   is λ. The cross-entropy is convex, and the penalty adds λ to every eigenvalue of the Hessian.
   L   is λ + M/2, M the largest eigenvalue of mean xxᵀ: a node's Hessian is xxᵀ ⊗ (diag(p) - ppᵀ), p its probabilities,
       and no eigenvalue of diag(p) - ppᵀ is above 1/2.
   R   is √(2 log(3)/λ), the radius of the ball that iterates are projected to. It contains the solution w*, because
       (λ/2) ‖w*‖² <= f(w*) <= f(0) = log 3. Its diameter is D = 2R.
   G   is √2 mean ‖x‖ + λR. A node's gradient is x (p - y)ᵀ with ‖p - y‖ <= √2, and the penalty's is λw.

   Theorems 6 and 7 do not project. Theorem 7 needs no G. Theorem 6 uses G = √(2L (f(w_1) - f*)), because f never rises:
   a step γ lowers f if γ <= 2(1-δ)/(L(1+δ)²), and with this G Theorem 6 has γ = 1/((1+δ)L√T), which is small enough for
   δ <= 1/3. The iterates therefore stay where f <= f(w_1), and there ‖∇f‖² <= 2L (f - f*).

   All runs start at the same w_1 on the border of the ball. One half of w_1 points away from w*; the other half is the
   same for all classes, a direction that the softmax does not see. There only the penalty curves f, and progress is
   slowest. The exact gradient h is computed here in doubles. SGD receives g, with an error of one of three kinds. Below,
   d is the error that the theorem allows: δ‖h‖, in Theorem 7 δ_k.

   random       g = h + d u, u a random direction.
   adversarial  g = h + d u, u from w towards w*, so that the error of the step leads straight away from w*.
   sampled      g from a consistent estimator. Its sample doubles until ‖g - h‖ <= d, and halves once the error is below
                d/2. If MOST_DRAWS do not suffice, the step uses h, and so do the next 1, 3, 7, … steps.

   The error of a sample falls with the square root of its size, but not with h. If d falls with h, as in all theorems
   but 7, the first steps of a run are sampled and the rest use h; the column "sampled" shows the share. Theorem 2 is the
   hardest, with δ = ρ/T and ρ < l = 0.1: from T = 16 on hardly any step can be sampled, and the slope is that of exact
   steps.

   A run may fall faster than promised, because f is smooth and errors relative to h shrink with h. The bound of Theorem 7
   is sharp: the adversary's errors of 1/k come within two millionths of it. */
#include "check.h"
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CLASS = 500, NODES = 3 * PER_CLASS, FEATURES = 2, CLASSES = 3, DIM = FEATURES * CLASSES, TRAIN = 120 };
enum { SIZES = 17, MOST_DRAWS = 1 << (SIZES - 1), SEEDS = 5, LONGEST = 2048, LONGEST_SAMPLED = 256 };
enum kind { RANDOM, ADVERSARIAL, SAMPLED, KINDS };
enum quantity { DISTANCE, VALUE, AVERAGE, GRADIENT, QUANTITIES };
enum setting { THEOREMS_2_3, THEOREM_4, THEOREM_5, THEOREM_6, GEOMETRIC_7, HARMONIC_7 };

static const double lambda = 0.1, floor_of_doubles = 1e-12;
static const char *const kinds[KINDS] = {"random", "adversarial", "sampled"};

/* A quantity with a bound and a rate. The rate is the slope of its logarithm over log T, or over T if `per_step`, fitted
   from T = `from` on. Promises of one setting are adjacent and share their runs. */
struct promise {
    const char *theorem, *what;
    enum setting setting;
    enum quantity quantity;
    int per_step;
    size_t from;
};
static const struct promise promises[] = {
    {"2 iterate", "|w_T - w*|^2, steps 1/((l-delta)k), delta = rho/T", THEOREMS_2_3, DISTANCE, 0, 16},
    {"2 average", "f(average) - f*, the same runs", THEOREMS_2_3, AVERAGE, 0, 16},
    {"3", "f(w_T) - f*, the same runs", THEOREMS_2_3, VALUE, 0, 16},
    {"4", "|w_T - w*|^2, constant step", THEOREM_4, DISTANCE, 1, 1},
    {"5", "f(average) - f*, steps c/sqrt(k), delta = rho/sqrt(T)", THEOREM_5, AVERAGE, 0, 16},
    {"6", "least |h_k|^2, constant step like 1/sqrt(T)", THEOREM_6, GRADIENT, 0, 16},
    {"7 geometric", "f(w_T) - f*, step 1/L, delta_k = (1-l/L)^((k-1)/2)", GEOMETRIC_7, VALUE, 1, 4},
    {"7 harmonic", "f(w_T) - f*, step 1/L, delta_k = 1/k", HARMONIC_7, VALUE, 0, 16},
};

static struct {
    double x[TRAIN][FEATURES];
    int32_t y[TRAIN];
    double big_l, big_g, radius, solution[DIM], least, start[DIM], gap, distance; /* gap and distance are those of the start */
    plim_graph *graph;
    plim_model *model;
    plim_estimator *estimators[SIZES]; /* of 1, 2, 4, … draws */
} problem;

/* The settings of SGD for T steps of a theorem. */
struct plan {
    double delta, step, radius;
    int32_t schedule;
};

/* The state of a run. */
struct run {
    enum setting setting;
    enum kind kind;
    size_t t, size, pause, failures, sampled; /* `size` is the estimator in use */
    double delta, measured[QUANTITIES];
    uint64_t random;
};

static double norm(const double *v) {
    double sum = 0;
    for (int i = 0; i < DIM; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

static double distance(const double *v, const double *w) {
    double difference[DIM];
    for (int i = 0; i < DIM; i++) difference[i] = v[i] - w[i];
    return norm(difference);
}

/* Returns a standard normal number (Box-Muller). */
static double normal(uint64_t *state) {
    double u[2];
    for (int i = 0; i < 2; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        u[i] = ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

/* Computes f(w) and its gradient. */
static double objective(const double *w, double *h) {
    double loss = 0;
    for (int i = 0; i < DIM; i++) h[i] = lambda * w[i];
    for (int v = 0; v < TRAIN; v++) {
        const double *x = problem.x[v];
        double p[CLASSES], sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += p[c] = exp(x[0] * w[c] + x[1] * w[CLASSES + c]);
        loss -= log(p[problem.y[v]] / sum);
        for (int c = 0; c < CLASSES; c++) {
            const double error = (p[c] / sum - (c == problem.y[v])) / TRAIN;
            for (int j = 0; j < FEATURES; j++) h[j * CLASSES + c] += error * x[j];
        }
    }
    return loss / TRAIN + lambda / 2 * norm(w) * norm(w);
}

static struct plan plan_of(enum setting setting, size_t t) {
    const double root = sqrt((double)t);
    struct plan plan = {0, 1 / problem.big_l, problem.radius, PLIM_SCHEDULE_CONSTANT};
    switch (setting) {
    case THEOREMS_2_3:
        plan.delta = 0.9 * lambda / (double)t; /* ρ = 0.9 l */
        plan.step = 1 / (lambda - plan.delta);
        plan.schedule = PLIM_SCHEDULE_INVERSE;
        break;
    case THEOREM_4: /* both small enough for the second term of the bound to stay far below the first at T = 1 */
        plan.delta = 0.2 * lambda;
        plan.step = 0.02 / (2 * lambda - plan.delta);
        break;
    case THEOREM_5:
        plan.delta = 0.5 / root;                              /* ρ = 0.5 */
        plan.step = sqrt(2) * problem.radius / problem.big_g; /* c = D/(√2 G), about where the bound is least */
        plan.schedule = PLIM_SCHEDULE_INVERSE_SQRT;
        break;
    case THEOREM_6:
        plan.delta = 0.25;
        plan.step = 1 / ((1 + plan.delta) * problem.big_l * root);
        plan.radius = INFINITY;
        break;
    default:
        plan.radius = INFINITY;
    }
    return plan;
}

/* δ_k of Theorem 7. */
static double absolute(enum setting setting, size_t k) {
    return setting == HARMONIC_7 ? 1 / (double)k : pow(1 - lambda / problem.big_l, (double)(k - 1) / 2);
}

static plim_status bound_of(const struct promise *promise, size_t t, double *bound) {
    const double l = lambda, big_l = problem.big_l, big_g = problem.big_g;
    const struct plan plan = plan_of(promise->setting, t);
    double deltas[LONGEST];
    switch (promise->setting) {
    case THEOREMS_2_3:
        if (promise->quantity == DISTANCE) return plim_bound_strongly_convex_iterate(l, big_g, plan.delta, t, bound);
        if (promise->quantity == AVERAGE) return plim_bound_strongly_convex_average(l, big_g, plan.delta, t, bound);
        return plim_bound_strongly_convex_value(l, big_l, big_g, plan.delta, t, bound);
    case THEOREM_4:
        return plim_bound_constant_step(l, big_g, plan.delta, plan.step, t, pow(problem.distance, 2), bound);
    case THEOREM_5:
        return plim_bound_convex_average(big_g, 2 * problem.radius, plan.delta * sqrt((double)t), plan.step, t, bound);
    case THEOREM_6:
        return plim_bound_nonconvex_gradient(
            big_l, sqrt(2 * big_l * problem.gap), sqrt(2 * problem.gap / big_l), plan.delta, t, bound);
    default:
        for (size_t k = 1; k < t; k++) deltas[k - 1] = absolute(promise->setting, k);
        return plim_bound_linear(l, big_l, deltas, t, problem.gap, bound);
    }
}

/* The promised slope. */
static double slope_of(const struct promise *promise) {
    const struct plan plan = plan_of(promise->setting, 1);
    switch (promise->setting) {
    case THEOREM_4: return log(1 - 2 * plan.step * lambda + plan.step * plan.delta);
    case GEOMETRIC_7: return log(1 - lambda / problem.big_l);
    case HARMONIC_7: return -2; /* that of δ_T² */
    case THEOREMS_2_3: return -1;
    default: return -0.5;
    }
}

/* Samples a gradient with an error of at most `most`, or returns h if there is none. */
static int32_t sample(struct run *run, const double *w, const double *h, double most, double *g) {
    float narrow[DIM];
    for (int i = 0; i < DIM; i++) narrow[i] = (float)w[i];
    if (plim_model_set_parameters(problem.model, narrow, DIM)) return 1;
    while (run->pause == 0) {
        plim_estimator *estimator = problem.estimators[run->size];
        if (plim_estimator_gradient(estimator, problem.model, problem.graph, NULL, 0, narrow, DIM, NULL)) return 1;
        for (int i = 0; i < DIM; i++) g[i] = narrow[i];
        const double error = distance(g, h);
        if (error <= most) {
            run->sampled++;
            if (error < most / 2 && run->size > 0) run->size--;
            return 0;
        }
        if (run->size == SIZES - 1) run->pause = (size_t)1 << ++run->failures;
        else run->size++;
    }
    run->pause--;
    memcpy(g, h, DIM * sizeof *h);
    return 0;
}

/* Measures at w_k and returns h with an error. */
static int32_t oracle(void *user_data, size_t k, const double *w, double *g, size_t dim) {
    struct run *run = user_data;
    double h[DIM], u[DIM], *measured = run->measured;
    const double value = objective(w, h), squared = norm(h) * norm(h);
    const double most = run->setting < GEOMETRIC_7 ? run->delta * norm(h) : absolute(run->setting, k);
    measured[GRADIENT] = k == 1 ? squared : fmin(squared, measured[GRADIENT]);
    measured[DISTANCE] = pow(distance(w, problem.solution), 2); /* in the end, of w_T */
    measured[VALUE] = fmax(0, value - problem.least);
    if (run->kind == SAMPLED) return sample(run, w, h, most, g);
    for (size_t i = 0; i < dim; i++)
        u[i] = run->kind == RANDOM ? normal(&run->random) : problem.solution[i] - w[i];
    const double length = norm(u);
    for (size_t i = 0; i < dim; i++) g[i] = h[i] + (length > 0 ? most * u[i] / length : 0);
    return 0;
}

static plim_status run_sgd(struct run *run) {
    const struct plan plan = plan_of(run->setting, run->t);
    double w[DIM], average[DIM], h[DIM];
    plim_optimizer *optimizer = NULL;
    plim_status status;
    run->delta = plan.delta;
    memcpy(w, problem.start, sizeof w);
    for (int i = 0; i < SIZES; i++) CHECK(plim_estimator_set_seed(problem.estimators[i], run->random));
    CHECK(plim_optimizer_sgd(plan.step, &optimizer));
    CHECK(plim_optimizer_set_schedule(optimizer, plan.schedule));
    CHECK(plim_optimizer_set_ball(optimizer, plan.radius));
    CHECK(plim_optimizer_minimize(optimizer, oracle, run, run->t, w, average, DIM));
    run->measured[AVERAGE] = fmax(0, objective(average, h) - problem.least);
cleanup:
    plim_optimizer_free(optimizer);
    return status;
}

/* Builds the problem, computes its constants and solves it. */
static plim_status set_up(void) {
    const size_t widths[] = {FEATURES, CLASSES}, square[] = {FEATURES, FEATURES};
    const float identity[] = {1, 0, 0, 1};
    static int32_t labels[NODES], all[NODES], train[TRAIN];
    float rows[TRAIN * FEATURES];
    double xx[3] = {0, 0, 0}, mean = 0, h[DIM];
    plim_model *plain = NULL;
    plim_status status;

    CHECK(plim_graph_from_mixture(PER_CLASS, 1 /* seed */, &problem.graph));
    CHECK(plim_graph_copy_labels(problem.graph, labels, NODES));
    const size_t count = plim_graph_split_size(problem.graph, PLIM_SPLIT_TRAIN);
    CHECK(plim_graph_copy_split(problem.graph, PLIM_SPLIT_TRAIN, all, NODES));
    for (size_t i = 0; i < TRAIN; i++) { /* a few of every class, for speed */
        train[i] = all[i * count / TRAIN];
        problem.y[i] = labels[train[i]];
    }
    CHECK(plim_graph_set_split(problem.graph, PLIM_SPLIT_TRAIN, train, TRAIN));
    CHECK(plim_model_gcn(square, 2, 1, &plain)); /* with W = I, the input of the softmax is ÂX */
    CHECK(plim_model_set_parameters(plain, identity, FEATURES * FEATURES));
    CHECK(plim_model_embed(plain, problem.graph, train, TRAIN, 0, rows, TRAIN * FEATURES));
    CHECK(plim_model_gcn(widths, 2, 1, &problem.model));
    CHECK(plim_model_set_regularization(problem.model, lambda));
    for (int i = 0; i < SIZES; i++) {
        const size_t draws = (size_t)1 << i;
        CHECK(plim_estimator_consistent(&draws, 1, &problem.estimators[i]));
        CHECK(plim_estimator_set_distribution(problem.estimators[i], PLIM_DISTRIBUTION_LADIES));
    }

    for (int v = 0; v < TRAIN; v++) {
        double *x = problem.x[v];
        for (int j = 0; j < FEATURES; j++) x[j] = rows[v * FEATURES + j];
        for (int j = 0; j < 3; j++) xx[j] += x[j / 2] * x[(j + 1) / 2] / TRAIN;
        mean += hypot(x[0], x[1]) / TRAIN;
    }
    problem.big_l = lambda + (xx[0] + xx[2] + hypot(xx[0] - xx[2], 2 * xx[1])) / 4;
    problem.radius = sqrt(2 * log(3) / lambda);
    problem.big_g = sqrt(2) * mean + lambda * problem.radius;
    for (int round = 0; round < 1000; round++) { /* the error shrinks by 1 - l/L per round */
        objective(problem.solution, h);
        for (int i = 0; i < DIM; i++) problem.solution[i] -= h[i] / problem.big_l;
    }
    problem.least = objective(problem.solution, h);
    printf("l = %g, L = %.4f, G = %.4f, R = %.4f, |w*| = %.4f, gradient there %.1e\n", lambda, problem.big_l,
        problem.big_g, problem.radius, norm(problem.solution), norm(h));
    if (!(norm(h) < 1e-10 && norm(problem.solution) <= problem.radius)) status = PLIM_ERROR_INTERNAL;
    for (int i = 0; i < DIM; i++) /* two orthogonal directions of length 1 */
        problem.start[i] = problem.radius / sqrt(2) * (1 / sqrt(DIM) - problem.solution[i] / norm(problem.solution));
    problem.distance = distance(problem.start, problem.solution);
    problem.gap = objective(problem.start, h) - problem.least;
cleanup:
    plim_model_free(plain);
    return status;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The next T: 1, 2, 3, 4, 6, 8, 12, 16, 24, … */
static size_t next(size_t t) {
    return t < 3 ? t + 1 : (t & (t - 1)) == 0 ? t + t / 2 : t / 3 * 4;
}

/* Runs, prints and checks one promise for one kind of error. */
static plim_status judge(const struct promise *promise, enum kind kind, FILE *file, int *broken) {
    const double most = 1 + 1e-9; /* of the bound: that of Theorem 7 is met exactly at T = 1, give or take a rounding */
    static struct run runs[KINDS][32][SEEDS];
    const int brief = getenv("PLIM_VALGRIND") != NULL; /* valgrind is slow: check bounds, not slopes */
    const int seeds = kind == ADVERSARIAL ? 1 : brief ? 2 : SEEDS; /* the adversary is not random */
    const size_t longest = brief ? 64 : kind == SAMPLED ? LONGEST_SAMPLED : LONGEST;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, worst = 0, bound, values[SEEDS];
    plim_status status = PLIM_OK;
    int above = 0, row = 0;

    printf("\nTheorem %s, %s: %s errors\n", promise->theorem, promise->what, kinds[kind]);
    printf("     T     median    largest      bound  largest/bound%s\n", kind == SAMPLED ? "  sampled" : "");
    for (size_t t = 1; t <= longest; t = next(t), row++) {
        double sampled = 0;
        CHECK(bound_of(promise, t, &bound));
        if (bound < floor_of_doubles) break; /* f(w) - f* is a difference of doubles near 1 */
        for (int seed = 0; seed < seeds; seed++) {
            struct run *run = &runs[kind][row][seed];
            const struct run fresh = {.setting = promise->setting, .kind = kind, .t = t, .random = (uint64_t)seed + 1};
            if (run->t != t || run->setting != promise->setting || run->kind != kind) {
                *run = fresh;
                CHECK(run_sgd(run));
            }
            values[seed] = run->measured[promise->quantity];
            sampled += (double)run->sampled / (double)t / seeds;
        }
        qsort(values, (size_t)seeds, sizeof *values, ascending);
        const double median = values[seeds / 2], largest = values[seeds - 1];
        above += !(largest / bound <= most);
        if (t > 1) worst = fmax(worst, largest / bound);
        printf("%6zu  %9.3e  %9.3e  %9.3e  %13.1e", t, median, largest, bound, largest / bound);
        if (kind == SAMPLED) printf("  %5.0f %%", 100 * sampled);
        printf("%s\n", largest / bound <= most ? "" : "  ABOVE");
        if (file != NULL)
            fprintf(file, "%s,%s,%zu,%.9e,%.9e,%.9e\n", promise->theorem, kinds[kind], t, median, largest, bound);
        /* Theorem 4 promises a slope as long as the first term of its bound is the larger one. */
        const double first = exp(slope_of(promise) * (double)(t - 1)) * pow(problem.distance, 2);
        if (t < promise->from || median < floor_of_doubles) continue;
        if (promise->setting == THEOREM_4 && first < bound / 2) continue;
        const double x = promise->per_step ? (double)t : log((double)t);
        const double log_factor = promise->setting == THEOREMS_2_3 && promise->quantity == AVERAGE;
        const double y = log(median / (1 + log_factor * log((double)t)));
        n += 1;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx), promised = slope_of(promise);
    const int flat = !brief && !(n >= 4 && slope <= promised + (promise->per_step ? -0.15 * promised : 0.15));
    printf("%s, from T = 2 on at most %.6f of it; slope%s %.4f, promised %.4f: %s\n",
        above ? "NOT UNDER THE BOUND" : "under the bound", worst, promise->per_step ? " per step" : "", slope,
        promised, brief ? "not judged" : flat ? "TOO FLAT" : "kept");
    *broken += above || flat;
cleanup:
    return status;
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    int broken = 0, written = argc < 2 || file != NULL;
    plim_status status;

    if (!written) perror(argv[1]);
    if (file != NULL) fprintf(file, "theorem,error,t,median,largest,bound\n");
    CHECK(set_up());
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++)
        for (int kind = 0; kind < KINDS; kind++)
            CHECK(judge(&promises[i], (enum kind)kind, file, &broken));
    printf("\n%d of %d tables break a promise\n", broken, KINDS * (int)(sizeof promises / sizeof *promises));

cleanup:
    if (file != NULL) written = fclose(file) == 0;
    for (int i = 0; i < SIZES; i++) plim_estimator_free(problem.estimators[i]);
    plim_model_free(problem.model);
    plim_graph_free(problem.graph);
    return status == PLIM_OK && broken == 0 && written ? 0 : 1;
}
