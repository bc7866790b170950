#include "COpenSSL.h"
#include <openssl/x509v3.h>
#include <string.h>

static EVP_PKEY *read_key(const char *pem) {
  BIO *input = BIO_new_mem_buf(pem, -1);
  // An empty passphrase is given, lest OpenSSL ask for one at the terminal.
  EVP_PKEY *key = input ? PEM_read_bio_PrivateKey(input, NULL, NULL, "") : NULL;
  BIO_free(input);
  return key;
}

static X509 *read_certificate(const char *pem) {
  BIO *input = BIO_new_mem_buf(pem, -1);
  X509 *certificate = input ? PEM_read_bio_X509(input, NULL, NULL, "") : NULL;
  BIO_free(input);
  return certificate;
}

static int add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  int done = extension && X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return done;
}

static int fill(X509 *certificate, X509 *issuer, EVP_PKEY *key, const char *common_name, const char *names, int days) {
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return 0;
  serial[0] &= 0x7f;
  BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
  int done = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
  X509_NAME *subject = X509_get_subject_name(certificate);
  return done && X509_set_version(certificate, X509_VERSION_3) &&
         // An hour back, for clocks that are a little behind.
         X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
         X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, NULL) && X509_set_pubkey(certificate, key) &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0) &&
         X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) &&
         add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
         (names ? add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                      add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
                      add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth") &&
                      add_extension(certificate, issuer, NID_subject_alt_name, names)
                : add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                      add_extension(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign"));
}

static char *write_certificate(X509 *certificate) {
  BIO *output = BIO_new(BIO_s_mem());
  char *text = NULL, *bytes;
  if (output && PEM_write_bio_X509(output, certificate)) {
    long length = BIO_get_mem_data(output, &bytes);
    text = malloc((size_t)length + 1);
    if (text) {
      memcpy(text, bytes, (size_t)length);
      text[length] = 0;
    }
  }
  BIO_free(output);
  return text;
}

char *copenssl_make_certificate(const char *key_pem, const char *common_name, const char *alternative_names,
                                const char *issuer_key_pem, const char *issuer_pem, int days) {
  char *text = NULL;
  EVP_PKEY *key = read_key(key_pem);
  EVP_PKEY *issuer_key = issuer_key_pem ? read_key(issuer_key_pem) : NULL;
  X509 *issuer = issuer_pem ? read_certificate(issuer_pem) : NULL;
  X509 *certificate = X509_new();
  int is_authority = !issuer_pem;
  if (key && certificate && (is_authority || (issuer && issuer_key)) &&
      fill(certificate, is_authority ? certificate : issuer, key, common_name, alternative_names, days) &&
      X509_sign(certificate, is_authority ? key : issuer_key, EVP_sha256()))
    text = write_certificate(certificate);
  X509_free(certificate);
  X509_free(issuer);
  EVP_PKEY_free(issuer_key);
  EVP_PKEY_free(key);
  ERR_clear_error();
  return text;
}
