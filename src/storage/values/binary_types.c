/*-------------------------------------------------------------------------
 * binary_types.c
 *	  Which types are read in their binary format, and what that saves.
 *
 * Only built-in types whose format is the same in all servers and gives the
 * same values as text. Left out are types whose values name objects of one
 * database (reg*), whose text depends on a setting of the node (money), which
 * consist of other types unknown here (composite), or whose floats would keep
 * the sign of a NaN, which text drops (geometric types). Receive functions
 * convert text from the session's client encoding, which no node uses; so only
 * those of types without text are called, and arrays of text are left out.
 * Enums and types of extensions have other OIDs on each server.
 *
 * libpq requests all columns in one format, so the savings are added up over
 * the columns. The figures are nanoseconds a value, of node and session
 * together, measured on PostgreSQL 18; only their proportions matter.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_catalog.h"
#include "storage/values/decoders.h"

/* What binary saves for an array element in addition to the value's gain. */
#define ELEMENT_GAIN_NS 10

/* Elements of an array, as nothing is known. */
#define USUAL_ELEMENTS 8

typedef struct BinaryType
{
	Oid			type;
	ShuttleValueKind kind;
	double		gain_ns;
} BinaryType;

static const BinaryType types[] = {
	{BOOLOID, VALUE_BOOL, 0},
	{INT2OID, VALUE_INT2, 10},
	{INT4OID, VALUE_INT4, 10},
	{INT8OID, VALUE_INT8, 10},
	{OIDOID, VALUE_OID, 10},
	{FLOAT4OID, VALUE_FLOAT4, 70},
	{FLOAT8OID, VALUE_FLOAT8, 100},
	{NUMERICOID, VALUE_OTHER, 15},
	{DATEOID, VALUE_DATE, 25},
	{TIMEOID, VALUE_TIME, 130},
	{TIMETZOID, VALUE_OTHER, 120},
	{TIMESTAMPOID, VALUE_TIMESTAMP, 55},
	{TIMESTAMPTZOID, VALUE_TIMESTAMPTZ, 85},
	{INTERVALOID, VALUE_OTHER, 150},
	{UUIDOID, VALUE_UUID, 40},
	{BYTEAOID, VALUE_BYTEA, 30},
	{TEXTOID, VALUE_TEXT, -10},
	{VARCHAROID, VALUE_TEXT, -10},
	{BPCHAROID, VALUE_TEXT, -10},
	{NAMEOID, VALUE_PRINTED, -15},
	{JSONOID, VALUE_PRINTED, -25},
	{JSONBOID, VALUE_JSONB, -20},
	{INETOID, VALUE_OTHER, 70},
	{CIDROID, VALUE_OTHER, 70},
	{MACADDROID, VALUE_OTHER, 200},
	{MACADDR8OID, VALUE_OTHER, 200},
	{BITOID, VALUE_OTHER, 30},
	{VARBITOID, VALUE_OTHER, 25},
	{INT4RANGEOID, VALUE_OTHER, 70},
	{INT8RANGEOID, VALUE_OTHER, 70},
	{NUMRANGEOID, VALUE_OTHER, 80},
	{DATERANGEOID, VALUE_OTHER, 300},
	{TSRANGEOID, VALUE_OTHER, 400},
	{TSTZRANGEOID, VALUE_OTHER, 500},
};

static const BinaryType *
find_type(Oid type)
{
	for (int i = 0; i < lengthof(types); i++)
	{
		if (types[i].type == type)
			return &types[i];
	}
	return NULL;
}

void
shuttle_binary_type_find(ShuttleValueReader *reader)
{
	const BinaryType *found = find_type(reader->type);
	Oid			element = InvalidOid;
	Oid			receive;

	if (found == NULL && reader->type < FirstGenbkiObjectId)
	{
		element = get_element_type(reader->type);
		found = OidIsValid(element) ? find_type(element) : NULL;
	}
	if (found == NULL)
		return;

	/*
	 * The elements' receive functions would convert from the client's
	 * encoding.
	 */
	if (OidIsValid(element) && shuttle_value_is_text(found->kind))
		return;

	reader->in_binary = true;
	reader->has_intervals = found->type == INTERVALOID;
	if (OidIsValid(element))
	{
		reader->has_floats = element == FLOAT4OID || element == FLOAT8OID;
		reader->gain_ns = USUAL_ELEMENTS * (found->gain_ns + ELEMENT_GAIN_NS);
	}
	else
	{
		reader->gain_ns = found->gain_ns;
		reader->kind = found->kind;
	}
	if (reader->kind != VALUE_OTHER)
		return;
	getTypeBinaryInputInfo(reader->type, &receive, &reader->receive_parameter);
	fmgr_info_cxt(receive, &reader->receive, reader->owner);
}

/* Types whose binary format is their text. */
static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID ||
		type == NAMEOID;
}

bool
shuttle_binary_type_agrees(const ShuttleValueReader *reader, Oid node_type,
						   int32 node_typmod, int node_version)
{
	Assert(reader->in_binary);

	if (reader->has_intervals && !shuttle_agrees_on_intervals(node_version))
		return false;
	if (reader->typmod < 0 && reader->type != NAMEOID && is_text(reader->type))
		return is_text(node_type);
	return node_type == reader->type &&
		(reader->typmod < 0 || reader->typmod == node_typmod);
}
