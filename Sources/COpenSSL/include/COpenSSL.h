#pragma once
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// Macros of OpenSSL, which Swift does not import, as functions.
int copenssl_set_min_proto_tls12(SSL_CTX *ctx);
/// TLS 1.2 and later, ALPN with h2 and http/1.1, and the modes a non-blocking socket needs.
void copenssl_configure_server(SSL_CTX *ctx);
/// TLS 1.2 and later, the other side's certificate checked, ALPN with h2 only, and the modes a non-blocking socket needs.
void copenssl_configure_client(SSL_CTX *ctx);
/// Names the server one wants to talk to (SNI) and demands a certificate for it. An IP address is only demanded.
/// 1 is success.
int copenssl_expect_server(SSL *ssl, const char *host);
/// ALPN with h2 alone, after `copenssl_configure_server`.
void copenssl_offer_http2_only(SSL_CTX *ctx);

/// A certificate in PEM, to be freed, or NULL. Without an issuer it is an authority that signs itself; otherwise
/// `alternative_names` is what it stands for, such as `DNS:localhost,IP:127.0.0.1`.
char *copenssl_make_certificate(const char *key_pem, const char *common_name, const char *alternative_names,
                                const char *issuer_key_pem, const char *issuer_pem, int days);
