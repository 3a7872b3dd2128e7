/* File operations that fail on demand, to be preloaded: the n-th open, write, fsync, rename or close of a file whose name
 * starts with a given text fails with a given errno. Counts these operations. For glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, FSYNC, RENAME, CLOSE, READ, STAT, UNLINK, SEEK, KINDS };

static char watched[512];
static int armed, kind_to_fail, error_to_give, for_good, short_writes;
static long left, counts[KINDS], failures;
static char ours[1 << 16]; /* the descriptors of watched files */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_watched(const char *path) {
  return armed && path != NULL && watched[0] != '\0' && strncmp(path, watched, strlen(watched)) == 0;
}

static int fails(int kind) {
  long turn;
  counts[kind]++;
  if (kind != kind_to_fail) {
    return 0;
  }
  turn = left--;
  if (turn == 0 || (turn < 0 && for_good)) {
    failures++;
    errno = error_to_give;
    return 1;
  }
  return 0;
}

static int is_ours(int fd) {
  return armed && fd >= 0 && fd < (int)sizeof ours && ours[fd];
}

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < (int)sizeof ours) {
    ours[fd] = (char)is_watched(path);
  }
  return fd;
}

#define OPENING(name, at, ...)                            \
  mode_t mode = 0;                                        \
  if (flags & (O_CREAT | O_TMPFILE)) {                    \
    va_list list;                                         \
    va_start(list, flags);                                \
    mode = va_arg(list, mode_t);                          \
    va_end(list);                                         \
  }                                                       \
  if (is_watched(path) && fails(OPEN)) {                  \
    return -1;                                            \
  }                                                       \
  return opened(REAL(name)(__VA_ARGS__, flags, mode), path)

int open(const char *path, int flags, ...) { OPENING(open, 0, path); }
int open64(const char *path, int flags, ...) { OPENING(open64, 0, path); }
int openat(int at, const char *path, int flags, ...) { OPENING(openat, at, at, path); }
int openat64(int at, const char *path, int flags, ...) { OPENING(openat64, at, at, path); }

ssize_t write(int fd, const void *data, size_t size) {
  if (is_ours(fd)) {
    if (fails(WRITE)) {
      return -1;
    }
    if (short_writes && size > 1) { /* POSIX allows it, and many programs forget it */
      size = (size + 1) / 2;
    }
  }
  return REAL(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (is_ours(fd) && fails(WRITE)) {
    return -1;
  }
  return REAL(writev)(fd, parts, count);
}

ssize_t read(int fd, void *data, size_t size) {
  if (is_ours(fd) && fails(READ)) {
    return -1;
  }
  return REAL(read)(fd, data, size);
}

off_t lseek(int fd, off_t offset, int whence) {
  if (is_ours(fd) && fails(SEEK)) {
    return -1;
  }
  return REAL(lseek)(fd, offset, whence);
}

off64_t lseek64(int fd, off64_t offset, int whence) {
  if (is_ours(fd) && fails(SEEK)) {
    return -1;
  }
  return REAL(lseek64)(fd, offset, whence);
}

int fsync(int fd) {
  return is_ours(fd) && fails(FSYNC) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd) {
  return is_ours(fd) && fails(FSYNC) ? -1 : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
  return is_watched(to) && fails(RENAME) ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path) {
  return is_watched(path) && fails(UNLINK) ? -1 : REAL(unlink)(path);
}

int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict to) {
  const char *volatile name = path; /* Rust asks with NULL whether the system has statx; the compiler believes it cannot be */
  int fails_now = name != NULL && (name[0] == '\0' ? is_ours(at) : is_watched(name)) && fails(STAT);
  return fails_now ? -1 : REAL(statx)(at, name, flags, mask, to);
}

/* A close that fails has closed the file anyway, as on Linux. */
int close(int fd) {
  int failing = is_ours(fd) && fails(CLOSE), error = errno, result;
  if (fd >= 0 && fd < (int)sizeof ours) {
    ours[fd] = 0;
  }
  result = REAL(close)(fd);
  if (failing) {
    errno = error;
    return -1;
  }
  return result;
}

/* From now on, the n-th operation of a kind on files that start with `prefix` fails; none fails if n is -1. */
void iofault_arm(const char *prefix, int kind, long n, int error, int forever, int shortened) {
  strncpy(watched, prefix, sizeof watched - 1);
  memset(counts, 0, sizeof counts);
  failures = 0;
  kind_to_fail = kind;
  left = n;
  error_to_give = error;
  for_good = forever;
  short_writes = shortened;
  armed = 1;
}

long iofault_disarm(void) {
  armed = 0;
  return failures;
}

long iofault_count(int kind) {
  return counts[kind];
}
