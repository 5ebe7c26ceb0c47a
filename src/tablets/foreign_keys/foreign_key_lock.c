/*-------------------------------------------------------------------------
 * foreign_key_lock.c
 *	  Which row lock an UPDATE of a distributed table needs.
 *
 * As core's ExecUpdateLockMode(): FOR UPDATE if a column changes that a foreign key can
 * refer to, else FOR NO KEY UPDATE, beside which others may refer to the row. The UPDATE
 * that follows on the node takes a stronger lock if it needs one, but does not know keys
 * that are unique over all nodes. Nor does this server know before what triggers change.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

/* True if a trigger may change a column that a foreign key of ours refers to. */
static bool
triggers_may_change_keys(const TriggerDesc *triggers)
{
	if (triggers == NULL || !triggers->trig_update_before_row)
		return false;
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_DELETE(trigger->tgtype) && shuttle_foreign_key_has_trigger(trigger->tgfoid))
			return true;
	}
	return false;
}

/* Generated columns follow others. */
static bool
has_generated(Relation table, const Bitmapset *columns)
{
	int			member = -1;

	while ((member = bms_next_member(columns, member)) >= 0)
	{
		AttrNumber	number = member + FirstLowInvalidHeapAttributeNumber;

		if (number > 0 && TupleDescAttr(RelationGetDescr(table), number - 1)->attgenerated != '\0')
			return true;
	}
	return false;
}

bool
shuttle_foreign_key_needs_lock(Relation table, Bitmapset *changed)
{
	Bitmapset  *keys = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY);

	return bms_overlap(keys, changed) || has_generated(table, keys) ||
		has_partition_attrs(table, changed, NULL) || triggers_may_change_keys(table->trigdesc);
}
