/*-------------------------------------------------------------------------
 * tend.h
 *	  Partitions that have become old enough for another placement rule.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_PLACEMENT_TEND_H
#define SHUTTLE_TABLETS_PLACEMENT_TEND_H

#include "tablets/placement/placement.h"

/* True if a partition should have another rule by its age than it has. rule: that one; NULL: that of
 * the table above. */
extern bool shuttle_tend_find(Oid relid, ShuttleRule **rule);

#endif							/* SHUTTLE_TABLETS_PLACEMENT_TEND_H */
