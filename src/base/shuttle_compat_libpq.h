/*-------------------------------------------------------------------------
 * shuttle_compat_libpq.h
 *	  Version differences: how this session's client logged in, and what
 *	  that allows on storage nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_LIBPQ_H
#define SHUTTLE_COMPAT_LIBPQ_H

#if PG_VERSION_NUM >= 180000
#include "common/base64.h"
#include "common/scram-common.h"
#endif

/* libpq-be.h includes GSSAPI's headers if the server was built with it, and
 * packages of the server's headers do not bring them. */
#if !defined(ENABLE_GSS) || __has_include(<gssapi/gssapi.h>) || __has_include(<gssapi.h>)
#define SHUTTLE_HAS_PORT
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#endif

/* The SCRAM keys of this session's client, in base64; since 18, for nodes with
 * the same password. */
static inline bool
shuttle_get_scram_keys(char **client_key, char **server_key)
{
#if PG_VERSION_NUM >= 180000 && defined(SHUTTLE_HAS_PORT)
	int			size = pg_b64_enc_len(SCRAM_MAX_KEY_LEN) + 1;

	if (MyProcPort == NULL || !MyProcPort->has_scram_keys)
		return false;
	*client_key = palloc0(size);
	*server_key = palloc0(size);
	return pg_b64_encode(MyProcPort->scram_ClientKey,
						 sizeof(MyProcPort->scram_ClientKey),
						 *client_key, size - 1) >= 0 &&
		pg_b64_encode(MyProcPort->scram_ServerKey,
					  sizeof(MyProcPort->scram_ServerKey),
					  *server_key, size - 1) >= 0;
#else
	return false;
#endif
}

/* True if this session's client delegated GSSAPI credentials. From 16 on libpq
 * tells if a connection used them. */
#if PG_VERSION_NUM >= 160000
#define SHUTTLE_LIBPQ_TELLS_GSSAPI
#endif

static inline bool
shuttle_gss_delegated(void)
{
#if PG_VERSION_NUM >= 160000 && defined(ENABLE_GSS) && defined(SHUTTLE_HAS_PORT)
	return MyProcPort != NULL && be_gssapi_get_delegation(MyProcPort);
#else
	return false;
#endif
}

/* postgres_fdw's messages for users who must give credentials. */
#if PG_VERSION_NUM >= 160000
#define SHUTTLE_CREDENTIALS_REQUIRED \
	"password or GSSAPI delegated credentials required"
#define SHUTTLE_CREDENTIALS_UNUSED \
	"Non-superuser cannot connect if the server does not request a password or use GSSAPI with delegated credentials."
#else
#define SHUTTLE_CREDENTIALS_REQUIRED "password is required"
#define SHUTTLE_CREDENTIALS_UNUSED \
	"Non-superuser cannot connect if the server does not request a password."
#endif
#if PG_VERSION_NUM >= 180000
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must delegate GSSAPI credentials, provide a password, or enable SCRAM pass-through in user mapping."
#elif PG_VERSION_NUM >= 160000
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must delegate GSSAPI credentials or provide a password in the user mapping."
#else
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must provide a password in the user mapping."
#endif

#endif							/* SHUTTLE_COMPAT_LIBPQ_H */
