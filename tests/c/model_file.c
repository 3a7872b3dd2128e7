/* Model files: safetensors, that is the length of a JSON header (8 bytes, little-endian), the header, the data.
 * A weight is stored fan_out × fan_in, as PyTorch does. What is saved loads with the same bits; a file that was changed, or
 * holds anything else, is status 7, and the out-parameter stays. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "sample.h"

static void a_saved_model_loads_bit_for_bit(void) {
  plim_graph *graph = sample_graph();
  for (size_t num_layers = 1; num_layers <= 4; num_layers++) {
    plim_model *model = sample_model(num_layers), *loaded = NULL;
    size_t count = plim_model_num_parameters(model), widths[MAX_LAYERS + 1], copy[MAX_LAYERS + 1];
    float given[MAX_PARAMETERS], got[MAX_PARAMETERS], before[36], after[36];
    CHECK_OK(plim_model_get_parameters(model, given, MAX_PARAMETERS));
    given[0] = -0.0f;
    given[1] = 1e-42f;
    CHECK_OK(plim_model_set_parameters(model, given, count));
    CHECK_OK(plim_model_save(model, files_path("model.safetensors")));
    CHECK_OK(plim_model_load(files_path("model.safetensors"), &loaded));
    CHECK_OK(plim_model_save(loaded, files_path("model.safetensors"))); /* over the file that is there */
    plim_model_free(loaded);
    CHECK_OK(plim_model_load(files_path("model.safetensors"), &loaded));
    CHECK(plim_model_num_layers(loaded) == num_layers);
    CHECK(plim_model_num_parameters(loaded) == count);
    CHECK_OK(plim_model_copy_widths(model, widths, MAX_LAYERS + 1));
    CHECK_OK(plim_model_copy_widths(loaded, copy, MAX_LAYERS + 1));
    CHECK_BITS(widths, copy, num_layers + 1);
    check_fill(got, MAX_PARAMETERS);
    CHECK_OK(plim_model_get_parameters(loaded, got, MAX_PARAMETERS));
    CHECK_BITS(given, got, count);
    sample_predict(model, graph, before);
    sample_predict(loaded, graph, after);
    CHECK_BITS(before, after, 36);
    plim_model_free(loaded);
    plim_model_free(model);
  }
  files_remove("model.safetensors");
  plim_graph_free(graph);
}

/* The bytes of a saved model of widths 5, 4, 3. */
static bytes saved_model(void) {
  plim_model *model = sample_model(2);
  bytes file;
  CHECK_OK(plim_model_save(model, files_path("saved")));
  file = files_read("saved");
  files_remove("saved");
  plim_model_free(model);
  return file;
}

static void the_same_model_is_saved_as_the_same_bytes(void) {
  bytes expected = saved_model();
  for (size_t i = 0; i < 8; i++) {
    bytes again = saved_model();
    CHECK(again.size == expected.size);
    CHECK_BITS(expected.data, again.data, again.size == expected.size ? again.size : 0);
    free(again.data);
  }
  free(expected.data);
}

static uint64_t header_length(bytes file) {
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) {
    length = length << 8 | file.data[i];
  }
  return length;
}

static void put_length(unsigned char *data, uint64_t length) {
  for (size_t i = 0; i < 8; i++) {
    data[i] = (unsigned char)(length >> (8 * i) & 0xff);
  }
}

/* The file is refused as badly formatted; `what` tells which one. */
static void check_refused(const void *data, size_t size, const char *what) {
  plim_model *model = UNTOUCHED(plim_model);
  plim_status status;
  files_write("bad", data, size);
  status = plim_model_load(files_path("bad"), &model);
  if (!CHECK(status == PLIM_ERROR_BAD_FORMAT) || !CHECK(plim_last_error()[0] != '\0') ||
      !CHECK(model == UNTOUCHED(plim_model))) {
    fprintf(stderr, "  status %d for %s (%s)\n", (int)status, what, plim_last_error());
  }
}

static void a_file_cut_anywhere_is_refused(void) {
  bytes file = saved_model();
  files_cut(file, check_scale(1, 17), check_refused);
  free(file.data);
}

static void bytes_after_the_end_are_refused(void) {
  bytes file = saved_model();
  unsigned char *longer = (unsigned char *)check_alloc(file.size + 4, 1);
  memcpy(longer, file.data, file.size);
  check_refused(longer, file.size + 1, "one byte more");
  check_refused(longer, file.size + 4, "one float more");
  free(longer);
  free(file.data);
}

static void a_flipped_bit_is_refused(void) {
  bytes file = saved_model();
  size_t step = check_scale(1, 173);
  for (size_t bit = 0; bit < 8 * file.size; bit += step) {
    char what[64];
    snprintf(what, sizeof what, "byte %zu with bit %zu flipped", bit / 8, bit % 8);
    file.data[bit / 8] = (unsigned char)(file.data[bit / 8] ^ 1 << bit % 8);
    check_refused(file.data, file.size, what);
    file.data[bit / 8] = (unsigned char)(file.data[bit / 8] ^ 1 << bit % 8);
  }
  free(file.data);
}

static void a_changed_number_is_refused_by_the_name_of_its_tensor(void) {
  bytes file = saved_model();
  plim_model *model = UNTOUCHED(plim_model);
  file.data[file.size - 1] ^= 0x80; /* the sign of a weight of the last layer */
  files_write("bad", file.data, file.size);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "bad: convs.1.lin.weight does not match its checksum",
              plim_model_load(files_path("bad"), &model));
  free(file.data);
}

/* The saved file with the first `from` of its header replaced by `to`. */
static void check_refused_header(const char *from, const char *to) {
  bytes file = saved_model();
  size_t length = (size_t)header_length(file), before = 0, cut = strlen(from), paste = strlen(to);
  unsigned char *changed = (unsigned char *)check_alloc(file.size + paste, 1);
  while (before + cut <= length && memcmp(file.data + 8 + before, from, cut) != 0) {
    before++;
  }
  if (CHECK(before + cut <= length)) {
    put_length(changed, length - cut + paste);
    memcpy(changed + 8, file.data + 8, before);
    memcpy(changed + 8 + before, to, paste);
    memcpy(changed + 8 + before + paste, file.data + 8 + before + cut, file.size - 8 - before - cut);
    check_refused(changed, file.size - cut + paste, to);
  } else {
    fprintf(stderr, "  no %s in the header %.*s\n", from, (int)length, (const char *)file.data + 8);
  }
  free(changed);
  free(file.data);
}

static void a_wrong_type_is_refused(void) {
  check_refused_header("F32", "I32"); /* as many bytes, but no floats */
  check_refused_header("F32", "U32");
  check_refused_header("F32", "F16");
  check_refused_header("F32", "BF16");
  check_refused_header("F32", "F64");
  check_refused_header("F32", "BOOL");
  check_refused_header("F32", "Q99");
  check_refused_header("\"F32\"", "32");
}

static void a_wrong_shape_is_refused(void) {
  check_refused_header("[4,5]", "[5,4]"); /* right size, but the next layer takes 4 */
  check_refused_header("[3,4]", "[4,3]");
  check_refused_header("[3,4]", "[6,2]");
  check_refused_header("[4,5]", "[20]");
  check_refused_header("[4,5]", "[1,4,5]");
  check_refused_header("[4,5]", "[4,5,1]");
  check_refused_header("[4,5]", "[]");
  check_refused_header("[4,5]", "[5,5]");
  check_refused_header("[4,5]", "[0,5]");
  check_refused_header("[4,5]", "[-4,-5]");
  check_refused_header("[4,5]", "[4.0,5]");
  check_refused_header("[4,5]", "[4294967296,4294967296]");
  check_refused_header("[4,5]", "[18446744073709551615,18446744073709551615]");
}

/* A file whose header is this text, with `size` bytes of zeros behind it. */
static void check_refused_text(const char *header, size_t size) {
  size_t length = strlen(header);
  unsigned char *data = (unsigned char *)check_alloc(8 + length + size, 1);
  put_length(data, length);
  memcpy(data + 8, header, length);
  check_refused(data, 8 + length + size, header);
  free(data);
}

static void a_file_by_hand_that_is_no_model_is_refused(void) {
  check_refused_text("", 0);
  check_refused_text("{}", 0);
  check_refused_text("{}", 16);
  check_refused_text("[]", 0);
  check_refused_text("null", 0);
  check_refused_text("{", 0);
  check_refused_text("{\"__metadata__\":{\"a\":\"b\"}}", 0);
  check_refused_text("{\"stranger\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}", 16);
  check_refused_text("{\"stranger\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]}}", 0);
  check_refused_text("{\"stranger\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,0]}}", 16);
  check_refused_text("{\"stranger\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,1600]}}", 16);
  check_refused_text("{\"stranger\":{\"shape\":[2,2],\"data_offsets\":[0,16]}}", 16);
  check_refused_text("\xff\xfe not text at all", 16);
}

static void a_file_by_hand_in_pytorch_s_layout_is_a_model(void) {
  static const char header[] = "{\"convs.0.lin.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}";
  static const float stored[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}; /* fan_out rows of fan_in */
  static const float expected[6] = {1.0f, 3.0f, 5.0f, 2.0f, 4.0f, 6.0f};
  unsigned char data[256];
  size_t length = sizeof header - 1, widths[2] = {0, 0};
  float got[6];
  plim_model *model = NULL;
  put_length(data, length);
  memcpy(data + 8, header, length);
  memcpy(data + 8 + length, stored, sizeof stored); /* on a little-endian machine */
  files_write("bad", data, 8 + length + sizeof stored);
  CHECK_OK(plim_model_load(files_path("bad"), &model));
  CHECK_OK(plim_model_copy_widths(model, widths, 2));
  CHECK(widths[0] == 2 && widths[1] == 3);
  CHECK_OK(plim_model_get_parameters(model, got, 6));
  CHECK_BITS(expected, got, 6);
  plim_model_free(model);
}

static void the_penalty_goes_into_the_file(void) {
  static const double lambdas[] = {0.0, 0.1, 5e-4, 1e-300, 123456.789};
  plim_graph *graph = sample_graph();
  plim_estimator *full = NULL;
  CHECK_OK(plim_estimator_full(&full));
  for (size_t i = 0; i < sizeof lambdas / sizeof lambdas[0]; i++) {
    plim_model *model = sample_model(2), *loaded = NULL;
    float gradient[32], again[32];
    double loss = NAN, of_loaded = NAN;
    CHECK_OK(plim_model_set_regularization(model, lambdas[i]));
    CHECK_OK(plim_model_save(model, files_path("bad")));
    CHECK_OK(plim_model_load(files_path("bad"), &loaded));
    CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, 32, &loss));
    CHECK_OK(plim_estimator_gradient(full, loaded, graph, NULL, 0, again, 32, &of_loaded));
    CHECK(loss == of_loaded);
    CHECK_BITS(gradient, again, 32);
    plim_model_free(loaded);
    plim_model_free(model);
  }
  plim_estimator_free(full);
  plim_graph_free(graph);
}

static void an_impossible_header_length_is_refused(void) {
  static const uint64_t lengths[] = {3, 1000, 100000001, UINT32_MAX, (uint64_t)1 << 40, INT64_MAX, UINT64_MAX - 7,
                                     UINT64_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    unsigned char data[64] = {0};
    put_length(data, lengths[i]);
    memcpy(data + 8, "{}", 2);
    check_refused(data, sizeof data, "an impossible header length");
  }
}

static void garbage_is_refused(void) {
  unsigned char garbage[300];
  uint64_t state = 5;
  for (size_t round = 0; round < 20; round++) {
    dense_noise(garbage, sizeof garbage, &state);
    check_refused(garbage, sizeof garbage, "garbage");
  }
  memset(garbage, 0, sizeof garbage);
  check_refused(garbage, sizeof garbage, "zeros");
  memset(garbage, 0xff, sizeof garbage);
  check_refused(garbage, sizeof garbage, "ones");
  check_refused("PK\003\004", 4, "an archive");
}

static void parameters_that_are_no_numbers_are_refused(void) {
  static const unsigned char nan[4] = {0, 0, 0xc0, 0x7f}, infinite[4] = {0, 0, 0x80, 0xff};
  bytes file = saved_model();
  memcpy(file.data + file.size - 8, nan, 4);
  check_refused(file.data, file.size, "NaN");
  memcpy(file.data + file.size - 8, infinite, 4);
  check_refused(file.data, file.size, "infinity");
  free(file.data);
}

static void a_file_that_cannot_be_read_or_written_is_an_input_output_error(void) {
  plim_model *model = sample_model(1), *loaded = UNTOUCHED(plim_model);
  float before[15], after[15];
  CHECK_OK(plim_model_get_parameters(model, before, 15));
  CHECK_FAILS(PLIM_ERROR_IO, "missing.safetensors", plim_model_load(files_path("missing.safetensors"), &loaded));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_model_load("", &loaded));
  CHECK_STATUS(PLIM_ERROR_IO, plim_model_load(files_path("."), &loaded));
  CHECK_FAILS(PLIM_ERROR_IO, "folder", plim_model_save(model, files_path("no/such/folder/m")));
  CHECK_STATUS(PLIM_ERROR_IO, plim_model_save(model, files_path(".")));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_model_save(model, ""));
  CHECK(loaded == UNTOUCHED(plim_model));
  CHECK_OK(plim_model_get_parameters(model, after, 15));
  CHECK_BITS(before, after, 15);
  plim_model_free(model);
}

int main(void) {
  RUN(a_saved_model_loads_bit_for_bit);
  RUN(the_same_model_is_saved_as_the_same_bytes);
  RUN(a_file_cut_anywhere_is_refused);
  RUN(bytes_after_the_end_are_refused);
  RUN(a_flipped_bit_is_refused);
  RUN(a_changed_number_is_refused_by_the_name_of_its_tensor);
  RUN(a_wrong_type_is_refused);
  RUN(a_wrong_shape_is_refused);
  RUN(a_file_by_hand_that_is_no_model_is_refused);
  RUN(a_file_by_hand_in_pytorch_s_layout_is_a_model);
  RUN(the_penalty_goes_into_the_file);
  RUN(an_impossible_header_length_is_refused);
  RUN(garbage_is_refused);
  RUN(parameters_that_are_no_numbers_are_refused);
  RUN(a_file_that_cannot_be_read_or_written_is_an_input_output_error);
  files_remove("bad");
  files_close();
  return check_close();
}
