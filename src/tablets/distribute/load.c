/*-------------------------------------------------------------------------
 * load.c
 *	  Makes the tablets of a table here, and copies its rows to them.
 *
 * The tablets are made as partitions of a table that exists only for the load,
 * so that core routes the rows and the write buffers send them. The
 * rows are read as the table's owner, in a security-restricted operation:
 * generated columns and checks may call functions of the owner. No trigger fires.
 * session_replication_role is left alone: such functions would skip the triggers
 * and foreign keys of other tables.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/distribute/distribute.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_tablets.h"

/* Of one tablet: a larger one takes more memory and is no faster. */
#define LOAD_BUFFER_SIZE "1MB"

#define WITH_TABLETS "SELECT $1 UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = $1"

static const char *const columns_query =
"SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = ''";

char *
shuttle_load_columns(Oid relid)
{
	return shuttle_local_text(columns_query, relid);
}

/* Returns the nest level that ends these settings. */
static int
begin_load(void)
{
	int			level = shuttle_owner_rights_all_rows();

	(void) set_config_option("shuttle.write_buffer_size", LOAD_BUFFER_SIZE, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * Core computes a new column's default with the rights of who adds it, and calls nothing
 * else of the table. The executor calls expressions of generated columns, too, if there
 * is a BEFORE trigger that might have changed the row, even one that does not fire.
 */
static bool
generates_again(Oid relid)
{
	static const char *const query =
		"SELECT '' FROM pg_attribute WHERE attrelid = $1 AND attgenerated = 's' AND EXISTS (SELECT FROM pg_trigger"
		" WHERE tgrelid IN (" WITH_TABLETS ") AND tgtype & 19 = 19) LIMIT 1";

	return shuttle_local_text(query, relid) != NULL;
}

/* The owner's connection would wait for what the caller's has changed in this transaction. */
static void
refuse_other_mapping(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(relid))
	{
		if (GetUserMapping(shuttle_local_owner(relid), lfirst_oid(cell))->umid != GetUserMapping(GetUserId(), lfirst_oid(cell))->umid)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot fill a new column of table \"%s\", whose owner has another user mapping", get_rel_name(relid)),
					 errhint("Let the owner add the column, or add it without a default.")));
	}
}

uint64
shuttle_load_fill(Oid relid, const char *sql)
{
	bool		is_owners = generates_again(relid);
	ShuttleRights caller;
	int			level;
	uint64		nrows;

	if (is_owners)
		refuse_other_mapping(relid);
	caller = is_owners ? shuttle_owner_rights_take(relid) : shuttle_owner_rights_keep();
	level = begin_load();
	nrows = shuttle_local_change_rows(relid, sql);
	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	return nrows;
}

uint64
shuttle_load_run(Oid relid, const char *sql)
{
	ShuttleRights caller = shuttle_owner_rights_take(relid);
	int			level = begin_load();
	uint64		nrows = shuttle_local_load_rows(relid, sql);

	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	return nrows;
}

Oid
shuttle_load_make_tablet(Oid relid, const char *parent, const ShuttleTablet *tablet)
{
	const char *remote = shuttle_tablet_name(relid, tablet->number);
	const char *local = shuttle_tablet_local_name(relid, remote);
	char	   *name = quote_qualified_identifier(SHUTTLE_TABLETS_SCHEMA, local);
	Oid			made;

	(void) shuttle_local_run_as_superuser(psprintf("CREATE FOREIGN TABLE %s PARTITION OF %s %s SERVER %s OPTIONS (schema_name %s, table_name %s)",
												   name, parent, shuttle_tablet_text_bound(tablet),
												   quote_identifier(GetForeignServer(tablet->serverid)->servername),
												   quote_literal_cstr(get_namespace_name(get_rel_namespace(relid))),
												   quote_literal_cstr(remote)));
	(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s", name, shuttle_local_owner_name(relid)));
	CommandCounterIncrement();
	made = get_relname_relid(local, get_namespace_oid(SHUTTLE_TABLETS_SCHEMA, false));
	shuttle_hidden_table_close(made);
	return made;
}

static List *
make_tablets(Oid relid, const char *parent, const char *key, const ShuttleLayout *layout)
{
	List	   *tablets = NIL;

	(void) shuttle_local_run_as_superuser(psprintf("CREATE TABLE %s (LIKE %s INCLUDING GENERATED INCLUDING CONSTRAINTS)"
												   " PARTITION BY HASH (%s)",
												   parent, shuttle_local_name(relid), quote_identifier(key)));
	for (int i = 0; i < layout->ntablets; i++)
		tablets = lappend_oid(tablets, shuttle_load_make_tablet(relid, parent, &layout->tablets[i]));
	(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s OWNER TO %s", parent, shuttle_local_owner_name(relid)));
	return tablets;
}

uint64
shuttle_load_tablets(Oid relid, const char *key, const ShuttleLayout *layout, List **tablets)
{
	Oid			schema = get_rel_namespace(relid);
	char	   *parent = quote_qualified_identifier(get_namespace_name(schema),
													ChooseRelationName(get_rel_name(relid), NULL, "load",
																	   schema, false));
	char	   *columns = shuttle_load_columns(relid);
	uint64		nrows;
	ListCell   *cell;

	*tablets = make_tablets(relid, parent, key, layout);
	nrows = shuttle_load_run(relid, psprintf("INSERT INTO %s (%s) SELECT %s FROM ONLY %s",
											 parent, columns, columns, shuttle_local_name(relid)));
	foreach(cell, *tablets)
		(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s DETACH PARTITION %s", parent,
													   shuttle_local_name(lfirst_oid(cell))));
	(void) shuttle_local_run_as_superuser(psprintf("DROP TABLE %s", parent));
	return nrows;
}
