/*-------------------------------------------------------------------------
 * partition_of.c
 *	  Which partition of a table has a key.
 *
 * As core's get_partition_for_tuple(), which is static.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "partitioning/partbounds.h"
#include "utils/partcache.h"

#include "executor/router/routed.h"

int
shuttle_partition_of(PartitionKey key, PartitionBoundInfo bounds, FmgrInfo *support,
					 Datum *values, bool *nulls)
{
	int			part = -1;
	int			offset;
	bool		is_equal;

	if (bounds == NULL)
		return -1;
	switch (key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return bounds->indexes[compute_partition_hash_value(key->partnatts, support,
																key->partcollation,
																values, nulls) %
								   bounds->nindexes];
		case PARTITION_STRATEGY_LIST:
			offset = partition_list_bsearch(support, key->partcollation,
											bounds, values[0], &is_equal);
			if (offset >= 0 && is_equal)
				part = bounds->indexes[offset];
			break;
		case PARTITION_STRATEGY_RANGE:
			offset = partition_range_datum_bsearch(support, key->partcollation, bounds,
												   key->partnatts, values, &is_equal);
			part = bounds->indexes[offset + 1];
			break;
	}
	return part >= 0 ? part : bounds->default_index;
}
