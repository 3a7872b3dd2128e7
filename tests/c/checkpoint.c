/* Checkpoints: a run that was cancelled or killed goes on and ends in the same bits; a file that is damaged or of
 * another run is refused, and nothing changes. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "training.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EPOCHS = 12 };

/* Cancels after so many epochs. */
static int32_t stop_after(void *user_data, const plim_progress *progress) {
  return progress->epoch >= *(const size_t *)user_data;
}

static int32_t count_calls(void *user_data, const plim_progress *progress) {
  (void)progress;
  ++*(size_t *)user_data;
  return 0;
}

static outcome uninterrupted(estimation how, rule moves, size_t epochs, int32_t restore) {
  setup s = training_setup(how, moves, epochs);
  outcome run;
  CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK && run.num_epochs == epochs);
  training_free(&s);
  return run;
}

static void a_cancelled_run_goes_on_and_ends_in_the_same_bits(void) {
  static const size_t everies[3] = {1, 3, 4};
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      for (int32_t restore = 0; restore < 2; restore++) {
        outcome expected = uninterrupted((estimation)how, (rule)moves, EPOCHS, restore);
        for (size_t i = 0; i < 3; i++) { /* the last checkpoint is of epoch 5, 3 and 4 */
          setup s = training_setup((estimation)how, (rule)moves, EPOCHS), fresh;
          outcome run;
          size_t stop = 5;
          CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), everies[i]));
          CHECK_OK(plim_train_options_set_progress(s.options, stop_after, &stop));
          run = training_run(&s);
          CHECK(run.status == PLIM_ERROR_CANCELLED && run.num_epochs == stop);
          fresh = training_setup((estimation)how, (rule)moves, EPOCHS); /* as in another process */
          CHECK_OK(plim_train_options_set_resume(fresh.options, files_path("run")));
          CHECK_OK(plim_train_options_set_restore_best(fresh.options, restore));
          run = training_run(&fresh);
          CHECK(training_same(&expected, &run));
          CHECK_OK(plim_train_options_set_resume(s.options, files_path("run"))); /* and with the handles at hand */
          CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
          CHECK_OK(plim_train_options_set_progress(s.options, NULL, NULL));
          run = training_run(&s);
          CHECK(training_same(&expected, &run));
          training_free(&fresh);
          training_free(&s);
        }
      }
    }
  }
  files_remove("run");
}

/* Settings whose state is more than k: schedules by epochs, plateaus, clipping, other moments and moving averages. */
enum { STEP_DECAY, COSINE, WARMUP, PLATEAU, CLIP, BETAS, EMA, USED_EMA, ALL, DRESSES };

static setup dressed_setup(estimation how, rule moves, int dress, int32_t restore) {
  setup s = training_setup(how, moves, EPOCHS);
  if (dress == STEP_DECAY) {
    CHECK_OK(plim_optimizer_set_step_decay(s.optimizer, 2, PLIM_UNIT_EPOCHS, 0.5));
  }
  if (dress == COSINE || dress == ALL) {
    CHECK_OK(plim_optimizer_set_cosine(s.optimizer, EPOCHS, PLIM_UNIT_EPOCHS, 0.001));
  }
  if (dress == WARMUP || dress == ALL) {
    CHECK_OK(plim_optimizer_set_warmup(s.optimizer, 20, PLIM_UNIT_UPDATES, 0.1));
  }
  if (dress == PLATEAU || dress == ALL) {
    CHECK_OK(plim_optimizer_set_plateau(s.optimizer, 0.3, 0, 0.0));
  }
  if (dress == CLIP || dress == ALL) {
    CHECK_OK(plim_optimizer_set_clip(s.optimizer, 0.05));
  }
  if (dress == BETAS || dress == ALL) {
    CHECK_OK(plim_optimizer_set_betas(s.optimizer, 0.95, 0.91)); /* moments of up to 12 standard deviations */
  }
  if (dress == EMA || dress == USED_EMA || dress == ALL) {
    CHECK_OK(plim_optimizer_set_ema(s.optimizer, 0.9));
  }
  CHECK_OK(plim_train_options_set_ema(s.options, dress == USED_EMA || dress == ALL));
  CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
  return s;
}

/* The moving average, if there is one, and the next step. */
typedef struct beyond {
  float ema[MOST_PARAMETERS];
  double step;
} beyond;

static beyond read_beyond(const setup *s) {
  beyond b;
  memset(&b, 0, sizeof b);
  (void)plim_optimizer_ema(s->optimizer, b.ema, MOST_PARAMETERS);
  b.step = plim_optimizer_step_size(s->optimizer);
  return b;
}

static void schedules_clipping_and_averages_go_on_in_the_same_bits(void) {
  for (int dress = 0; dress < DRESSES; dress++) {
    for (int moves = 0; moves < RULES; moves++) {
      for (int32_t restore = 0; restore < 2; restore++) {
        const estimation how = dress % 2 == 0 ? CONSISTENT : UNBIASED;
        setup whole = dressed_setup(how, (rule)moves, dress, restore), s = dressed_setup(how, (rule)moves, dress, restore);
        setup fresh = dressed_setup(how, (rule)moves, dress, restore), plain = training_setup(how, (rule)moves, EPOCHS);
        outcome expected = training_run(&whole), run;
        beyond wanted = read_beyond(&whole), found;
        size_t stop = 5;
        CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 2)); /* the last one is of epoch 4 */
        CHECK_OK(plim_train_options_set_progress(s.options, stop_after, &stop));
        run = training_run(&s);
        CHECK(run.status == PLIM_ERROR_CANCELLED && run.num_epochs == stop);
        CHECK_OK(plim_train_options_set_resume(fresh.options, files_path("run"))); /* as in another process */
        run = training_run(&fresh);
        found = read_beyond(&fresh);
        CHECK(expected.status == PLIM_OK && training_same(&expected, &run));
        CHECK(memcmp(&wanted, &found, sizeof wanted) == 0);
        CHECK_OK(plim_train_options_set_resume(plain.options, files_path("run"))); /* the setting is a part of the run */
        run = training_run(&plain);
        CHECK(run.status == (dress == USED_EMA || dress == ALL ? PLIM_ERROR_SHAPE_MISMATCH : PLIM_OK));
        if (dress != EMA && !(dress == BETAS && moves == SGD)) { /* and it does something */
          training_free(&plain);
          plain = training_setup(how, (rule)moves, EPOCHS);
          CHECK_OK(plim_train_options_set_restore_best(plain.options, restore));
          run = training_run(&plain);
          CHECK(!training_same_parameters(&expected, &run));
        }
        training_free(&plain);
        training_free(&fresh);
        training_free(&s);
        training_free(&whole);
      }
    }
  }
  files_remove("run");
}

static void a_finished_run_resumes_to_its_result(void) {
  for (int moves = 0; moves < RULES; moves++) {
    for (int32_t restore = 0; restore < 2; restore++) {
      setup s = training_setup(CONSISTENT, (rule)moves, EPOCHS);
      setup again = training_setup(CONSISTENT, (rule)moves, EPOCHS);
      outcome run, resumed;
      size_t calls = 0;
      CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 5)); /* and after the last epoch */
      CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
      CHECK_OK(plim_train_options_set_restore_best(again.options, restore));
      CHECK_OK(plim_train_options_set_resume(again.options, files_path("run")));
      CHECK_OK(plim_train_options_set_progress(again.options, count_calls, &calls));
      run = training_run(&s);
      resumed = training_run(&again);
      CHECK(run.status == PLIM_OK && training_same(&run, &resumed) && calls == 0);
      CHECK_BITS(run.columns[PLIM_HISTORY_SECONDS], resumed.columns[PLIM_HISTORY_SECONDS], EPOCHS);
      training_free(&again);
      training_free(&s);
    }
  }
  files_remove("run");
}

static void a_finished_run_goes_on_for_more_epochs(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      outcome expected = uninterrupted((estimation)how, (rule)moves, EPOCHS, 1), run;
      setup s = training_setup((estimation)how, (rule)moves, 7);
      setup longer = training_setup((estimation)how, (rule)moves, EPOCHS);
      CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 100));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK);
      CHECK_OK(plim_train_options_set_resume(longer.options, files_path("run")));
      run = training_run(&longer);
      CHECK(training_same(&expected, &run));
      training_free(&longer);
      training_free(&s);
    }
  }
  files_remove("run");
}

static void a_run_out_of_patience_stays_so(void) {
  setup s = training_setup(UNBIASED, ADAM, 100), again = training_setup(UNBIASED, ADAM, 100);
  outcome run, resumed;
  size_t calls = 0;
  CHECK_OK(plim_train_options_set_progress(again.options, count_calls, &calls));
  CHECK_OK(plim_train_options_set_patience(s.options, 4));
  CHECK_OK(plim_train_options_set_patience(again.options, 4));
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1000)); /* so only when it ends */
  CHECK_OK(plim_train_options_set_resume(again.options, files_path("run")));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK && run.num_epochs < 100 && run.num_epochs == run.best_epoch + 4);
  resumed = training_run(&again);
  CHECK(training_same(&run, &resumed) && calls == 0);
  training_free(&again);
  training_free(&s);
  files_remove("run");
}

static void a_missing_file_starts_afresh(void) {
  static const char *const names[2] = {"none", "no-folder/none"};
  outcome expected = uninterrupted(CONSISTENT, ADAM, EPOCHS, 1);
  for (size_t i = 0; i < 2; i++) {
    setup s = training_setup(CONSISTENT, ADAM, EPOCHS);
    outcome run;
    CHECK_OK(plim_train_options_set_resume(s.options, files_path(names[i])));
    run = training_run(&s);
    CHECK(training_same(&expected, &run));
    training_free(&s);
  }
}

static void the_same_name_serves_to_resume_and_to_write(void) {
  outcome expected = uninterrupted(CONSISTENT, SGD, EPOCHS, 1);
  for (size_t stop = 2; stop <= EPOCHS; stop += 2) { /* two epochs a time, each time with new handles */
    setup s = training_setup(CONSISTENT, SGD, EPOCHS);
    outcome run;
    CHECK_OK(plim_train_options_set_resume(s.options, files_path("run")));
    CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
    if (stop < EPOCHS) {
      CHECK_OK(plim_train_options_set_progress(s.options, stop_after, &stop));
    }
    run = training_run(&s);
    CHECK(run.num_epochs == stop && run.status == (stop < EPOCHS ? PLIM_ERROR_CANCELLED : PLIM_OK));
    if (stop == EPOCHS) {
      CHECK(training_same(&expected, &run));
    }
    training_free(&s);
  }
  files_remove("run");
}

/* Removes what a killed writer left beside the checkpoint; says how much it was. */
static size_t remove_all(void) {
  size_t removed = 0;
  DIR *directory = opendir(files_directory);
  struct dirent *entry;
  CHECK(directory != NULL);
  while (directory != NULL && (entry = readdir(directory)) != NULL) {
    if (entry->d_name[0] != '.') {
      files_remove(entry->d_name);
      removed++;
    }
  }
  if (directory != NULL) {
    closedir(directory);
  }
  return removed;
}

static void wait_for(double milliseconds) {
  struct timespec pause;
  pause.tv_sec = (time_t)(milliseconds / 1e3);
  pause.tv_nsec = (long)((milliseconds - 1e3 * (double)pause.tv_sec) * 1e6);
  nanosleep(&pause, NULL);
}

/* Makes an epoch last: a run is then longer than the wait for its kill, on a fast machine too. */
static int32_t linger(void *user_data, const plim_progress *progress) {
  (void)progress;
  wait_for(*(const double *)user_data);
  return 0;
}

static void a_killed_run_goes_on_and_ends_in_the_same_bits(void) {
  enum { LONG = 40 };
  static const estimation hows[2] = {UNBIASED, CONSISTENT};
  uint64_t state = (uint64_t)time(NULL); /* another moment each time */
  size_t killed = 0, finished = 0, kills = check_scale(6, 2);
  double longest = (double)check_scale(40, 600); /* milliseconds until a kill */
  double pause = 2.0 * longest / LONG;           /* after each epoch, so that a whole run takes twice that */
  for (size_t i = 0; i < 2; i++) {
    for (int moves = 0; moves < RULES; moves++) {
      outcome expected = uninterrupted(hows[i], (rule)moves, LONG, 1), run;
      setup s = training_setup(hows[i], (rule)moves, LONG);
      (void)files_path("run"); /* makes the folder */
      for (size_t round = 0; round < kills; round++) {
        pid_t pid;
        int status = 0;
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
          setup own = training_setup(hows[i], (rule)moves, LONG);
          plim_status ended;
          CHECK_OK(plim_train_options_set_resume(own.options, files_path("run")));
          CHECK_OK(plim_train_options_set_checkpoint(own.options, files_path("run"), 1));
          CHECK_OK(plim_train_options_set_progress(own.options, linger, &pause));
          ended = plim_train(own.model, own.graph, own.estimator, own.optimizer, own.options, NULL);
          _exit(ended == PLIM_OK && check_failed == 0 ? 0 : 1);
        }
        CHECK(pid > 0);
        wait_for(longest * 0.5 * (1.0 + dense_random(&state)));
        CHECK(kill(pid, SIGKILL) == 0);
        CHECK(waitpid(pid, &status, 0) == pid);
        if (WIFSIGNALED(status)) {
          killed++;
        } else {
          CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* what was left by the last one was good */
          finished++;
        }
      }
      CHECK_OK(plim_train_options_set_resume(s.options, files_path("run")));
      run = training_run(&s);
      CHECK(training_same(&expected, &run));
      training_free(&s);
      (void)remove_all();
    }
  }
  CHECK(killed > 0 && killed + finished == 4 * kills);
}

/* A small run: the sample graph and a model of one layer. */
static setup small_setup(void) {
  setup s = {NULL, NULL, NULL, NULL, NULL};
  s.graph = sample_graph();
  s.model = sample_model(1);
  CHECK_OK(plim_estimator_unbiased(&s.estimator));
  CHECK_OK(plim_optimizer_sgd(0.1, &s.optimizer));
  CHECK_OK(plim_train_options_new(&s.options));
  CHECK_OK(plim_train_options_set_epochs(s.options, 2));
  CHECK_OK(plim_train_options_set_batch_size(s.options, 2));
  return s;
}

/* A file of these bytes is refused with 7, and the model stays as it is. */
static int refused(const setup *s, const void *data, size_t size, const outcome *before) {
  outcome after;
  files_write("bad", data, size);
  after = training_run(s);
  return after.status == PLIM_ERROR_BAD_FORMAT && strstr(after.message, "/bad: ") != NULL &&
         training_same_parameters(before, &after);
}

static void a_damaged_file_is_refused_and_nothing_changes(void) {
  setup maker = small_setup(), s = small_setup(), twin = small_setup();
  outcome before, made, run, expected;
  bytes file;
  unsigned char *changed;
  size_t wrong = 0, tried = 0, step = check_scale(1, 97);
  CHECK_OK(plim_train_options_set_checkpoint(maker.options, files_path("good"), 1));
  made = training_run(&maker);
  CHECK(made.status == PLIM_OK);
  file = files_read("good");
  changed = (unsigned char *)check_alloc(file.size + 64, 1);
  CHECK_OK(plim_train_options_set_resume(s.options, files_path("bad")));
  memset(&before, 0, sizeof before);
  training_read(&s, &before);
  for (size_t size = 0; size < file.size; size += step) {
    wrong += !refused(&s, file.data, size, &before);
    tried++;
  }
  CHECK(wrong == 0);
  for (size_t bit = 0; bit < 8 * file.size; bit += step) {
    memcpy(changed, file.data, file.size);
    changed[bit / 8] = (unsigned char)(changed[bit / 8] ^ 1u << bit % 8);
    wrong += !refused(&s, changed, file.size, &before);
    tried++;
  }
  CHECK(wrong == 0);
  for (size_t more = 1; more <= 64; more += 7) { /* longer than it was */
    memcpy(changed, file.data, file.size);
    wrong += !refused(&s, changed, file.size + more, &before);
  }
  CHECK(wrong == 0);
  memset(changed, 0xff, file.size);
  CHECK(refused(&s, changed, file.size, &before));
  memset(changed, 0, file.size);
  CHECK(refused(&s, changed, file.size, &before));
  CHECK(tried >= 9 * file.size / step);
  /* After all that, the handles train as those that were never given such a file. */
  CHECK_OK(plim_train_options_set_resume(s.options, NULL));
  run = training_run(&s);
  expected = training_run(&twin);
  CHECK(training_same(&expected, &run));
  free(changed);
  free(file.data);
  training_free(&twin);
  training_free(&s);
  training_free(&maker);
  files_remove("good");
  files_remove("bad");
}

/* Other runs, one difference each. */
enum {
  OTHER_NODES, OTHER_EDGES, OTHER_TRAIN, OTHER_FEATURES, OTHER_CLASSES, OTHER_WIDTH, OTHER_DEPTH, OTHER_ESTIMATOR,
  OTHER_SIZE, OTHER_DISTRIBUTION, OTHER_WEIGHTS, OTHER_DRAWS, OTHER_DRAW_SEED, OTHER_OPTIMIZER, OTHER_BATCH, OTHER_SEED,
  OTHERS
};

static void give_sample_features(plim_graph *graph, size_t nodes, size_t features) {
  float values[(SAMPLE_NODES + 1) * (SAMPLE_FEATURES + 1)];
  sample_features(values, nodes * features);
  CHECK_OK(plim_graph_set_features(graph, features, values));
}

static setup other_setup(int difference) {
  static const int32_t more_labels[SAMPLE_NODES + 1] = {0, 1, 2, 1, 0, 2, 1, 0, 2, 0, -1, 1, 0};
  static const int32_t fewer_classes[SAMPLE_NODES] = {0, 1, 1, 1, 0, 1, 1, 0, 1, 0, -1, 1};
  static const double weights[SAMPLE_NODES] = {1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0};
  static const int32_t draws[3] = {1, 2, 3};
  size_t widths[4] = {SAMPLE_FEATURES, 4, SAMPLE_CLASSES, SAMPLE_CLASSES}, sizes[3] = {0, 6, 6}, layers = 2;
  size_t nodes = SAMPLE_NODES, features = SAMPLE_FEATURES;
  setup s = {NULL, NULL, NULL, NULL, NULL};
  s.graph = sample_graph();
  if (difference == OTHER_NODES || difference == OTHER_EDGES) {
    nodes += difference == OTHER_NODES;
    plim_graph_free(s.graph);
    CHECK_OK(plim_graph_from_edges(nodes, difference == OTHER_EDGES ? SAMPLE_EDGES - 1 : SAMPLE_EDGES, sample_sources,
                                   sample_targets, sample_weights, &s.graph));
    give_sample_features(s.graph, nodes, features);
    CHECK_OK(plim_graph_set_labels(s.graph, more_labels));
    CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_TRAIN, sample_train, SAMPLE_TRAIN));
    CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_VAL, sample_val, 3));
  } else if (difference == OTHER_TRAIN) {
    CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_TRAIN, sample_train, SAMPLE_TRAIN - 1));
  } else if (difference == OTHER_FEATURES) {
    widths[0] = ++features;
    give_sample_features(s.graph, nodes, features);
  } else if (difference == OTHER_CLASSES) {
    CHECK_OK(plim_graph_set_labels(s.graph, fewer_classes));
  } else if (difference == OTHER_WIDTH) {
    widths[1] = 5;
  } else if (difference == OTHER_DEPTH) {
    layers = 3;
  }
  CHECK_OK(plim_model_gcn(widths, layers + 1, 3, &s.model));
  if (difference == OTHER_ESTIMATOR) {
    CHECK_OK(plim_estimator_unbiased(&s.estimator));
  } else {
    sizes[1] += difference == OTHER_SIZE;
    CHECK_OK(plim_estimator_consistent(sizes, layers, &s.estimator));
  }
  if (difference == OTHER_DISTRIBUTION) {
    CHECK_OK(plim_estimator_set_distribution(s.estimator, PLIM_DISTRIBUTION_LADIES));
  } else if (difference == OTHER_WEIGHTS) {
    CHECK_OK(plim_estimator_set_weights(s.estimator, weights, SAMPLE_NODES));
  } else if (difference == OTHER_DRAWS) {
    CHECK_OK(plim_estimator_set_draws(s.estimator, 1, draws, 3));
  } else if (difference == OTHER_DRAW_SEED) {
    CHECK_OK(plim_estimator_set_seed(s.estimator, 1));
  }
  if (difference == OTHER_OPTIMIZER) {
    CHECK_OK(plim_optimizer_adam(0.1, &s.optimizer));
  } else {
    CHECK_OK(plim_optimizer_sgd(0.1, &s.optimizer));
  }
  CHECK_OK(plim_train_options_new(&s.options));
  CHECK_OK(plim_train_options_set_epochs(s.options, 3));
  CHECK_OK(plim_train_options_set_batch_size(s.options, difference == OTHER_BATCH ? 3 : 2));
  CHECK_OK(plim_train_options_set_seed(s.options, difference == OTHER_SEED ? 1 : 0));
  return s;
}

static void a_checkpoint_of_another_run_is_refused_and_nothing_changes(void) {
  setup maker = other_setup(OTHERS), same = other_setup(OTHERS);
  outcome made, run;
  CHECK_OK(plim_train_options_set_checkpoint(maker.options, files_path("run"), 1));
  made = training_run(&maker);
  CHECK(made.status == PLIM_OK);
  for (int difference = 0; difference < OTHERS; difference++) {
    setup s = other_setup(difference), twin = other_setup(difference);
    outcome before, after, expected;
    memset(&before, 0, sizeof before);
    training_read(&s, &before);
    CHECK_OK(plim_train_options_set_resume(s.options, files_path("run")));
    after = training_run(&s); /* checks that there is no history */
    if (!CHECK(after.status == PLIM_ERROR_SHAPE_MISMATCH)) {
      fprintf(stderr, "  difference %d gives status %d\n", difference, (int)after.status);
    }
    CHECK(training_same_parameters(&before, &after));
    CHECK_OK(plim_train_options_set_resume(s.options, NULL));
    run = training_run(&s);
    expected = training_run(&twin);
    CHECK(run.status == PLIM_OK && training_same(&expected, &run));
    training_free(&twin);
    training_free(&s);
  }
  CHECK_OK(plim_train_options_set_resume(same.options, files_path("run"))); /* and without any difference it is taken */
  run = training_run(&same);
  CHECK(training_same(&made, &run));
  training_free(&same);
  training_free(&maker);
  files_remove("run");
}

/* Returns whether a text ends so, and prints it if not. */
static int ends(const char *text, const char *end) {
  size_t length = strlen(text), size = strlen(end);
  int so = length >= size && strcmp(text + length - size, end) == 0;
  if (!so) {
    fprintf(stderr, "  \"%s\" does not end in \"%s\"\n", text, end);
  }
  return so;
}

/* The model comes first, then what it learns from, then how: the alphabet would blame the batch size. */
static void a_refusal_names_the_file_and_every_difference_with_the_model_first(void) {
  static const size_t other_widths[3] = {SAMPLE_FEATURES, 5, SAMPLE_CLASSES};
  setup maker = other_setup(OTHERS), other = other_setup(OTHER_WIDTH), more = other_setup(OTHER_TRAIN);
  outcome run;
  char expected[160];
  CHECK_OK(plim_train_options_set_checkpoint(maker.options, files_path("run"), 1));
  CHECK(training_run(&maker).status == PLIM_OK);
  CHECK_OK(plim_train_options_set_resume(other.options, files_path("run")));
  run = training_run(&other);
  snprintf(expected, sizeof expected, "run: the checkpoint is of another run: its widths are [%d,4,%d], not [%d,5,%d]",
           SAMPLE_FEATURES, SAMPLE_CLASSES, SAMPLE_FEATURES, SAMPLE_CLASSES);
  CHECK(run.status == PLIM_ERROR_SHAPE_MISMATCH);
  CHECK(ends(run.message, expected));
  /* An optimizer that has moved the earlier model is not what is wrong. */
  CHECK_STATUS(PLIM_ERROR_SHAPE_MISMATCH,
               plim_train(other.model, other.graph, other.estimator, maker.optimizer, other.options, NULL));
  CHECK(ends(plim_last_error(), expected));
  /* All that differs, in order. */
  plim_model_free(more.model);
  CHECK_OK(plim_model_gcn(other_widths, 3, 3, &more.model));
  CHECK_OK(plim_train_options_set_batch_size(more.options, 3));
  CHECK_OK(plim_train_options_set_resume(more.options, files_path("run")));
  run = training_run(&more);
  CHECK(run.status == PLIM_ERROR_SHAPE_MISMATCH);
  snprintf(expected, sizeof expected, "not [%d,5,%d]; its number of training nodes is %d, not %d; its batch size is 2, not 3",
           SAMPLE_FEATURES, SAMPLE_CLASSES, SAMPLE_TRAIN, SAMPLE_TRAIN - 1);
  CHECK(ends(run.message, expected));
  training_free(&more);
  training_free(&other);
  training_free(&maker);
  files_remove("run");
}

/* The checkpoint replaces its state, whatever that was. */
static void an_optimizer_that_moved_another_model_goes_on_from_a_checkpoint(void) {
  static const size_t widths[2] = {SAMPLE_FEATURES, SAMPLE_CLASSES};
  setup maker = other_setup(OTHERS), later = other_setup(OTHERS);
  plim_model *small = NULL;
  plim_estimator *full = NULL;
  outcome made, run;
  CHECK_OK(plim_train_options_set_checkpoint(maker.options, files_path("run"), 1));
  made = training_run(&maker);
  CHECK_OK(plim_model_gcn(widths, 2, 1, &small));
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_train(small, later.graph, full, later.optimizer, later.options, NULL));
  CHECK_OK(plim_train_options_set_resume(later.options, files_path("none"))); /* without one its state has to fit */
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "this optimizer has moved",
              plim_train(later.model, later.graph, later.estimator, later.optimizer, later.options, NULL));
  CHECK_OK(plim_train_options_set_resume(later.options, files_path("run")));
  run = training_run(&later);
  CHECK(run.status == PLIM_OK && training_same(&made, &run));
  plim_estimator_free(full);
  plim_model_free(small);
  training_free(&later);
  training_free(&maker);
  files_remove("run");
}

/* The caller's own weights and draws are part of a run too, not just how many there are. */
static void other_weights_and_other_draws_are_another_run(void) {
  static const double weights[2][SAMPLE_NODES] = {{1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0},
                                                  {2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0}};
  static const int32_t draws[2][3] = {{1, 2, 3}, {1, 2, 4}};
  for (size_t kind = 0; kind < 2; kind++) {
    for (size_t other = 0; other < 2; other++) {
      setup s = other_setup(OTHERS);
      outcome run;
      CHECK_OK(kind == 0 ? plim_estimator_set_weights(s.estimator, weights[other], SAMPLE_NODES)
                         : plim_estimator_set_draws(s.estimator, 1, draws[other], 3));
      if (other == 0) {
        CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
      } else {
        CHECK_OK(plim_train_options_set_resume(s.options, files_path("run")));
      }
      run = training_run(&s);
      CHECK(run.status == (other == 0 ? PLIM_OK : PLIM_ERROR_SHAPE_MISMATCH));
      training_free(&s);
    }
  }
  files_remove("run");
}

static void files_that_cannot_be_had_are_io_errors(void) {
  setup s = small_setup(), twin = small_setup();
  outcome before, run, expected;
  memset(&before, 0, sizeof before);
  training_read(&s, &before);
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("no-folder/run"), 1));
  run = training_run(&s);
  CHECK(run.status == PLIM_ERROR_IO && strstr(run.message, "no-folder/run") != NULL);
  CHECK(training_same_parameters(&before, &run)); /* found before the first step */
  training_read(&s, &before);
  CHECK_OK(plim_train_options_set_checkpoint(s.options, NULL, 0));
  CHECK(mkdir(files_path("folder"), 0700) == 0);
  CHECK_OK(plim_train_options_set_resume(s.options, files_path("folder")));
  run = training_run(&s);
  CHECK(run.status == PLIM_ERROR_IO && strstr(run.message, "folder") != NULL);
  CHECK(training_same_parameters(&before, &run));
  CHECK_OK(plim_train_options_set_resume(s.options, NULL));
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("folder"), 1)); /* a folder is in the way */
  run = training_run(&s);
  CHECK(run.status == PLIM_ERROR_IO);
  CHECK(rmdir(files_path("folder")) == 0);
  CHECK_OK(plim_train_options_set_checkpoint(s.options, NULL, 0));
  training_free(&s);
  s = small_setup(); /* what was set and taken back is not there */
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("no-folder/run"), 1));
  CHECK_OK(plim_train_options_set_checkpoint(s.options, NULL, 0));
  run = training_run(&s);
  expected = training_run(&twin);
  CHECK(training_same(&expected, &run));
  training_free(&twin);
  training_free(&s);
}

/* Only the last checkpoint is there, and nothing beside it. */
static void a_run_leaves_one_file(void) {
  setup s = training_setup(UNBIASED, SGD, EPOCHS);
  outcome run;
  (void)remove_all();
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK);
  CHECK(remove_all() == 1);
  training_free(&s);
}

int main(void) {
  RUN(a_cancelled_run_goes_on_and_ends_in_the_same_bits);
  RUN(schedules_clipping_and_averages_go_on_in_the_same_bits);
  RUN(a_finished_run_resumes_to_its_result);
  RUN(a_finished_run_goes_on_for_more_epochs);
  RUN(a_run_out_of_patience_stays_so);
  RUN(a_missing_file_starts_afresh);
  RUN(the_same_name_serves_to_resume_and_to_write);
  RUN(a_killed_run_goes_on_and_ends_in_the_same_bits);
  RUN(a_damaged_file_is_refused_and_nothing_changes);
  RUN(a_checkpoint_of_another_run_is_refused_and_nothing_changes);
  RUN(a_refusal_names_the_file_and_every_difference_with_the_model_first);
  RUN(an_optimizer_that_moved_another_model_goes_on_from_a_checkpoint);
  RUN(other_weights_and_other_draws_are_another_run);
  RUN(files_that_cannot_be_had_are_io_errors);
  RUN(a_run_leaves_one_file);
  files_close();
  return check_close();
}
