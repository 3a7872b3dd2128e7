/* SGD on a convex problem: logistic regression with the penalty (lambda/2) |w|^2, one random example per step.

   f is lambda-strongly convex, so the step 1/(lambda k) fits. The first steps are long, so the iterates are kept in a
   ball; its radius follows from (lambda/2) |w*|^2 <= f(w*) <= f(0) = log 2. Newton's method computes the solution. */
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>

enum { EXAMPLES = 200, DIM = 2, STEPS = 200000 };

struct problem {
    double lambda, x[EXAMPLES][DIM], y[EXAMPLES];
    uint64_t random;
};

/* Returns a uniform number in [0, 1). */
static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double probability(const double *w, const double *x) {
    return 1 / (1 + exp(-(w[0] * x[0] + w[1] * x[1])));
}

/* Computes the gradient of the penalised loss of one random example. It is right on average. */
static int32_t one_example(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
    struct problem *problem = user_data;
    const size_t i = (size_t)(EXAMPLES * uniform(&problem->random));
    const double error = probability(w, problem->x[i]) - problem->y[i];
    (void)step;
    for (size_t j = 0; j < dim; j++) gradient[j] = error * problem->x[i][j] + problem->lambda * w[j];
    return 0; /* anything else cancels */
}

/* Newton's method on all examples. */
static void solve(const struct problem *problem, double *w) {
    w[0] = w[1] = 0;
    for (int round = 0; round < 20; round++) {
        double g[2] = {problem->lambda * w[0], problem->lambda * w[1]};
        double h[3] = {problem->lambda, 0, problem->lambda}; /* h00, h01, h11 */
        for (int i = 0; i < EXAMPLES; i++) {
            const double *x = problem->x[i], p = probability(w, x), share = p * (1 - p) / EXAMPLES;
            for (int j = 0; j < 2; j++) g[j] += (p - problem->y[i]) * x[j] / EXAMPLES;
            for (int j = 0; j < 3; j++) h[j] += share * x[j / 2] * x[(j + 1) / 2];
        }
        const double determinant = h[0] * h[2] - h[1] * h[1];
        w[0] -= (h[2] * g[0] - h[1] * g[1]) / determinant;
        w[1] -= (h[0] * g[1] - h[1] * g[0]) / determinant;
    }
}

int main(void) {
    static struct problem problem = {.lambda = 0.01, .random = 1};
    const double truth[DIM] = {2, -1};
    double w[DIM] = {0, 0}, average[DIM] = {0, 0}, solution[DIM];
    plim_optimizer *optimizer = NULL;
    plim_status status;

    for (int i = 0; i < EXAMPLES; i++) {
        for (int j = 0; j < DIM; j++) problem.x[i][j] = 2 * uniform(&problem.random) - 1;
        problem.y[i] = uniform(&problem.random) < probability(truth, problem.x[i]);
    }
    solve(&problem, solution);

    status = plim_optimizer_sgd(1 / problem.lambda, &optimizer);
    if (!status) status = plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE);
    if (!status) status = plim_optimizer_set_ball(optimizer, sqrt(2 * log(2) / problem.lambda));
    if (!status) status = plim_optimizer_minimize(optimizer, one_example, &problem, STEPS, w, average, DIM);
    if (status) fprintf(stderr, "%s: %s\n", plim_status_name(status), plim_last_error());
    plim_optimizer_free(optimizer);

    const double distance = hypot(average[0] - solution[0], average[1] - solution[1]);
    printf("Newton's method    %8.4f %8.4f\n", solution[0], solution[1]);
    printf("the last iterate   %8.4f %8.4f\n", w[0], w[1]);
    printf("the average        %8.4f %8.4f, %.4f away\n", average[0], average[1], distance);
    return status == PLIM_OK && distance < 0.05 ? 0 : 1;
}
