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
