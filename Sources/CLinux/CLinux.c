#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_listen(const struct sockaddr_storage *address, socklen_t length, int backlog) {
  int s = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -errno;
  int on = 1, off = 0;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // The listener for :: takes IPv4 too, whatever the system's default.
  if (address->ss_family == AF_INET6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(s, (const struct sockaddr *)address, length) < 0 || listen(s, backlog) < 0) {
    int error = errno;
    close(s);
    return -error;
  }
  return s;
}

int clinux_open(const char *path, int flags, unsigned int mode) { return open(path, flags, mode); }

int clinux_open_cached(const char *path) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_CACHED};
  int file = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  // Kernels before 5.12 and some sandboxes do not know the call.
  if (file < 0 && (errno == ENOSYS || errno == EINVAL || errno == EPERM)) errno = EAGAIN;
  return file;
}

long long clinux_regular_file_size(int file) {
  struct stat info;
  if (fstat(file, &info) < 0 || !S_ISREG(info.st_mode)) return -1;
  return info.st_size;
}

int clinux_is_cached(int file, long long offset) {
  char byte;
  struct iovec to = {&byte, 1};
  // File systems without RWF_NOWAIT answer EOPNOTSUPP: nothing can be learnt there.
  return preadv2(file, &to, 1, offset, RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

ssize_t clinux_read_cached(int file, void *buffer, size_t count, long long offset) {
  struct iovec to = {buffer, count};
  return preadv2(file, &to, 1, offset, RWF_NOWAIT);
}

int clinux_unconfirmed(int socket) {
  int count = 0;
  return ioctl(socket, SIOCOUTQ, &count) < 0 ? 0 : count;
}

ssize_t clinux_send2(int socket, const void *first, size_t first_length, const void *second, size_t second_length) {
  struct iovec pieces[2] = {{(void *)first, first_length}, {(void *)second, second_length}};
  struct msghdr message = {.msg_iov = pieces, .msg_iovlen = second_length > 0 ? 2 : 1};
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

void clinux_name_current_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void clinux_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void clinux_forbid_new_privileges(void) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int clinux_limit(int resource, unsigned long most) {
  struct rlimit limit = {most, most};
  return setrlimit(resource, &limit);
}

int clinux_limit_cpu(unsigned long seconds) {
  struct rusage used;
  struct rlimit limit;
  if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &limit)) return -1;
  limit.rlim_cur = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + seconds;
  return setrlimit(RLIMIT_CPU, &limit);
}

int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int clinux_connect(const struct sockaddr_storage *address, socklen_t length) {
  int s = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -errno;
  int on = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(s, (const struct sockaddr *)address, length) < 0 && errno != EINPROGRESS) {
    int error = errno;
    close(s);
    return -error;
  }
  return s;
}

int clinux_socket_error(int s) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}
