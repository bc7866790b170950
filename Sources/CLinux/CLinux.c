#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_open(const char *path, int flags, unsigned int mode) { return open(path, flags, mode); }

void clinux_name_current_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
