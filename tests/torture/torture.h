/* What the C programs of the torture tests share. */
#ifndef PLIM_TORTURE_H
#define PLIM_TORTURE_H

#include "../c/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether this is the long form. */
static inline int torture_long(int argc, char **argv) {
  return argc > 1 && strcmp(argv[1], "--long") == 0;
}

static inline double torture_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Resident memory in KiB. */
static inline long torture_resident(void) {
  long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) {
    resident = 0;
  }
  if (file != NULL) {
    fclose(file);
  }
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static inline int torture_entries(const char *folder) {
  int count = 0;
  DIR *listing = opendir(folder);
  if (listing != NULL) {
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
      count += entry->d_name[0] != '.';
    }
    closedir(listing);
  }
  return count;
}

/* Whether this process has this many threads, now or within a second: a joined thread stays in the list for a moment. A leaked
   thread stays forever. */
static inline int torture_threads(int wanted) {
  for (int i = 0; i < 1000 && torture_entries("/proc/self/task") != wanted; i++) {
    usleep(1000);
  }
  return torture_entries("/proc/self/task") == wanted;
}

#endif
