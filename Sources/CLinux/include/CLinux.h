#pragma once
// What Linux has beyond POSIX, and what is variadic or a macro in C: as plain functions for Swift.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);
/// open(2) with a mode, which is variadic in C.
int clinux_open(const char *path, int flags, unsigned int mode);
/// pthread_setname_np for the calling thread; at most 15 bytes are kept.
void clinux_name_current_thread(const char *name);
