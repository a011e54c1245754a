#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads cairn repositories without cairn; written from docs/format.md alone.

Needs Python 3.9 or later and, as far as the repository uses them, zstd, AES-GCM or
ChaCha20-Poly1305, and Argon2id: from python3-zstandard, python3-cryptography and python3-argon2,
or else from the zstd command, libcrypto.so.3 and libargon2.so.1. BLAKE3 is built in (some 25 MB/s);
the blake3 module or libblake3.so.0 is used where there is one. Never writes to a repository.
"""
import argparse
import ctypes
import functools
import hmac
import json
import os
import resource
import stat
import struct
import subprocess
import sys
import time
from collections import OrderedDict, namedtuple

MAGIC = b"cairn\r\n\x1a"
CONFIG, KEY_SLOT, DATA, META, OBJECTS, SEGMENT, LOG = 1, 2, 3, 4, 5, 6, 7
TYPE_NAMES = {1: "config", 2: "key slot", 3: "data pack", 4: "metadata pack", 5: "object pack",
              6: "index segment", 7: "log entry"}
AES, CHACHA, NO_AEAD = 1, 2, 255
HEADER, TAG, TRAILER, BLOCK = 128, 16, 32, 65536
MAX_CHUNK, MAX_PACK, MAX_LOG = 16 << 20, 1 << 30, 64 << 20
MAX_FRAMES, MAX_CHUNKS, MAX_WINDOW = 1 << 20, 1 << 24, 8 << 20
CACHE_BYTES = 64 << 20
CONTEXT = "cairn 2026 format 1 "
FILE, DIR, LINK, BLOCKDEV, CHARDEV, FIFO, SOCKET = range(1, 8)


class RescueError(Exception):
    """Something to tell in one line; the class carries the exit status."""
    status = 1


class Damage(RescueError):
    """Bytes that docs/format.md does not allow."""
    status = 4


class Unsupported(RescueError):
    """A feature that this reader does not know."""


class NoRepository(RescueError):
    status = 10


class WrongPassword(RescueError):
    status = 12


def show(name):
    """Bytes as a person may see them: one line, no control characters."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def warn(text):
    print("rescue: " + text, file=sys.stderr)


# --- BLAKE3 -------------------------------------------------------------------------------------

_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_PERMUTE = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_START, _END, _PARENT, _ROOT, _KEYED, _CONTEXT, _MATERIAL = 1, 2, 4, 8, 16, 32, 64
_BATCH = 1 << 20  # a power of two of 1024-byte chunks, hashed side by side


def _build_compress():
    """The compression function, unrolled. Each word is a Python integer that holds one 32-bit value
    in every 64-bit lane, so that one operation serves as many chunks as there are lanes."""
    turn = ("{a}=({a}+{b}+{x})&k;{d}^={a};{d}=({d}>>16|{d}<<16)&k;{c}=({c}+{d})&k;{b}^={c};"
            "{b}=({b}>>12|{b}<<20)&k;{a}=({a}+{b}+{y})&k;{d}^={a};{d}=({d}>>8|{d}<<24)&k;"
            "{c}=({c}+{d})&k;{b}^={c};{b}=({b}>>7|{b}<<25)&k")
    lines = ["def compress(cv, m, v12, v13, v14, v15, k, iv):",
             " v0,v1,v2,v3,v4,v5,v6,v7=cv", " v8,v9,v10,v11=iv",
             " " + ",".join("m%d" % i for i in range(16)) + "=m"]
    order = list(range(16))
    for _ in range(7):
        for i in range(8):
            column = (i, 4 + i, 8 + i, 12 + i) if i < 4 else (
                i - 4, 4 + (i - 3) % 4, 8 + (i - 2) % 4, 12 + (i - 1) % 4)
            a, b, c, d = ("v%d" % n for n in column)
            lines.append(" " + turn.format(a=a, b=b, c=c, d=d, x="m%d" % order[2 * i],
                                           y="m%d" % order[2 * i + 1]))
        order = [order[p] for p in _PERMUTE]
    lines.append(" return " + ",".join("v%d^v%d" % (i, i + 8) for i in range(8)))
    space = {}
    exec("\n".join(lines), space)  # the text is built from constants above
    return space["compress"]


_compress = _build_compress()


@functools.lru_cache(maxsize=64)
def _lanes(count):
    """(1 in every lane, the mask of every lane, the first half of the IV in every lane)."""
    ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * count, "little")
    return ones, ones * 0xFFFFFFFF, tuple(v * ones for v in _IV[:4])


def _compress_lanes(data, blocks, key, flags, start, end, counter):
    """Chaining values, 32 bytes each, of len(data) / (64 * blocks) inputs of so many blocks.
    counter: the first input's, or None where all have 0."""
    count = len(data) // (64 * blocks)
    ones, mask, iv = _lanes(count)
    view = memoryview(data).cast("Q")
    low = high = 0
    if counter is not None:
        low = int.from_bytes(struct.pack("<%dQ" % count, *range(counter, counter + count)), "little")
        low, high = low & mask, low >> 32 & mask
    cv = [word * ones for word in key]
    for block in range(blocks):
        words = []
        for pair in range(8):
            two = int.from_bytes(view[8 * block + pair::8 * blocks].tobytes(), "little")
            words += (two & mask, two >> 32 & mask)
        now = flags | (start if block == 0 else 0) | (end if block == blocks - 1 else 0)
        cv = _compress(cv, words, low, high, 64 * ones, now * ones, mask, iv)
    out = bytearray(32 * count)
    target = memoryview(out).cast("Q")
    for pair in range(4):
        two = cv[2 * pair] | cv[2 * pair + 1] << 32
        target[pair::4] = memoryview(two.to_bytes(8 * count, "little")).cast("Q")
    return bytes(out)


class PureBlake3:
    """BLAKE3 with 32 bytes of output: update(data), then digest() once."""

    def __init__(self, key=_IV, flags=0):
        self.key, self.flags, self.held, self.done = key, flags, bytearray(), []

    def update(self, data):
        for at in range(0, len(data), _BATCH):
            self.held += data[at:at + _BATCH]
            if len(self.held) > _BATCH:  # not the last: a whole subtree
                self.done.append(self._subtree(bytes(self.held[:_BATCH])))
                del self.held[:_BATCH]

    def digest(self):
        return self._join(self.done + [self._subtree(bytes(self.held), not self.done)], bool(self.done))

    def _subtree(self, data, root=False):
        first = len(self.done) * (_BATCH // 1024)
        whole = (max(len(data), 1) - 1) // 1024
        cvs = []
        if whole:
            joined = _compress_lanes(data[:1024 * whole], 16, self.key, self.flags, _START, _END, first)
            cvs = [joined[i:i + 32] for i in range(0, len(joined), 32)]
        cvs.append(self._last_chunk(data[1024 * whole:], first + whole, root and not whole))
        return self._join(cvs, root)

    def _last_chunk(self, data, counter, root):
        cv, size = self.key, len(data)
        for at in range(0, max(size, 1), 64):
            block = data[at:at + 64]
            last = at + 64 >= size
            flags = self.flags | (_START if at == 0 else 0) | (_END if last else 0)
            flags |= _ROOT if last and root else 0
            cv = _compress(cv, struct.unpack("<16I", block.ljust(64, b"\0")), counter & 0xFFFFFFFF,
                           counter >> 32, len(block), flags, 0xFFFFFFFF, _IV[:4])
        return struct.pack("<8I", *cv)

    def _join(self, cvs, root):
        """Pairs chaining values level by level; an odd last one goes up as it is."""
        while len(cvs) > 1:
            flags = self.flags | _PARENT | (_ROOT if root and len(cvs) == 2 else 0)
            even = len(cvs) // 2 * 2
            up = _compress_lanes(b"".join(cvs[:even]), 1, self.key, flags, 0, 0, None)
            cvs = [up[i:i + 32] for i in range(0, len(up), 32)] + cvs[even:]
        return cvs[0]


def _pure_hasher(key=None, context=None):
    if context is not None:
        inner = PureBlake3(_IV, _CONTEXT)
        inner.update(context.encode())
        return PureBlake3(struct.unpack("<8I", inner.digest()), _MATERIAL)
    return PureBlake3() if key is None else PureBlake3(struct.unpack("<8I", key), _KEYED)


class NativeBlake3:
    """The same by libblake3.so.0."""
    lib = None

    def __init__(self, key=None, context=None):
        self.state = ctypes.create_string_buffer(4096)  # the structure has 1912 bytes
        if context is not None:
            self.lib.blake3_hasher_init_derive_key(self.state, context.encode())
        elif key is not None:
            self.lib.blake3_hasher_init_keyed(self.state, key)
        else:
            self.lib.blake3_hasher_init(self.state)

    def update(self, data):
        self.lib.blake3_hasher_update(self.state, bytes(data), ctypes.c_size_t(len(data)))

    def digest(self):
        out = ctypes.create_string_buffer(32)
        self.lib.blake3_hasher_finalize(self.state, out, ctypes.c_size_t(32))
        return out.raw


def _find_hasher():
    try:
        import blake3
        return lambda key=None, context=None: (
            blake3.blake3(derive_key_context=context) if context is not None else blake3.blake3(key=key))
    except (ImportError, AttributeError):
        pass
    try:
        NativeBlake3.lib = ctypes.CDLL("libblake3.so.0")
        return NativeBlake3
    except OSError:
        return _pure_hasher


hasher = _find_hasher()


def _digest(state, data):
    state.update(data)
    return bytes(state.digest())


def blake3_plain(data):
    return _digest(hasher(), data)


def blake3_keyed(key, data):
    return _digest(hasher(key=key), data)


def blake3_derive(context, material):
    return _digest(hasher(context=context), material)


# --- AEAD, Argon2id, zstd -----------------------------------------------------------------------

def _aead_library():
    """A function (aead, key, nonce, sealed, additional) -> plain bytes, None where the tag is wrong."""
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers import aead as module
    except ImportError:
        return _aead_ctypes()

    def opener(aead, key, nonce, sealed, additional):
        cipher = module.AESGCM(key) if aead == AES else module.ChaCha20Poly1305(key)
        try:
            return cipher.decrypt(nonce, bytes(sealed), additional)
        except InvalidTag:
            return None
    return opener


def _aead_ctypes():
    try:
        lib = ctypes.CDLL("libcrypto.so.3")
    except OSError:
        raise RescueError("this repository is encrypted: install python3-cryptography, or libssl3 for "
                          "libcrypto.so.3") from None
    pointer = ctypes.c_void_p
    for name in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm", "EVP_chacha20_poly1305"):
        getattr(lib, name).restype = pointer
    lib.EVP_DecryptInit_ex.argtypes = [pointer, pointer, pointer, ctypes.c_char_p, ctypes.c_char_p]
    lib.EVP_DecryptUpdate.argtypes = [pointer, pointer, pointer, ctypes.c_char_p, ctypes.c_int]
    lib.EVP_CIPHER_CTX_ctrl.argtypes = [pointer, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]
    lib.EVP_DecryptFinal_ex.argtypes = [pointer, pointer, pointer]
    lib.EVP_CIPHER_CTX_free.argtypes = [pointer]

    def opener(aead, key, nonce, sealed, additional):
        text, tag = bytes(sealed[:-TAG]), bytes(sealed[-TAG:])
        out, size = ctypes.create_string_buffer(len(text) + 64), ctypes.c_int()
        state = lib.EVP_CIPHER_CTX_new()
        cipher = lib.EVP_aes_256_gcm() if aead == AES else lib.EVP_chacha20_poly1305()
        try:
            ok = lib.EVP_DecryptInit_ex(state, cipher, None, key, nonce) == 1
            if additional:
                ok = ok and lib.EVP_DecryptUpdate(state, None, ctypes.byref(size), additional,
                                                  len(additional)) == 1
            ok = ok and lib.EVP_DecryptUpdate(state, out, ctypes.byref(size), text, len(text)) == 1
            ok = ok and lib.EVP_CIPHER_CTX_ctrl(state, 0x11, TAG, tag) == 1  # EVP_CTRL_AEAD_SET_TAG
            tail = ctypes.create_string_buffer(64)
            ok = ok and lib.EVP_DecryptFinal_ex(state, tail, ctypes.byref(size)) == 1
        finally:
            lib.EVP_CIPHER_CTX_free(state)
        return out.raw[:len(text)] if ok else None
    return opener


@functools.lru_cache(maxsize=1)
def _aead():
    return _aead_library()


def aead_open(aead, key, nonce, sealed, additional):
    """Opens ciphertext + tag; Damage where it does not belong to key, nonce and additional data."""
    if len(sealed) < TAG:
        raise Damage("a sealed piece is too short")
    if aead == NO_AEAD:
        text = bytes(sealed[:-TAG])
        tag = blake3_keyed(key, nonce + additional + text)[:TAG]
        plain = text if hmac.compare_digest(tag, bytes(sealed[-TAG:])) else None
    else:
        plain = _aead()(aead, key, nonce, sealed, additional)
    if plain is None:
        raise Damage("a seal does not fit: the bytes are damaged or were altered")
    return plain


def argon2id(password, salt, memory, passes, lanes):
    """32 bytes by Argon2id version 0x13."""
    try:
        from argon2 import low_level
        return low_level.hash_secret_raw(password, salt, time_cost=passes, memory_cost=memory,
                                         parallelism=lanes, hash_len=32, type=low_level.Type.ID, version=19)
    except ImportError:
        return _argon2id_ctypes(password, salt, memory, passes, lanes)


def _argon2id_ctypes(password, salt, memory, passes, lanes):
    try:
        lib = ctypes.CDLL("libargon2.so.1")
    except OSError:
        raise RescueError("a password needs Argon2id: install python3-argon2 or libargon2-1") from None
    size, number = ctypes.c_size_t, ctypes.c_uint32
    out = ctypes.create_string_buffer(32)
    status = lib.argon2id_hash_raw(number(passes), number(memory), number(lanes), password,
                                   size(len(password)), salt, size(len(salt)), out, size(32))
    if status != 0:
        raise RescueError("Argon2id failed (libargon2 says %d; memory %d KiB)" % (status, memory))
    return out.raw


def zstd_check(data, plain_length):
    """Damage unless data is exactly one zstd frame without dictionary and with an allowed window."""
    r = Reader(data, "zstd frame")
    if r.u32() != 0xFD2FB528:
        raise Damage("not a zstd frame")
    descriptor = r.u8()
    single, size_flag = descriptor >> 5 & 1, descriptor >> 6
    if descriptor & 8 or descriptor & 3:
        raise Damage("a zstd frame with a dictionary or reserved bits")
    window = 0
    if not single:
        byte = r.u8()
        window = (1 << 10 + (byte >> 3)) + (1 << 10 + (byte >> 3)) // 8 * (byte & 7)
    size_bytes = (single, 2, 4, 8)[size_flag]
    size = int.from_bytes(r.take(size_bytes), "little") + (256 if size_flag == 1 else 0)
    if (size_bytes and size != plain_length) or max(window, single * size) > MAX_WINDOW:
        raise Damage("a zstd frame of a wrong length or with too large a window")
    last = 0
    while not last:
        head = int.from_bytes(r.take(3), "little")
        last, kind, length = head & 1, head >> 1 & 3, head >> 3
        if kind == 3:
            raise Damage("a zstd block of a reserved kind")
        r.take(1 if kind == 1 else length)
    r.take(4 if descriptor & 4 else 0)
    r.end()


def zstd_open(data, plain_length):
    """Decompresses one zstd frame to exactly plain_length bytes, allocating no more than that."""
    zstd_check(data, plain_length)
    try:
        import zstandard
    except ImportError:
        plain = _zstd_command(data, plain_length)
    else:
        try:
            with zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(bytes(data)) as s:
                plain = s.read(plain_length + 1)
        except zstandard.ZstdError as e:
            raise Damage("zstd: %s" % e) from None
    if len(plain) != plain_length:
        raise Damage("a zstd frame of another length than was said")
    return plain


def _zstd_command(data, plain_length):
    with os.fdopen(os.memfd_create("frame"), "w+b") as source:
        source.write(data)
        source.seek(0)
        try:
            child = subprocess.Popen(["zstd", "-d", "-c", "-q"], stdin=source, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
        except OSError:
            raise RescueError("frames are compressed: install python3-zstandard or zstd") from None
        with child:
            plain = child.stdout.read(plain_length + 1)
            child.stdout.close()
    if child.returncode != 0:
        raise Damage("zstd cannot decompress a frame")
    return plain


# --- parsing ------------------------------------------------------------------------------------

class Reader:
    """A bounds-checked cursor over bytes; every overrun is Damage."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def more(self):
        return self.at < len(self.data)

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damage("%s ends too early" % self.what)
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def u8(self):
        return self.number("B")

    def u16(self):
        return self.number("H")

    def u32(self):
        return self.number("I")

    def u64(self):
        return self.number("Q")

    def i64(self):
        return self.number("q")

    def id(self):
        return self.take(32)

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128:
                if (byte == 0 and shift) or value >> 64:
                    break
                return value
        raise Damage("%s: a malformed varint" % self.what)

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def bytes(self):
        return self.take(self.varint())

    def rest(self):
        return self.take(len(self.data) - self.at)

    def reserved(self, size):
        if any(self.take(size)):
            raise Unsupported("%s: reserved bytes are in use; a newer cairn wrote this" % self.what)

    def end(self):
        if self.more():
            raise Damage("%s: bytes too many" % self.what)


def fields(r, repeating=(), known=frozenset()):
    """(tag, value) pairs in ascending order to the end, and the unknown tags below 64."""
    out, unknown, last = [], [], -1
    while r.more():
        tag, value = r.varint(), r.bytes()
        if tag < last or (tag == last and tag not in repeating):
            raise Damage("%s: fields out of order" % r.what)
        last = tag
        if tag in known:
            out.append((tag, value))
        elif tag < 64:
            unknown.append(tag)
    return out, unknown


Header = namedtuple("Header", "raw type compatible read_only incompatible repository epoch aead hash salt")


def parse_header(raw, what):
    """The 128 bytes of section 3."""
    r = Reader(raw, what)
    if r.take(8) != MAGIC:
        raise Damage("%s is not an object of cairn" % what)
    kind, version, length = r.u16(), r.u16(), r.u32()
    if version != 1:
        raise Unsupported("%s has format version %d" % (what, version))
    compatible, read_only, incompatible = r.u64(), r.u64(), r.u64()
    if incompatible:
        raise Unsupported("%s uses features %#x, unknown here" % (what, incompatible))
    header = Header(bytes(raw[:HEADER]), kind, compatible, read_only, incompatible, r.take(16), r.u32(),
                    r.u16(), r.u16(), r.take(32))
    r.reserved(32)  # signer, envelopes, length of their area, reserved
    if length != HEADER:
        raise Unsupported("%s has a header of %d bytes" % (what, length))
    if header.epoch != 1 or header.aead not in (AES, CHACHA, NO_AEAD):
        raise Unsupported("%s: key epoch %d, AEAD %d" % (what, header.epoch, header.aead))
    if header.hash != (2 if header.aead == NO_AEAD else 1):
        raise Damage("%s: the hash of ids does not go with the AEAD" % what)
    return header


Slot = namedtuple("Slot", "kind memory passes lanes salt made commitment wrapped label")


def parse_slot(raw, what):
    r = Reader(raw, what)
    r.take(HEADER)
    kind, derivation = r.u16(), r.u16()
    slot = Slot(kind, r.u32(), r.u32(), r.u32(), r.take(32), r.i64(), r.take(32), r.take(48), r.take(r.u16()))
    r.end()
    if (kind, derivation) not in ((1, 1), (2, 0)):
        raise Unsupported("%s is of kind %d, derivation %d" % (what, kind, derivation))
    if kind == 2:
        fits = (slot.memory, slot.passes, slot.lanes) == (0, 0, 0)
    else:
        least = 3 if slot.memory < 2097152 else 1
        fits = 65536 <= slot.memory <= 4194304 and least <= slot.passes <= 64 and 1 <= slot.lanes <= 64
    if not fits or len(slot.label) > 255:
        raise Damage("%s has parameters that are not allowed" % what)
    return slot


Pack = namedtuple("Pack", "name length first frames chunks type")
Frame = namedtuple("Frame", "offset stored plain codec")


def parse_frame(row):
    offset, stored, plain, codec, low, high = struct.unpack("<IIIBBH", row)
    if low or high:
        raise Unsupported("reserved bytes of a frame are in use")
    if codec > 1:
        raise Unsupported("a frame has codec %d" % codec)
    if not 1 <= plain <= MAX_CHUNK or stored <= TAG or (codec == 0 and stored != plain + TAG):
        raise Damage("a frame has impossible lengths")
    return Frame(offset, stored, plain, codec)


class Table:
    """Where chunks are: the plain body of an index segment, or the same made from footers."""

    def __init__(self, packs, superseded, frames, chunks):
        self.packs, self.superseded = packs, superseded
        self.frames, self.chunks = memoryview(frames), memoryview(chunks)

    @classmethod
    def parse(cls, body, what):
        r = Reader(body, what)
        if r.take(8) != b"cairnidx":
            raise Damage("%s is not an index" % what)
        if r.u32() != 1:
            raise Unsupported("%s has another version" % what)
        r.reserved(12)
        packs, superseded, frames, chunks = r.u32(), r.u32(), r.u64(), r.u64()
        r.reserved(8)
        if len(body) != 56 + 64 * packs + 32 * superseded + 16 * frames + 48 * chunks:
            raise Damage("%s: the counts do not give its length" % what)
        rows = []
        for _ in range(packs):
            rows.append(Pack(r.id(), r.u64(), r.u64(), r.u32(), r.u32(), r.u8()))
            r.reserved(7)
            if rows[-1].first + rows[-1].frames > frames or not DATA <= rows[-1].type <= OBJECTS:
                raise Damage("%s: a pack's row is wrong" % what)
        names = [r.id() for _ in range(superseded)]
        view = memoryview(body)
        return cls(rows, names, view[r.at:r.at + 16 * frames], view[r.at + 16 * frames:])

    def row(self, number):
        """(id, pack, frame, offset, length) of chunk row `number`."""
        pack, frame, offset, length = struct.unpack_from("<IIII", self.chunks, 48 * number + 32)
        if pack >= len(self.packs) or frame >= self.packs[pack].frames:
            raise Damage("an index row points nowhere")
        return bytes(self.chunks[48 * number:48 * number + 32]), self.packs[pack], frame, offset, length

    def frame(self, pack, number):
        at = 16 * (pack.first + number)
        return parse_frame(self.frames[at:at + 16])

    def find(self, wanted):
        """All rows of an id, by binary search."""
        low, high = 0, len(self.chunks) // 48
        end = high
        while low < high:
            middle = (low + high) // 2
            if self.chunks[48 * middle:48 * middle + 32].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        while low < end and self.chunks[48 * low:48 * low + 32] == wanted:
            yield self.row(low)
            low += 1

    def check(self, what):
        """The order of rows and the number of each pack's rows."""
        counts, last = [0] * len(self.packs), b""
        for number in range(len(self.chunks) // 48):
            row = self.chunks[48 * number:48 * number + 36].tobytes()
            pack = struct.unpack_from("<I", row, 32)[0]
            key = row[:32] + pack.to_bytes(4, "big")
            self.row(number)
            counts[pack] += 1
            if key < last:
                raise Damage("%s: chunks out of order" % what)
            last = key
        if counts != [p.chunks for p in self.packs]:
            raise Damage("%s: counts of chunks do not fit" % what)


Attributes = namedtuple("Attributes", "mode uid gid mtime")


class Entry:
    """One entry of a directory (section 9)."""

    def __init__(self, body, named=True):
        r = Reader(body, "a directory's entry")
        self.type = r.u8()
        self.name = r.bytes() if named else b""
        self.inode_flags = self.link = self.atime = self.size = self.project = None
        self.content = self.inline = self.target = self.device = self.dir = self.xattrs = self.big = None
        if not 1 <= self.type <= 7:
            raise Unsupported("an entry has type %d" % self.type)
        if named and (not 1 <= len(self.name) <= 4095 or self.name in (b".", b"..")
                      or b"/" in self.name or b"\0" in self.name):
            raise Damage("an entry has a forbidden name")
        known = frozenset(list(range(1, 13)) + [64, 65, 66])
        found, self.unknown = fields(r, known=known)
        for tag, value in found:
            self._field(tag, Reader(value, "field %d of %s" % (tag, show(self.name))))
        self._complete({tag for tag, _ in found}, named)

    def _field(self, tag, r):
        if tag == 1:
            mode, uid, gid, seconds, ns = r.varint(), r.varint(), r.varint(), r.svarint(), r.varint()
            if mode > 0o7777 or uid >> 32 or gid >> 32 or ns >= 10**9:
                raise Damage("%s: attributes out of range" % show(self.name))
            self.attributes = Attributes(mode, uid, gid, seconds * 10**9 + ns)
        elif tag in (3, 4, 5):
            setattr(self, {3: "content", 4: "inline", 5: "target"}[tag], r.rest())
        elif tag in (2, 10, 11, 12):
            setattr(self, {2: "size", 10: "inode_flags", 11: "project", 12: "link"}[tag], r.varint())
        elif tag == 6:
            self.device = (r.varint(), r.varint())
        elif tag in (7, 9):
            setattr(self, {7: "dir", 9: "big"}[tag], r.id())
        elif tag == 8:
            self.xattrs = parse_xattrs(r)
        elif tag in (64, 65):
            value = r.svarint() * 10**9 + r.varint()
            self.atime = value if tag == 65 else self.atime
        else:
            r.take(33)
        r.end()

    def _complete(self, tags, named):
        allowed = {2: (FILE,), 3: (FILE,), 4: (FILE,), 5: (LINK,), 6: (BLOCKDEV, CHARDEV), 7: (DIR,),
                   66: (FILE,)}
        fits = 1 in tags and all(self.type in allowed.get(t, (self.type,)) for t in tags)
        fits = fits and not (8 in tags and 9 in tags) and self.link != 0
        if self.type == FILE:
            fits = fits and self.size is not None and not (3 in tags and 4 in tags)
            fits = fits and (bool(tags & {3, 4}) if self.size else 3 not in tags)
            fits = fits and (4 not in tags or len(self.inline) == self.size <= 4096)
        needed = {LINK: 5, BLOCKDEV: 6, CHARDEV: 6}.get(self.type) or (7 if self.type == DIR and named else 1)
        if not fits or needed not in tags:
            raise Damage("entry %s has fields that do not go together" % show(self.name))


def parse_xattrs(r):
    out = []
    while r.more():
        out.append((r.bytes(), r.bytes()))
        if not out[-1][0] or b"\0" in out[-1][0] or (len(out) > 1 and out[-2][0] >= out[-1][0]):
            raise Damage("extended attributes out of order")
    return out


class Manifest:
    """A snapshot's manifest (section 10)."""

    def __init__(self, name, raw):
        self.id, self.tags, self.paths, self.options = name, [], [], []
        self.begun = self.ended = 0
        self.host = self.user = self.program = b""
        self.parent = self.root = self.root_entry = self.problems = self.stream = self.totals = None
        found, unknown = fields(Reader(raw, "manifest"), (5, 6, 13), frozenset(range(1, 15)))
        if unknown:
            raise Unsupported("snapshot %s has unknown fields %s" % (name.hex(), unknown))
        texts = {3: "host", 4: "user", 12: "program"}
        ids = {7: "parent", 8: "root", 10: "stream", 14: "problems"}
        for tag, value in found:
            r = Reader(value, "manifest field %d" % tag)
            if tag in (1, 2):
                setattr(self, "begun" if tag == 1 else "ended", r.svarint())
            elif tag in texts:
                setattr(self, texts[tag], r.rest())
            elif tag in ids:
                setattr(self, ids[tag], r.id())
            elif tag in (5, 6, 13):
                {5: self.paths, 6: self.tags, 13: self.options}[tag].append(r.rest())
            elif tag == 9:
                self.root_entry = Entry(r.rest(), named=False)
            elif tag == 11:
                self.totals = [r.varint() for _ in range(6)]
            r.end()
        if self.root is None:
            raise Damage("snapshot %s has no root tree" % name.hex())


# --- the log ------------------------------------------------------------------------------------

class State:
    """What the log says after replay."""

    def __init__(self):
        self.genesis = None
        self.packs, self.segments, self.snapshots, self.attributes = {}, {}, {}, {}
        self.condemned, self.slots, self.settings = set(), set(), {}

    def summary(self):
        return (set(self.packs), set(self.segments), set(self.snapshots), self.condemned, self.slots)


def parse_record(tag, value):
    """One record as a dictionary; None for a tag that is to be skipped."""
    r = Reader(value, "log record %d" % tag)
    if tag == 1:
        out = {"config": r.id(), "chunker": r.u16(), "zero": r.reserved(2), "average": r.u32(),
               "minimum": r.u32(), "maximum": r.u32(), "level": r.u8(), "file_hash": r.u8(),
               "reserved": r.reserved(6)}
    elif tag in (2, 15):
        out = {"pack": r.id(), "length": r.u64(), "type": r.u8(), "level": r.u8()}
        if not DATA <= out["type"] <= OBJECTS or not 1 <= out["level"] <= 4 or out["length"] > MAX_PACK:
            raise Damage("log record %d has a value out of range" % tag)
        if tag == 15:
            out["boot"] = r.take(16)
    elif tag == 3:
        out = {"segment": r.id(), "length": r.u64()}
    elif tag == 5:
        out = {"manifest": r.rest()}
    elif tag in (4, 6, 7, 8):
        out = {{4: "segment", 6: "snapshot", 7: "pack", 8: "pack"}[tag]: r.id()}
    elif tag == 9:
        out = {"change": r.u8(), "slot": r.id()}
    elif tag == 10:
        out = {}
    elif tag == 11:
        out = {"which": r.u8(), "value": r.bytes()}
    elif tag == 12:
        out = {"snapshot": r.id(), "protected": r.u8(), "tags": [r.bytes() for _ in range(_count(r))]}
    elif tag == 13:
        out = {"pack": r.id(), "level": r.u8()}
    elif tag == 14:
        out = {"boot": r.take(16)}
    elif tag == 16:
        out = {"committed_at": r.u8()}
        if not 1 <= out["committed_at"] <= 4:
            raise Damage("log record 16 has a value out of range")
    elif tag < 64:
        raise Unsupported("the log has a record of unknown tag %d" % tag)
    else:
        return None
    r.end()
    return out


def _count(r):
    count = r.varint()
    if count > len(r.data):
        raise Damage("%s: a count is too large" % r.what)
    return count


def parse_log(plain):
    """(head, [(tag, record)]) of a plain log entry."""
    r = Reader(plain, "log entry")
    head = {"number": r.u64(), "time": r.i64(), "before": r.id(), "checkpoint": r.u64(), "program": r.bytes()}
    records = []
    while r.more():
        tag = r.varint()
        record = parse_record(tag, r.bytes())
        if record is not None:
            records.append((tag, record))
    return head, records


def apply_records(state, records, snapshot_id):
    """Replays the records of one entry; returns the state, a new one from a checkpoint on."""
    for position, (tag, rec) in enumerate(records):
        if tag == 10:
            if position:
                raise Damage("a checkpoint stands inside of a log entry")
            state = State()
        elif tag == 1:
            state.genesis = rec
        elif tag in (2, 15):
            state.packs[rec["pack"]] = rec
        elif tag == 3:
            state.segments[rec["segment"]] = rec
        elif tag == 4:
            state.segments.pop(rec["segment"], None)
        elif tag == 5:
            state.snapshots[snapshot_id(rec["manifest"])] = rec["manifest"]
        elif tag == 6:
            state.snapshots.pop(rec["snapshot"], None)
            state.attributes.pop(rec["snapshot"], None)
        elif tag == 7:
            state.condemned.add(rec["pack"])
        elif tag == 8:
            state.packs.pop(rec["pack"], None)
            state.condemned.discard(rec["pack"])
        elif tag == 9:
            (state.slots.add if rec["change"] == 1 else state.slots.discard)(rec["slot"])
        elif tag == 11:
            state.settings[rec["which"]] = rec["value"]
        elif tag == 12:
            state.attributes[rec["snapshot"]] = rec
        elif tag == 13 and rec["pack"] in state.packs:
            state.packs[rec["pack"]] = dict(state.packs[rec["pack"]], level=rec["level"])
    return state


# --- the repository -----------------------------------------------------------------------------

def pack_path(name):
    return "packs/%s/%s" % (name.hex()[:2], name.hex())


class Store:
    """The files of a local repository."""

    def __init__(self, path):
        self.path, self.open_files = path, OrderedDict()
        if not os.path.isfile(os.path.join(path, "config")):
            raise NoRepository("there is no repository at %s" % path)

    def _file(self, name):
        if name in self.open_files:
            self.open_files.move_to_end(name)
            return self.open_files[name]
        try:
            fd = os.open(os.path.join(self.path, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as e:
            raise Damage("%s: %s" % (name, e.strerror)) from None
        self.open_files[name] = fd
        if len(self.open_files) > 32:
            os.close(self.open_files.popitem(last=False)[1])
        return fd

    def exists(self, name):
        return os.path.exists(os.path.join(self.path, name))

    def size(self, name):
        return os.fstat(self._file(name)).st_size

    def read(self, name, offset, size):
        """Exactly so many bytes."""
        out, fd = bytearray(), self._file(name)
        try:
            while len(out) < size:
                piece = os.pread(fd, size - len(out), offset + len(out))
                if not piece:
                    raise Damage("%s ends too early" % name)
                out += piece
        except OSError as e:
            raise Damage("%s: %s" % (name, e.strerror)) from None
        return bytes(out)

    def whole(self, name, limit):
        size = self.size(name)
        if not HEADER <= size <= limit:
            raise Damage("%s has %d bytes" % (name, size))
        return self.read(name, 0, size)

    def names(self, folder):
        try:
            return sorted(os.listdir(os.path.join(self.path, folder)))
        except OSError:
            return []

    def packs(self):
        return [bytes.fromhex(n) for f in self.names("packs") for n in self.names("packs/" + f) if is_id(n)]


def is_number(text):
    return len(text) == 16 and all(c in "0123456789abcdef" for c in text)


def is_id(text):
    return len(text) == 64 and all(c in "0123456789abcdef" for c in text)


class Repository:
    """Everything that can be read from a repository."""

    def __init__(self, path, verify=True, salvage=False):
        self.store, self.verify, self.salvage = Store(path), verify, salvage
        self.config = self.store.whole("config", HEADER)
        self.header = parse_header(self.config, "config")
        if self.header.type != CONFIG:
            raise Damage("config is a %s" % TYPE_NAMES.get(self.header.type, self.header.type))
        self.root_key, self.slot = bytes(32), None
        self.purposes, self.objects, self.frames, self.frame_bytes = {}, {}, OrderedDict(), 0
        self.state, self.tables = State(), []

    # keys

    def unlock(self, password=None, key=None):
        """Finds the slot that the password or key file opens."""
        if self.header.aead == NO_AEAD:
            return
        if password is None and key is None:
            raise WrongPassword("this repository is encrypted: give --key-file or --password-file")
        for name in self.store.names("keys"):
            try:
                root = self._try_slot("keys/" + name, password, key)
            except (Damage, Unsupported) as e:
                warn("key slot %s is passed over: %s" % (name, e))
                continue
            if root:
                self.root_key, self.slot = root, bytes.fromhex(name)
                return
        raise WrongPassword("no key slot belongs to this %s" % ("password" if key is None else "key file"))

    def _try_slot(self, name, password, key):
        raw = self.store.whole(name, 1024)
        if blake3_plain(raw).hex() != name[5:]:
            raise Damage("its BLAKE3 is not its name")
        self.expect(parse_header(raw, name), KEY_SLOT, name)
        slot = parse_slot(raw, name)
        if (key is None) != (slot.kind == 1):
            return None
        kek = key if key is not None else argon2id(password, slot.salt, slot.memory, slot.passes, slot.lanes)
        material = kek + raw[:184]
        commitment = blake3_derive(CONTEXT + "slot commitment", material)
        if not hmac.compare_digest(commitment, slot.commitment):
            return None
        wrap = blake3_derive(CONTEXT + "slot wrap", material)
        return aead_open(self.header.aead, wrap, bytes(12), slot.wrapped, b"")

    def expect(self, header, kind, name):
        same = (header.repository, header.aead, header.hash) == (
            self.header.repository, self.header.aead, self.header.hash)
        if header.type != kind or not same:
            raise Damage("%s is of another repository or type" % name)

    def purpose(self, name):
        if name not in self.purposes:
            material = self.root_key + self.header.repository + struct.pack("<I", self.header.epoch)
            self.purposes[name] = blake3_derive(CONTEXT + name, material)
        return self.purposes[name]

    def object_key(self, name, kind, raw):
        self.expect(parse_header(raw, name), kind, name)
        purpose = {META: "metadata", SEGMENT: "index", LOG: "log"}.get(kind, "data")
        return blake3_keyed(self.purpose(purpose), raw[:HEADER])

    def unseal(self, key, domain, counter, stored, codec=0, plain=None):
        plain = len(stored) - TAG if plain is None else plain
        nonce = struct.pack("<QI", counter, domain)
        text = aead_open(self.header.aead, key, nonce, stored, struct.pack("<IIQQ", domain, codec, counter, plain))
        return zstd_open(text, plain) if codec == 1 else text

    # the log

    def log_entry(self, number):
        """(raw object, head, records) of an entry."""
        name = "log/%016x" % number
        raw = self.store.whole(name, MAX_LOG)
        key = self.object_key(name, LOG, raw)
        head, records = parse_log(self.unseal(key, 2, number, raw[HEADER:]))
        if head["number"] != number:
            raise Damage("%s says it is another entry" % name)
        return raw, head, records

    def log_numbers(self):
        """0, 1, … before the first absent one; with --salvage all that are there."""
        if self.salvage:
            return sorted(int(n, 16) for n in self.store.names("log") if is_number(n))
        number = 0
        while self.store.exists("log/%016x" % number):
            number += 1
        return range(number)

    def load_log(self, report=None):
        """Replays all entries. report(text), where given, gets what is wrong and replay goes on."""
        report = report or (self._tolerate if self.salvage else self._refuse)
        before, checkpoint, numbers = bytes(32), 0, self.log_numbers()
        for place, number in enumerate(numbers):
            if place and numbers[place - 1] != number - 1:
                report("log/%016x and those behind it are missing" % (numbers[place - 1] + 1))
                before = None
            try:
                raw, head, records = self.log_entry(number)
            except Damage as e:
                report("log/%016x: %s" % (number, e))
                before = None
                continue
            if before is not None and head["before"] != before:
                report("log/%016x does not follow on the entry before it" % number)
            if before is not None and head["checkpoint"] != checkpoint:
                report("log/%016x names the wrong checkpoint" % number)
            before_ok, before = number and before is not None, blake3_plain(raw)
            old, self.state = self.state, apply_records(self.state, records, self.snapshot_id)
            if self.state is not old:
                checkpoint = number
                if before_ok and old.summary() != self.state.summary():
                    report("the checkpoint log/%016x is not the state before it" % number)
        self.log_end = len(numbers)
        genesis = self.state.genesis
        if not genesis or genesis["config"] != blake3_plain(self.config):
            report("the log does not name this config")

    @staticmethod
    def _refuse(text):
        raise Damage(text + " (--salvage goes on without it)")

    @staticmethod
    def _tolerate(text):
        warn("damage: " + text)

    def snapshot_id(self, manifest):
        return blake3_keyed(self.purpose("snapshot id"), manifest)

    def manifests(self):
        """Snapshots in the order of the log, with the tags that hold now."""
        out = []
        for name, raw in self.state.snapshots.items():
            manifest = Manifest(name, raw)
            if name in self.state.attributes:
                manifest.tags = self.state.attributes[name]["tags"]
            out.append(manifest)
        return out

    def snapshot(self, text):
        found = self.manifests()
        if text == "latest":
            found = sorted(found, key=lambda m: m.begun)[-1:]
        else:
            found = [m for m in found if text and m.id.hex().startswith(text.lower())]
        if len(found) != 1:
            raise RescueError("%s snapshot is called %s" % ("no" if not found else "more than one", text))
        return found[0]

    # packs and the index

    def pack_names(self):
        """Committed packs that were not removed; with --salvage all that are there."""
        names = {name: rec["type"] for name, rec in self.state.packs.items()}
        for name in self.store.packs() if self.salvage else ():
            names.setdefault(name, None)
        return names

    def footer(self, name):
        """(type, length, frames, [(id, frame, offset, length)]) of a pack, from its own footer."""
        path = pack_path(name)
        size = self.store.size(path)
        if not HEADER + TRAILER + TAG <= size <= MAX_PACK or size % 4096:
            raise Damage("%s has %d bytes" % (path, size))
        kind, key = self.pack_key(name)
        r = Reader(self.store.read(path, size - TRAILER, TRAILER), path)
        magic, length, stored, frames, chunks = r.take(8), r.u64(), r.u32(), r.u32(), r.u32()
        r.reserved(4)
        fits = magic == b"cairnpak" and length == size and frames <= MAX_FRAMES and chunks <= MAX_CHUNKS
        if not fits or stored != 16 + 16 * frames + 44 * chunks + TAG or stored > size - HEADER - TRAILER:
            raise Damage("%s has a wrong trailer" % path)
        start = size - TRAILER - stored
        plain = self.unseal(key, 1, 0, self.store.read(path, start, stored))
        if struct.unpack_from("<IIQ", plain) != (frames, chunks, length):
            raise Damage("%s: footer and trailer differ" % path)
        table = [parse_frame(plain[at:at + 16]) for at in range(16, 16 + 16 * frames, 16)]
        rows = [(plain[at:at + 32],) + struct.unpack_from("<III", plain, at + 32)
                for at in range(16 + 16 * frames, len(plain), 44)]
        check_layout(path, table, rows, start)
        return kind, size, table, rows

    def pack_key(self, name):
        """(type, object key), read from the pack's header."""
        if name not in self.objects:
            path = pack_path(name)
            raw = self.store.read(path, 0, HEADER)
            kind = parse_header(raw, path).type
            if not DATA <= kind <= OBJECTS:
                raise Damage("%s is not a pack" % path)
            self.objects[name] = kind, self.object_key(path, kind, raw)
        return self.objects[name]

    def segment(self, name, check=False):
        """An index segment as a Table."""
        path = "index/" + name.hex()
        size = self.store.size(path)
        expected = self.state.segments.get(name, {}).get("length", size)
        if size != expected or size <= HEADER + TAG:
            raise Damage("%s has %d bytes instead of %d" % (path, size, expected))
        raw = self.store.read(path, 0, size)
        if blake3_plain(raw) != name:
            raise Damage("%s: its BLAKE3 is not its name" % path)
        key, body = self.object_key(path, SEGMENT, raw), bytearray()
        for number, at in enumerate(range(HEADER, size, BLOCK + TAG)):
            body += self.unseal(key, 3, number, raw[at:at + BLOCK + TAG])
        table = Table.parse(bytes(body), path)
        if check:
            table.check(path)
        return table

    def load_index(self, ignore=False):
        """Fills self.tables from the live segments, or from the footers of all packs."""
        if ignore:
            self.tables = [self.table_of_footers()]
            return
        try:
            self.tables = [self.segment(name) for name in self.state.segments]
        except Damage as e:
            raise Damage("%s (--ignore-index reads the packs' footers instead)" % e) from None

    def table_of_footers(self):
        packs, frames, rows = [], bytearray(), []
        for name in self.pack_names():
            try:
                kind, length, table, chunks = self.footer(name)
            except Damage as e:
                warn("a pack is passed over: %s" % e)
                continue
            place = struct.pack("<I", len(packs))
            packs.append(Pack(name, length, len(frames) // 16, len(table), len(chunks), kind))
            frames += b"".join(struct.pack("<IIIB3x", *f) for f in table)
            rows += [row[0] + place + struct.pack("<III", *row[1:]) for row in chunks]
        rows.sort()
        return Table(packs, [], bytes(frames), b"".join(rows))

    def frame(self, pack, number, frame):
        """The plain bytes of a frame; some 64 MiB of them are kept."""
        key = (pack, number)
        if key in self.frames:
            self.frames.move_to_end(key)
            return self.frames[key]
        stored = self.store.read(pack_path(pack), frame.offset, frame.stored)
        plain = self.unseal(self.pack_key(pack)[1], 0, number, stored, frame.codec, frame.plain)
        self.frames[key] = plain
        self.frame_bytes += len(plain)
        while self.frame_bytes > CACHE_BYTES and len(self.frames) > 1:
            self.frame_bytes -= len(self.frames.popitem(last=False)[1])
        return plain

    def chunk_id(self, kind, content):
        if kind == META:
            return blake3_keyed(self.purpose("metadata id"), content)
        return blake3_plain(content) if self.header.hash == 2 else blake3_keyed(self.purpose("data id"), content)

    def locate(self, name, kind):
        """Places of a chunk in packs of a type; packs that are to go come last."""
        known = self.pack_names() if self.salvage else self.state.packs
        places = [(table, row) for table in self.tables for row in table.find(name)
                  if row[1].type == kind and row[1].name in known]
        return sorted(places, key=lambda place: place[1][1].name in self.state.condemned)

    def chunk(self, name, kind):
        """The content of a chunk, from the first place where it is whole."""
        error = Damage("chunk %s is in no pack" % name.hex())
        for table, (_, pack, number, offset, length) in self.locate(name, kind):
            try:
                frame = table.frame(pack, number)
                if not 1 <= length <= frame.plain - offset:
                    raise Damage("it does not lie in its frame")
                if self.pack_key(pack.name)[0] != kind:
                    raise Damage("the pack is of another type")
                content = self.frame(pack.name, number, frame)[offset:offset + length]
                if self.verify and self.chunk_id(kind, content) != name:
                    raise Damage("the content is not what its id says")
                return content
            except Damage as e:
                error = Damage("chunk %s in %s: %s" % (name.hex(), pack_path(pack.name), e))
        raise error

    # trees

    def entries(self, name):
        """The entries of a directory, in order."""
        last = b""
        for entry in self._entries(name, 0):
            if entry.name <= last:
                raise Damage("a directory is out of order")
            last = entry.name
            yield entry

    def _entries(self, name, depth):
        r = Reader(self.chunk(name, META), "directory chunk")
        kind = r.u8()
        if kind == 1:
            if depth and not r.more():
                raise Damage("an empty leaf below an inner directory chunk")
            while r.more():
                yield Entry(r.bytes())
            return
        if kind != 2:
            raise Unsupported("a directory chunk has kind %d" % kind)
        if depth >= 8 or not r.more():
            raise Damage("a directory nests too deep or has an empty inner chunk")
        while r.more():
            first, below, promised = r.bytes(), r.id(), r.varint()
            count = 0
            for entry in self._entries(below, depth + 1):
                if count == 0 and entry.name != first:
                    raise Damage("a directory chunk begins with another name than was said")
                count += 1
                yield entry
            if count != promised:
                raise Damage("a directory chunk has another number of entries than was said")

    def extents(self, entry):
        """(offset, length, id or None for zeros) of a regular file."""
        r = Reader(entry.content or b"\0", "content")
        level, offset = r.varint(), 0
        if level > 4:
            raise Damage("a content list nests too deep")
        for length, name in self._extents(r, level):
            yield offset, length, name
            offset += length
        if offset != entry.size:
            raise Damage("the content has %d bytes, the size is %d" % (offset, entry.size))

    def _extents(self, r, level):
        while r.more():
            value = r.varint()
            length = value >> 1 if level == 0 else value
            name = None if level == 0 and value & 1 else r.id()
            if length == 0 or (level == 0 and name and length > MAX_CHUNK):
                raise Damage("an extent has %d bytes" % length)
            if level == 0:
                yield length, name
                continue
            total = 0
            for extent in self._extents(Reader(self.chunk(name, META), "content list"), level - 1):
                total += extent[0]
                yield extent
            if total != length:
                raise Damage("a content list has another length than was said")

    def xattrs(self, entry):
        if entry.big:
            return parse_xattrs(Reader(self.chunk(entry.big, META), "extended attributes"))
        return entry.xattrs or []

    def lookup(self, manifest, path):
        """The directory id below which a path's content stands, and its entry."""
        here, entry = manifest.root, manifest.root_entry
        for part in [p for p in os.fsencode(path).split(b"/") if p]:
            entry = next((e for e in self.entries(here) if e.name == part), None)
            if entry is None or entry.type != DIR:
                raise RescueError("%s is not a directory of this snapshot" % path)
            here = entry.dir
        return here, entry


def check_layout(path, table, rows, start):
    """Frames back to back from the header to the padding; chunks back to back and filling frames."""
    at = HEADER
    for frame in table:
        if frame.offset != at:
            raise Damage("%s: frames do not stand back to back" % path)
        at += frame.stored
    if not 0 <= start - at <= 4095:
        raise Damage("%s: the frames do not end where the footer begins" % path)
    number, offset = 0, 0
    for _, frame, begin, length in rows:
        if number < len(table) and offset == table[number].plain:
            number, offset = number + 1, 0
        if number >= len(table) or (frame, begin) != (number, offset) or not 1 <= length <= MAX_CHUNK:
            raise Damage("%s: chunks do not fill their frames" % path)
        offset += length
        if offset > table[number].plain:
            raise Damage("%s: a chunk is longer than its frame" % path)
    if table and (number, offset) != (len(table) - 1, table[-1].plain):
        raise Damage("%s: frames without chunks" % path)


# --- restore ------------------------------------------------------------------------------------

class Restorer:
    """Writes a tree below a directory, everything through directory descriptors."""

    def __init__(self, repo, target, partial):
        self.repo, self.target, self.partial, self.problems = repo, target, partial, 0
        self.links, self.is_root, self.done = {}, os.geteuid() == 0, 0

    def report(self, path, what):
        self.problems += 1
        warn("%s: %s" % (show(b"/".join(path)) or "/", what))

    def run(self, root, root_entry):
        """Restores the content of directory `root`; root_entry, where given, to the target itself."""
        stack = [(os.dup(self.target), self.repo.entries(root), root_entry, ())]
        while stack:
            fd, iterator, directory, path = stack[-1]
            try:
                entry = next(iterator, None)
            except (Damage, Unsupported) as e:
                self.report(path, e)
                entry = None
            if entry is None:
                stack.pop()
                if directory is not None:
                    self.attributes(fd, directory, path)
                os.close(fd)
                continue
            here = path + (entry.name,)
            try:
                if entry.type == DIR:
                    stack.append((self.make_directory(fd, entry), self.repo.entries(entry.dir), entry, here))
                else:
                    self.make(fd, entry, here)
                self.done += 1
            except (Damage, Unsupported, OSError, OverflowError, ValueError) as e:
                self.report(here, e.strerror if isinstance(e, OSError) and e.strerror else e)

    @staticmethod
    def make_directory(parent, entry):
        os.mkdir(entry.name, 0o700, dir_fd=parent)
        return os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)

    def make(self, parent, entry, path):
        if entry.link and self.make_link(parent, entry, path):
            return
        if entry.type == FILE:
            self.make_file(parent, entry, path)
        else:
            self.make_special(parent, entry, path)
        if entry.link and (entry.type, entry.link) not in self.links:
            status = os.stat(entry.name, dir_fd=parent, follow_symlinks=False)
            self.links[entry.type, entry.link] = path, status.st_dev, status.st_ino

    def make_link(self, parent, entry, path):
        """True where the entry became a link to a file of its group made before."""
        if (entry.type, entry.link) not in self.links:
            return False
        old, device, inode = self.links[entry.type, entry.link]
        try:
            fd = os.dup(self.target)
            try:
                for part in old[:-1]:
                    below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                    os.close(fd)
                    fd = below
                os.link(old[-1], entry.name, src_dir_fd=fd, dst_dir_fd=parent, follow_symlinks=False)
            finally:
                os.close(fd)
            status = os.stat(entry.name, dir_fd=parent, follow_symlinks=False)
            if (status.st_dev, status.st_ino) == (device, inode):
                return True
            os.unlink(entry.name, dir_fd=parent)
            self.report(path, "another file took the place of the one it is a link of; made a copy")
        except OSError as e:
            self.report(path, "not linked but copied: %s" % e.strerror)
        return False

    def make_file(self, parent, entry, path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(entry.name, flags, 0o600, dir_fd=parent)
        try:
            self.write_content(fd, entry, path)
            self.attributes(fd, entry, path)
        except BaseException:
            os.unlink(entry.name, dir_fd=parent)
            raise
        finally:
            os.close(fd)

    def write_content(self, fd, entry, path):
        os.ftruncate(fd, entry.size)
        if entry.inline:
            write_at(fd, entry.inline, 0)
            return
        try:
            for offset, length, name in self.repo.extents(entry) if entry.size else ():
                try:
                    if name is not None:
                        self.write_chunk(fd, offset, length, name)
                except Damage as e:
                    if not self.partial:
                        raise
                    self.report(path, "bytes %d to %d are zeros: %s" % (offset, offset + length - 1, e))
        except Damage as e:
            if not self.partial:
                raise
            self.report(path, "what follows is zeros: %s" % e)

    def write_chunk(self, fd, offset, length, name):
        content = self.repo.chunk(name, DATA)
        if len(content) != length:
            raise Damage("chunk %s has %d bytes instead of %d" % (name.hex(), len(content), length))
        write_at(fd, content, offset)

    def make_special(self, parent, entry, path):
        if entry.type == LINK:
            os.symlink(entry.target, entry.name, dir_fd=parent)
        else:
            kind = {BLOCKDEV: stat.S_IFBLK, CHARDEV: stat.S_IFCHR, FIFO: stat.S_IFIFO,
                    SOCKET: stat.S_IFSOCK}[entry.type]
            device = os.makedev(*entry.device) if entry.device else 0
            os.mknod(entry.name, kind | 0o600, device, dir_fd=parent)
        fd = os.open(entry.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            self.attributes(fd, entry, path, parent)
        finally:
            os.close(fd)

    def attributes(self, fd, entry, path, parent=None):
        """Owner, extended attributes, mode, times, in this order: each would undo one behind it.
        parent: where fd is only a path descriptor, the directory that holds it."""
        where = fd if parent is None else "/proc/self/fd/%d" % fd
        named = {} if parent is None else {"dir_fd": parent, "follow_symlinks": False}
        what = fd if parent is None else entry.name
        mode, uid, gid, mtime = entry.attributes
        if not (self.is_root and self.attempt(path, "owner", os.chown, what, uid, gid, **named)):
            mode &= 0o1777 if entry.type == DIR else 0o777  # not for another owner than was meant
        try:
            for name, value in self.repo.xattrs(entry):
                self.attempt(path, show(name), os.setxattr, where, name, value)
        except Damage as e:
            self.report(path, e)
        if entry.type != LINK:
            self.attempt(path, "mode", os.chmod, where, mode)
        times = (time.time_ns() if entry.atime is None else entry.atime, mtime)
        self.attempt(path, "times", os.utime, what, ns=times, **named)
        if entry.inode_flags:
            self.report(path, "inode flags %#x are not restored" % entry.inode_flags)
        if entry.project:
            self.report(path, "project id %d is not restored" % entry.project)
        if entry.unknown:
            self.report(path, "fields %s are unknown and not restored" % entry.unknown)

    def attempt(self, path, what, function, *args, **named):
        try:
            function(*args, **named)
            return True
        except (OSError, OverflowError) as e:
            self.report(path, "%s not set: %s" % (what, getattr(e, "strerror", None) or e))
            return False


def write_at(fd, content, offset):
    view = memoryview(content)
    while view:
        size = os.pwrite(fd, view, offset)
        view, offset = view[size:], offset + size


# --- check --------------------------------------------------------------------------------------

class Checker:
    """Verifies everything; counts what is wrong."""

    def __init__(self, repo):
        self.repo, self.problems, self.seen = repo, 0, set()

    def report(self, text):
        self.problems += 1
        warn("damage: " + text)

    def guard(self, where, function, *args):
        try:
            return function(*args)
        except (Damage, Unsupported) as e:
            self.report("%s: %s" % (where, e))
            return None

    def run(self):
        repo = self.repo
        repo.load_log(self.report)
        self.check_names()
        tables = [self.guard("index", repo.segment, n, True) for n in repo.state.segments]
        repo.tables = [t for t in tables if t]
        for name in repo.state.packs:
            self.guard(pack_path(name), self.check_pack, name)
        indexed = {p.name for t in repo.tables for p in t.packs}
        for name in set(repo.state.packs) - indexed:
            self.report("%s is in no index segment" % pack_path(name))
        for manifest in self.guard("snapshots", repo.manifests) or ():
            self.check_tree(manifest)
        return self.problems

    def check_names(self):
        """Key slots, the log's names, and objects that are there without the log's knowledge."""
        repo, state = self.repo, self.repo.state
        for name in repo.store.names("keys"):
            self.guard("keys/" + name, self.check_slot, name)
        if repo.header.aead != NO_AEAD and repo.slot not in state.slots:
            self.report("the key slot in use was removed, says the log")
        for slot in state.slots:
            if not repo.store.exists("keys/" + slot.hex()):
                self.report("keys/%s is missing" % slot.hex())
        for name in set(repo.store.names("log")) - {"%016x" % n for n in range(repo.log_end)}:
            self.report("log/%s stands behind a gap or is not a number" % name)
        stray = [n for n in repo.store.packs() if n not in state.packs]
        stray_index = [n for n in repo.store.names("index") if not is_id(n) or bytes.fromhex(n) not in state.segments]
        if stray or stray_index:
            print("%d packs and %d index segments are not committed or no longer" % (len(stray), len(stray_index)))

    def check_slot(self, name):
        raw = self.repo.store.whole("keys/" + name, 1024)
        if blake3_plain(raw).hex() != name:
            raise Damage("its BLAKE3 is not its name")
        self.repo.expect(parse_header(raw, name), KEY_SLOT, name)
        parse_slot(raw, name)

    def check_pack(self, name):
        """Name, footer, log and index against each other, every frame and every chunk's id."""
        repo, path = self.repo, pack_path(name)
        state, size, position = hasher(), repo.store.size(path), 0
        while position < size:
            piece = repo.store.read(path, position, min(4 << 20, size - position))
            state.update(piece)
            position += len(piece)
        if bytes(state.digest()) != name:
            self.report("%s: its BLAKE3 is not its name" % path)
        kind, length, table, rows = repo.footer(name)
        record = repo.state.packs[name]
        if (record["length"], record["type"]) != (length, kind):
            self.report("%s: the log has another length or type" % path)
        self.check_padding(path, length, table, rows)
        bad = None
        for chunk, number, offset, size in rows:
            if number == bad:
                continue
            plain = self.guard("%s frame %d" % (path, number), repo.frame, name, number, table[number])
            if plain is None:
                bad = number
            elif repo.chunk_id(kind, plain[offset:offset + size]) != chunk:
                self.report("%s: chunk %s is not what its id says" % (path, chunk.hex()))
        self.check_index_rows(path, name, kind, length, table, rows)

    def check_padding(self, path, length, table, rows):
        end = table[-1].offset + table[-1].stored if table else HEADER
        start = length - TRAILER - (16 + 16 * len(table) + 44 * len(rows) + TAG)
        if any(self.repo.store.read(path, end, start - end)):
            self.report("%s: the padding is not zero" % path)

    def check_index_rows(self, path, name, kind, length, table, rows):
        for index in self.repo.tables:
            for pack in [p for p in index.packs if p.name == name]:
                same = (pack.length, pack.frames, pack.chunks, pack.type) == (length, len(table), len(rows), kind)
                same = same and all(index.frame(pack, n) == f for n, f in enumerate(table))
                same = same and all(any(r[1:] == (pack,) + row[1:] for r in index.find(row[0])) for row in rows)
                if not same:
                    self.report("%s: the index differs from the footer" % path)

    def check_tree(self, manifest):
        """Everything that a snapshot refers to is there, with the right length."""
        label = "snapshot " + manifest.id.hex()[:16]
        todo = [(manifest.root, b"")]
        for extra in (manifest.problems, manifest.stream):
            if extra:
                self.guard(label, self.repo.chunk, extra, META)
        while todo:
            name, path = todo.pop()
            if name not in self.seen:
                self.seen.add(name)
                todo += self.guard("%s %s" % (label, show(path) or "/"), self.check_directory, name, path, label) or []

    def check_directory(self, name, path, label):
        below = []
        for entry in self.repo.entries(name):
            here = path + b"/" + entry.name
            if entry.type == DIR:
                below.append((entry.dir, here))
            elif entry.content:
                self.guard("%s %s" % (label, show(here)), self.check_content, entry)
            self.guard("%s %s" % (label, show(here)), self.repo.xattrs, entry)
        return below

    def check_content(self, entry):
        for _, length, name in self.repo.extents(entry):
            if name and not any(row[4] == length for _, row in self.repo.locate(name, DATA)):
                raise Damage("chunk %s of %d bytes is in no pack" % (name.hex(), length))


# --- dump ---------------------------------------------------------------------------------------

def plain_value(value):
    """Something json can print: ids and other bytes as hex or text."""
    if isinstance(value, (bytes, memoryview)):
        value = bytes(value)
        return value.decode() if len(value) != 32 and value.isascii() and value.decode().isprintable() else value.hex()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(k): plain_value(v) for k, v in value.items() if k != "raw" and v is not None}
    if isinstance(value, (list, tuple)):
        return [plain_value(v) for v in value]
    if isinstance(value, (Manifest, Entry)):
        return plain_value(vars(value))
    return value


def dump(repo, name):
    """One object as a dictionary."""
    raw = repo.store.read(name, 0, HEADER)
    header = parse_header(raw, name)
    out = {"name": name, "object": TYPE_NAMES.get(header.type, header.type), "header": header}
    last = name.split("/")[-1]
    if header.type == KEY_SLOT:
        out["slot"] = parse_slot(repo.store.whole(name, 1024), name)
    elif header.type == LOG:
        _, out["head"], records = repo.log_entry(int(last, 16))
        out["records"] = [dict(rec, tag=tag) for tag, rec in records]
        for rec in out["records"]:
            if rec["tag"] == 5:
                rec["manifest"] = Manifest(repo.snapshot_id(rec["manifest"]), rec["manifest"])
    elif header.type == SEGMENT:
        table = repo.segment(bytes.fromhex(last))
        out.update(packs=table.packs, supersedes=table.superseded,
                   frames=[[table.frame(p, n) for n in range(p.frames)] for p in table.packs],
                   chunks=[[r[0], r[1].name] + list(r[2:])
                           for r in map(table.row, range(len(table.chunks) // 48))])
    elif header.type in (DATA, META, OBJECTS):
        _, out["length"], out["frames"], chunks = repo.footer(bytes.fromhex(last))
        out["chunks"] = [{"id": c[0], "frame": c[1], "offset": c[2], "length": c[3]} for c in chunks]
    return plain_value(out)


# --- commands -----------------------------------------------------------------------------------

def read_secret(args):
    """(password or None, key file's bytes or None)."""
    try:
        if args.key_file:
            with open(args.key_file, "rb") as f:
                lines = f.read(4096).split(b"\n")
            if len(lines) != 3 or lines[0] != b"cairn key file 1" or lines[2] or len(lines[1]) != 64:
                raise RescueError("%s is not a key file" % args.key_file)
            return None, bytes.fromhex(lines[1].decode("ascii"))
        if args.password_file:
            with open(args.password_file, "rb") as f:
                line = f.read(1 << 20)
            return line[:-1] if line.endswith(b"\n") else line, None
    except ValueError:
        raise RescueError("%s is not a key file" % args.key_file) from None
    except OSError as e:
        raise RescueError("%s: %s" % (e.filename, e.strerror)) from None
    return None, None


def when(ns):
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ns // 10**9))
    except (OverflowError, ValueError, OSError):
        return str(ns)


def cmd_snapshots(repo, _args):
    for m in repo.manifests():
        tags = " ".join("#" + show(t) for t in m.tags)
        print(m.id.hex()[:16], when(m.begun), show(m.host), " ".join(map(show, m.paths)), tags)
    return 0


def cmd_ls(repo, args):
    name, _, path = args.snapshot.partition(":")
    root, _ = repo.lookup(repo.snapshot(name), path)
    stack = [(repo.entries(root), os.fsencode(path).rstrip(b"/"))]
    letters = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK)
    while stack:
        entry = next(stack[-1][0], None)
        if entry is None:
            stack.pop()
            continue
        here = stack[-1][1] + b"/" + entry.name
        mode, uid, gid, mtime = entry.attributes
        arrow = " -> " + show(entry.target) if entry.type == LINK else ""
        size = "%d,%d" % entry.device if entry.device else str(entry.size or 0)
        print(stat.filemode(letters[entry.type - 1] | mode), "%5d %5d %12s" % (uid, gid, size), when(mtime),
              show(here) + arrow)
        if entry.type == DIR:
            stack.append((repo.entries(entry.dir), here))
    return 0


def cmd_restore(repo, args):
    name, _, path = args.snapshot.partition(":")
    root, entry = repo.lookup(repo.snapshot(name), path)
    made = True
    try:
        os.mkdir(args.target, 0o700)
    except FileExistsError:
        made = False
    target = os.open(args.target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.listdir(target):
        raise RescueError("%s is not empty" % args.target)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # one for each level of directories
    os.umask(0o077)
    restorer = Restorer(repo, target, args.partial)
    restorer.run(root, entry if made else None)
    os.sync()
    print("restored %d files and directories, %d problems" % (restorer.done, restorer.problems))
    return 3 if restorer.problems else 0


def cmd_check(repo, _args):
    problems = Checker(repo).run()
    print("checked %d log entries, %d segments, %d packs, %d snapshots: %s" % (
        repo.log_end, len(repo.state.segments), len(repo.state.packs), len(repo.state.snapshots),
        "%d problems" % problems if problems else "all is well"))
    return 4 if problems else 0


def cmd_dump(repo, args):
    json.dump(dump(repo, args.name), sys.stdout, indent=1)
    print()
    return 0


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="rescue.py", description="Reads cairn repositories without cairn.")
    parser.add_argument("-r", "--repo", required=True, metavar="REPO", help="directory of the repository")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--key-file", metavar="F")
    secret.add_argument("--password-file", metavar="F", help="its bytes without one trailing newline")
    parser.add_argument("--ignore-index", action="store_true", help="use the footers of the packs instead")
    parser.add_argument("--no-verify", action="store_true", help="do not hash what was read (it stays authenticated)")
    parser.add_argument("--salvage", action="store_true", help="go on after damaged log entries, use all packs there are")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("snapshots", help="list the snapshots").set_defaults(run=cmd_snapshots)
    ls = commands.add_parser("ls", help="list files")
    ls.add_argument("snapshot", metavar="SNAPSHOT[:PATH]")
    ls.set_defaults(run=cmd_ls, index=True)
    restore = commands.add_parser("restore", help="write files into a new or empty directory")
    restore.add_argument("snapshot", metavar="SNAPSHOT[:PATH]")
    restore.add_argument("--target", required=True, metavar="DIR")
    restore.add_argument("--partial", action="store_true", help="keep damaged files, with zeros for what is lost")
    restore.set_defaults(run=cmd_restore, index=True)
    commands.add_parser("check", help="verify everything").set_defaults(run=cmd_check, log=False)
    one = commands.add_parser("dump", help="decode one object, e.g. log/0000000000000000")
    one.add_argument("name", metavar="NAME")
    one.set_defaults(run=cmd_dump, log=False)
    return parser.parse_args(argv)


def run(args):
    repo = Repository(args.repo, not args.no_verify, args.salvage)
    if not (args.command == "dump" and args.name.split("/")[0] in ("config", "keys")):
        repo.unlock(*read_secret(args))
    if getattr(args, "log", True):
        repo.load_log()
    if getattr(args, "index", False):
        repo.load_index(args.ignore_index)
    return args.run(repo, args)


def main(argv=None):
    try:
        return run(parse_arguments(argv))
    except RescueError as e:
        warn(str(e))
        return e.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as e:
        warn("%s: %s" % (e.filename, e.strerror))
        return 1


if __name__ == "__main__":
    sys.exit(main())
