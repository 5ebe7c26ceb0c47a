/*-------------------------------------------------------------------------
 * check_definitions.c
 *	  Compares a table's columns, checks, keys and indexes with those of a node.
 *
 * A node was sent texts of expressions as this server prints them, and it may print
 * them in other words: IN over varchar gets other casts, and versions differ. So if
 * two texts differ, a temporary table here with the table's columns gets both, and what
 * this server prints for each is compared. The temporary table
 * exists in a subtransaction that is rolled back.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/check/check.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/problems.h"
#include "tablets/common/table_text.h"
#include "tablets/constraints/constraints.h"
#include "tablets/indexes/global.h"
#include "tablets/rights/node_texts.h"
#include "tablets/rights/owner_rights.h"

/* A check, key or index, as the query's columns. */
enum
{
	PART_KIND,
	PART_NAME,					/* quoted */
	PART_DEFINITION,
	PART_NCOLUMNS
};

#define UNIQUE "UNIQUE "

/* What single tablets have and their table does not, and columns that they compute by
 * another expression (16 and later let them): the problem, and what mends it. A tablet
 * cannot lack what its table has. Trap tablets are meant to differ. */
static const char *const tablets_own_query =
"WITH generated AS (SELECT a.attrelid AS relid, a.attname AS name, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS text,"
" pg_catalog.format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attcollation <> 0"
" THEN ' COLLATE ' || a.attcollation::pg_catalog.regcollation ELSE '' END AS type,"
" CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS not_null"
" FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
" WHERE a.attgenerated <> '' AND (a.attrelid = $1 OR a.attrelid IN"
" (SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = $1)))"
" SELECT o.effect || ': tablet ' || t.name || ' alone has ' || o.what, o.statement FROM (SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name,"
" pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound"
" FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid"
" JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE i.inhparent = $1"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = c.oid AND conname = 'shuttle_trap')) AS t,"
" LATERAL (SELECT 'refuses rows' AS effect, pg_catalog.format('constraint %I %s', conname, pg_catalog.pg_get_constraintdef(oid)) AS what,"
" pg_catalog.format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, conname) AS statement"
" FROM pg_catalog.pg_constraint WHERE conrelid = t.oid AND coninhcount = 0 AND contype IN ('c', 'p', 'u', 'x', 'f')"
" AND pg_catalog.pg_get_constraintdef(oid) NOT LIKE '% NOT ENFORCED'"
" UNION ALL SELECT 'refuses rows', pg_catalog.format('NOT NULL of column %I', own.attname),"
" pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', t.name, own.attname)"
" FROM pg_catalog.pg_attribute AS own JOIN pg_catalog.pg_attribute AS its ON its.attrelid = $1 AND its.attname = own.attname"
" WHERE own.attrelid = t.oid AND own.attnum > 0 AND own.attnotnull AND NOT its.attnotnull"
" UNION ALL SELECT 'refuses rows', pg_catalog.format('unique index %I', x.relname),"
" pg_catalog.format('DROP INDEX %I.%I', n.nspname, x.relname)"
" FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid"
" JOIN pg_catalog.pg_namespace AS n ON n.oid = x.relnamespace"
" WHERE i.indrelid = t.oid AND i.indisunique AND NOT x.relispartition"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conindid = x.oid AND contype IN ('p', 'u', 'x'))"
" UNION ALL SELECT 'computes other values', pg_catalog.format('column %I generated as %s', own.name, own.text),"
" CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 170000"
" THEN pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I SET EXPRESSION AS (%s)', t.name, own.name, its.text)"
" ELSE pg_catalog.format('ALTER TABLE %2$s DETACH PARTITION %1$s; ALTER TABLE %1$s DROP COLUMN %3$I, ADD COLUMN %3$I %4$s'"
" || ' GENERATED ALWAYS AS (%5$s) STORED%6$s; ALTER TABLE %2$s ATTACH PARTITION %1$s %7$s',"
" t.name, $1::pg_catalog.regclass, own.name, own.type, its.text, own.not_null, t.bound) END"
" FROM generated AS own JOIN generated AS its ON its.relid = $1 AND its.name = own.name AND its.text <> own.text"
" WHERE own.relid = t.oid) AS o"
" ORDER BY t.name, o.what";

/* What runs when rows come or change, and was not sent: nodes have no triggers and rules of ours. */
static const char *const added_code_query =
"SELECT 'runs ' || added.kind || ' ' || added.name || ' of ' || added.relid::pg_catalog.regclass || ', which nobody made here',"
" 'DROP ' || pg_catalog.upper(added.kind) || ' ' || added.name || ' ON ' || added.relid::pg_catalog.regclass FROM"
" (SELECT 'trigger' AS kind, pg_catalog.quote_ident(tgname) AS name, tgrelid AS relid"
" FROM pg_catalog.pg_trigger WHERE NOT tgisinternal AND tgparentid = 0"
" UNION ALL SELECT 'rule', pg_catalog.quote_ident(rulename), ev_class FROM pg_catalog.pg_rewrite) AS added"
" WHERE added.relid = $1 OR added.relid IN (SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = $1) ORDER BY 1";

/* Checks and keys, and indexes that belong to no constraint. Of an index, the text
 * after the table's name, with UNIQUE in front. Global indexes are not unique on nodes. */
static const char *const parts_query =
"SELECT contype::text, pg_catalog.quote_ident(conname), pg_catalog.pg_get_constraintdef(oid)"
" FROM pg_catalog.pg_constraint WHERE contype IN ('c', 'p', 'u') AND conrelid = $1"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indexrelid = conindid AND " SHUTTLE_GLOBAL_CONDITION ")"
" UNION ALL SELECT 'i', pg_catalog.quote_ident(c.relname), CASE WHEN " SHUTTLE_GLOBAL_CONDITION " THEN '' ELSE u.text END"
" || pg_catalog.substr(pg_catalog.regexp_replace("
"pg_catalog.substr(pg_catalog.pg_get_indexdef(c.oid), pg_catalog.length(pg_catalog.format('CREATE %sINDEX %I ON ', u.text, c.relname)) + 1),"
" '^ONLY ', ''), pg_catalog.length(i.indrelid::pg_catalog.regclass::text) + 2)"
" FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid,"
" LATERAL (SELECT CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END AS text) AS u"
" WHERE i.indrelid = $1 AND (" SHUTTLE_GLOBAL_CONDITION " OR NOT EXISTS (SELECT FROM pg_catalog.pg_constraint"
" WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))) ORDER BY 1, 2";

/* A statement, and a query that prints what it has made. */
typedef struct Printed
{
	const ShuttleCheck *check;
	const char *statement;
	const char *like;			/* the statement with our own text */
	const char *query;
	char	   *text;
} Printed;

static const char *
table_name(const ShuttleCheck *check)
{
	return shuttle_local_name(check->relid);
}

/* Adds a row with a statement that mends the problem. */
static void
put(const ShuttleCheck *check, const char *problem, const char *statement)
{
	shuttle_problem_put(check, problem, psprintf("Run on the node: %s;", statement));
}

static void
put_alter(const ShuttleCheck *check, const char *problem, const char *action)
{
	put(check, problem, psprintf("ALTER TABLE %s %s", table_name(check), action));
}

/* ---- what texts mean */

/* Whole rows have the table's name in texts. What is constant in a text is computed when it
 * is read, by functions of the table's owner perhaps, so he does that. */
static char *
temporary_name(const ShuttleCheck *check)
{
	return psprintf("pg_temp.%s", quote_identifier(get_rel_name(check->relid)));
}

static void
print(Printed *printed)
{
	const char *name = temporary_name(printed->check);
	Oid			relid = printed->check->relid;
	ShuttleRights caller;

	(void) shuttle_local_run(psprintf("CREATE TABLE %s (LIKE %s)", name, table_name(printed->check)));
	(void) shuttle_local_run(psprintf("ALTER TABLE %s OWNER TO %s", name, shuttle_local_owner_name(relid)));
	if (object_aclcheck(DatabaseRelationId, MyDatabaseId, shuttle_local_owner(relid), ACL_CREATE_TEMP) != ACLCHECK_OK)
		(void) shuttle_local_run(psprintf("GRANT TEMPORARY ON DATABASE %s TO %s", quote_identifier(get_database_name(MyDatabaseId)),
										  shuttle_local_owner_name(relid)));
	caller = shuttle_owner_rights_take(relid);
	shuttle_node_text_run(printed->statement, printed->like);
	shuttle_owner_rights_end(caller);
	CommandCounterIncrement();
	printed->text = shuttle_local_text(psprintf(printed->query, quote_literal_cstr(temporary_name(printed->check))),
									   InvalidOid);
}

/* Errors of texts that mean nothing here, as if a function is only on the node, or
 * are no part of a statement. */
static bool
is_of_text(int sqlstate)
{
	int			category = ERRCODE_TO_CATEGORY(sqlstate);

	return category == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION ||
		category == ERRCODE_FEATURE_NOT_SUPPORTED || category == ERRCODE_DATA_EXCEPTION ||
		sqlstate == ERRCODE_PROTOCOL_VIOLATION;
}

/* Prints in a subtransaction that is rolled back. The text is NULL after an error. */
static void
try_to_print(Printed *printed)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();					/* only a subtransaction's abort undoes the
								 * statements */
	{
		print(printed);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	if (error != NULL && !is_of_text(error->sqlerrcode))
		ReThrowError(error);
}

/* True if two texts mean the same. A statement gives the temporary table a text; the
 * query prints it, and has that table's name as a literal in the place of its %s. */
static bool
means_same(const ShuttleCheck *check, const char *here, const char *there, const char *query)
{
	Printed		own = {.check = check,.statement = here,.like = here,.query = query};
	Printed		other = {.check = check,.statement = there,.like = here,.query = query};

	if (strcmp(here, there) == 0 || XactReadOnly)
		return true;
	try_to_print(&own);
	try_to_print(&other);
	return own.text !=NULL && other.text !=NULL && strcmp(own.text, other.text) == 0;
}

/* ---- columns */

static const ShuttleNodeColumn *
find_column(const List *columns, const char *name)
{
	ListCell   *cell;

	foreach(cell, columns)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (strcmp(column->name, name) == 0)
			return column;
	}
	return NULL;
}

/* The statement that gives the temporary table a generated column. */
static char *
generate_text(const ShuttleCheck *check, const ShuttleNodeColumn *column, const char *generated)
{
	return psprintf("ALTER TABLE %s DROP COLUMN %s, ADD COLUMN %s %s%s", temporary_name(check),
					column->name, column->name, column->type, generated);
}

static bool
is_same_expression(const ShuttleCheck *check, const ShuttleNodeColumn *here,
				   const ShuttleNodeColumn *there)
{
	if (*here->generated == '\0' || *there->generated == '\0')
		return *here->generated == *there->generated;
	return means_same(check, generate_text(check, here, here->generated),
					  generate_text(check, here, there->generated),
					  "SELECT pg_get_expr(adbin, adrelid) || attgenerated FROM pg_attrdef JOIN pg_attribute"
					  " ON attrelid = adrelid AND attnum = adnum WHERE adrelid = to_regclass(%s)");
}

static void
put_expression(const ShuttleCheck *check, const ShuttleNodeColumn *here, const ShuttleNodeColumn *there)
{
	const char *problem = psprintf("has column %s%s instead of%s", here->name,
								   *there->generated ? there->generated : " without an expression",
								   *here->generated ? here->generated : " without an expression");

	put_alter(check, problem,
			  *here->generated == '\0' ? psprintf("ALTER COLUMN %s DROP EXPRESSION", here->name) :
			  psprintf("DROP COLUMN %s, ADD COLUMN %s %s%s%s", here->name, here->name,
					   here->type, here->generated, shuttle_table_text_column_not_null(here)));
}

/* How a column's values become those of its type here: not each cast is automatic. */
static const char *
cast_text(const ShuttleNodeColumn *here, const ShuttleNodeColumn *there)
{
	return *here->generated != '\0' || strcmp(here->bare_type, there->bare_type) == 0 ? "" :
		psprintf(" USING %s::%s", here->name, here->bare_type);
}

static bool
check_column(const ShuttleCheck *check, const ShuttleNodeColumn *here, const ShuttleNodeColumn *there)
{
	bool		is_same_type = strcmp(here->type, there->type) == 0;
	bool		is_same_value = is_same_expression(check, here, there);
	bool		is_same_null = strcmp(here->not_null, there->not_null) == 0;

	if (!is_same_type)
		put_alter(check, psprintf("has column %s of type %s instead of %s", here->name, there->type, here->type),
				  psprintf("ALTER COLUMN %s TYPE %s%s", here->name, here->type, cast_text(here, there)));
	if (!is_same_value)
		put_expression(check, here, there);
	if (!is_same_null)
		put_alter(check, psprintf("has column %s %s%s", here->name, *there->not_null ? "with" : "without",
								  *there->not_null ? there->not_null : here->not_null),
				  shuttle_table_text_not_null(here));
	return is_same_type && is_same_value && is_same_null;
}

/* A column that is not known here, and may be this one with another name: to drop it, and
 * add this one, would lose the values. */
static const ShuttleNodeColumn *
find_renamed(const List *here, const List *there, const ShuttleNodeColumn *column)
{
	ListCell   *cell;

	foreach(cell, there)
	{
		const ShuttleNodeColumn *other = lfirst(cell);

		if (find_column(here, other->name) == NULL && strcmp(other->type, column->type) == 0 &&
			(*other->generated == '\0') == (*column->generated == '\0'))
			return other;
	}
	return NULL;
}

static void
put_missing(const ShuttleCheck *check, const ShuttleNodeColumn *column, const ShuttleNodeColumn *renamed)
{
	if (renamed != NULL)
		put_alter(check, psprintf("has column %s in the place of %s", renamed->name, column->name),
				  psprintf("RENAME COLUMN %s TO %s", renamed->name, column->name));
	else
		put_alter(check, psprintf("has no column %s", column->name),
				  psprintf("ADD COLUMN %s %s%s", column->name, column->type, column->generated));
}

static bool
check_columns(const ShuttleCheck *check)
{
	List	   *here = shuttle_table_text_columns(check->relid);
	List	   *there = shuttle_table_text_node_columns(check->relid, check->node);
	bool		is_same = true;
	ListCell   *cell;

	foreach(cell, here)
	{
		const ShuttleNodeColumn *column = lfirst(cell);
		const ShuttleNodeColumn *other = find_column(there, column->name);
		const ShuttleNodeColumn *renamed = other != NULL ? NULL : find_renamed(here, there, column);

		if (other == NULL)
			put_missing(check, column, renamed);
		is_same &= other != NULL && check_column(check, column, other);
		there = list_delete_ptr(there, (void *) renamed);
	}
	foreach(cell, there)
	{
		const char *name = ((ShuttleNodeColumn *) lfirst(cell))->name;

		if (find_column(here, name) != NULL)
			continue;
		put_alter(check, psprintf("has a column %s", name), psprintf("DROP COLUMN %s", name));
		is_same = false;
	}
	return is_same;
}

/* ---- checks, keys, indexes */

static char **
find_part(const List *parts, char **part)
{
	ListCell   *cell;

	foreach(cell, parts)
	{
		char	  **other = lfirst(cell);

		if (strcmp(other[PART_KIND], part[PART_KIND]) == 0 &&
			strcmp(other[PART_NAME], part[PART_NAME]) == 0)
			return other;
	}
	return NULL;
}

static bool
is_index(char **part)
{
	return part[PART_KIND][0] == SHUTTLE_PART_INDEX;
}

static bool
is_unique(const char *definition)
{
	return strncmp(definition, UNIQUE, strlen(UNIQUE)) == 0;
}

/* The statement that gives the temporary table a check, key or index. */
static char *
part_text(const ShuttleCheck *check, char **part)
{
	const char *definition = part[PART_DEFINITION];

	if (!is_index(part))
		return psprintf("ALTER TABLE %s ADD %s", temporary_name(check), definition);
	return psprintf("CREATE INDEX ON %s %s", temporary_name(check),
					definition + (is_unique(definition) ? strlen(UNIQUE) : 0));
}

static bool
is_same_part(const ShuttleCheck *check, char **here, char **there)
{
	static const char *const constraint_query =
		"SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype <> 'n' AND conrelid = to_regclass(%s)";
	static const char *const index_query =
		"SELECT substr(d, strpos(d, ' USING ')) FROM pg_index, pg_get_indexdef(indexrelid) AS d WHERE indrelid = to_regclass(%s)";

	return is_unique(here[PART_DEFINITION]) == is_unique(there[PART_DEFINITION]) &&
		means_same(check, part_text(check, here), part_text(check, there),
				   is_index(here) ? index_query : constraint_query);
}

static char *
index_text(const ShuttleCheck *check, char **part)
{
	const char *definition = part[PART_DEFINITION];
	bool		unique = is_unique(definition);

	return psprintf("CREATE %sINDEX %s ON %s %s", unique ? UNIQUE : "", part[PART_NAME],
					table_name(check), definition + (unique ? strlen(UNIQUE) : 0));
}

static char *
drop_index_text(const ShuttleCheck *check, char **part)
{
	return psprintf("DROP INDEX %s.%s",
					quote_identifier(get_namespace_name(get_rel_namespace(check->relid))),
					part[PART_NAME]);
}

/* there: NULL if the node has lost it. */
static void
put_index(const ShuttleCheck *check, char **here, char **there)
{
	if (there == NULL)
		put(check, psprintf("has lost index %s", here[PART_NAME]), index_text(check, here));
	else
		put(check, psprintf("has index %s %s instead of %s", here[PART_NAME],
							there[PART_DEFINITION], here[PART_DEFINITION]),
			psprintf("%s; %s", drop_index_text(check, here), index_text(check, here)));
}

static void
put_constraint(const ShuttleCheck *check, char **here, char **there)
{
	char	   *add = psprintf("ADD CONSTRAINT %s %s", here[PART_NAME], here[PART_DEFINITION]);

	if (there == NULL)
		put_alter(check, psprintf("has lost constraint %s", here[PART_NAME]), add);
	else
		put_alter(check, psprintf("has constraint %s %s instead of %s", here[PART_NAME],
								  there[PART_DEFINITION], here[PART_DEFINITION]),
				  psprintf("DROP CONSTRAINT %s, %s", here[PART_NAME], add));
}

static void
put_added(const ShuttleCheck *check, char **part)
{
	if (is_index(part))
		put(check, psprintf("has an index %s", part[PART_NAME]), drop_index_text(check, part));
	else
		put_alter(check, psprintf("has a constraint %s", part[PART_NAME]),
				  psprintf("DROP CONSTRAINT %s", part[PART_NAME]));
}

/* Indexes that a node has besides are its own affair, unless they are unique. */
static void
check_parts(const ShuttleCheck *check)
{
	List	   *here = shuttle_local_rows(parts_query, check->relid);
	List	   *there = shuttle_node_rows(check->node, parts_query, PART_NCOLUMNS, check->relid);
	bool		is_copied = shuttle_table_kind(check->relid) == SHUTTLE_TABLE_REFERENCE;
	ListCell   *cell;

	foreach(cell, here)
	{
		char	  **part = lfirst(cell);
		char	  **other = find_part(there, part);

		if (is_copied)
			part[PART_DEFINITION] = shuttle_table_text_of_copies(part[PART_DEFINITION]);
		if (!is_index(part) && shuttle_session_check_stays_here(check->relid, part[PART_NAME]))
		{
			if (other != NULL)
				put_added(check, other);
			continue;
		}
		if (other != NULL && is_same_part(check, part, other))
			continue;
		if (is_index(part))
			put_index(check, part, other);
		else
			put_constraint(check, part, other);
	}
	foreach(cell, there)
	{
		char	  **part = lfirst(cell);

		if (find_part(here, part) == NULL &&
			(!is_index(part) || is_unique(part[PART_DEFINITION])))
			put_added(check, part);
	}
}

/* query: the problem, and the statement that mends it. */
static void
put_all(const ShuttleCheck *check, const char *query)
{
	ListCell   *cell;

	foreach(cell, shuttle_node_rows_with_nulls(check->node, query, 2, 1, check->relid))
	{
		char	  **own = lfirst(cell);

		put(check, own[0], own[1]);
	}
}

void
shuttle_check_added(const ShuttleCheck *check)
{
	put_all(check, tablets_own_query);
	put_all(check, added_code_query);
}

bool
shuttle_check_definition(const ShuttleCheck *check)
{
	check_parts(check);
	return check_columns(check);
}
