/*-------------------------------------------------------------------------
 * options.c
 *	  Options of servers, user mappings, tables and columns: which are valid
 *	  where, and their values.
 *
 * postgres_fdw's options keep their meaning and are checked by its validator,
 * with its messages. Ours have the prefix shuttle_.
 *
 * Memory: the caller's context, short-lived.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/varlena.h"

#include "base/shuttle_compat.h"
#include "cluster/options/options.h"
#include "cluster/shuttle_cluster.h"

typedef enum OptionValue
{
	VALUE_BOOL,
	VALUE_POOLER,				/* transaction, or off */
	VALUE_INT,
	VALUE_KB,					/* with a memory unit; kB by default */
	VALUE_REAL,					/* not negative */
	VALUE_NAMES,				/* names of servers, separated by commas */
	VALUE_WORDS,				/* identifiers, separated by commas */
	VALUE_LABELS				/* a JSON object of strings */
} OptionValue;

/* The kinds of objects that have options, as bits. */
enum
{
	ON_WRAPPER = 1 << 0,
	ON_SERVER = 1 << 1,
	ON_MAPPING = 1 << 2,
	ON_TABLE = 1 << 3,
	ON_COLUMN = 1 << 4
};

typedef struct ObjectKind
{
	int			bit;
	Oid			catalog;
	const char *name;			/* with its article */
} ObjectKind;

typedef struct OptionDefinition
{
	const char *name;
	int			objects;
	OptionValue value;
	int			min;
	int			max;
} OptionDefinition;

static const ObjectKind kinds[] = {
	{ON_WRAPPER, ForeignDataWrapperRelationId, "a foreign-data wrapper"},
	{ON_SERVER, ForeignServerRelationId, "a server"},
	{ON_MAPPING, UserMappingRelationId, "a user mapping"},
	{ON_TABLE, ForeignTableRelationId, "a foreign table"},
	{ON_COLUMN, AttributeRelationId, "a column of a foreign table"},
};

/* Ranges equal those of the settings that the options override. */
static const OptionDefinition definitions[] = {
	{"shuttle_batch_size", ON_SERVER, VALUE_INT, 1, 65536},
	{"shuttle_request_limit", ON_SERVER, VALUE_INT, 1, 65536},
	{"shuttle_fetch_limit", ON_SERVER | ON_TABLE, VALUE_INT, 1, 1000000},
	{"shuttle_fetch_size_limit", ON_SERVER | ON_TABLE, VALUE_KB, 1, MAX_KILOBYTES},
	{"shuttle_fetch_ahead", ON_SERVER | ON_TABLE, VALUE_KB, 1, MAX_KILOBYTES},
	{"shuttle_batches_in_flight", ON_SERVER, VALUE_INT, 1, 1024},
	{"shuttle_round_trip_cost", ON_SERVER, VALUE_REAL, 0, 0},
	{"shuttle_pooler", ON_SERVER, VALUE_POOLER, 0, 0},
	{"shuttle_two_phase", ON_SERVER, VALUE_BOOL, 0, 0},
	{"shuttle_holds_tablets", ON_SERVER, VALUE_BOOL, 0, 0},
	{"shuttle_tags", ON_SERVER, VALUE_WORDS, 0, 0},
	{"shuttle_labels", ON_SERVER, VALUE_LABELS, 0, 0},
	{"shuttle_same_database", ON_SERVER, VALUE_BOOL, 0, 0},
	{SHUTTLE_OUR_ESTIMATE, ON_SERVER | ON_TABLE, VALUE_BOOL, 0, 0},
	{"shuttle_copy_statistics", ON_SERVER | ON_TABLE, VALUE_BOOL, 0, 0},
	{"shuttle_volatile", ON_TABLE, VALUE_BOOL, 0, 0},
	{"shuttle_replicated_on", ON_TABLE, VALUE_NAMES, 0, 0},
	{"shuttle_remote_default", ON_TABLE | ON_COLUMN, VALUE_BOOL, 0, 0},
};

SHUTTLE_SQL_FUNCTION(shuttle_fdw_validator);

static void check_option(DefElem *option, const ObjectKind *kind);
static void check_value(DefElem *option, const OptionDefinition *definition);
static void check_number(const char *name, const char *text,
						 const OptionDefinition *definition);
static List *split_words(const char *name, const char *text, const char *hint);
static void check_names(const char *name, const char *text);
static void check_labels(const char *text);
static void check_together(List *options);
static void refuse_option(const char *name, const ObjectKind *kind);
static char *owners_of_option(const char *name);
static char *valid_options(const ObjectKind *kind);
static const ObjectKind *find_kind(Oid catalog);
static const OptionDefinition *find_definition(const char *name);
static void postgres_fdw_validate(List *options, Oid catalog);

/* shuttle.fdw_validator(text[], oid): an object's options and its catalog */
Datum
shuttle_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	const ObjectKind *kind = find_kind(catalog);
	List	   *theirs = NIL;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = (DefElem *) lfirst(cell);

		check_option(option, kind);
		if (!shuttle_option_is_ours(option->defname))
			theirs = lappend(theirs, option);
	}
	check_together(options);
	postgres_fdw_validate(theirs, catalog);
	PG_RETURN_VOID();
}

bool
shuttle_option_is_ours(const char *name)
{
	return strncmp(name, "shuttle_", strlen("shuttle_")) == 0;
}

int
shuttle_option_get_int(Oid serverid, Oid relid, const char *name,
					   int otherwise)
{
	const char *text = shuttle_option_get_text(serverid, relid, name);
	const OptionDefinition *definition = find_definition(name);
	int			value;

	if (text == NULL ||
		!parse_int(text, &value,
				   definition->value == VALUE_KB ? GUC_UNIT_KB : 0, NULL))
		return otherwise;
	return value;
}

double
shuttle_option_get_real(Oid serverid, Oid relid, const char *name,
						double otherwise)
{
	const char *text = shuttle_option_get_text(serverid, relid, name);
	double		value;

	if (text == NULL || !parse_real(text, &value, 0, NULL))
		return otherwise;
	return value;
}

bool
shuttle_option_get_bool(Oid serverid, Oid relid, const char *name,
						bool otherwise)
{
	const char *text = shuttle_option_get_text(serverid, relid, name);
	bool		value;

	if (text == NULL || !parse_bool(text, &value))
		return otherwise;
	return value;
}

const char *
shuttle_option_get_text(Oid serverid, Oid relid, const char *name)
{
	const char *text;

	Assert(find_definition(name) != NULL || !shuttle_option_is_ours(name));
	text = shuttle_option_text(shuttle_option_cache_list(serverid, relid), name);
	return text == NULL ? NULL : pstrdup(text);
}

/* Checks one option; others than ours only for names that we reject. */
static void
check_option(DefElem *option, const ObjectKind *kind)
{
	const char *name = option->defname;
	const OptionDefinition *definition = find_definition(name);

	if (strcmp(name, SHUTTLE_THEIR_ESTIMATE) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\"", name),
				 errdetail("postgres_fdw would open a connection of its own for the estimates."),
				 errhint("On this wrapper the option is named \"%s\".",
						 SHUTTLE_OUR_ESTIMATE)));

	if (definition != NULL && (definition->objects & kind->bit) != 0)
		check_value(option, definition);
	else if (shuttle_option_is_ours(name))
		refuse_option(name, kind);
}

static void
check_value(DefElem *option, const OptionDefinition *definition)
{
	switch (definition->value)
	{
		case VALUE_POOLER:
			if (strcmp(defGetString(option), "transaction") != 0 &&
				strcmp(defGetString(option), "off") != 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("invalid value for option \"%s\"", option->defname),
						 errhint("Valid values are \"transaction\" and \"off\".")));
			break;

		case VALUE_BOOL:
			(void) defGetBoolean(option);
			break;
		case VALUE_INT:
		case VALUE_KB:
		case VALUE_REAL:
			check_number(option->defname, defGetString(option), definition);
			break;
		case VALUE_NAMES:
			check_names(option->defname, defGetString(option));
			break;
		case VALUE_WORDS:
			(void) split_words(option->defname, defGetString(option),
							   "Give words, separated by commas.");
			break;
		case VALUE_LABELS:
			check_labels(defGetString(option));
			break;
	}
}

static void
check_number(const char *name, const char *text,
			 const OptionDefinition *definition)
{
	int			flags = definition->value == VALUE_KB ? GUC_UNIT_KB : 0;
	const char *unit = definition->value == VALUE_KB ? " kB" : "";
	const char *hint = NULL;
	double		real = 0;
	int			number = 0;
	bool		parsed;

	if (definition->value == VALUE_REAL)
		parsed = parse_real(text, &real, 0, &hint);
	else
		parsed = parse_int(text, &number, flags, &hint);

	if (!parsed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for numeric option \"%s\": %s",
						name, text),
				 hint != NULL ? errhint("%s", _(hint)) : 0));
	if (definition->value == VALUE_REAL && !(real >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is outside the valid range for option \"%s\" (at least 0)",
						text, name)));
	if (definition->value != VALUE_REAL &&
		(number < definition->min || number > definition->max))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d%s is outside the valid range for option \"%s\" (%d%s .. %d%s)",
						number, unit, name, definition->min, unit,
						definition->max, unit)));
}

static List *
split_words(const char *name, const char *text, const char *hint)
{
	List	   *words;

	if (!SplitIdentifierString(pstrdup(text), ',', &words) || words == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": %s", name, text),
				 errhint("%s", hint)));
	return words;
}

/* A missing server is only a warning, so that a dump can be restored. */
static void
check_names(const char *name, const char *text)
{
	ListCell   *lc;

	foreach(lc, split_words(name, text, "Give names of servers, separated by commas."))
	{
		if (!OidIsValid(get_foreign_server_oid(lfirst(lc), true)))
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("option \"%s\" names a server that does not exist: \"%s\"",
							name, (char *) lfirst(lc))));
	}
}

/* Values are strings, so that there is one text for each. */
static void
check_labels(const char *text)
{
	Jsonb	   *labels = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
	JsonbIterator *iterator = JsonbIteratorInit(&labels->root);
	JsonbValue	value;
	JsonbIteratorToken token;
	bool		valid = JB_ROOT_IS_OBJECT(labels);

	while (valid && (token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
		valid = token != WJB_VALUE || value.type == jbvString;
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("labels of a storage node are not a JSON object of strings: %s", text),
				 errhint("Give them as '{\"region\": \"eu\", \"class\": \"ssd\"}'.")));
}

/* Refuses options that contradict each other. */
static void
check_together(List *options)
{
	bool		is_volatile = false;
	bool		is_replicated = false;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = (DefElem *) lfirst(cell);

		if (strcmp(option->defname, "shuttle_volatile") == 0)
			is_volatile = defGetBoolean(option);
		else if (strcmp(option->defname, "shuttle_replicated_on") == 0)
			is_replicated = true;
	}
	if (is_volatile && is_replicated)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options \"%s\" and \"%s\" contradict each other",
						"shuttle_volatile", "shuttle_replicated_on"),
				 errdetail("A read with side effects cannot be sent to any one of several servers."),
				 errhint("Drop one of them.")));
}

/* Raises that one of our options is not valid for this kind of object. */
static void
refuse_option(const char *name, const ObjectKind *kind)
{
	char	   *owners = owners_of_option(name);
	char	   *valid = valid_options(kind);

	if (owners != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"%s\" does not belong to %s",
						name, kind->name),
				 errhint("It is an option of %s.", owners)));
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", name),
			 valid[0] == '\0'
			 ? errhint("No option of %s begins with \"shuttle_\".", kind->name)
			 : errhint("Options of %s that begin with \"shuttle_\" are: %s.",
					   kind->name, valid)));
}

/* The kinds of objects that have an option, in words, or NULL. */
static char *
owners_of_option(const char *name)
{
	const OptionDefinition *definition = find_definition(name);
	StringInfoData owners;

	if (definition == NULL)
		return NULL;
	initStringInfo(&owners);
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if ((definition->objects & kinds[i].bit) != 0)
			appendStringInfo(&owners, "%s%s", owners.len > 0 ? " or " : "",
							 kinds[i].name);
	}
	return owners.data;
}

static char *
valid_options(const ObjectKind *kind)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(definitions); i++)
	{
		if ((definitions[i].objects & kind->bit) != 0)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
							 definitions[i].name);
	}
	return names.data;
}

static const ObjectKind *
find_kind(Oid catalog)
{
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (kinds[i].catalog == catalog)
			return &kinds[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("catalog with OID %u has no objects with options", catalog)));
	return NULL;				/* for the compiler */
}

static const OptionDefinition *
find_definition(const char *name)
{
	for (int i = 0; i < lengthof(definitions); i++)
	{
		if (strcmp(definitions[i].name, name) == 0)
			return &definitions[i];
	}
	return NULL;
}

/* In postgres_fdw's hint, replaces the option that has another name here. */
static char *
with_our_name(char *hint)
{
	const char *theirs = hint != NULL ? strstr(hint, SHUTTLE_THEIR_ESTIMATE) : NULL;

	if (theirs == NULL)
		return hint;
	return psprintf("%.*s%s%s", (int) (theirs - hint), hint, SHUTTLE_OUR_ESTIMATE,
					theirs + strlen(SHUTTLE_THEIR_ESTIMATE));
}

/* Lets postgres_fdw's validator check its own options. */
static void
postgres_fdw_validate(List *options, Oid catalog)
{
	MemoryContext cxt = CurrentMemoryContext;
	PGFunction	validator;
	Datum		array;

	validator = (PGFunction)
		load_external_function("$libdir/postgres_fdw",
							   "postgres_fdw_validator", true, NULL);
	array = transformRelOptions((Datum) 0, options, NULL, NULL, false, false);
	if (DatumGetPointer(array) == NULL)
		array = PointerGetDatum(construct_empty_array(TEXTOID));

	/* an error context callback could not change the hint */
	PG_TRY();
	{
		DirectFunctionCall2(validator, array, ObjectIdGetDatum(catalog));
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		error->hint = with_our_name(error->hint);
		ReThrowError(error);
	}
	PG_END_TRY();
}
