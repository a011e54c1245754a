/* SPDX-License-Identifier: Apache-2.0
 *
 * error.h - filling in the caller's error object.
 */
#ifndef CAIRN_BASE_ERROR_H
#define CAIRN_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include <cairn/cairn.h>

/* Records status, os_errno (0: none) and a one-line message in err (which may be NULL) and returns
 * status. With an os_errno the system's text for it is appended after ": ". Control bytes and
 * invalid UTF-8 in the result are escaped as \xNN. Overlong messages are cut. errno is preserved.
 */
int cairn_error_set(struct cairn_error *err, int status, int os_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* As cairn_error_set, with the arguments in a va_list. */
int cairn_error_set_va(struct cairn_error *err, int status, int os_errno, const char *fmt,
                       va_list args) __attribute__((format(printf, 4, 0)));

/* Records a failed system call on the repository: the status follows from os_errno (ENOSPC and
 * EDQUOT: NO_SPACE; ENOENT: NOT_FOUND; EEXIST: EXISTS; ENOMEM: NO_MEMORY; EAGAIN/EBUSY: BUSY;
 * otherwise IO), and is returned. */
int cairn_error_system(struct cairn_error *err, int os_errno, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Records that memory ran out; what names the thing that needed it. Returns CAIRN_NO_MEMORY. */
int cairn_error_no_memory(struct cairn_error *err, const char *what);

/* Puts a prefix ("reading snapshot 1234: ") before the message that is already there. */
void cairn_error_prefix(struct cairn_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The status that a system error number stands for (see cairn_error_system). */
int cairn_status_from_errno(int os_errno);

/* Copies len bytes to out (cap bytes, always NUL-terminated when cap > 0), escaping control bytes,
 * backslash and what is not UTF-8 as \xNN, so that it may be printed on a terminal. Cuts at cap. */
void cairn_escape(char *out, size_t cap, const char *bytes, size_t len);

#endif
