/* SPDX-License-Identifier: Apache-2.0
 *
 * key_file.h - key files on disk.
 */
#ifndef CAIRN_ENGINE_KEY_FILE_H
#define CAIRN_ENGINE_KEY_FILE_H

#include <stdint.h>

#include <cairn/cairn.h>

#include "crypto/hash.h"

/* Reads a key file that only its owner may read. NOT_FOUND, MISUSE (others may read it), CORRUPT
 * (it is no key file), IO. */
int cairn_key_file_read(const char *path, uint8_t key[CAIRN_KEY_BYTES], struct cairn_error *err);

/* Makes a new key file with mode 0600, durable, or reads the one that is there. */
int cairn_key_file_make(const char *path, uint8_t key[CAIRN_KEY_BYTES], struct cairn_error *err);

#endif
