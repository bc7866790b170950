#include "COpenSSL.h"

#include <openssl/x509v3.h>

int copenssl_set_min_proto_tls12(SSL_CTX *ctx) { return (int)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION); }

// HTTP/2 where the client knows it, HTTP/1.1 otherwise; a client that offers neither is told so (RFC 7301 section 3.2).
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                           unsigned int in_length, void *unused) {
  static const unsigned char ours[] = "\x02h2\x08http/1.1";
  (void)ssl;
  (void)unused;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_length, ours, sizeof ours - 1, in, in_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                        unsigned int in_length, void *unused) {
  static const unsigned char ours[] = "\x02h2";
  (void)ssl;
  (void)unused;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_length, ours, sizeof ours - 1, in, in_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

void copenssl_offer_http2_only(SSL_CTX *ctx) { SSL_CTX_set_alpn_select_cb(ctx, choose_http2, NULL); }

void copenssl_configure_server(SSL_CTX *ctx) {
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(ctx,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // RFC 9113 section 9.2.2: of TLS 1.2 only suites with forward secrecy and AEAD.
  SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
}

void copenssl_configure_client(SSL_CTX *ctx) {
  static const unsigned char protocols[] = "\x02h2";
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(ctx,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_alpn_protos(ctx, protocols, sizeof protocols - 1);
}

int copenssl_expect_server(SSL *ssl, const char *host) {
  X509_VERIFY_PARAM *rules = SSL_get0_param(ssl);
  // RFC 6066 section 3: an address is no host name.
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host)) return 1;
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(ssl, host) && SSL_set1_host(ssl, host);
}
