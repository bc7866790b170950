// A library for LD_PRELOAD that writes down, in order, what a program does to the files below one folder: writes,
// truncations, new names, renames, removals and fsyncs, and what it says on its standard output. From that a test can
// rebuild the folder as a power cut at any moment would have left it.
//
// HIROBA_RECORD        where to write the record
// HIROBA_RECORD_ROOT   the folder to watch, an absolute path
// HIROBA_DISK_BYTES    how many bytes fit on the pretended disk; a write beyond fails with ENOSPC
// HIROBA_FAIL_SYNC     the number of the fsync that fails with EIO, from 1
//
// One lock is held across each call and its entry, so the order of the record is the order in which things happened.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 4096

// One entry: this, then the first path, the second path and the data.
struct __attribute__((packed)) entry {
  char kind;
  uint64_t file, offset;
  uint32_t first_length, second_length, data_length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static char root[1024];
static size_t root_length;
// Nobody reads the record: it is only about saving the time of the fsyncs.
static int is_silent;
static int64_t disk_left = INT64_MAX;
static long fail_sync, syncs;
// What is behind each descriptor: nothing of ours, a file, or a folder with its path.
static char *folders[MOST_DESCRIPTORS];
static uint64_t files[MOST_DESCRIPTORS];

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("HIROBA_RECORD"), *folder = getenv("HIROBA_RECORD_ROOT");
  if (!path || !folder) return;
  snprintf(root, sizeof root, "%s%s", folder, strcmp(folder, "/") ? "/" : "");
  root_length = strlen(root);
  if (getenv("HIROBA_DISK_BYTES")) disk_left = atoll(getenv("HIROBA_DISK_BYTES"));
  if (getenv("HIROBA_FAIL_SYNC")) fail_sync = atol(getenv("HIROBA_FAIL_SYNC"));
  is_silent = strcmp(path, "/dev/null") == 0;
  record = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
  return record >= 0 && path && (strncmp(path, root, root_length) == 0 ||
                                 (strncmp(path, root, root_length - 1) == 0 && strlen(path) == root_length - 1));
}

static void put(const void *bytes, size_t count) {
  // The program must not go on when the record has a hole.
  if (count && REAL(write)(record, bytes, count) != (ssize_t)count) abort();
}

static void note(char kind, uint64_t file, uint64_t offset, const char *first, const char *second, const void *data,
                 size_t length) {
  struct entry entry = {kind, file, offset, first ? strlen(first) : 0, second ? strlen(second) : 0, length};
  put(&entry, sizeof entry);
  put(first, entry.first_length);
  put(second, entry.second_length);
  put(data, length);
}

static int is_file(int descriptor) {
  return descriptor >= 0 && descriptor < MOST_DESCRIPTORS && files[descriptor] != 0;
}

// Finds out whether the pretended disk has room for a write that ends at `end`.
static int has_room(int descriptor, int64_t end) {
  struct stat status;
  if (disk_left == INT64_MAX || fstat(descriptor, &status) != 0 || end <= status.st_size) return 1;
  if (end - status.st_size > disk_left) return 0;
  disk_left -= end - status.st_size;
  return 1;
}

static void give_back(int64_t bytes) {
  if (disk_left != INT64_MAX) disk_left += bytes;
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (folder != AT_FDCWD || !is_ours(path)) return REAL(openat)(folder, path, flags, mode);
  pthread_mutex_lock(&lock);
  int is_new = access(path, F_OK) != 0;
  int descriptor = REAL(openat)(folder, path, flags, mode);
  int saved = errno;
  struct stat status;
  if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS && fstat(descriptor, &status) == 0) {
    free(folders[descriptor]);
    folders[descriptor] = S_ISDIR(status.st_mode) ? strdup(path) : NULL;
    files[descriptor] = S_ISREG(status.st_mode) ? status.st_ino : 0;
    if (is_new) note('c', status.st_ino, 0, path, NULL, NULL, 0);
    if (flags & O_TRUNC) note('t', status.st_ino, 0, NULL, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = saved;
  return descriptor;
}

#define MODE \
  mode_t mode = 0; \
  if (flags & (O_CREAT | __O_TMPFILE)) { \
    va_list arguments; \
    va_start(arguments, flags); \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
  }

int open(const char *path, int flags, ...) {
  MODE return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE return opened(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE return opened(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE return opened(folder, path, flags, mode);
}

int close(int descriptor) {
  pthread_mutex_lock(&lock);
  if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS) {
    files[descriptor] = 0;
    free(folders[descriptor]);
    folders[descriptor] = NULL;
  }
  int status = REAL(close)(descriptor);
  pthread_mutex_unlock(&lock);
  return status;
}

static ssize_t written(int descriptor, const void *bytes, size_t count, off_t offset, int has_offset) {
  if (record < 0 || !(is_file(descriptor) || descriptor == STDOUT_FILENO)) {
    return has_offset ? REAL(pwrite)(descriptor, bytes, count, offset) : REAL(write)(descriptor, bytes, count);
  }
  pthread_mutex_lock(&lock);
  ssize_t result = -1;
  if (descriptor == STDOUT_FILENO) {
    // Noted first: what is read may already be acted upon.
    note('a', 0, 0, NULL, NULL, bytes, count);
    result = REAL(write)(descriptor, bytes, count);
  } else {
    if (!has_offset) offset = lseek(descriptor, 0, SEEK_CUR);
    if (!has_room(descriptor, offset + (off_t)count)) {
      errno = ENOSPC;
    } else {
      result = has_offset ? REAL(pwrite)(descriptor, bytes, count, offset) : REAL(write)(descriptor, bytes, count);
      if (result > 0) note('w', files[descriptor], offset, NULL, NULL, bytes, result);
    }
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

ssize_t write(int descriptor, const void *bytes, size_t count) { return written(descriptor, bytes, count, 0, 0); }
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return written(descriptor, bytes, count, offset, 1);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return written(descriptor, bytes, count, offset, 1);
}

static int truncated(int descriptor, off_t size) {
  if (!is_file(descriptor)) return REAL(ftruncate)(descriptor, size);
  pthread_mutex_lock(&lock);
  struct stat status;
  int64_t before = fstat(descriptor, &status) == 0 ? status.st_size : size;
  int result = -1;
  if (!has_room(descriptor, size)) {
    errno = ENOSPC;
  } else {
    result = REAL(ftruncate)(descriptor, size);
    if (result == 0) note('t', files[descriptor], size, NULL, NULL, NULL, 0);
    if (result == 0 && size < before) give_back(before - size);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

int ftruncate(int descriptor, off_t size) { return truncated(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncated(descriptor, size); }

static int synced(int descriptor) {
  int is_folder = descriptor >= 0 && descriptor < MOST_DESCRIPTORS && folders[descriptor] != NULL;
  if (!is_file(descriptor) && !is_folder) return REAL(fsync)(descriptor);
  pthread_mutex_lock(&lock);
  int result = 0;
  syncs += 1;
  if (syncs == fail_sync) {
    errno = EIO;
    result = -1;
    // What had not been synced is gone, though the program can still read it: so it is on Linux.
    note('f', files[descriptor], 0, is_folder ? folders[descriptor] : NULL, NULL, NULL, 0);
  } else {
    // Not really synced: the point is what would be there.
    note(is_folder ? 'd' : 's', files[descriptor], 0, folders[descriptor], NULL, NULL, 0);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  // As long as a disk takes, so that other threads come to do what they do meanwhile.
  if (!is_silent) usleep(1000);
  errno = saved;
  return result;
}

int fsync(int descriptor) { return synced(descriptor); }
int fdatasync(int descriptor) { return synced(descriptor); }

#define NOTED(result, ...) \
  do { \
    int saved = errno; \
    if (result == 0) note(__VA_ARGS__, NULL, 0); \
    pthread_mutex_unlock(&lock); \
    errno = saved; \
    return result; \
  } while (0)

int rename(const char *from, const char *to) {
  if (!is_ours(from)) return REAL(rename)(from, to);
  pthread_mutex_lock(&lock);
  int result = REAL(rename)(from, to);
  NOTED(result, 'r', 0, 0, from, to);
}

int unlink(const char *path) {
  if (!is_ours(path)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  struct stat status;
  int64_t size = stat(path, &status) == 0 ? status.st_size : 0;
  int result = REAL(unlink)(path);
  if (result == 0) give_back(size);
  NOTED(result, 'u', 0, 0, path, NULL);
}

int mkdir(const char *path, mode_t mode) {
  if (!is_ours(path)) return REAL(mkdir)(path, mode);
  pthread_mutex_lock(&lock);
  int result = REAL(mkdir)(path, mode);
  NOTED(result, 'm', 0, 0, path, NULL);
}

int rmdir(const char *path) {
  if (!is_ours(path)) return REAL(rmdir)(path);
  pthread_mutex_lock(&lock);
  int result = REAL(rmdir)(path);
  NOTED(result, 'x', 0, 0, path, NULL);
}
