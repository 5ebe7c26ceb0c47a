/*-------------------------------------------------------------------------
 * servers.c
 *	  The servers of our wrapper, for functions that administrators call.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "cluster/common/servers.h"
#include "cluster/shuttle_cluster.h"

#define OUR_WRAPPER "shuttle"

Oid
shuttle_server_find(const char *name)
{
	ForeignServer *server = GetForeignServerByName(name, false);
	ForeignDataWrapper *wrapper = GetForeignDataWrapper(server->fdwid);

	if (strcmp(wrapper->fdwname, OUR_WRAPPER) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" belongs to foreign-data wrapper \"%s\"",
						name, wrapper->fdwname),
				 errhint("shuttle.adopt_server() moves a server of postgres_fdw to the wrapper \"%s\".",
						 OUR_WRAPPER)));
	return server->serverid;
}

List *
shuttle_server_find_all(ArrayType *names)
{
	List	   *servers = NIL;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &values, &nulls, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a server must not be null")));
		servers = list_append_unique_oid(servers,
										 shuttle_server_find(NameStr(*DatumGetName(values[i]))));
	}
	return servers;
}

List *
shuttle_server_list(void)
{
	Oid			wrapper = get_foreign_data_wrapper_oid(OUR_WRAPPER, true);
	Relation	catalog = table_open(ForeignServerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, ForeignServerNameIndexId,
										  true, NULL, 0, NULL);
	List	   *servers = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_server form = (Form_pg_foreign_server) GETSTRUCT(tuple);

		if (form->srvfdw == wrapper)
			servers = lappend_oid(servers, form->oid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return servers;
}
