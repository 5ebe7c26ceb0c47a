/*-------------------------------------------------------------------------
 * write_binary.c
 *	  Arrays of inserted values in their types' binary format, which the node
 *	  reads faster than text.
 *
 * Only built-in types whose format is the same in all servers and which need no
 * function of the type here. The node reads the arrays as it reads texts: its
 * statement names the element types, and strings are checked there.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/uuid.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"

typedef struct BinaryType
{
	Oid			type;
	const char *name;			/* in pg_catalog */
} BinaryType;

static const BinaryType types[] = {
	{BOOLOID, "bool"},
	{INT2OID, "int2"},
	{INT4OID, "int4"},
	{INT8OID, "int8"},
	{FLOAT4OID, "float4"},
	{FLOAT8OID, "float8"},
	{DATEOID, "date"},
	{TIMESTAMPOID, "timestamp"},
	{TIMESTAMPTZOID, "timestamptz"},
	{UUIDOID, "uuid"},
	{BYTEAOID, "bytea"},
	{TEXTOID, "text"},
	{VARCHAROID, "varchar"},
	{BPCHAROID, "bpchar"},
};

/* True if the node's column has the same type. */
static bool
is_binary(Oid type, const char *node_type)
{
	for (int i = 0; i < lengthof(types); i++)
	{
		if (types[i].type == type)
			return node_type != NULL &&
				strcmp(node_type, psprintf("pg_catalog.%s", quote_identifier(types[i].name))) == 0;
	}
	return false;
}

bool *
shuttle_write_choose_binary(const ShuttleWrite *write, const ShuttleRemoteTable *table)
{
	bool	   *chosen;

	/* EXPLAIN asks the node with the values as texts. */
	if (!shuttle_settings.enable_binary_transfer || shuttle_settings.explain_remote ||
		write->operation != CMD_INSERT || write->conflict != NULL)
		return NULL;
	chosen = palloc_array(bool, Max(write->nattributes, 1));
	for (int i = 0; i < write->nattributes; i++)
		chosen[i] = !table->as_text[write->attributes[i] - 1] &&
			is_binary(TupleDescAttr(write->buffer->desc, i)->atttypid,
					  table->types[write->attributes[i] - 1]);
	return chosen;
}

/* As array_send() does; the flag says that elements may be NULL. */
void
shuttle_write_begin_binary(StringInfo array, Oid type, int nrows)
{
	pq_sendint32(array, 1);
	pq_sendint32(array, 1);
	pq_sendint32(array, type);
	pq_sendint32(array, nrows);
	pq_sendint32(array, 1);
}

static void
append_bytes(StringInfo array, const char *bytes, int length)
{
	pq_sendint32(array, length);
	appendBinaryStringInfo(array, bytes, length);
}

/* Text has one NaN, without a sign. */
static Datum
plain_float(Oid type, Datum value)
{
	if (type == FLOAT4OID && isnan(DatumGetFloat4(value)))
		return Float4GetDatum(get_float4_nan());
	if (type == FLOAT8OID && isnan(DatumGetFloat8(value)))
		return Float8GetDatum(get_float8_nan());
	return value;
}

void
shuttle_write_append_binary(StringInfo array, Form_pg_attribute attribute, Datum value,
							bool is_null)
{
	if (is_null)
	{
		pq_sendint32(array, (uint32) -1);
		return;
	}
	value = plain_float(attribute->atttypid, value);
	switch (attribute->attlen)
	{
		case 1:
			pq_sendint32(array, 1);
			pq_sendint8(array, DatumGetUInt8(value));
			break;
		case 2:
			pq_sendint32(array, 2);
			pq_sendint16(array, DatumGetUInt16(value));
			break;
		case 4:
			pq_sendint32(array, 4);
			pq_sendint32(array, DatumGetUInt32(value));
			break;
		case 8:
			pq_sendint32(array, 8);
			pq_sendint64(array, DatumGetInt64(value));
			break;
		case UUID_LEN:
			append_bytes(array, DatumGetPointer(value), UUID_LEN);
			break;
		default:
			{
				struct varlena *bytes = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));

				append_bytes(array, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
			}
	}
}
