/*-------------------------------------------------------------------------
 * move_table_text.c
 *	  The definition of an ordinary table, as its node has it, for another node.
 *
 * The node is asked for statements: what this server knows of a foreign table is less.
 * The session there has search_path pg_catalog, so that the names in them are qualified.
 * Types, functions and roles that the table needs must be on the new node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "base/shuttle_compat.h"
#include "tablets/common/node_statements.h"
#include "tablets/move/move_table.h"

#define THE_TABLE "WITH t AS (SELECT * FROM pg_class WHERE oid = to_regclass(%s)) "

/* Sequences of serial columns ('a') and identity columns ('i'). */
#define THE_SEQUENCES "s AS (SELECT d.deptype, d.refobjsubid, q.* FROM t JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass" \
	" AND d.refobjid = t.oid AND d.classid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')" \
	" JOIN pg_sequence AS q ON q.seqrelid = d.objid) "

#define IN_PUBLICATION 8

/* What would be lost, or would not follow. */
static const char *const refusal_query = THE_TABLE
"SELECT detail, hint, number::text FROM ("
" SELECT 1, 'It does not exist there.', 'Correct the options \"schema_name\" and \"table_name\".' WHERE NOT EXISTS (SELECT FROM t)"
" UNION ALL SELECT 2, 'It is not an ordinary, logged table there.', 'Move the tables that it reads.' FROM t WHERE relkind <> 'r' OR relpersistence <> 'p'"
" UNION ALL SELECT 3, 'It is a partition there, or a child or parent of another table.', 'Detach it first.' FROM t JOIN pg_inherits ON t.oid IN (inhrelid, inhparent)"
" UNION ALL SELECT 4, format('Its rows take part in foreign key \"%%s\" there.', conname), 'Drop the foreign key first.'"
" FROM t JOIN pg_constraint ON contype = 'f' AND t.oid IN (conrelid, confrelid)"
" UNION ALL SELECT 5, format('It has trigger \"%%s\" there.', tgname), 'Drop the trigger first, and make it on the new node.' FROM t JOIN pg_trigger ON tgrelid = t.oid AND NOT tgisinternal"
" UNION ALL SELECT 6, 'It has rules or row security there.', 'Drop them first, and make them on the new node.' FROM t WHERE relhasrules OR relrowsecurity"
" UNION ALL SELECT 7, format('There, %%s needs it.', pg_describe_object(classid, objid, 0)), 'Drop that first, and make it on the new node.'"
" FROM t JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = t.oid AND deptype = 'n'"
" WHERE classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)"
" UNION ALL SELECT " CppAsString2(IN_PUBLICATION) ", format('It is in publication \"%%s\" there.', pubname), 'Take it out of the publication first; what an interrupted move has left is removed by shuttle.check(repair => true).'"
" FROM t JOIN pg_publication_rel ON prrelid = t.oid JOIN pg_publication AS p ON p.oid = prpubid"
" UNION ALL SELECT 9, format('Constraint \"%%s\" was not validated there.', conname), 'Validate it first.' FROM t JOIN pg_constraint ON conrelid = t.oid AND NOT convalidated"
" UNION ALL SELECT 10, format('The key by which the new node finds rows has generated column \"%%s\", which is not replicated.', attname), 'Choose another replica identity.'"
" FROM t JOIN pg_index ON indrelid = t.oid AND CASE relreplident WHEN 'd' THEN indisprimary AND indimmediate ELSE indisreplident END"
" JOIN pg_attribute ON attrelid = t.oid AND attnum = ANY (indkey) AND attgenerated <> ''"
") AS found (number, detail, hint) ORDER BY found.number";

/* If changes send whole rows, and the first generated column. */
static const char *const whole_query = THE_TABLE
"SELECT (relreplident IN ('f', 'n') OR relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = t.oid AND indisprimary AND indimmediate))::text,"
" (SELECT attname FROM pg_attribute WHERE attrelid = t.oid AND attgenerated <> '' AND NOT attisdropped ORDER BY attnum LIMIT 1) FROM t";

/* What a sequence is like. */
#define SEQUENCE_OPTIONS "format('INCREMENT BY %%s MINVALUE %%s MAXVALUE %%s START WITH %%s CACHE %%s %%s', seqincrement, seqmin, seqmax, seqstart, seqcache," \
	" CASE WHEN seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END)"

static const char *const table_query = THE_TABLE ", " THE_SEQUENCES
"SELECT format('CREATE SEQUENCE %%s AS %%s %%s', seqrelid::regclass, format_type(seqtypid, NULL), " SEQUENCE_OPTIONS ") FROM s WHERE deptype = 'a'"
" UNION ALL SELECT format('CREATE TABLE %%s (%%s)%%s', t.oid::regclass, (SELECT string_agg(format('%%I %%s%%s%%s%%s', attname, format_type(atttypid, atttypmod),"
" CASE WHEN attcollation <> 0 AND attcollation <> typcollation THEN (SELECT format(' COLLATE %%I.%%I', nspname, collname)"
" FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = collnamespace WHERE c.oid = attcollation) ELSE '' END,"
" CASE WHEN attidentity <> '' THEN (SELECT format(' GENERATED %%s AS IDENTITY (SEQUENCE NAME %%s %%s)', CASE attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END,"
" seqrelid::regclass, " SEQUENCE_OPTIONS ") FROM s WHERE refobjsubid = attnum AND deptype = 'i')"
" WHEN attgenerated <> '' THEN format(' GENERATED ALWAYS AS (%%s)%%s', pg_get_expr(adbin, adrelid), CASE attgenerated WHEN 's' THEN ' STORED' ELSE ' VIRTUAL' END)"
" ELSE '' END,"
" CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END), ', ' ORDER BY attnum)"
" FROM pg_attribute JOIN pg_type AS y ON y.oid = atttypid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
" WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped), ' WITH (' || array_to_string(reloptions, ', ') || ')') FROM t";

/* In this order: an identity may need an index, which may be a constraint's. */
static const char *const parts_query = THE_TABLE ", " THE_SEQUENCES
"SELECT text FROM ("
" SELECT 1, format('ALTER SEQUENCE %%s OWNED BY %%s.%%I', seqrelid::regclass, t.oid::regclass, attname)"
" FROM t, s JOIN pg_attribute ON attnum = refobjsubid WHERE attrelid = t.oid AND deptype = 'a'"
" UNION ALL SELECT 2, format('ALTER TABLE %%s ALTER COLUMN %%I SET %%s', t.oid::regclass, attname, text) FROM t JOIN pg_attribute ON attrelid = t.oid"
" JOIN pg_type AS y ON y.oid = atttypid, unnest(ARRAY[CASE WHEN attstorage <> typstorage THEN 'STORAGE ' ||"
" CASE attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'external' WHEN 'x' THEN 'extended' ELSE 'main' END END,"
" CASE attcompression WHEN 'p' THEN 'COMPRESSION pglz' WHEN 'l' THEN 'COMPRESSION lz4' END,"
" 'STATISTICS ' || CASE WHEN attstattarget >= 0 THEN attstattarget END, '(' || array_to_string(attoptions, ', ') || ')']) AS text"
" WHERE attnum > 0 AND NOT attisdropped AND text IS NOT NULL"
" UNION ALL SELECT CASE contype WHEN 'c' THEN 3 ELSE 4 END, format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', t.oid::regclass, conname, pg_get_constraintdef(c.oid))"
" FROM t JOIN pg_constraint AS c ON conrelid = t.oid AND contype IN ('c', 'p', 'u', 'x')"
" UNION ALL SELECT 5, pg_get_indexdef(indexrelid) FROM t JOIN pg_index AS i ON indrelid = t.oid"
" WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))"
" UNION ALL SELECT 6, pg_get_statisticsobjdef(e.oid) FROM t JOIN pg_statistic_ext AS e ON stxrelid = t.oid"
" UNION ALL SELECT 7, format('ALTER TABLE %%s REPLICA IDENTITY %%s', t.oid::regclass, CASE relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE"
" (SELECT format('USING INDEX %%I', relname) FROM pg_index JOIN pg_class AS x ON x.oid = indexrelid WHERE indrelid = t.oid AND indisreplident) END)"
" FROM t WHERE relreplident <> 'd'"
" UNION ALL SELECT 8, format(CASE objsubid WHEN 0 THEN 'COMMENT ON TABLE %%s IS %%3$L' ELSE 'COMMENT ON COLUMN %%s.%%I IS %%L' END, t.oid::regclass, attname, description)"
" FROM t JOIN pg_description ON objoid = t.oid AND classoid = 'pg_class'::regclass LEFT JOIN pg_attribute ON attrelid = t.oid AND attnum = objsubid AND attnum > 0"
") AS parts (number, text) ORDER BY number, text";

/* Defaults, privileges and the owner. */
static const char *const last_query = THE_TABLE ", " THE_SEQUENCES
"SELECT text FROM ("
" SELECT 0, format('ALTER TABLE %%s ALTER COLUMN %%I SET DEFAULT %%s', t.oid::regclass, attname, pg_get_expr(adbin, adrelid))"
" FROM t JOIN pg_attrdef ON adrelid = t.oid JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE attgenerated = ''"
" UNION ALL SELECT 1, format('GRANT %%s%%s ON %%s TO %%s%%s', privilege_type, column_name, name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,"
" CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM t, LATERAL ("
" SELECT '', t.oid::regclass::text, a.* FROM aclexplode(t.relacl) AS a"
" UNION ALL SELECT format(' (%%I)', attname), t.oid::regclass::text, a.* FROM pg_attribute, aclexplode(attacl) AS a WHERE attrelid = t.oid AND NOT attisdropped"
" UNION ALL SELECT '', 'SEQUENCE ' || seqrelid::regclass, a.* FROM s JOIN pg_class AS c ON c.oid = seqrelid, aclexplode(c.relacl) AS a) AS g (column_name, name)"
" WHERE grantee <> t.relowner"
" UNION ALL SELECT 2, format('ALTER TABLE %%s OWNER TO %%I', t.oid::regclass, pg_get_userbyid(relowner)) FROM t WHERE pg_get_userbyid(relowner) <> current_user"
") AS parts (number, text) ORDER BY number, text";

static const char *const owner_query = THE_TABLE "SELECT pg_get_userbyid(relowner)::text FROM t";

static const char *const sequences_query = THE_TABLE ", " THE_SEQUENCES
"SELECT seqrelid::regclass::text, pg_sequence_last_value(seqrelid)::text FROM s WHERE pg_sequence_last_value(seqrelid) IS NOT NULL";

static List *
source_rows(const ShuttleMove *move, const char *query, int ncolumns)
{
	return shuttle_node_rows(shuttle_connection_get(move->source, GetUserId()),
							 psprintf(query, quote_literal_cstr(move->remote)), ncolumns, InvalidOid);
}

static List *
source_texts(const ShuttleMove *move, const char *query)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, source_rows(move, query, 1))
		texts = lappend(texts, ((char **) lfirst(cell))[0]);
	return texts;
}

void
shuttle_move_check_remote(const ShuttleMove *move, bool is_published)
{
	Oid			relid = linitial_oid(move->relids);
	char	  **row;
	ListCell   *cell;

	foreach(cell, source_rows(move, refusal_query, 3))
	{
		row = lfirst(cell);
		if (!is_published || atoi(row[2]) != IN_PUBLICATION)
			shuttle_move_refuse_table(relid, row[0], row[1]);
	}
	row = shuttle_node_row(shuttle_connection_get(move->source, GetUserId()),
						   psprintf(whole_query, quote_literal_cstr(move->remote)), 2, 1);
	if (strcmp(row[0], "true") == 0)
		shuttle_move_check_whole_rows(relid, move->source, row[1]);
}

List *
shuttle_move_table_texts(const ShuttleMove *move)
{
	return list_concat(source_texts(move, table_query), source_texts(move, parts_query));
}

List *
shuttle_move_last_texts(const ShuttleMove *move)
{
	return source_texts(move, last_query);
}

char *
shuttle_move_table_owner(const ShuttleMove *move)
{
	return linitial(source_texts(move, owner_query));
}

List *
shuttle_move_sequence_texts(const ShuttleMove *move)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, source_rows(move, sequences_query, 2))
	{
		char	  **row = lfirst(cell);

		if (!list_member(move->sequences, textToQualifiedNameList(cstring_to_text(row[0]))))
			shuttle_move_refuse_table(linitial_oid(move->relids), psprintf("Sequence %s came to it meanwhile.", row[0]), "Repeat the move.");
		texts = lappend(texts, psprintf("SELECT pg_catalog.setval(%s, " INT64_FORMAT ")", quote_literal_cstr(row[0]), pg_strtoint64(row[1])));
	}
	return texts;
}
