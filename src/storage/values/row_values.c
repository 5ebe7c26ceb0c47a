/*-------------------------------------------------------------------------
 * row_values.c
 *	  Rows in and out: values of an answer become tuples, and values are
 *	  printed under the settings for transmission.
 *
 * Memory: a decoder lives in its owner. A row's values are in its room; what
 * does not fit, and results of types' own functions, in its context "shuttle
 * row". Both are emptied before each row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/xml.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_storage.h"
#include "storage/values/decoders.h"
#include "storage/values/values.h"

/* Enough for the values of a usual row; more is allocated. */
#define ROOM_BYTES 8192

/* A column of an answer. */
typedef struct DecoderColumn
{
	AttrNumber	attribute;		/* of the row; <= 0: read into the tuple's
								 * header */
	ShuttleValueReader reader;
} DecoderColumn;

struct ShuttleDecoder
{
	TupleDesc	desc;
	int			first_column;
	int			ncolumns;
	DecoderColumn *columns;
	bool		is_virtual;		/* no column goes into the tuple's header */
	bool		in_binary;		/* all columns may be requested in binary */
	uint32		types_hash;		/* of desc */
	int64	   *width;			/* observed row width, set by requests */
	Datum	   *values;
	bool	   *nulls;
	const char *relation_name;	/* NULL: unknown */
	char	   *node_name;		/* the last request's; empty: none */
	ShuttleColumnContext add_context;	/* NULL: by relation_name */
	void	   *context_arg;
	ShuttleRowFinish finish;	/* NULL: no columns are computed */
	void	   *finish_arg;
	int			current;		/* column being converted; -1: none */
	MemoryContext row_cxt;
	ShuttleValueRoom room;
};

/* What is read into a tuple's header; rows with such columns come as text. */
typedef struct RowIdentity
{
	ItemPointerData ctid;
	Oid			tableoid;
	TransactionId xmin;
	TransactionId xmax;
	CommandId	command;		/* cmin and cmax */
} RowIdentity;

static void init_reader(ShuttleValueReader *reader, Form_pg_attribute attribute,
						MemoryContext owner);
static void choose_format(ShuttleDecoder *decoder);
static void decode_row(ShuttleDecoder *decoder, const ShuttleRow *row,
					   Datum *values, bool *nulls, RowIdentity *identity);
static void convert_row(ShuttleDecoder *decoder, const ShuttleRow *row,
						Datum *values, bool *nulls, RowIdentity *identity);
static int	begin_reading(const ShuttleRow *row);
static void add_conversion_context(void *arg);

uint32
shuttle_row_types_hash(TupleDesc desc)
{
	uint32		hash = 1;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		hash = hash_combine(hash, murmurhash32(attribute->atttypid));
		hash = hash_combine(hash, murmurhash32(attribute->atttypmod));
		hash = hash_combine(hash, murmurhash32(attribute->attcollation));
	}
	return hash | 1;
}

ShuttleDecoder *
shuttle_row_decoder_create(TupleDesc desc, List *attributes, int first_column,
						   Relation rel, const ShuttleNode *node, MemoryContext owner)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(owner);
	ShuttleDecoder *decoder = palloc0_object(ShuttleDecoder);
	ListCell   *cell;

	decoder->desc = desc;
	decoder->types_hash = shuttle_row_types_hash(desc);
	decoder->first_column = first_column;
	decoder->ncolumns = list_length(attributes);
	decoder->columns = palloc0_array(DecoderColumn, Max(1, decoder->ncolumns));
	decoder->values = palloc0_array(Datum, Max(1, desc->natts));
	decoder->nulls = palloc0_array(bool, Max(1, desc->natts));
	decoder->current = -1;
	decoder->width = palloc0_object(int64);
	decoder->node_name = palloc0(NAMEDATALEN);
	if (rel != NULL)
		decoder->relation_name = pstrdup(RelationGetRelationName(rel));
	if (node != NULL)
		shuttle_row_decoder_note_node(decoder, shuttle_node_name(node));
	decoder->row_cxt = AllocSetContextCreate(owner, "shuttle row",
											 ALLOCSET_SMALL_SIZES);
	decoder->room.start = decoder->room.next = palloc(ROOM_BYTES);
	decoder->room.end = decoder->room.start + ROOM_BYTES;
	decoder->room.overflow = decoder->row_cxt;

	decoder->is_virtual = true;
	foreach(cell, attributes)
	{
		DecoderColumn *column = &decoder->columns[foreach_current_index(cell)];

		column->attribute = lfirst_int(cell);
		if (column->attribute <= 0)
		{
			decoder->is_virtual = false;
			continue;
		}
		Assert(column->attribute <= desc->natts);
		init_reader(&column->reader, TupleDescAttr(desc, column->attribute - 1),
					owner);
	}
	choose_format(decoder);
	MemoryContextSwitchTo(old_cxt);
	return decoder;
}

static void
init_reader(ShuttleValueReader *reader, Form_pg_attribute attribute,
			MemoryContext owner)
{
	reader->owner = owner;
	reader->typmod = attribute->atttypmod;
	reader->type = getBaseTypeAndTypmod(attribute->atttypid, &reader->typmod);
	reader->stored = shuttle_stored_type_create(reader->type, reader->typmod, owner);
	shuttle_binary_type_find(reader);
}

/* All columns come in one format: binary if no column must be text, and if it
 * saves time in total. */
static void
choose_format(ShuttleDecoder *decoder)
{
	double		gain_ns = 0;

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		ShuttleValueReader *reader = &decoder->columns[i].reader;

		if (!reader->in_binary)
			return;
		gain_ns += reader->gain_ns;
	}
	decoder->in_binary = gain_ns > 0;
}

bool
shuttle_row_decoder_takes_binary(const ShuttleDecoder *decoder)
{
	return decoder->in_binary;
}

uint32
shuttle_row_decoder_types_hash(const ShuttleDecoder *decoder)
{
	return decoder != NULL ? decoder->types_hash : 0;
}

bool
shuttle_row_decoder_is_narrow(const ShuttleDecoder *decoder, int most_bytes)
{
	double		bytes = 0;

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		const DecoderColumn *column = &decoder->columns[i];
		int			attribute = column->attribute;

		if (attribute <= 0)
			continue;
		if (TupleDescAttr(decoder->desc, attribute - 1)->attlen > 0)
			continue;
		if (type_maximum_size(column->reader.type, column->reader.typmod) < 0)
			return false;
		bytes += type_maximum_size(column->reader.type, column->reader.typmod);
	}
	return bytes <= most_bytes;
}

void
shuttle_row_decoder_note_node(const ShuttleDecoder *decoder, const char *name)
{
	strlcpy(decoder->node_name, name, NAMEDATALEN);
}

int64 *
shuttle_row_decoder_width(const ShuttleDecoder *decoder)
{
	return decoder->width;
}

bool
shuttle_row_decoder_agrees(const ShuttleDecoder *decoder, const PGresult *answer,
						   int node_version)
{
	if (PQnfields(answer) != decoder->first_column + decoder->ncolumns)
		return false;
	for (int i = 0; i < decoder->first_column; i++)
	{
		if (PQftype(answer, i) != INT8OID)
			return false;
	}
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		int			column = decoder->first_column + i;

		if (!shuttle_binary_type_agrees(&decoder->columns[i].reader,
										PQftype(answer, column),
										PQfmod(answer, column), node_version))
			return false;
	}
	return true;
}

void
shuttle_row_decoder_set_context(ShuttleDecoder *decoder,
								ShuttleColumnContext add_context, void *arg)
{
	decoder->add_context = add_context;
	decoder->context_arg = arg;
}

void
shuttle_row_decoder_set_finish(ShuttleDecoder *decoder, ShuttleRowFinish finish,
							   void *arg)
{
	decoder->finish = finish;
	decoder->finish_arg = arg;
}

HeapTuple
shuttle_row_decoder_tuple(ShuttleDecoder *decoder, const ShuttleRow *row)
{
	RowIdentity identity = {
		.tableoid = InvalidOid,
		.xmin = InvalidTransactionId,
		.xmax = InvalidTransactionId,
		.command = InvalidTransactionId
	};
	HeapTuple	tuple;

	ItemPointerSetInvalid(&identity.ctid);
	decode_row(decoder, row, decoder->values, decoder->nulls, &identity);
	tuple = heap_form_tuple(decoder->desc, decoder->values, decoder->nulls);

	/* t_ctid, too: a composite value keeps it there for EvalPlanQual. */
	if (ItemPointerIsValid(&identity.ctid))
		tuple->t_self = tuple->t_data->t_ctid = identity.ctid;
	tuple->t_tableOid = identity.tableoid;

	/*
	 * heap_form_tuple() sets the header of a composite value; readers of
	 * system columns must not take a type's OID for a transaction ID, and
	 * late releases of 15 mark such a header in t_infomask.
	 */
	tuple->t_data->t_infomask &= ~HEAP_XACT_MASK;
	HeapTupleHeaderSetXmax(tuple->t_data, identity.xmax);
	HeapTupleHeaderSetXmin(tuple->t_data, identity.xmin);
	HeapTupleHeaderSetCmin(tuple->t_data, identity.command);
	return tuple;
}

bool
shuttle_row_decoder_is_virtual(const ShuttleDecoder *decoder)
{
	return decoder->is_virtual;
}

void
shuttle_row_decoder_store(ShuttleDecoder *decoder, const ShuttleRow *row,
						  TupleTableSlot *slot)
{
	Assert(decoder->is_virtual);
	Assert(slot->tts_tupleDescriptor->natts == decoder->desc->natts);
	decode_row(decoder, row, slot->tts_values, slot->tts_isnull, NULL);
	ExecStoreVirtualTuple(slot);
}

/* Fills values and nulls, which have an entry for each attribute. */
static void
decode_row(ShuttleDecoder *decoder, const ShuttleRow *row, Datum *values,
		   bool *nulls, RowIdentity *identity)
{
	ErrorContextCallback context;
	MemoryContext old_cxt;
	int			nestlevel;

	/* An empty column list is sent as SELECT NULL. */
	if (decoder->ncolumns > 0 &&
		row->ncolumns != decoder->first_column + decoder->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INCONSISTENT_DESCRIPTOR_INFORMATION),
				 errmsg("answer has %d columns where %d were expected",
						row->ncolumns,
						decoder->first_column + decoder->ncolumns)));

	MemoryContextReset(decoder->row_cxt);
	decoder->room.next = decoder->room.start;
	context.callback = add_conversion_context;
	context.arg = decoder;
	context.previous = error_context_stack;
	error_context_stack = &context;
	old_cxt = MemoryContextSwitchTo(decoder->row_cxt);
	memset(nulls, true, decoder->desc->natts);
	nestlevel = begin_reading(row);
	convert_row(decoder, row, values, nulls, identity);
	shuttle_row_transmission_end(nestlevel);
	decoder->current = -1;
	if (decoder->finish != NULL)
		decoder->finish(decoder->finish_arg, values, nulls);
	MemoryContextSwitchTo(old_cxt);
	error_context_stack = context.previous;
}

static void
read_identity(RowIdentity *identity, AttrNumber attribute, char *value)
{
	if (value == NULL)
		return;
	switch (attribute)
	{
		case SelfItemPointerAttributeNumber:
			identity->ctid = *(ItemPointer) DatumGetPointer(DirectFunctionCall1(tidin,
																				CStringGetDatum(value)));
			break;
		case TableOidAttributeNumber:
			identity->tableoid = atooid(value);
			break;
		case MinTransactionIdAttributeNumber:
			identity->xmin = strtoul(value, NULL, 10);
			break;
		case MaxTransactionIdAttributeNumber:
			identity->xmax = strtoul(value, NULL, 10);
			break;
		default:
			identity->command = strtoul(value, NULL, 10);
			break;
	}
}

static void
convert_row(ShuttleDecoder *decoder, const ShuttleRow *row, Datum *values,
			bool *nulls, RowIdentity *identity)
{
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		DecoderColumn *column = &decoder->columns[i];
		ShuttleValueReader *reader = &column->reader;
		int			field = decoder->first_column + i;
		char	   *value = row->values[field];
		int			attribute = column->attribute - 1;

		decoder->current = i;
		if (attribute < 0)
		{
			read_identity(identity, column->attribute, value);
			continue;
		}
		if (value == NULL)
			continue;
		nulls[attribute] = false;
		if (row->in_binary)
			values[attribute] = shuttle_binary_value(reader, value,
													 row->lengths[field],
													 &decoder->room);
		else if (!shuttle_text_value(reader, value, row->lengths[field],
									 &decoder->room, &values[attribute]))
		{
			shuttle_check_encoding(value, row->lengths[field]);
			values[attribute] = shuttle_stored_value(reader->stored, value);
		}
	}
}

int64
shuttle_row_int64(const ShuttleRow *row, int column)
{
	uint64		bits;
	char	   *value = shuttle_row_text(row, column);

	if (!row->in_binary)
		return pg_strtoint64(value);
	if (row->lengths[column] != sizeof(bits))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("incorrect binary data format")));
	memcpy(&bits, value, sizeof(bits));
	return (int64) pg_ntoh64(bits);
}

char *
shuttle_row_text(const ShuttleRow *row, int column)
{
	if (column >= row->ncolumns || row->values[column] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("answer has no value in column %d", column + 1)));
	return row->values[column];
}

static void
add_conversion_context(void *arg)
{
	ShuttleDecoder *decoder = arg;
	AttrNumber	attribute;

	if (decoder->current < 0)
		return;
	attribute = decoder->columns[decoder->current].attribute;
	if (decoder->add_context != NULL)
		decoder->add_context(decoder->context_arg, attribute);
	else if (decoder->relation_name != NULL && attribute > 0)
		errcontext("column \"%s\" of foreign table \"%s\"",
				   NameStr(TupleDescAttr(decoder->desc, attribute - 1)->attname),
				   decoder->relation_name);
	else if (decoder->relation_name != NULL &&
			 attribute == SelfItemPointerAttributeNumber)
		errcontext("column \"%s\" of foreign table \"%s\"", "ctid",
				   decoder->relation_name);
	else
		errcontext("processing expression at position %d in select list",
				   decoder->current + 1);
	/* A column is named by the statement's alias, which all partitions share. */
	if (decoder->node_name[0] == '\0')
		return;
	if (decoder->relation_name != NULL)
		errcontext("storage node \"%s\", foreign table \"%s\"",
				   decoder->node_name, decoder->relation_name);
	else
		errcontext("storage node \"%s\"", decoder->node_name);
}

/* Sets one setting until shuttle_row_transmission_end(). */
static void
set_for_transmission(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* Reads a node's text as the node prints it, whatever the session's settings;
 * returns the GUC nest level, or 0. */
static int
begin_reading(const ShuttleRow *row)
{
	int			nestlevel;

	if (row->in_binary || (Array_nulls && xmloption == XMLOPTION_CONTENT))
		return 0;
	nestlevel = NewGUCNestLevel();
	set_for_transmission("array_nulls", "on");
	set_for_transmission("xmloption", "content");
	return nestlevel;
}

ShuttlePrintNeed
shuttle_row_print_need(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case UUIDOID:
			return SHUTTLE_PRINT_ANYHOW;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return SHUTTLE_PRINT_DATES;
		default:
			return SHUTTLE_PRINT_ALL;
	}
}

/* Setting and resetting all takes some 3000 instructions. */
int
shuttle_row_transmission_begin(ShuttlePrintNeed need)
{
	int			nestlevel;

	if (need == SHUTTLE_PRINT_ANYHOW ||
		(need == SHUTTLE_PRINT_DATES && DateStyle == USE_ISO_DATES))
		return 0;
	nestlevel = NewGUCNestLevel();
	if (DateStyle != USE_ISO_DATES)
		set_for_transmission("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_for_transmission("intervalstyle", "postgres");
	if (extra_float_digits < 3)
		set_for_transmission("extra_float_digits", "3");

	/* for constants like regproc */
	set_for_transmission("search_path", "pg_catalog, pg_temp");

	/* for string constants */
	if (!standard_conforming_strings)
		set_for_transmission("standard_conforming_strings", "on");
	return nestlevel;
}

void
shuttle_row_transmission_end(int nestlevel)
{
	if (nestlevel > 0)
		AtEOXact_GUC(true, nestlevel);
}
