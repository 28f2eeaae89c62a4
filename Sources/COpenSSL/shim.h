#pragma once
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift does not import function-like macros: the ones in use, as functions.

static inline long herald_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline long herald_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline long herald_SSL_CTX_set_read_ahead(SSL_CTX *context, int isOn) {
    return SSL_CTX_set_read_ahead(context, isOn);
}

static inline long herald_SSL_CTX_set_session_cache_mode(SSL_CTX *context, int mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline long herald_SSL_set_tlsext_host_name(SSL *connection, const char *name) {
    return SSL_set_tlsext_host_name(connection, (char *)name);
}

static inline void herald_BIO_set_retry_read(BIO *bio) {
    BIO_set_retry_read(bio);
}

static inline void herald_BIO_set_retry_write(BIO *bio) {
    BIO_set_retry_write(bio);
}

static inline void herald_BIO_clear_retry_flags(BIO *bio) {
    BIO_clear_retry_flags(bio);
}

static inline uint64_t herald_SSL_CTX_forbid_renegotiation(SSL_CTX *context) {
    return SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

static inline int herald_SSL_CTX_set_owner(SSL_CTX *context, void *owner) {
    return SSL_CTX_set_app_data(context, owner);
}

static inline void *herald_SSL_CTX_owner(const SSL_CTX *context) {
    return SSL_CTX_get_app_data(context);
}
