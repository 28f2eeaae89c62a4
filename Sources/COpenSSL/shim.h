#pragma once
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
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

static inline long herald_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int herald_sk_X509_num(const STACK_OF(X509) *certificates) {
    return sk_X509_num(certificates);
}

static inline X509 *herald_sk_X509_value(const STACK_OF(X509) *certificates, int index) {
    return sk_X509_value(certificates, index);
}

// With all certificates in it.
static inline void herald_sk_X509_free(STACK_OF(X509) *certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

static inline void herald_OPENSSL_free(void *memory) {
    OPENSSL_free(memory);
}

// A pair of keys on P-256 from its scalar and its point; null when they are none. In C, since the builder keeps pointers to
// the names until the parameters are made.
static inline EVP_PKEY *herald_P256_pair(
    const unsigned char *scalar, size_t scalarLength, const unsigned char *point, size_t pointLength) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    BIGNUM *number = BN_bin2bn(scalar, (int)scalarLength, NULL);
    if (builder != NULL && context != NULL && number != NULL
        && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, pointLength) == 1)
        parameters = OSSL_PARAM_BLD_to_param(builder);
    if (parameters != NULL && EVP_PKEY_fromdata_init(context) == 1
        && EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters) != 1)
        key = NULL;
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    BN_clear_free(number);
    return key;
}

// Makes so many pairs of keys on P-256 and derives from each the secret that it shares with one peer; 0 when one fails.
// What encryption for browsers is measured by: EVP alone, and nothing that it can do without.
static inline int herald_P256_agreements(int count) {
    EVP_PKEY_CTX *generator = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *peer = NULL;
    int isDone = generator != NULL && EVP_PKEY_keygen_init(generator) == 1
        && EVP_PKEY_CTX_set_group_name(generator, "prime256v1") == 1 && EVP_PKEY_generate(generator, &peer) == 1;
    for (int number = 0; isDone && number < count; number++) {
        EVP_PKEY *pair = NULL;
        unsigned char secret[32];
        size_t length = sizeof secret;
        isDone = EVP_PKEY_generate(generator, &pair) == 1;
        EVP_PKEY_CTX *context = isDone ? EVP_PKEY_CTX_new_from_pkey(NULL, pair, NULL) : NULL;
        isDone = context != NULL && EVP_PKEY_derive_init(context) == 1
            && EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1 && EVP_PKEY_derive(context, secret, &length) == 1;
        EVP_PKEY_CTX_free(context);
        EVP_PKEY_free(pair);
    }
    EVP_PKEY_free(peer);
    EVP_PKEY_CTX_free(generator);
    return isDone;
}

// Whether an error code says that no loaded provider knows an algorithm. A decoder says "unsupported" of bytes that are no key,
// too: of those that a wrong password leaves when their padding happens to be right, once in 256 times.
static inline int herald_ERR_is_unsupported(unsigned long code) {
    int reason = ERR_GET_REASON(code);
    if (ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER) return 0;
    if (reason == ERR_R_UNSUPPORTED) return 1;
    switch (ERR_GET_LIB(code)) {
    case ERR_LIB_EVP:
        return reason == EVP_R_UNSUPPORTED_ALGORITHM || reason == EVP_R_UNKNOWN_PBE_ALGORITHM
            || reason == EVP_R_UNSUPPORTED_PRF || reason == EVP_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION;
    // The key was decrypted, and is on a curve that is not known here.
    case ERR_LIB_EC: return reason == EC_R_UNKNOWN_GROUP;
    default: return 0;
    }
}

// Whether an error code says that a PKCS#12 file was opened with a wrong password.
static inline int herald_ERR_is_wrong_password(unsigned long code) {
    int reason = ERR_GET_REASON(code);
    switch (ERR_GET_LIB(code)) {
    case ERR_LIB_PKCS12: return reason == PKCS12_R_MAC_VERIFY_FAILURE || reason == PKCS12_R_PKCS12_CIPHERFINAL_ERROR;
    case ERR_LIB_EVP: return reason == EVP_R_BAD_DECRYPT;
    default: return 0;
    }
}

// Whether an error code says that a PEM text has ended: there is no further block in it.
static inline int herald_ERR_is_no_start_line(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}
