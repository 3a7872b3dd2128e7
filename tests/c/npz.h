/* Writes .npz archives by hand: a zip of stored members, each an array in NumPy's format 1.0. */
#ifndef PLIM_TESTS_NPZ_H
#define PLIM_TESTS_NPZ_H

#include "files.h"

enum { NPZ_MEMBERS = 16, NPZ_MEMBER_SIZE = 1024 };

typedef struct npz_member {
  char name[32];
  unsigned char data[NPZ_MEMBER_SIZE];
  size_t size;
} npz_member;

typedef struct npz {
  npz_member members[NPZ_MEMBERS];
  size_t count;
} npz;

/* Returns the member of this name, new and empty if it does not exist. */
static inline npz_member *npz_find(npz *archive, const char *name) {
  npz_member *member = archive->members;
  char file[32];
  snprintf(file, sizeof file, "%s.npy", name);
  while (member < archive->members + archive->count && strcmp(member->name, file) != 0) {
    member++;
  }
  if (member == archive->members + archive->count) {
    archive->count++;
    memcpy(member->name, file, sizeof file);
    member->size = 0;
  }
  return member;
}

/* Sets a member to any bytes. */
static inline void npz_bytes(npz *archive, const char *name, const void *data, size_t size) {
  npz_member *member = npz_find(archive, name);
  memcpy(member->data, data, size);
  member->size = size;
}

/* Sets a member to an array; `order` is "False" for rows first, "True" for columns first. */
static inline void npz_array(npz *archive, const char *name, const char *type, const char *order, const char *shape,
                             const void *data, size_t size) {
  unsigned char bytes[NPZ_MEMBER_SIZE] = {0};
  int length =
      snprintf((char *)bytes + 10, 256, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type, order, shape);
  size_t header = (size_t)length + 1, total = (10 + header + 63) / 64 * 64;
  memcpy(bytes, "\x93NUMPY\x01\x00", 8);
  memset(bytes + 10 + length, ' ', total - 10 - (size_t)length);
  bytes[total - 1] = '\n';
  bytes[8] = (unsigned char)((total - 10) & 0xff);
  bytes[9] = (unsigned char)((total - 10) >> 8);
  if (size > 0) {
    memcpy(bytes + total, data, size);
  }
  npz_bytes(archive, name, bytes, total + size);
}

static inline void npz_remove(npz *archive, const char *name) {
  npz_member *member = npz_find(archive, name);
  *member = archive->members[--archive->count];
}

static inline uint32_t npz_crc(const unsigned char *data, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) {
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return crc ^ 0xffffffff;
}

/* Appends a little-endian number of `width` bytes. */
static inline unsigned char *npz_put(unsigned char *at, size_t value, size_t width) {
  for (size_t i = 0; i < width; i++) {
    *at++ = (unsigned char)(value >> (8 * i) & 0xff);
  }
  return at;
}

/* The archive as bytes; `method` 0 says that members are stored, which they are. */
static inline bytes npz_pack(const npz *archive, size_t method) {
  bytes file;
  size_t offsets[NPZ_MEMBERS];
  unsigned char *at, *directory;
  file.data = at = (unsigned char *)check_alloc(archive->count * (NPZ_MEMBER_SIZE + 256) + 64, 1);
  for (size_t pass = 0; pass < 2; pass++) { /* the members, then the directory of them */
    directory = at;
    for (size_t i = 0; i < archive->count; i++) {
      const npz_member *member = &archive->members[i];
      size_t length = strlen(member->name);
      if (pass == 0) {
        offsets[i] = (size_t)(at - file.data);
        at = npz_put(at, 0x04034b50, 4);
      } else {
        at = npz_put(npz_put(at, 0x02014b50, 4), 20, 2);
      }
      at = npz_put(npz_put(npz_put(npz_put(at, 20, 2), 0, 2), method, 2), 0, 4);
      at = npz_put(npz_put(npz_put(at, npz_crc(member->data, member->size), 4), member->size, 4), member->size, 4);
      at = npz_put(npz_put(at, length, 2), 0, 2);
      if (pass == 1) {
        at = npz_put(npz_put(at, 0, 10), offsets[i], 4);
      }
      memcpy(at, member->name, length);
      at += length;
      if (pass == 0) {
        memcpy(at, member->data, member->size);
        at += member->size;
      }
    }
  }
  file.size = (size_t)(at - directory);
  at = npz_put(npz_put(npz_put(npz_put(at, 0x06054b50, 4), 0, 4), archive->count, 2), archive->count, 2);
  at = npz_put(npz_put(npz_put(at, file.size, 4), (size_t)(directory - file.data), 4), 0, 2);
  file.size = (size_t)(at - file.data);
  return file;
}

#endif
