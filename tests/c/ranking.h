/* Shared by the tests of ranking: queries whose relevance depends mostly on a linear score. */
#ifndef PLIM_TESTS_RANKING_H
#define PLIM_TESTS_RANKING_H

#include "check.h"

enum { RANK_QUERIES = 40, RANK_EACH = 12, RANK_FEATURES = 4, RANK_DOCUMENTS = RANK_QUERIES * RANK_EACH };

typedef struct ranking {
  float features[RANK_DOCUMENTS * RANK_FEATURES];
  int32_t relevance[RANK_DOCUMENTS];
  int64_t offsets[RANK_QUERIES + 1];
} ranking;

static inline double ranking_unit(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) / 9007199254740992.0;
}

static inline void ranking_fill(ranking *r, uint64_t seed) {
  for (size_t v = 0; v < RANK_DOCUMENTS; v++) {
    double score = 0.0;
    for (size_t k = 0; k < RANK_FEATURES; k++) {
      double x = 2.0 * ranking_unit(&seed) - 1.0;
      r->features[v * RANK_FEATURES + k] = (float)x;
      score += (k == 0 ? 2.0 : -0.5 * (double)k) * x;
    }
    score += 0.5 * ranking_unit(&seed);
    r->relevance[v] = score > 1.5 ? 2 : score > 0.0 ? 1 : 0;
  }
  for (size_t q = 0; q <= RANK_QUERIES; q++) {
    r->offsets[q] = (int64_t)(q * RANK_EACH);
  }
}

/* The first 30 queries for training, then 5 for validation and 5 for tests. */
static inline plim_rank_data *ranking_data(uint64_t seed) {
  static ranking r;
  plim_rank_data *data = NULL;
  int32_t queries[RANK_QUERIES];
  ranking_fill(&r, seed);
  for (int32_t q = 0; q < RANK_QUERIES; q++) {
    queries[q] = q;
  }
  CHECK_OK(plim_rank_data_new(RANK_DOCUMENTS, RANK_FEATURES, r.features, r.relevance, RANK_QUERIES, r.offsets, &data));
  CHECK_OK(plim_rank_data_set_split(data, PLIM_SPLIT_TRAIN, queries, 30));
  CHECK_OK(plim_rank_data_set_split(data, PLIM_SPLIT_VAL, queries + 30, 5));
  CHECK_OK(plim_rank_data_set_split(data, PLIM_SPLIT_TEST, queries + 35, 5));
  return data;
}

/* A linear scorer, or one with a hidden layer of `hidden` units. */
static inline plim_model *ranking_model(size_t hidden) {
  size_t widths[3] = {RANK_FEATURES, 1, 1};
  plim_model *model = NULL;
  if (hidden > 0) {
    widths[1] = hidden;
  }
  CHECK_OK(plim_model_gcn(widths, hidden > 0 ? 3 : 2, 3, &model));
  return model;
}

#endif
