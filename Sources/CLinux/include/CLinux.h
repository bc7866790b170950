#pragma once
// What Linux has beyond POSIX, and what is variadic or a macro in C: as plain functions for Swift.
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);
/// A non-blocking stream socket that is bound and listens, or a negative errno.
int clinux_listen(const struct sockaddr_storage *address, socklen_t length, int backlog);
/// A non-blocking stream socket that is being connected, or a negative errno. When it becomes writable, ask for its error.
int clinux_connect(const struct sockaddr_storage *address, socklen_t length);
/// SO_ERROR: why connecting failed, or 0.
int clinux_socket_error(int socket);
/// open(2) with a mode, which is variadic in C.
int clinux_open(const char *path, int flags, unsigned int mode);
/// Opens for reading without touching the disk (openat2 with RESOLVE_CACHED). Where that would be needed, -1 with EAGAIN.
int clinux_open_cached(const char *path);
/// The size of an open regular file, or -1.
long long clinux_regular_file_size(int file);
/// Whether a read of one byte at `offset` would not wait for the disk.
int clinux_is_cached(int file, long long offset);
/// pread as far as it need not wait for the disk; -1 where nothing can be had so.
ssize_t clinux_read_cached(int file, void *buffer, size_t count, long long offset);
/// send with MSG_NOSIGNAL of two pieces, one after the other.
ssize_t clinux_send2(int socket, const void *first, size_t first_length, const void *second, size_t second_length);
/// Bytes that were written to a TCP socket and that the other side has not confirmed yet (SIOCOUTQ); 0 when it is none.
int clinux_unconfirmed(int socket);
/// pthread_setname_np for the calling thread; at most 15 bytes are kept.
void clinux_name_current_thread(const char *name);

/// prctl(PR_SET_PDEATHSIG): the calling process is killed when the thread that started it ends.
void clinux_die_with_parent(void);
/// prctl(PR_SET_NO_NEW_PRIVS): no program started from here on can gain rights.
void clinux_forbid_new_privileges(void);
/// setrlimit, soft and hard limit alike, for RLIMIT_… as a plain number. 0 is success.
int clinux_limit(int resource, unsigned long most);
/// Sets the soft limit of processor time to what was used so far and `seconds` more.
int clinux_limit_cpu(unsigned long seconds);
/// posix_spawn_file_actions_addclosefrom_np, which glibc shows only to GNU sources.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
