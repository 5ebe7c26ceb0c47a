/*-------------------------------------------------------------------------
 * shuttle_remote_names.h
 *	  What foreign tables and their columns are called on nodes (fdw/remote_names.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_REMOTE_NAMES_H
#define SHUTTLE_REMOTE_NAMES_H

#include "utils/relcache.h"

extern void shuttle_remote_table_name(Relation rel, char **schema, char **name);
extern char *shuttle_remote_column_name(Relation rel, AttrNumber attribute);

#endif							/* SHUTTLE_REMOTE_NAMES_H */
