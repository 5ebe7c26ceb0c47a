/*-------------------------------------------------------------------------
 * owner_rights.h
 *	  Whose rights code of users has that runs while we maintain a table.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_OWNER_RIGHTS_H
#define SHUTTLE_TABLETS_RIGHTS_OWNER_RIGHTS_H

#include "nodes/execnodes.h"
#include "utils/relcache.h"

#include "tablets/common/layout.h"

/* The rights that were given up. */
typedef struct ShuttleRights
{
	Oid			userid;
	int			flags;
	int			level;			/* of settings; 0: none is to be ended */
} ShuttleRights;

/*
 * Has what follows run as a table's owner, in a security-restricted operation, as core's
 * maintenance of tables does. What is set meanwhile is set back. An error ends it, too. keep() only saves the caller's.
 */
extern ShuttleRights shuttle_owner_rights_take(Oid relid);
extern ShuttleRights shuttle_owner_rights_keep(void);
extern void shuttle_owner_rights_end(ShuttleRights caller);

/*
 * Has what follows read all rows of a table whose owner is the current user, or fail.
 * Returns the level of settings that ends it; what the caller saved ends the rights.
 */
extern int	shuttle_owner_rights_all_rows(void);

/* BuildIndexInfo() as the owner: core computes what is constant in expressions. */
extern IndexInfo *shuttle_owner_index_info(Relation index);

/* Makes the foreign table of that name (with its schema, quoted) a partition of a table: core
 * reads the table's checks, and computes what is constant in them. */
extern void shuttle_owner_attach(Oid relid, const char *name, const ShuttleTablet *tablet);

#endif							/* SHUTTLE_TABLETS_RIGHTS_OWNER_RIGHTS_H */
