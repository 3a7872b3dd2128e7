/* The formulas, simple and slow, in double and on dense matrices: the reference for the library.
 *
 *   H(l+1) = relu(Â H(l) W(l)), no relu on the last layer; mean cross-entropy over the batch + λ/2 ‖W‖².
 *   A sampled layer multiplies by Â(I_{l+1}, I_l) diag(1 / (t P(u))) instead of Â. */
#ifndef PLIM_TESTS_DENSE_H
#define PLIM_TESTS_DENSE_H

#include "check.h"

enum { MAX_NODES = 16, MAX_WIDTH = 8, MAX_LAYERS = 4, MAX_PARAMETERS = MAX_LAYERS * MAX_WIDTH * MAX_WIDTH };

typedef struct dense_graph {
  size_t num_nodes, num_features;
  double a[MAX_NODES][MAX_NODES];   /* A as it is */
  double hat[MAX_NODES][MAX_NODES]; /* Â, from dense_normalize() */
  double x[MAX_NODES][MAX_WIDTH];
  int32_t labels[MAX_NODES];
} dense_graph;

/* Rows of a layer's input: drawn nodes, with duplicates. Count 0 stands for all nodes. */
typedef struct dense_draws {
  size_t count;
  int32_t nodes[MAX_NODES];
} dense_draws;

/* The distribution of the draws: a PLIM_DISTRIBUTION_ constant, or `weights` if not NULL. */
typedef struct dense_law {
  int32_t distribution;
  const double *weights;
} dense_law;

/* Numbers in [-1, 1) that are the same on every machine. */
static inline double dense_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 40) / 8388608.0 - 1.0;
}

static inline void dense_noise(unsigned char *bytes, size_t count, uint64_t *state) {
  for (size_t i = 0; i < count; i++) {
    bytes[i] = (unsigned char)(dense_random(state) * 127.0 + 128.0);
  }
}

static inline void dense_normalize(dense_graph *graph, int32_t normalization) {
  size_t n = graph->num_nodes;
  double degree[MAX_NODES];
  for (size_t v = 0; v < n; v++) {
    degree[v] = 1.0;
    for (size_t u = 0; u < n; u++) {
      degree[v] += graph->a[v][u];
    }
  }
  for (size_t v = 0; v < n; v++) {
    for (size_t u = 0; u < n; u++) {
      double entry = graph->a[v][u] + (u == v ? 1.0 : 0.0);
      if (normalization == PLIM_NORMALIZATION_SYMMETRIC) {
        graph->hat[v][u] = entry / sqrt(degree[v] * degree[u]);
      } else if (normalization == PLIM_NORMALIZATION_ROW) {
        graph->hat[v][u] = entry / degree[v];
      } else {
        graph->hat[v][u] = graph->a[v][u];
      }
    }
  }
}

/* z[r] = b[r] W for one row. */
static inline void dense_times(const double *b, const float *w, size_t fan_in, size_t fan_out, double *z) {
  for (size_t k = 0; k < fan_out; k++) {
    z[k] = 0.0;
    for (size_t i = 0; i < fan_in; i++) {
      z[k] += b[i] * (double)w[i * fan_out + k];
    }
  }
}

/* H(layer + 1) of every node; logits for the last layer. */
static inline void dense_embed(const dense_graph *graph, const size_t *widths, size_t num_layers, const float *w,
                               size_t layer, double h[MAX_NODES][MAX_WIDTH]) {
  double input[MAX_NODES][MAX_WIDTH];
  memcpy(input, graph->x, sizeof input);
  for (size_t l = 0; l <= layer; l++) {
    for (size_t v = 0; v < graph->num_nodes; v++) {
      double b[MAX_WIDTH] = {0.0};
      for (size_t u = 0; u < graph->num_nodes; u++) {
        for (size_t i = 0; i < widths[l]; i++) {
          b[i] += graph->hat[v][u] * input[u][i];
        }
      }
      dense_times(b, w, widths[l], widths[l + 1], h[v]);
      for (size_t k = 0; k < widths[l + 1]; k++) {
        h[v][k] = l + 1 < num_layers && h[v][k] < 0.0 ? 0.0 : h[v][k];
      }
    }
    memcpy(input, h, sizeof input);
    w += widths[l] * widths[l + 1];
  }
}

/* Softmax of a row in place; returns the logarithm of the sum of its exponentials. */
static inline double dense_softmax(double *row, size_t count) {
  double top = row[0], sum = 0.0;
  for (size_t k = 1; k < count; k++) {
    top = row[k] > top ? row[k] : top;
  }
  for (size_t k = 0; k < count; k++) {
    sum += exp(row[k] - top);
  }
  for (size_t k = 0; k < count; k++) {
    row[k] = exp(row[k] - top) / sum;
  }
  return top + log(sum);
}

/* P(u) for every node, given the rows above that the batch depends on. */
static inline void dense_probabilities(const dense_graph *graph, dense_law law, const int32_t *above,
                                       const int *useful, size_t num_above, double *p) {
  double sum = 0.0;
  for (size_t u = 0; u < graph->num_nodes; u++) {
    double column = 0.0, touched = 0.0;
    for (size_t v = 0; v < graph->num_nodes; v++) {
      column += graph->hat[v][u] * graph->hat[v][u];
    }
    for (size_t r = 0; r < num_above; r++) {
      touched += useful[r] ? graph->hat[above[r]][u] * graph->hat[above[r]][u] : 0.0;
    }
    if (law.weights != NULL) {
      p[u] = law.weights[u];
    } else if (law.distribution == PLIM_DISTRIBUTION_UNIFORM) {
      p[u] = 1.0;
    } else if (law.distribution == PLIM_DISTRIBUTION_IMPORTANCE) {
      p[u] = column;
    } else if (law.distribution == PLIM_DISTRIBUTION_NEIGHBORS) {
      p[u] = touched > 0.0 ? 1.0 : 0.0;
    } else {
      p[u] = touched;
    }
    sum += p[u];
  }
  for (size_t u = 0; u < graph->num_nodes; u++) {
    p[u] /= sum;
  }
}

/* The rows of each layer's input, the operator of each layer, and what passes through them. */
typedef struct dense_chain {
  size_t count[MAX_LAYERS + 1];
  int32_t nodes[MAX_LAYERS + 1][MAX_NODES];
  int useful[MAX_LAYERS + 1][MAX_NODES];
  double op[MAX_LAYERS][MAX_NODES][MAX_NODES];
  double b[MAX_LAYERS][MAX_NODES][MAX_WIDTH];
  double h[MAX_LAYERS + 1][MAX_NODES][MAX_WIDTH];
} dense_chain;

static inline void dense_cut(const dense_graph *graph, size_t num_layers, const int32_t *batch, size_t batch_size,
                             const dense_draws *draws, dense_law law, dense_chain *chain) {
  memset(chain, 0, sizeof *chain);
  chain->count[num_layers] = batch_size;
  for (size_t r = 0; r < batch_size; r++) {
    chain->nodes[num_layers][r] = batch[r];
    chain->useful[num_layers][r] = 1;
  }
  for (size_t l = num_layers; l-- > 0;) {
    size_t t = draws[l].count;
    double p[MAX_NODES];
    dense_probabilities(graph, law, chain->nodes[l + 1], chain->useful[l + 1], chain->count[l + 1], p);
    chain->count[l] = t ? t : graph->num_nodes;
    for (size_t j = 0; j < chain->count[l]; j++) {
      int32_t u = t ? draws[l].nodes[j] : (int32_t)j;
      double scale = t ? 1.0 / ((double)t * p[u]) : 1.0;
      chain->nodes[l][j] = u;
      for (size_t r = 0; r < chain->count[l + 1]; r++) {
        double entry = graph->hat[chain->nodes[l + 1][r]][u];
        if (entry != 0.0 && chain->useful[l + 1][r]) {
          chain->op[l][r][j] = entry * scale;
          chain->useful[l][j] = 1;
        }
      }
    }
  }
}

/* The loss of the batch, with λ; `gradient` gets W(0), W(1), … each fan_in × fan_out. */
static inline double dense_gradient(const dense_graph *graph, const size_t *widths, size_t num_layers, const float *w,
                                    double lambda, const int32_t *batch, size_t batch_size, const dense_draws *draws,
                                    dense_law law, double *gradient) {
  dense_chain chain;
  size_t start[MAX_LAYERS + 1] = {0};
  double loss = 0.0, g[MAX_NODES][MAX_WIDTH] = {{0.0}};
  dense_cut(graph, num_layers, batch, batch_size, draws, law, &chain);
  for (size_t j = 0; j < chain.count[0]; j++) {
    memcpy(chain.h[0][j], graph->x[chain.nodes[0][j]], sizeof chain.h[0][j]);
  }
  for (size_t l = 0; l < num_layers; l++) {
    start[l + 1] = start[l] + widths[l] * widths[l + 1];
    for (size_t r = 0; r < chain.count[l + 1]; r++) {
      for (size_t j = 0; j < chain.count[l]; j++) {
        for (size_t i = 0; i < widths[l]; i++) {
          chain.b[l][r][i] += chain.op[l][r][j] * chain.h[l][j][i];
        }
      }
      dense_times(chain.b[l][r], w + start[l], widths[l], widths[l + 1], chain.h[l + 1][r]);
      for (size_t k = 0; k < widths[l + 1] && l + 1 < num_layers; k++) {
        chain.h[l + 1][r][k] = chain.h[l + 1][r][k] > 0.0 ? chain.h[l + 1][r][k] : 0.0;
      }
    }
  }
  for (size_t r = 0; r < batch_size; r++) {
    double *row = chain.h[num_layers][r];
    int32_t label = graph->labels[batch[r]];
    double logit = row[label];
    loss += (dense_softmax(row, widths[num_layers]) - logit) / (double)batch_size;
    for (size_t k = 0; k < widths[num_layers]; k++) {
      g[r][k] = (row[k] - (k == (size_t)label ? 1.0 : 0.0)) / (double)batch_size;
    }
  }
  for (size_t l = num_layers; l-- > 0;) {
    double below[MAX_NODES][MAX_WIDTH] = {{0.0}};
    for (size_t i = 0; i < widths[l]; i++) {
      for (size_t k = 0; k < widths[l + 1]; k++) {
        size_t at = start[l] + i * widths[l + 1] + k;
        gradient[at] = lambda * (double)w[at];
        loss += 0.5 * lambda * (double)w[at] * (double)w[at];
        for (size_t r = 0; r < chain.count[l + 1]; r++) {
          gradient[at] += chain.b[l][r][i] * g[r][k];
          for (size_t j = 0; j < chain.count[l]; j++) {
            double active = l > 0 && chain.h[l][j][i] > 0.0 ? 1.0 : 0.0;
            below[j][i] += active * chain.op[l][r][j] * g[r][k] * (double)w[at];
          }
        }
      }
    }
    memcpy(g, below, sizeof g);
  }
  return loss;
}

/* ‖got - expected‖ / ‖expected‖, or ‖got‖ if nothing is expected */
static inline double dense_error(const double *expected, const float *got, size_t count) {
  double difference = 0.0, norm = 0.0;
  for (size_t i = 0; i < count; i++) {
    difference += (expected[i] - (double)got[i]) * (expected[i] - (double)got[i]);
    norm += expected[i] * expected[i];
  }
  return norm > 0.0 ? sqrt(difference / norm) : sqrt(difference);
}

#endif
