/*-------------------------------------------------------------------------
 * error_details.h
 *	  What the detail of a node's error tells of rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_ERROR_DETAILS_H
#define SHUTTLE_TABLETS_RIGHTS_ERROR_DETAILS_H

#include "storage/shuttle_storage.h"

/* For shuttle_storage_calls: has an error of a node name objects as users know them, and its detail
 * tell nothing that the user may not read. */
extern void shuttle_error_details_translate(ShuttleErrorNames *names);

#endif							/* SHUTTLE_TABLETS_RIGHTS_ERROR_DETAILS_H */
