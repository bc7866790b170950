#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_open(const char *path, int flags, unsigned int mode) { return open(path, flags, mode); }

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
