// The peer of Bench/push.py: pushes over HTTP/2 with nothing but nghttp2 and OpenSSL, and a gateway that takes them.
//
//   push serve CERTIFICATE KEY                            prints its port; answers every push 200 with its apns-id
//   push send PORT AUTHORITY COUNT WIDTH TOKENS JWT       prints one JSON line
//
// The sender is what one would write by hand for this one purpose: a single thread, one connection, WIDTH pushes at
// once, each with a path, an id and a payload of its own, the status of each answer counted. It knows no errors, no
// second connection and no second try: whatever goes wrong ends it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "push: %s: %s\n", what, errno ? strerror(errno) : "failed");
  ERR_print_errors_fp(stderr);
  exit(1);
}

#define FIELD(name, value, length, flags) \
  {(uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, (length), (flags)}

// MARK: A connection, of either side

typedef struct {
  int socket;
  SSL *ssl;
  nghttp2_session *session;
  uint8_t out[32768];
  size_t out_length, out_start;
} connection;

static void make_nonblocking(int socket) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(socket, F_SETFL, O_NONBLOCK);
}

// Sends what there is; true when the socket takes no more.
static int send_all(connection *c) {
  for (;;) {
    while (c->out_start < c->out_length) {
      int count = SSL_write(c->ssl, c->out + c->out_start, (int)(c->out_length - c->out_start));
      if (count <= 0) {
        int error = SSL_get_error(c->ssl, count);
        if (error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) return 1;
        return -1;
      }
      c->out_start += (size_t)count;
    }
    c->out_start = c->out_length = 0;
    // Several frames to a TLS record.
    const uint8_t *data;
    ssize_t count;
    while (c->out_length < 16000 && (count = nghttp2_session_mem_send(c->session, &data)) > 0) {
      if (c->out_length + (size_t)count > sizeof c->out) fail("a frame is too long");
      memcpy(c->out + c->out_length, data, (size_t)count);
      c->out_length += (size_t)count;
    }
    if (c->out_length == 0) return 0;
  }
}

// Reads what there is; false when the connection has ended.
static int receive_all(connection *c) {
  static uint8_t in[65536];
  for (;;) {
    int count = SSL_read(c->ssl, in, sizeof in);
    if (count > 0) {
      if (nghttp2_session_mem_recv(c->session, in, (size_t)count) < 0) return 0;
      continue;
    }
    int error = SSL_get_error(c->ssl, count);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ;
  }
}

static SSL_CTX *make_context(const SSL_METHOD *method) {
  SSL_CTX *context = SSL_CTX_new(method);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

// MARK: The sender

typedef struct {
  char body[400];
  size_t length, sent;
  int status;
} push;

static long count, started, ended, accepted, refused;
static char **tokens;
static long token_count;
static char authorization[1000];

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t most, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
  (void)session, (void)id, (void)context;
  push *p = source->ptr;
  size_t length = p->length - p->sent < most ? p->length - p->sent : most;
  memcpy(to, p->body + p->sent, length);
  p->sent += length;
  if (p->sent == p->length) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)length;
}

static int header_came(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                       const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
  (void)flags, (void)context;
  push *p = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (p && name_length == 7 && value_length == 3 && !memcmp(name, ":status", 7)) p->status = atoi((const char *)value);
  return 0;
}

static int stream_closed(nghttp2_session *session, int32_t id, uint32_t error, void *context) {
  (void)context;
  push *p = nghttp2_session_get_stream_user_data(session, id);
  if (!p) return 0;
  ended++;
  if (!error && p->status == 200) accepted++;
  else if (!error) refused++;
  free(p);
  return 0;
}

static void submit(connection *c) {
  push *p = malloc(sizeof *p);
  if (!p) fail("no memory");
  long number = started++;
  char path[300], id[40];
  int path_length = snprintf(path, sizeof path, "/3/device/%s", tokens[number % token_count]);
  int id_length = snprintf(id, sizeof id, "%08lx-1c2d-4e3f-8a9b-0000%08lx", number, number);
  p->sent = 0;
  p->status = 0;
  p->length = (size_t)snprintf(
      p->body, sizeof p->body,
      "{\"aps\":{\"alert\":{\"title\":\"Hello from the bench\",\"body\":\"Somebody commented on your photo\"},"
      "\"badge\":3,\"sound\":\"default\",\"thread-id\":\"t-42\"},\"event\":\"comment\",\"id\":\"00000000%08lx\"}",
      number);
  nghttp2_nv fields[] = {
      FIELD(":method", "POST", 4, 0),
      FIELD(":scheme", "https", 5, 0),
      FIELD(":authority", "localhost", 9, 0),
      FIELD(":path", path, (size_t)path_length, 0),
      FIELD("authorization", authorization, strlen(authorization), 0),
      FIELD("apns-topic", "com.example.app", 15, 0),
      FIELD("apns-push-type", "alert", 5, 0),
      FIELD("apns-priority", "10", 2, 0),
      FIELD("apns-expiration", "0", 1, 0),
      FIELD("apns-id", id, (size_t)id_length, NGHTTP2_NV_FLAG_NO_INDEX),
      FIELD("apns-collapse-id", id, (size_t)id_length, NGHTTP2_NV_FLAG_NO_INDEX),
  };
  nghttp2_data_provider body = {.source = {.ptr = p}, .read_callback = read_body};
  if (nghttp2_submit_request(c->session, NULL, fields, sizeof fields / sizeof *fields, &body, p) < 0)
    fail("a stream cannot be opened");
}

static void read_tokens(const char *file) {
  FILE *input = fopen(file, "r");
  if (!input) fail(file);
  char *line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, input)) > 0; token_count++) {
    tokens = realloc(tokens, sizeof *tokens * (size_t)(token_count + 1));
    line[length - 1] = 0;
    tokens[token_count] = strdup(line);
  }
  free(line);
  fclose(input);
  if (!token_count) fail("no tokens");
}

static void dial(connection *c, int port, const char *authority) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  c->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
  SSL_CTX *context = make_context(TLS_client_method());
  if (SSL_CTX_load_verify_file(context, authority) != 1) fail(authority);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3);
  c->ssl = SSL_new(context);
  SSL_set_fd(c->ssl, c->socket);
  SSL_set_tlsext_host_name(c->ssl, "localhost");
  SSL_set1_host(c->ssl, "localhost");
  if (SSL_connect(c->ssl) != 1) fail("TLS");
  make_nonblocking(c->socket);

  nghttp2_session_callbacks *callbacks;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, header_came);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
  nghttp2_session_client_new(&c->session, callbacks, c);
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 1);
}

static int send_pushes(char **words) {
  static connection c;
  count = atol(words[2]);
  long width = atol(words[3]);
  read_tokens(words[4]);
  snprintf(authorization, sizeof authorization, "bearer %s", words[5]);
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  dial(&c, atoi(words[0]), words[1]);
  while (ended < count) {
    while (started < count && started - ended < width) submit(&c);
    int is_full = send_all(&c);
    if (is_full < 0) fail("send");
    struct pollfd wait = {.fd = c.socket, .events = (short)(POLLIN | (is_full ? POLLOUT : 0))};
    if (poll(&wait, 1, 10000) <= 0) fail("no answer");
    if (!receive_all(&c)) fail("the gateway closed the connection");
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
  printf("{\"client\":\"c\",\"sent\":%ld,\"ok\":%ld,\"rejected\":%ld,\"failed\":%ld,\"seconds\":%.4f}\n", count,
         accepted, refused, count - accepted - refused, seconds);
  return 0;
}

// MARK: The gateway

typedef struct {
  char id[64];
  size_t id_length, bytes;
  int is_authorized;
} request;

static int request_begins(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  (void)context;
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  request *r = calloc(1, sizeof *r);
  return r && !nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, r) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int request_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                         const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
  (void)flags, (void)context;
  request *r = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (!r) return 0;
  if (name_length == 7 && !memcmp(name, "apns-id", 7) && value_length < sizeof r->id) {
    memcpy(r->id, value, value_length);
    r->id_length = value_length;
  } else if (name_length == 13 && !memcmp(name, "authorization", 13)) {
    r->is_authorized = value_length > 7 && !memcmp(value, "bearer ", 7);
  }
  return 0;
}

static int request_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t length,
                        void *context) {
  (void)flags, (void)data, (void)context;
  request *r = nghttp2_session_get_stream_user_data(session, id);
  if (r) r->bytes += length;
  return 0;
}

static int request_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  (void)context;
  if (frame->hd.type > NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  request *r = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (!r) return 0;
  int is_good = r->id_length && r->bytes && r->is_authorized;
  nghttp2_nv fields[] = {
      FIELD(":status", is_good ? "200" : "400", 3, 0), FIELD("apns-id", r->id, r->id_length, NGHTTP2_NV_FLAG_NO_INDEX)};
  nghttp2_submit_response(session, frame->hd.stream_id, fields, 2, NULL);
  return 0;
}

static int request_ends(nghttp2_session *session, int32_t id, uint32_t error, void *context) {
  (void)error, (void)context;
  free(nghttp2_session_get_stream_user_data(session, id));
  return 0;
}

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                        unsigned in_length, void *context) {
  static const unsigned char ours[] = "\x02h2";
  (void)ssl, (void)context;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_length, ours, sizeof ours - 1, in, in_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// One connection after the other: there is one sender at a time.
static int serve(char **words) {
  SSL_CTX *context = make_context(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context, words[0]) != 1) fail(words[0]);
  if (SSL_CTX_use_PrivateKey_file(context, words[1], SSL_FILETYPE_PEM) != 1) fail(words[1]);
  SSL_CTX_set_alpn_select_cb(context, choose_http2, NULL);
  nghttp2_session_callbacks *callbacks;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, request_begins);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, request_field);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, request_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, request_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, request_ends);

  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 16) ||
      getsockname(listener, (struct sockaddr *)&address, &length))
    fail("listen");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    static connection c;
    memset(&c, 0, sizeof c);
    if ((c.socket = accept(listener, NULL, NULL)) < 0) fail("accept");
    c.ssl = SSL_new(context);
    SSL_set_fd(c.ssl, c.socket);
    if (SSL_accept(c.ssl) == 1) {
      make_nonblocking(c.socket);
      nghttp2_session_server_new(&c.session, callbacks, &c);
      nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000}};
      nghttp2_submit_settings(c.session, NGHTTP2_FLAG_NONE, settings, 1);
      for (;;) {
        int is_full = send_all(&c);
        if (is_full < 0) break;
        if (!nghttp2_session_want_read(c.session) && !nghttp2_session_want_write(c.session)) break;
        struct pollfd wait = {.fd = c.socket, .events = (short)(POLLIN | (is_full ? POLLOUT : 0))};
        poll(&wait, 1, -1);
        if (!receive_all(&c)) break;
      }
      nghttp2_session_del(c.session);
    }
    SSL_free(c.ssl);
    close(c.socket);
  }
}

int main(int word_count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  if (word_count == 4 && !strcmp(words[1], "serve")) return serve(words + 2);
  if (word_count == 8 && !strcmp(words[1], "send")) return send_pushes(words + 2);
  fprintf(stderr, "usage: push serve CERTIFICATE KEY | push send PORT AUTHORITY COUNT WIDTH TOKENS JWT\n");
  return 2;
}
