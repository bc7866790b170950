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
