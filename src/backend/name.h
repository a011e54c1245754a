/* SPDX-License-Identifier: Apache-2.0
 *
 * name.h - which strings can be the name of an object.
 */
#ifndef CAIRN_BACKEND_NAME_H
#define CAIRN_BACKEND_NAME_H

#include <stdbool.h>

/* true: one to three parts joined by "/", each of the characters a-z 0-9 . _ - and not beginning
 * with a dot, at most CAIRN_BACKEND_NAME_MAX bytes altogether. Any thread. */
bool cairn_backend_name_is_valid(const char *name);

/* true: "" or such a name with a "/" behind it, so that list may begin there. Any thread. */
bool cairn_backend_prefix_is_valid(const char *prefix);

#endif
