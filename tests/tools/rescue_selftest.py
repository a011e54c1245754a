#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/rescue.py that need no cairn: primitives against published vectors, parsers against
bad input, and a small repository written here from docs/format.md, read and damaged."""
import io
import contextlib
import importlib.util
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("rescue", os.path.join(HERE, "..", "..", "tools", "rescue.py"))
rescue = importlib.util.module_from_spec(SPEC)
sys.modules["rescue"] = rescue
SPEC.loader.exec_module(rescue)


def missing(function):
    """True where a fallback's library is not on this machine."""
    try:
        function()
        return False
    except (rescue.RescueError, OSError, ImportError):
        return True


class Blake3Test(unittest.TestCase):
    """The official vectors: input byte i is i mod 251."""
    KEY = b"whats the Elvish word for friend"
    CONTEXT = "BLAKE3 2019-12-27 16:29:52 test vectors context"
    PLAIN = {
        0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        1023: "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
        1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        2048: "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
        102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"}

    @staticmethod
    def data(size):
        return (bytes(range(251)) * (size // 251 + 1))[:size]

    @staticmethod
    def pure(data, **mode):
        state = rescue._pure_hasher(**mode)
        state.update(data)
        return state.digest().hex()

    def test_plain(self):
        for size, expected in self.PLAIN.items():
            self.assertEqual(self.pure(self.data(size)), expected, size)
        self.assertEqual(self.pure(b"abc"), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")

    def test_keyed_and_derived(self):
        self.assertEqual(self.pure(b"", key=self.KEY),
                         "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26")
        self.assertEqual(self.pure(b"\0", key=self.KEY),
                         "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b")
        self.assertEqual(self.pure(b"", context=self.CONTEXT),
                         "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d")
        self.assertEqual(self.pure(b"\0", context=self.CONTEXT),
                         "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c")

    def test_pieces_and_batches_do_not_matter(self):
        for size in (1 << 20, (1 << 20) + 1, (2 << 20) + 1025, 3 << 20):
            data = self.data(size)
            state = rescue._pure_hasher(key=self.KEY)
            for at in range(0, size, 300001):
                state.update(data[at:at + 300001])
            whole = state.digest()
            self.assertEqual(whole.hex(), self.pure(data, key=self.KEY))
            self.assertEqual(whole, self.one_by_one(data), size)

    def one_by_one(self, data):
        """The tree as its definition says it, without lanes or batches."""
        state = rescue._pure_hasher(key=self.KEY)

        def tree(part, first, root):
            if len(part) <= 1024:
                return state._last_chunk(part, first, root)
            left = 1024
            while left * 2 < len(part):
                left *= 2
            words = struct.unpack("<16I", tree(part[:left], first, False) + tree(part[left:], first + left // 1024, False))
            flags = state.flags | rescue._PARENT | (rescue._ROOT if root else 0)
            return struct.pack("<8I", *rescue._compress(state.key, words, 0, 0, 64, flags, 0xFFFFFFFF, rescue._IV[:4]))
        return tree(data, 0, True)

    def test_large_counters(self):
        data, first = self.data(3072), (5 << 32) - 2
        state = rescue._pure_hasher()
        alone = b"".join(state._last_chunk(data[i * 1024:i * 1024 + 1024], first + i, False) for i in range(3))
        self.assertEqual(rescue._compress_lanes(data, 16, state.key, 0, rescue._START, rescue._END, first), alone)
        self.assertEqual(len({state._last_chunk(b"", n, False) for n in (0, 1 << 31, 1 << 32, 1 << 33)}), 4)

    def test_native_agrees_with_pure(self):
        for mode in ({}, {"key": self.KEY}, {"context": self.CONTEXT}):
            for size in (0, 1, 1024, 1025, 70000):
                state = rescue.hasher(**mode)
                state.update(self.data(size))
                self.assertEqual(bytes(state.digest()).hex(), self.pure(self.data(size), **mode))


class CipherTest(unittest.TestCase):
    def openers(self):
        found = [f() for f in (rescue._aead_library, rescue._aead_ctypes) if not missing(f)]
        if not found:
            self.skipTest("neither python3-cryptography nor libcrypto.so.3")
        return found

    def test_aes_gcm(self):
        """Cases 13 and 14 of the GCM specification."""
        sealed = bytes.fromhex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")
        for opener in self.openers():
            self.assertEqual(opener(1, bytes(32), bytes(12), sealed, b""), bytes(16))
            self.assertEqual(opener(1, bytes(32), bytes(12), bytes.fromhex("530f8afbc74536b9a963b4f1c4cb738b"), b""), b"")
            self.assertIsNone(opener(1, bytes(32), bytes(12), sealed[:-1] + b"\0", b""))
            self.assertIsNone(opener(1, bytes(32), bytes(12), sealed, b"x"))

    def test_chacha20_poly1305(self):
        """RFC 8439, 2.8.2."""
        sealed = bytes.fromhex(
            "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a"
            "9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de5"
            "76d26586cec64b61161ae10b594f09e26a7e902ecbd0600691")
        key, nonce = bytes(range(0x80, 0xA0)), bytes.fromhex("070000004041424344454647")
        aad = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
        for opener in self.openers():
            self.assertTrue(opener(2, key, nonce, sealed, aad).startswith(b"Ladies and Gentlemen of the class of '99"))
            self.assertIsNone(opener(2, key, nonce, sealed, aad[:-1]))

    def test_argon2id(self):
        """A vector of the reference implementation: t=2, m=64 MiB, p=1."""
        expected = "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"
        ran = 0
        for function in (rescue.argon2id, rescue._argon2id_ctypes):
            try:
                self.assertEqual(function(b"password", b"somesalt", 65536, 2, 1).hex(), expected)
                ran += 1
            except rescue.RescueError:
                pass
        if not ran:
            self.skipTest("neither python3-argon2 nor libargon2.so.1")


class ZstdTest(unittest.TestCase):
    RAW = bytes.fromhex("28b52ffd2005290000") + b"hello"  # single segment, 5 bytes, one raw block

    def openers(self):
        found = [rescue.zstd_open]
        if shutil.which("zstd"):
            found.append(lambda d, n: rescue.zstd_check(d, n) or rescue._zstd_command(d, n))
        return found

    def test_frames(self):
        for opener in self.openers():
            self.assertEqual(opener(self.RAW, 5), b"hello")
        if shutil.which("zstd"):
            text = b"cairn " * 100000
            packed = subprocess.run(["zstd", "-q", "-c", "--check"], input=text, stdout=subprocess.PIPE, check=True).stdout
            for opener in self.openers():
                self.assertEqual(opener(packed, len(text)), text)
                with self.assertRaises(rescue.Damage):
                    got = opener(packed, len(text) - 1)
                    if len(got) != len(text) - 1:
                        raise rescue.Damage("length")

    def test_refuses(self):
        for bad in (self.RAW + b"x", self.RAW + self.RAW, self.RAW[:-1], b"", b"\x50\x2a\x4d\x18\0\0\0\0" + self.RAW,
                    bytes.fromhex("28b52ffd2105290000") + b"hello",
                    bytes.fromhex("28b52ffd0070290000") + b"hello",  # window of 16 MiB
                    bytes.fromhex("28b52ffd20052f0000") + b"hello"):
            with self.assertRaises(rescue.Damage, msg=bad.hex()):
                rescue.zstd_open(bad, 5)
        with self.assertRaises(rescue.Damage):
            rescue.zstd_open(self.RAW, 6)

    def test_window(self):
        for byte, good in ((0x68, True), (0x69, False), (0x70, False)):
            frame = b"\x28\xb5\x2f\xfd\0" + bytes([byte]) + b"\x29\0\0hello"
            if good:
                rescue.zstd_check(frame, 5)
            else:
                with self.assertRaises(rescue.Damage):
                    rescue.zstd_check(frame, 5)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def svarint(value):
    return varint((value << 1) ^ (value >> 63))


def blob(value):
    return varint(len(value)) + value


def field(tag, value):
    return varint(tag) + blob(value)


class ParserTest(unittest.TestCase):
    def test_varints(self):
        for value in (0, 1, 127, 128, 300, 1 << 32, (1 << 64) - 1):
            r = rescue.Reader(varint(value), "test")
            self.assertEqual(r.varint(), value)
            r.end()
        for value in (0, -1, 1, -64, 64, 1 << 62, -(1 << 63), (1 << 63) - 1):
            self.assertEqual(rescue.Reader(svarint(value), "test").svarint(), value)
        for bad in (b"", b"\x80", b"\x80\0", b"\xff" * 9 + b"\2", b"\xff" * 9 + b"\x81\0", b"\xff" * 10 + b"\1"):
            with self.assertRaises(rescue.Damage, msg=bad.hex()):
                rescue.Reader(bad, "test").varint()

    ATTRIBUTES = field(1, varint(0o644) + varint(0) + varint(0) + svarint(-5) + varint(7))

    def test_names(self):
        for name in (b"", b".", b"..", b"a/b", b"/", b"a\0b", b"x" * 4096):
            with self.assertRaises(rescue.Damage, msg=name):
                rescue.Entry(b"\6" + blob(name) + self.ATTRIBUTES)
        entry = rescue.Entry(b"\6" + blob(b"\xff\n") + self.ATTRIBUTES + field(63, b"") + field(99, b"x"))
        self.assertEqual(entry.attributes.mtime, -5 * 10**9 + 7)
        self.assertEqual(entry.unknown, [63])

    def test_fields(self):
        for bad in (self.ATTRIBUTES * 2, field(2, b"\0") + self.ATTRIBUTES, b"", self.ATTRIBUTES,
                    self.ATTRIBUTES + field(2, b"\5"), self.ATTRIBUTES + field(2, b"\5") + field(4, b"1234"),
                    self.ATTRIBUTES + field(2, b"\0\0"), self.ATTRIBUTES + field(2, b"\0") + field(7, bytes(32))):
            with self.assertRaises(rescue.Damage, msg=bad.hex()):
                rescue.Entry(b"\1" + blob(b"f") + bad)

    def test_unknown_log_records(self):
        self.assertIsNone(rescue.parse_record(64, b"x"))
        for tag in (0, 17, 32, 63):
            with self.assertRaises(rescue.Unsupported):
                rescue.parse_record(tag, b"x")


class Writer:
    """Writes a small repository as docs/format.md says."""

    def __init__(self, path, aead):
        self.path, self.aead, self.count = path, aead, 0
        self.root = bytes(32) if aead == 255 else b"R" * 32
        self.packs, self.index = [], []
        os.makedirs(os.path.join(path, "log"))
        for folder in ("keys", "index", "packs"):
            os.makedirs(os.path.join(path, folder))
        self.config = self.header(1)
        self.put("config", self.config)
        self.before, self.number, self.checkpoint = bytes(32), 0, 0

    def header(self, kind):
        self.count += 1
        return struct.pack("<8sHHIQQQ16sIHH32s32x", rescue.MAGIC, kind, 1, 128, 0, 0, 0, b"I" * 16, 1, self.aead,
                           2 if self.aead == 255 else 1, bytes([self.count]) * 32)

    def put(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    def purpose(self, name):
        return rescue.blake3_derive("cairn 2026 format 1 " + name, self.root + b"I" * 16 + b"\1\0\0\0")

    def encrypt(self, key, nonce, text, aad):
        if self.aead == 255:
            return text + rescue.blake3_keyed(key, nonce + aad + text)[:16]
        from cryptography.hazmat.primitives.ciphers import aead as module
        return (module.AESGCM if self.aead == 1 else module.ChaCha20Poly1305)(key).encrypt(nonce, text, aad)

    def seal(self, purpose, header, domain, counter, text, codec=0, plain=None):
        key = rescue.blake3_keyed(self.purpose(purpose), header)
        aad = struct.pack("<IIQQ", domain, codec, counter, len(text) if plain is None else plain)
        return self.encrypt(key, struct.pack("<QI", counter, domain), text, aad)

    def slot(self, kind, secret):
        raw = self.header(2) + (struct.pack("<HHIII", 1, 1, 65536, 3, 1) if kind == 1 else struct.pack("<HHIII", 2, 0, 0, 0, 0))
        raw += b"S" * 32 + struct.pack("<q", 1)
        material = (rescue.argon2id(secret, b"S" * 32, 65536, 3, 1) if kind == 1 else secret) + raw
        self.assert_length(raw, 184)
        raw += rescue.blake3_derive("cairn 2026 format 1 slot commitment", material)
        wrap = rescue.blake3_derive("cairn 2026 format 1 slot wrap", material)
        raw += self.encrypt(wrap, bytes(12), self.root, b"") + b"\3\0abc"
        return self.named("keys/", raw)

    @staticmethod
    def assert_length(raw, size):
        if len(raw) != size:
            raise AssertionError(len(raw))

    def named(self, folder, raw):
        name = rescue.blake3_plain(raw)
        self.put((rescue.pack_path(name) if folder == "packs/" else folder + name.hex()), raw)
        return name

    def id_of(self, kind, content):
        if kind == 4:
            return rescue.blake3_keyed(self.purpose("metadata id"), content)
        return rescue.blake3_plain(content) if self.aead == 255 else rescue.blake3_keyed(self.purpose("data id"), content)

    def pack(self, kind, frames):
        """frames: lists of chunk contents; the first is compressed where zstd is here."""
        purpose, header = "metadata" if kind == 4 else "data", self.header(kind)
        body, table, chunks = bytearray(header), b"", []
        for number, contents in enumerate(frames):
            plain, codec = b"".join(contents), 0
            text = plain
            if number == 0 and shutil.which("zstd"):
                text = subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
                codec = 1
            sealed = self.seal(purpose, header, 0, number, text, codec, len(plain))
            table += struct.pack("<IIIB3x", len(body), len(sealed), len(plain), codec)
            body += sealed
            offset = 0
            for content in contents:
                chunks.append(self.id_of(kind, content) + struct.pack("<III", number, offset, len(content)))
                offset += len(content)
        stored = 16 + len(table) + 44 * len(chunks) + 16
        body += bytes(-(len(body) + stored + 32) % 4096)
        total = len(body) + stored + 32
        footer = struct.pack("<IIQ", len(frames), len(chunks), total) + table + b"".join(chunks)
        body += self.seal(purpose, header, 1, 0, footer)
        body += struct.pack("<8sQIIII", b"cairnpak", total, stored, len(frames), len(chunks), 0)
        name = self.named("packs/", bytes(body))
        self.packs.append((name, total, kind, table, chunks))
        return name

    def segment(self):
        packs, frames, rows = b"", b"", []
        for number, (name, total, kind, table, chunks) in enumerate(self.packs):
            packs += name + struct.pack("<QQIIB7x", total, len(frames) // 16, len(table) // 16, len(chunks), kind)
            frames += table
            rows += [c[:32] + struct.pack("<I", number) + c[32:] for c in chunks]
        body = b"cairnidx" + struct.pack("<IIQIIQQQ", 1, 0, 0, len(self.packs), 0, len(frames) // 16, len(rows), 0)
        body += packs + frames + b"".join(sorted(rows))
        header = self.header(6)
        raw = header + b"".join(self.seal("index", header, 3, n, body[at:at + 65536])
                                for n, at in enumerate(range(0, len(body), 65536)))
        return self.named("index/", raw), len(raw)

    def log(self, records):
        header, n = self.header(7), self.number
        plain = struct.pack("<Qq32sQ", n, 1, self.before, self.checkpoint) + blob(b"selftest") + records
        raw = header + self.seal("log", header, 2, n, plain)
        self.put("log/%016x" % n, raw)
        self.before, self.number = rescue.blake3_plain(raw), n + 1


def attributes(mode, mtime=1000):
    return field(1, varint(mode) + varint(os.getuid()) + varint(os.getgid()) + svarint(mtime) + varint(5))


BIG, SMALL = bytes(range(256)) * 400, b"small file" * 20


def write_repository(path, aead, hostile=b"", spoil=None):
    """A repository with one snapshot of every sort of file; returns the snapshot's id.
    hostile: one more encoded entry; spoil(writer): called before the last log entry."""
    w = Writer(path, aead)
    slots = [] if aead == 255 else [w.slot(2, b"K" * 32)]
    w.log(field(1, rescue.blake3_plain(w.config) + struct.pack("<HHIIIBB6x", 2, 0, 1 << 20, 1 << 18, 1 << 22, 3, 0))
          + b"".join(field(9, b"\1" + s) for s in slots))
    w.pack(3, [[BIG, SMALL], [b"second frame"]])
    big, small = w.id_of(3, BIG), w.id_of(3, SMALL)
    content_list = varint(len(BIG) << 1) + big + varint(1 << 20 << 1 | 1)
    xattrs = blob(b"user.cairn") + blob(b"large")
    size = len(BIG) + (1 << 20)

    def entry(kind, name, *parts):
        return blob(bytes([kind]) + blob(name) + b"".join(parts))
    linked = (attributes(0o600), field(2, varint(len(SMALL))), field(3, b"\0" + varint(len(SMALL) << 1) + small), field(12, b"\1"))
    inner = b"\1" + entry(1, b"hard", *linked)
    leaf1 = b"\1" + entry(1, b"big", attributes(0o640), field(2, varint(size)), field(
        3, b"\1" + varint(size) + w.id_of(4, content_list)), field(9, w.id_of(4, xattrs)))
    leaf1 += entry(2, b"dir", attributes(0o555), field(7, w.id_of(4, inner)))
    leaf2 = b"\1" + entry(1, b"empty", attributes(0o644), field(2, b"\0"))
    leaf2 += entry(6, b"fifo", attributes(0o622)) + entry(1, b"hard", *linked)
    leaf2 += entry(1, b"inline", attributes(0o444), field(2, b"\3"), field(4, b"abc"))
    leaf2 += entry(3, b"link", attributes(0o777), field(5, b"/nowhere/at all"))
    leaf2 += hostile
    top = b"\2" + blob(b"big") + w.id_of(4, leaf1) + varint(2) + blob(b"empty") + w.id_of(4, leaf2) + varint(
        5 + (1 if hostile else 0))
    w.pack(4, [[content_list, xattrs, inner, leaf1], [leaf2, top]])
    manifest = field(1, svarint(10**18)) + field(2, svarint(10**18 + 1)) + field(3, b"host") + field(5, b"/") + field(
        8, w.id_of(4, top)) + field(9, b"\2" + attributes(0o750, 77))
    name, length = w.segment()
    w.log(b"".join(field(2, p[0] + struct.pack("<QBB", p[1], p[2], 3)) for p in w.packs)
          + field(3, name + struct.pack("<Q", length)) + field(5, manifest) + field(200, b"skip me"))
    if spoil:
        spoil(w)
    w.log(field(14, bytes(16)))
    return rescue.blake3_keyed(w.purpose("snapshot id"), manifest).hex()


class RepositoryTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.repo = os.path.join(self.work, "repo")
        self.key = os.path.join(self.work, "key")
        with open(self.key, "wb") as f:
            f.write(b"cairn key file 1\n" + (b"K" * 32).hex().encode() + b"\n")

    def tearDown(self):
        shutil.rmtree(self.work)

    def run_rescue(self, *args):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = rescue.main(["-r", self.repo, "--key-file", self.key] + list(args))
        return status, out.getvalue(), err.getvalue()

    def compare(self, target):
        def at(name):
            return os.path.join(target, name)
        self.assertEqual(sorted(os.listdir(target)), ["big", "dir", "empty", "fifo", "hard", "inline", "link"])
        with open(at("big"), "rb") as f:
            self.assertEqual(f.read(), BIG + bytes(1 << 20))
        status = os.stat(at("big"))
        self.assertLess(status.st_blocks * 512, 1 << 20)
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime_ns), (0o640, 1000 * 10**9 + 5))
        with open(at("hard"), "rb") as f:
            self.assertEqual(f.read(), SMALL)
        self.assertEqual(os.stat(at("hard")).st_ino, os.stat(at("dir/hard")).st_ino)
        self.assertEqual(os.readlink(at("link")), "/nowhere/at all")
        self.assertTrue(stat.S_ISFIFO(os.stat(at("fifo")).st_mode))
        self.assertEqual(stat.S_IMODE(os.stat(at("dir")).st_mode), 0o555)
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o750)
        self.assertEqual(os.stat(target).st_mtime, 77 + 5e-9)

    def xattr_works(self):
        try:
            os.setxattr(self.work, "user.try", b"x")
            return True
        except OSError:
            return False

    def test_every_cipher(self):
        for aead in (1, 2, 255):
            shutil.rmtree(self.repo, ignore_errors=True)
            snapshot = write_repository(self.repo, aead)
            status, out, err = self.run_rescue("check")
            self.assertEqual((status, err), (0, ""), out)
            self.assertIn(snapshot[:16], self.run_rescue("snapshots")[1])
            self.assertIn("/dir/hard", self.run_rescue("ls", "latest")[1])
            target = os.path.join(self.work, "out%d" % aead)
            status, out, err = self.run_rescue("restore", snapshot[:7], "--target", target)
            if self.xattr_works():
                self.assertEqual((status, err), (0, ""))
                self.assertEqual(os.getxattr(os.path.join(target, "big"), "user.cairn"), b"large")
            self.compare(target)
            os.chmod(os.path.join(target, "dir"), 0o755)
            for folder, _, files in os.walk(self.repo):
                for name in files:
                    one = os.path.relpath(os.path.join(folder, name), self.repo)
                    self.assertEqual(self.run_rescue("dump", one)[0], 0, one)

    def test_password(self):
        w = Writer(self.repo, 1)
        w.slot(1, b"correct horse")
        with open(self.key, "wb") as f:
            f.write(b"correct horse\n")
        repo = rescue.Repository(self.repo)
        repo.unlock(password=b"correct horse")
        self.assertEqual(repo.root_key, b"R" * 32)
        with self.assertRaises(rescue.WrongPassword):
            rescue.Repository(self.repo).unlock(password=b"wrong")

    def test_without_index(self):
        write_repository(self.repo, 1)
        index = os.path.join(self.repo, "index")
        os.unlink(os.path.join(index, os.listdir(index)[0]))
        target = os.path.join(self.work, "out")
        self.assertEqual(self.run_rescue("restore", "latest", "--target", target)[0], 4)
        self.run_rescue("--ignore-index", "restore", "latest", "--target", os.path.join(self.work, "out2"))
        self.compare(os.path.join(self.work, "out2"))
        os.chmod(os.path.join(self.work, "out2/dir"), 0o755)

    def test_hostile_name(self):
        body = b"\6" + blob(b"../escaped") + attributes(0o644)
        write_repository(self.repo, 1, blob(body))
        target = os.path.join(self.work, "a", "b")
        os.makedirs(os.path.dirname(target))
        self.assertEqual(self.run_rescue("restore", "latest", "--target", target)[0], 3)
        self.assertEqual(self.run_rescue("check")[0], 4)
        self.assertEqual(os.listdir(os.path.dirname(target)), ["b"])
        os.chmod(os.path.join(target, "dir"), 0o755)

    def test_directory_out_of_order(self):
        write_repository(self.repo, 1, blob(b"\6" + blob(b"fifp") + attributes(0o644)))
        status, _, err = self.run_rescue("check")
        self.assertEqual(status, 4)
        self.assertIn("out of order", err)

    def test_another_number_of_entries(self):
        more = b"".join(blob(b"\6" + blob(n) + attributes(0o644)) for n in (b"x", b"y"))
        write_repository(self.repo, 1, more)
        self.assertIn("another number of entries", self.run_rescue("check")[2])

    def test_log_chain(self):
        def forked(w):
            w.before = bytes(32)

        def wrong_checkpoint(w):
            w.checkpoint = 1
        for spoil, text in (forked, "does not follow"), (wrong_checkpoint, "names the wrong checkpoint"):
            shutil.rmtree(self.repo, ignore_errors=True)
            write_repository(self.repo, 1, spoil=spoil)
            for command in (["check"], ["snapshots"]):
                status, _, err = self.run_rescue(*command)
                self.assertEqual(status, 4)
                self.assertIn(text, err)

    def test_checkpoint(self):
        """A checkpoint replaces the state; one that forgets something is reported."""
        write_repository(self.repo, 1, spoil=lambda w: w.log(field(10, b"") + field(
            1, rescue.blake3_plain(w.config) + struct.pack("<HHIIIBB6x", 2, 0, 1 << 20, 1 << 18, 1 << 22, 3, 0)))
            or setattr(w, "checkpoint", 2))
        status, _, err = self.run_rescue("check")
        self.assertEqual(status, 4)
        self.assertIn("is not the state before it", err)

    def test_kinds_of_chunks_are_apart(self):
        write_repository(self.repo, 1)
        repo = rescue.Repository(self.repo)
        repo.unlock(key=b"K" * 32)
        repo.load_log()
        repo.load_index()
        name = repo.chunk_id(rescue.DATA, BIG)
        self.assertEqual(repo.chunk(name, rescue.DATA), BIG)
        repo.verify = False
        with self.assertRaises(rescue.Damage):
            repo.chunk(name, rescue.META)

    def test_existing_files_are_left_alone(self):
        path = os.path.join(self.work, "there")
        with open(path, "wb") as f:
            f.write(b"mine")
        entry = rescue.Entry(b"\1" + blob(b"there") + attributes(0o644) + field(2, b"\0"))
        fd = os.open(self.work, os.O_RDONLY)
        try:
            with self.assertRaises(FileExistsError):
                rescue.Restorer(None, fd, False).make_file(fd, entry, (b"there",))
        finally:
            os.close(fd)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"mine")

    def test_pack_layout(self):
        frame, row = rescue.Frame(128, 26, 10, 0), (b"", 0, 0, 10)
        rescue.check_layout("p", [frame], [row], 154)
        for table, rows, start in (([frame], [row], 153), ([frame], [row], 154 + 4096), ([frame], [], 154),
                                   ([frame], [(b"", 0, 0, 9)], 154), ([frame], [(b"", 0, 0, 11)], 154),
                                   ([frame], [(b"", 0, 1, 9)], 154), ([frame], [row, row], 154), ([], [row], 128),
                                   ([frame._replace(offset=129)], [row], 155)):
            with self.assertRaises(rescue.Damage):
                rescue.check_layout("p", table, rows, start)

    def test_padding(self):
        write_repository(self.repo, 1)
        folder = os.path.join(self.repo, "packs")
        path = next(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs)
        with open(path, "r+b") as f:
            data = f.read()
            f.seek(data.index(bytes(64), 128) + 32)
            f.write(b"x")
        status, _, err = self.run_rescue("check")
        self.assertEqual(status, 4)
        self.assertIn("its BLAKE3 is not its name", err)
        self.assertIn("the padding is not zero", err)

    def test_refuses_a_filled_target(self):
        write_repository(self.repo, 1)
        self.assertEqual(self.run_rescue("restore", "latest", "--target", self.work)[0], 1)

    def test_wrong_key_and_no_repository(self):
        write_repository(self.repo, 1)
        with open(self.key, "wb") as f:
            f.write(b"cairn key file 1\n" + b"00" * 32 + b"\n")
        self.assertEqual(self.run_rescue("snapshots")[0], 12)
        self.repo = self.work
        self.assertEqual(self.run_rescue("snapshots")[0], 10)

    def test_every_damage_is_seen(self):
        """One bit in many places of every object, and every object cut or missing."""
        write_repository(self.repo, 2)
        for folder, _, files in os.walk(self.repo):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    good = f.read()
                places = set(range(0, len(good), max(1, len(good) // 5))) | {11, 50, 64, 130, len(good) - 1, len(good) - 40}
                for bad in [good[:p] + bytes([good[p] ^ 16]) + good[p + 1:] for p in places if p < len(good)] + [
                        good[:-1], good[:-4096], b"", good + b"\0"]:
                    with open(path, "wb") as f:
                        f.write(bad)
                    if bad != good:
                        self.assertNotEqual(self.run_rescue("check")[0], 0, path)
                with open(path, "wb") as f:
                    f.write(good)
        self.assertEqual(self.run_rescue("check")[0], 0)

    def test_log_gap_and_salvage(self):
        write_repository(self.repo, 1)
        os.unlink(os.path.join(self.repo, "log/%016x" % 0))
        self.assertEqual(self.run_rescue("snapshots")[0], 4)
        status, out, _ = self.run_rescue("--salvage", "snapshots")
        self.assertEqual(status, 0)
        self.assertIn("host", out)

    def test_partial(self):
        write_repository(self.repo, 255)
        data = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(self.repo, "packs")) for f in fs]
        for path in data:
            with open(path, "r+b") as f:
                if f.read(10)[8] == 3:
                    f.seek(200)
                    f.write(b"damaged")
        for option, names in ((), 4), (("--partial",), 6):
            target = os.path.join(self.work, "out%d" % names)
            self.assertEqual(self.run_rescue("restore", "latest", "--target", target, *option)[0], 3)
            self.assertEqual(len([n for n in os.listdir(target) if n != "dir"]), names)
            os.chmod(os.path.join(target, "dir"), 0o755)
        self.assertEqual(os.path.getsize(os.path.join(target, "big")), len(BIG) + (1 << 20))


if __name__ == "__main__":
    unittest.main()
