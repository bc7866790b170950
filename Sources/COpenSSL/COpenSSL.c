#include "COpenSSL.h"

int copenssl_set_min_proto_tls12(SSL_CTX *ctx) { return (int)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION); }
