/*-------------------------------------------------------------------------
 * shuttle_compat.h
 *	  Version differences that any file may meet.
 *
 * Only this header and its shuttle_compat_<area>.h look at PG_VERSION_NUM.
 * Older servers get the newest server's names, so that callers have no #if; a
 * file includes the header of each name that it uses ("make lint" checks
 * that). A branch goes when its version does.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_H
#define SHUTTLE_COMPAT_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#if PG_VERSION_NUM >= 160000	/* 16 took this out of postgres.h */
#include "varatt.h"
#endif

/* What this server is, for comparisons with nodes. */
#define SHUTTLE_MAJOR_VERSION (PG_VERSION_NUM / 10000)

/* Comes before a declaration; the older attribute works there, too. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 18 reports a library's name and version. */
#if PG_VERSION_NUM < 180000
#define PG_MODULE_MAGIC_EXT(...) PG_MODULE_MAGIC
#endif

/*
 * Declares a C function that SQL calls.  15 does not export the function
 * itself when symbols are hidden by default; from 16 on core does.
 */
#define SHUTTLE_SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* 16 declares _PG_init() in fmgr.h. */
#if PG_VERSION_NUM < 160000
extern PGDLLEXPORT void _PG_init(void);
#endif

/* New in 16; late minor releases of 15 have some of them. */
#if PG_VERSION_NUM < 160000
#ifndef palloc_object
#define palloc_object(type) ((type *) palloc(sizeof(type)))
#define palloc0_object(type) ((type *) palloc0(sizeof(type)))
#endif
#ifndef palloc_array
#define palloc_array(type, count) ((type *) palloc(sizeof(type) * (count)))
#define palloc0_array(type, count) ((type *) palloc0(sizeof(type) * (count)))
#endif
#endif

/* A StringInfo over read-only memory; new in 17. */
#if PG_VERSION_NUM < 170000
static inline void
initReadOnlyStringInfo(StringInfo string, char *data, int length)
{
	string->data = data;
	string->len = length;
	string->maxlen = 0;
	string->cursor = 0;
}
#endif

#endif							/* SHUTTLE_COMPAT_H */
