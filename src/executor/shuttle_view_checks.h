/*-------------------------------------------------------------------------
 * shuttle_view_checks.h
 *	  What a node returns of rows for the check options of views.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_VIEW_CHECKS_H
#define SHUTTLE_VIEW_CHECKS_H

#include "nodes/pg_list.h"

/* For postgres_fdw's PlanForeignModify, which has a node return the columns that these name: the
 * same WithCheckOptions of the relation, and all its columns if a view is among them, since the
 * detail of its error shows the row. */
extern List *shuttle_view_checks_columns(List *checks, Index relid);

#endif							/* SHUTTLE_VIEW_CHECKS_H */
