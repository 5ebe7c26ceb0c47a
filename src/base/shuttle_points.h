/*-------------------------------------------------------------------------
 * shuttle_points.h
 *	  Named points at which crash tests stop a session.
 *
 * Servers built with injection points use core's, named "shuttle-<name>".
 * Builds with TEST_POINTS=1 have our own: a session that reaches a point waits
 * while the file shuttle-<name> is in the data directory, and creates a file
 * shuttle-<name>.<pid> to tell so. Other builds have no points.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_POINTS_H
#define SHUTTLE_POINTS_H

#include "base/shuttle_compat_session.h"

#ifdef SHUTTLE_TEST_POINTS
#define SHUTTLE_POINT(name) shuttle_point_wait("shuttle-" name)

/* Waits while there is such a file; neither allocates nor raises. */
extern void shuttle_point_wait(const char *name);
#else
#define SHUTTLE_POINT(name) shuttle_injection_point("shuttle-" name)
#endif

#endif							/* SHUTTLE_POINTS_H */
