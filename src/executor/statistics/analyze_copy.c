/*-------------------------------------------------------------------------
 * analyze_copy.c
 *	  Writes a node's statistics of a table as this server's own.
 *
 * Rows of pg_statistic are made as ANALYZE would make them. They contain
 * operators of this server's types, so types and collations must be the same
 * on the node.
 *
 * Source: comments of pg_statistic.h; update_attstats() of core.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/attoptcache.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_catalog.h"
#include "executor/facts/safe_values.h"
#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_stored_values.h"

/* A row of pg_statistic under construction. */
typedef struct StatisticRow
{
	Datum		values[Natts_pg_statistic];
	bool		nulls[Natts_pg_statistic];
	int			nslots;
} StatisticRow;

/* A column and the operators of its statistics. */
typedef struct CopiedColumn
{
	AttrNumber	attribute;
	Oid			type;
	Oid			collation;
	Oid			less_than;
	Oid			equal;
	char	  **facts;
} CopiedColumn;

typedef struct CopyWork
{
	Relation	rel;
	const ShuttleKnownTable *known;
	int			ncolumns;
} CopyWork;

static bool is_wanted(Relation rel, const ShuttleKnownTable *known,
					  AttrNumber attribute);
static ShuttleColumnFacts *find_column(Relation rel,
									   const ShuttleKnownTable *known,
									   AttrNumber attribute);
static bool column_fits(Form_pg_attribute attribute, char **facts);
static bool same_type(Oid type, const char *name);
static bool same_collation(const char *ours, const char *theirs);
static void copy_columns(void *arg);
static void make_row(StatisticRow *row, Oid relid, const CopiedColumn *column);
static void add_values(StatisticRow *row, const CopiedColumn *column);
static void add_elements(StatisticRow *row, const CopiedColumn *column);
static void add_ranges(StatisticRow *row, const CopiedColumn *column);
static void add_slot(StatisticRow *row, int kind, Oid operator, Oid collation,
					 Datum numbers, Datum values);
static Datum read_array(const char *text, Oid type);
static Datum one_number(const char *text);
static void write_row(Relation catalog, StatisticRow *row);

bool
shuttle_analyze_copy_is_possible(Relation rel, const ShuttleKnownTable *known)
{
	TupleDesc	desc = RelationGetDescr(rel);

	/* extended statistics cannot be copied: they need sampled rows */
	if (known->table.columns == NIL || known->table.rows < 0 ||
		RelationGetStatExtList(rel) != NIL)
		return false;
	for (int i = 1; i <= desc->natts; i++)
	{
		ShuttleColumnFacts *column;

		if (!is_wanted(rel, known, i))
			continue;
		column = find_column(rel, known, i);
		if (column == NULL ||
			!column_fits(TupleDescAttr(desc, i - 1), column->facts))
			return false;
	}
	return true;
}

/* As core's ANALYZE decides it. */
static bool
is_wanted(Relation rel, const ShuttleKnownTable *known, AttrNumber attribute)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(rel), attribute - 1);

	if (form->attisdropped || form->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
		return false;
	if (known->columns != NULL && !bms_is_member(attribute, known->columns))
		return false;
	return shuttle_statistics_target(RelationGetRelid(rel), attribute) != 0;
}

static ShuttleColumnFacts *
find_column(Relation rel, const ShuttleKnownTable *known, AttrNumber attribute)
{
	char	   *name = shuttle_remote_column_name(rel, attribute);
	ListCell   *cell;

	foreach(cell, known->table.columns)
	{
		ShuttleColumnFacts *column = lfirst(cell);

		if (strcmp(column->facts[FACT_NAME], name) == 0)
			return column;
	}
	return NULL;
}

/* False for ranges from nodes before 17, which do not show their statistics,
 * and for money, whose text depends on a setting of the node. */
static bool
column_fits(Form_pg_attribute attribute, char **facts)
{
	char		kind = get_typtype(getBaseType(attribute->atttypid));

	if (!same_type(attribute->atttypid, facts[FACT_TYPE]) ||
		getBaseType(attribute->atttypid) == MONEYOID)
		return false;
	if ((kind == TYPTYPE_RANGE || kind == TYPTYPE_MULTIRANGE) &&
		facts[FACT_RANGE_EMPTY] == NULL &&
		strtod(facts[FACT_NULL_FRAC], NULL) < 1)
		return false;
	if (!OidIsValid(attribute->attcollation))
		return facts[FACT_COLLATION] == NULL;
	return facts[FACT_COLLATION] != NULL &&
		same_collation(shuttle_analyze_collation_name(attribute->attcollation),
					   facts[FACT_COLLATION]);
}

/* Compares types; text and varchar share their operators. */
static bool
same_type(Oid type, const char *name)
{
	HeapTuple	tuple;
	Form_pg_type form;
	char	   *ours;
	bool		same;

	type = getBaseType(type);
	if (type == VARCHAROID)
		type = TEXTOID;
	if (strcmp(name, "pg_catalog.varchar") == 0)
		name = "pg_catalog.text";
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	ours = psprintf("%s.%s", get_namespace_name(form->typnamespace),
					NameStr(form->typname));
	same = strcmp(ours, name) == 0;
	ReleaseSysCache(tuple);
	pfree(ours);
	return same;
}

/* Ignores case and hyphens: en_US.UTF-8 is en_US.utf8. */
static bool
same_collation(const char *ours, const char *theirs)
{
	for (;;)
	{
		while (*ours == '-')
			ours++;
		while (*theirs == '-')
			theirs++;
		if (pg_tolower((unsigned char) *ours) != pg_tolower((unsigned char) *theirs))
			return false;
		if (*ours == '\0')
			return true;
		ours++;
		theirs++;
	}
}

int
shuttle_analyze_copy_statistics(Relation rel, const ShuttleKnownTable *known)
{
	CopyWork	work = {.rel = rel,.known = known};

	return shuttle_caught_error_try(copy_columns, &work) ? work.ncolumns : -1;
}

static void
copy_columns(void *arg)
{
	CopyWork   *work = arg;
	TupleDesc	desc = RelationGetDescr(work->rel);
	Relation	catalog = table_open(StatisticRelationId, RowExclusiveLock);

	for (int i = 1; i <= desc->natts; i++)
	{
		Form_pg_attribute form = TupleDescAttr(desc, i - 1);
		TypeCacheEntry *type;
		CopiedColumn column;
		StatisticRow row = {0};

		if (!is_wanted(work->rel, work->known, i))
			continue;
		type = lookup_type_cache(form->atttypid, TYPECACHE_LT_OPR | TYPECACHE_EQ_OPR);
		column.attribute = i;
		column.type = form->atttypid;
		column.collation = form->attcollation;
		column.less_than = type->lt_opr;
		column.equal = type->eq_opr;
		column.facts = find_column(work->rel, work->known, i)->facts;
		make_row(&row, RelationGetRelid(work->rel), &column);
		write_row(catalog, &row);
		work->ncolumns++;
	}
	table_close(catalog, RowExclusiveLock);
}

static void
make_row(StatisticRow *row, Oid relid, const CopiedColumn *column)
{
	AttributeOpts *options = get_attribute_options(relid, column->attribute);
	double		ndistinct = strtod(column->facts[FACT_N_DISTINCT], NULL);

	if (options != NULL && options->n_distinct != 0)
		ndistinct = options->n_distinct;
	row->values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	row->values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(column->attribute);
	row->values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(false);
	row->values[Anum_pg_statistic_stanullfrac - 1] =
		Float4GetDatum(strtof(column->facts[FACT_NULL_FRAC], NULL));
	row->values[Anum_pg_statistic_stawidth - 1] =
		Int32GetDatum(atoi(column->facts[FACT_AVG_WIDTH]));
	row->values[Anum_pg_statistic_stadistinct - 1] = Float4GetDatum(ndistinct);
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		row->values[Anum_pg_statistic_stakind1 - 1 + i] = Int16GetDatum(0);
		row->values[Anum_pg_statistic_staop1 - 1 + i] = ObjectIdGetDatum(InvalidOid);
		row->values[Anum_pg_statistic_stacoll1 - 1 + i] = ObjectIdGetDatum(InvalidOid);
		row->nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = true;
		row->nulls[Anum_pg_statistic_stavalues1 - 1 + i] = true;
	}
	add_values(row, column);
	add_elements(row, column);
	add_ranges(row, column);
}

static int
length_of(Datum array)
{
	return ARR_DIMS(DatumGetArrayTypeP(array))[0];
}

/* The planner reads a frequency for each value. */
static void
add_common_values(StatisticRow *row, const CopiedColumn *column)
{
	Datum		frequencies = read_array(column->facts[FACT_COMMON_FREQUENCIES], FLOAT4OID);
	Datum		values = read_array(column->facts[FACT_COMMON_VALUES], column->type);

	if (length_of(frequencies) != length_of(values))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("statistics of a storage node have %d frequencies for %d common values",
						length_of(frequencies), length_of(values))));
	add_slot(row, STATISTIC_KIND_MCV, column->equal, column->collation, frequencies, values);
}

static void
add_values(StatisticRow *row, const CopiedColumn *column)
{
	char	  **facts = column->facts;

	if (OidIsValid(column->equal) && facts[FACT_COMMON_VALUES] != NULL &&
		facts[FACT_COMMON_FREQUENCIES] != NULL)
		add_common_values(row, column);
	if (!OidIsValid(column->less_than))
		return;
	if (facts[FACT_HISTOGRAM] != NULL)
		add_slot(row, STATISTIC_KIND_HISTOGRAM, column->less_than,
				 column->collation, (Datum) 0,
				 read_array(facts[FACT_HISTOGRAM], column->type));
	if (facts[FACT_CORRELATION] != NULL)
		add_slot(row, STATISTIC_KIND_CORRELATION, column->less_than,
				 column->collation, one_number(facts[FACT_CORRELATION]),
				 (Datum) 0);
}

/* Element statistics of arrays and tsvectors, whose elements are text. */
static void
add_elements(StatisticRow *row, const CopiedColumn *column)
{
	char	  **facts = column->facts;
	bool		is_tsvector = getBaseType(column->type) == TSVECTOROID;
	Oid			collation = is_tsvector ? DEFAULT_COLLATION_OID : column->collation;
	Oid			type = is_tsvector ? TEXTOID : get_base_element_type(column->type);
	Oid			equal;

	if (!OidIsValid(type))
		return;
	equal = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	if (!OidIsValid(equal))
		return;
	if (facts[FACT_COMMON_ELEMENTS] != NULL &&
		facts[FACT_ELEMENT_FREQUENCIES] != NULL)
		add_slot(row, STATISTIC_KIND_MCELEM, equal, collation,
				 read_array(facts[FACT_ELEMENT_FREQUENCIES], FLOAT4OID),
				 read_array(facts[FACT_COMMON_ELEMENTS], type));
	if (facts[FACT_ELEMENT_COUNTS] != NULL)
		add_slot(row, STATISTIC_KIND_DECHIST, equal, collation,
				 read_array(facts[FACT_ELEMENT_COUNTS], FLOAT4OID), (Datum) 0);
}

/* Bounds first, as in core, though their kind's number is higher. */
static void
add_ranges(StatisticRow *row, const CopiedColumn *column)
{
	char	  **facts = column->facts;
	Oid			type = getBaseType(column->type);

	if (facts[FACT_RANGE_EMPTY] == NULL)
		return;
	if (type_is_multirange(type))
		type = get_multirange_range(type);
	if (facts[FACT_RANGE_BOUNDS] != NULL)
		add_slot(row, STATISTIC_KIND_BOUNDS_HISTOGRAM, InvalidOid, InvalidOid,
				 (Datum) 0, read_array(facts[FACT_RANGE_BOUNDS], type));
	if (facts[FACT_RANGE_LENGTHS] != NULL)
		add_slot(row, STATISTIC_KIND_RANGE_LENGTH_HISTOGRAM, Float8LessOperator,
				 InvalidOid, one_number(facts[FACT_RANGE_EMPTY]),
				 read_array(facts[FACT_RANGE_LENGTHS], FLOAT8OID));
}

/* numbers, values: arrays; 0: none. */
static void
add_slot(StatisticRow *row, int kind, Oid operator, Oid collation,
		 Datum numbers, Datum values)
{
	int			slot = row->nslots++;

	if (slot >= STATISTIC_NUM_SLOTS)
		elog(ERROR, "too many kinds of statistics for one column");
	row->values[Anum_pg_statistic_stakind1 - 1 + slot] = Int16GetDatum(kind);
	row->values[Anum_pg_statistic_staop1 - 1 + slot] = ObjectIdGetDatum(operator);
	row->values[Anum_pg_statistic_stacoll1 - 1 + slot] = ObjectIdGetDatum(collation);
	row->values[Anum_pg_statistic_stanumbers1 - 1 + slot] = numbers;
	row->nulls[Anum_pg_statistic_stanumbers1 - 1 + slot] = numbers == (Datum) 0;
	row->values[Anum_pg_statistic_stavalues1 - 1 + slot] = values;
	row->nulls[Anum_pg_statistic_stavalues1 - 1 + slot] = values == (Datum) 0;
}

/* Parses an array of a type. */
static Datum
read_array(const char *text, Oid type)
{
	Datum		array = shuttle_stored_value(shuttle_stored_array_create(type, CurrentMemoryContext), pstrdup(text));

	if (ARR_NDIM(DatumGetArrayTypeP(array)) != 1 ||
		array_contains_nulls(DatumGetArrayTypeP(array)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("statistics of a storage node are not a list of values")));
	return array;
}

static Datum
one_number(const char *text)
{
	Datum		number = Float4GetDatum(strtof(text, NULL));

	return PointerGetDatum(construct_array(&number, 1, FLOAT4OID, sizeof(float4),
										   true, TYPALIGN_INT));
}

static void
write_row(Relation catalog, StatisticRow *row)
{
	HeapTuple	old = SearchSysCache3(STATRELATTINH,
									  row->values[Anum_pg_statistic_starelid - 1],
									  row->values[Anum_pg_statistic_staattnum - 1],
									  row->values[Anum_pg_statistic_stainherit - 1]);
	HeapTuple	new = heap_form_tuple(RelationGetDescr(catalog), row->values, row->nulls);

	if (HeapTupleIsValid(old))
	{
		CatalogTupleUpdate(catalog, &old->t_self, new);
		ReleaseSysCache(old);
	}
	else
		CatalogTupleInsert(catalog, new);
	heap_freetuple(new);
}
