/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_RUN_INTERNAL_H
#define CAIRN_STORE_RUN_INTERNAL_H

/* The first eight bytes of a run. */
extern const char cairn_run_magic[8];

#endif
