/* Temporary files: a directory per program, and functions to read and write whole files. */
#ifndef PLIM_TESTS_FILES_H
#define PLIM_TESTS_FILES_H

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_SIZE = 512 };

typedef struct bytes {
  unsigned char *data;
  size_t size;
} bytes;

static char files_directory[PATH_SIZE] = "";

/* Returns the path of a file in the temporary directory, which is created on first use. */
static inline const char *files_path(const char *name) {
  static char paths[4][PATH_SIZE * 2];
  static size_t next = 0;
  char *path = paths[next++ % 4];
  if (files_directory[0] == '\0') {
    const char *parent = getenv("TMPDIR");
    snprintf(files_directory, sizeof files_directory, "%s/plimsoll.XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(files_directory) == NULL) {
      perror(files_directory);
      exit(2);
    }
  }
  snprintf(path, sizeof paths[0], "%s/%s", files_directory, name);
  return path;
}

/* Removes a file, if it is there; files_close() then removes the directory. */
static inline void files_remove(const char *name) {
  (void)remove(files_path(name));
}

static inline void files_close(void) {
  if (files_directory[0] != '\0') {
    CHECK(rmdir(files_directory) == 0);
  }
}

static inline bytes files_read(const char *name) {
  bytes file = {NULL, 0};
  FILE *stream = fopen(files_path(name), "rb");
  long size = -1;
  if (stream != NULL && fseek(stream, 0, SEEK_END) == 0) {
    size = ftell(stream);
    rewind(stream);
  }
  CHECK(size > 0);
  if (size > 0) {
    file.data = (unsigned char *)check_alloc((size_t)size, 1);
    file.size = fread(file.data, 1, (size_t)size, stream);
    CHECK(file.size == (size_t)size);
  }
  if (stream != NULL) {
    fclose(stream);
  }
  return file;
}

/* Calls `refused` with the starts of a file of every length, or of every `step`th, and with all but its last byte. */
static inline void files_cut(bytes file, size_t step, void (*refused)(const void *data, size_t size, const char *what)) {
  for (size_t size = 0; size < file.size; size += step) {
    char what[64];
    snprintf(what, sizeof what, "the first %zu bytes", size);
    refused(file.data, size, what);
  }
  refused(file.data, file.size - 1, "all but the last byte");
}

static inline void files_write(const char *name, const void *data, size_t size) {
  FILE *stream;
  int written, closed;
  files_remove(name); /* a file written over the old one would wait for the disk on some file systems */
  stream = fopen(files_path(name), "wb");
  written = stream != NULL && (size == 0 || fwrite(data, 1, size, stream) == size);
  closed = stream != NULL && fclose(stream) == 0;
  if (!written || !closed) {
    perror(name);
    exit(2);
  }
}

#endif
