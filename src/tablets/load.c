/*-------------------------------------------------------------------------
 * load.c
 *	  Makes the tablets of a table here, and copies its rows to them.
 *
 * The tablets are made as partitions of a table that exists only for the load,
 * so that core routes the rows and the write buffers send them. The
 * rows are read as the table's owner, in a security-restricted operation:
 * generated columns and checks may call functions of the owner. row_security is
 * off, so that a policy raises an error instead of hiding rows;
 * session_replication_role is replica, so that no trigger fires; those that fire
 * nevertheless (ENABLE ALWAYS, ENABLE REPLICA) are disabled meanwhile.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "tablets/distribute.h"
#include "tablets/tablets_internal.h"

/* Of one tablet: a larger one takes more memory and is no faster. */
#define LOAD_BUFFER_SIZE "1MB"

static const char *const columns_query =
"SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = ''";

char *
shuttle_load_columns(Oid relid)
{
	return shuttle_local_text(columns_query, relid);
}

/* Disables triggers that would fire. Returns the statements that undo it. */
static List *
silence_triggers(Oid relid)
{
	static const char *const query =
		"SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', tgrelid::regclass, tgname),"
		" format('ALTER TABLE %s ENABLE %s TRIGGER %I', tgrelid::regclass,"
		" CASE tgenabled WHEN 'A' THEN 'ALWAYS' ELSE 'REPLICA' END, tgname)"
		" FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled IN ('A', 'R') ORDER BY tgname";
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(query, relid))
	{
		char	  **row = lfirst(cell);

		(void) shuttle_local_run(row[0]);
		texts = lappend(texts, row[1]);
	}
	return texts;
}

static void
restore_triggers(const List *texts)
{
	const ListCell *cell;

	foreach(cell, texts)
		(void) shuttle_local_run(lfirst(cell));
}

/* Returns the nest level that ends these settings. */
static int
begin_load(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("session_replication_role", "replica", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("shuttle.write_buffer_size", LOAD_BUFFER_SIZE, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

uint64
shuttle_load_fill(Oid relid, const char *sql)
{
	List	   *triggers = silence_triggers(relid);
	int			level = begin_load();
	uint64		nrows = shuttle_local_run_unqualified(sql);

	AtEOXact_GUC(true, level);
	restore_triggers(triggers);
	return nrows;
}

uint64
shuttle_load_run(Oid relid, const char *sql)
{
	List	   *triggers = silence_triggers(relid);
	int			level;
	Oid			userid;
	int			flags;
	uint64		nrows;

	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(shuttle_local_owner(relid), flags | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	level = begin_load();
	nrows = shuttle_local_run(sql);
	AtEOXact_GUC(true, level);
	SetUserIdAndSecContext(userid, flags);
	restore_triggers(triggers);
	return nrows;
}

void
shuttle_load_check_snapshot(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot move rows of tables in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errdetail("Rows that others have committed since it began would be lost."),
				 errhint("Use a READ COMMITTED transaction.")));
}

void
shuttle_load_check_name(Oid relid, int number)
{
	const char *name = shuttle_tablet_name(relid, number);

	if (OidIsValid(get_relname_relid(name, get_rel_namespace(relid))))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("name \"%s\" of a tablet of table \"%s\" is in use", name, get_rel_name(relid)),
				 errhint("Rename the relation that has it, or the table.")));
}

void
shuttle_load_make_tablet(Oid relid, const char *parent, const ShuttleTablet *tablet)
{
	char	   *name = shuttle_tablet_qualified_name(relid, tablet->number);

	(void) shuttle_local_run_as_superuser(psprintf("CREATE FOREIGN TABLE %s PARTITION OF %s %s SERVER %s",
												   name, parent, shuttle_tablet_text_bound(tablet),
												   quote_identifier(GetForeignServer(tablet->serverid)->servername)));
	(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s", name, shuttle_local_owner_name(relid)));
	CommandCounterIncrement();
	shuttle_local_revoke(get_relname_relid(shuttle_tablet_name(relid, tablet->number), get_rel_namespace(relid)));
}

static void
make_tablets(Oid relid, const char *parent, const char *key, const ShuttleLayout *layout)
{
	(void) shuttle_local_run_as_superuser(psprintf("CREATE TABLE %s (LIKE %s INCLUDING GENERATED INCLUDING CONSTRAINTS)"
												   " PARTITION BY HASH (%s)",
												   parent, shuttle_local_name(relid), quote_identifier(key)));
	for (int i = 0; i < layout->ntablets; i++)
	{
		shuttle_load_check_name(relid, layout->tablets[i].number);
		shuttle_load_make_tablet(relid, parent, &layout->tablets[i]);
	}
	(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s OWNER TO %s", parent, shuttle_local_owner_name(relid)));
}

uint64
shuttle_load_tablets(Oid relid, const char *key, const ShuttleLayout *layout)
{
	Oid			schema = get_rel_namespace(relid);
	char	   *parent = quote_qualified_identifier(get_namespace_name(schema),
													ChooseRelationName(get_rel_name(relid), NULL, "load",
																	   schema, false));
	char	   *columns = shuttle_load_columns(relid);
	uint64		nrows;

	make_tablets(relid, parent, key, layout);
	nrows = shuttle_load_run(relid, psprintf("INSERT INTO %s (%s) SELECT %s FROM ONLY %s",
											 parent, columns, columns, shuttle_local_name(relid)));
	for (int i = 0; i < layout->ntablets; i++)
		(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s DETACH PARTITION %s", parent,
													   shuttle_tablet_qualified_name(relid, layout->tablets[i].number)));
	(void) shuttle_local_run_as_superuser(psprintf("DROP TABLE %s", parent));
	return nrows;
}
