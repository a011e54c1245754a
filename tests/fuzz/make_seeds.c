/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes seeds for the fuzz targets below a directory: `make_seeds CORPUS` makes CORPUS/pack/one
 * and so on. The valid ones come from the library's own encoders; the bad ones ("bad-...") are
 * valid ones with one rule broken, and are named after it. What fuzzing found stands beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/codec.h"
#include "crypto/slot.h"
#include "snapshot/entry.h"
#include "snapshot/manifest.h"
#include "store/log.h"
#include "store/run.h"

static const char *corpus;

/* Writes one seed and empties the buffer. */
static void save(const char *target, const char *name, struct cairn_buf *buf)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", corpus, target);
    (void)mkdir(path, 0777);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", corpus, target, name);
    FILE *file = fopen(path, "wb");
    if (buf->failed || file == NULL || fwrite(buf->data, 1, buf->len, file) != buf->len ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    cairn_buf_clear(buf);
}

/* Saves a copy of the buffer in which the byte at `at` is `value`. */
static void save_changed(const char *target, const char *name, const struct cairn_buf *buf,
                         size_t at, uint8_t value)
{
    struct cairn_buf copy = CAIRN_BUF_INIT;
    cairn_buf_put(&copy, buf->data, buf->len);
    copy.data[at] = value;
    save(target, name, &copy);
    cairn_buf_release(&copy);
}

static struct cairn_id id_of(uint8_t first)
{
    struct cairn_id id = {{first}};
    return id;
}

static void seed_header(void)
{
    static const struct cairn_identity id = {
        .epoch = 1, .aead = CAIRN_AEAD_NONE, .hash = CAIRN_HASH_PLAIN};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    for (int type = CAIRN_OBJECT_CONFIG; type <= CAIRN_OBJECT_LOG_ENTRY; type++) {
        char name[32];
        uint8_t header[CAIRN_HEADER_BYTES];
        if (cairn_header_make(header, type, &id, NULL) != CAIRN_OK)
            exit(1);
        memset(header + 64, type, 32); /* the salt: the same in every run */
        cairn_buf_put(&buf, header, sizeof(header));
        if (type == CAIRN_OBJECT_CONFIG) {
            save_changed("header", "bad-magic", &buf, 5, 0);
            save_changed("header", "bad-version", &buf, 10, 2);
            save_changed("header", "bad-length", &buf, 12, 129);
            save_changed("header", "bad-incompatible-bit", &buf, 32, 1);
            save_changed("header", "bad-cipher", &buf, 60, 3);
            save_changed("header", "bad-hash", &buf, 62, 1);
            save_changed("header", "bad-signer", &buf, 96, 1);
            save_changed("header", "bad-reserved", &buf, 127, 1);
        }
        (void)snprintf(name, sizeof(name), "type-%d", type);
        save("header", name, &buf);
    }
    cairn_buf_release(&buf);
}

/* Three frames with 1, 2 and 3 chunks. */
static struct cairn_pack_contents pack_contents(void)
{
    struct cairn_pack_contents c = {0};
    uint32_t offset = CAIRN_HEADER_BYTES;
    for (uint32_t f = 0; f < 3; f++) {
        const struct cairn_frame frame = {offset, 100 * (f + 1) + (f == 1 ? 8 : 16), 100 * (f + 1),
                                          f == 1};
        offset += frame.stored_len;
        (void)cairn_pack_contents_add_frame(&c, &frame, NULL);
        for (uint32_t i = 0; i <= f; i++) {
            const struct cairn_pack_chunk chunk = {id_of((uint8_t)(16 * f + i)), f, 100 * i, 100};
            (void)cairn_pack_contents_add_chunk(&c, &chunk, NULL);
        }
    }
    c.length = CAIRN_PACK_ALIGN;
    return c;
}

static void put_pack(struct cairn_buf *buf, const struct cairn_pack_contents *contents)
{
    uint8_t trailer[CAIRN_PACK_TRAILER_BYTES];
    cairn_pack_footer_encode(contents, buf);
    cairn_pack_trailer_encode(trailer, contents);
    cairn_buf_put(buf, trailer, sizeof(trailer));
}

static void seed_pack(void)
{
    enum { FRAMES_AT = 16, CHUNKS_AT = 16 + 3 * 16 };
    struct cairn_pack_contents c = pack_contents();
    struct cairn_buf buf = CAIRN_BUF_INIT;
    put_pack(&buf, &c);
    const size_t trailer = buf.len - CAIRN_PACK_TRAILER_BYTES;
    save_changed("pack", "bad-trailer-magic", &buf, trailer, 'C');
    save_changed("pack", "bad-trailer-reserved", &buf, trailer + 28, 1);
    save_changed("pack", "bad-footer-length", &buf, trailer + 16, 0);
    save_changed("pack", "bad-pack-length", &buf, trailer + 8, 1);
    save_changed("pack", "bad-frame-count", &buf, 0, 4);
    save_changed("pack", "bad-frame-offset", &buf, FRAMES_AT + 16, 0);
    save_changed("pack", "bad-frame-codec", &buf, FRAMES_AT + 12, 2);
    save_changed("pack", "bad-frame-reserved", &buf, FRAMES_AT + 15, 1);
    save_changed("pack", "bad-raw-frame-length", &buf, FRAMES_AT + 8, 99);
    save_changed("pack", "bad-chunk-frame", &buf, CHUNKS_AT + 44 + 32, 2);
    save_changed("pack", "bad-chunk-offset", &buf, CHUNKS_AT + 44 + 36, 1);
    save_changed("pack", "bad-chunk-length", &buf, CHUNKS_AT + 44 + 40, 0);
    save("pack", "three-frames", &buf);
    c.length = 2 * (uint64_t)CAIRN_PACK_ALIGN; /* more zero bytes than there may be */
    put_pack(&buf, &c);
    save("pack", "bad-gap", &buf);
    cairn_pack_contents_release(&c);
    cairn_buf_release(&buf);
}

static void seed_run(void)
{
    struct cairn_pack_contents c = pack_contents();
    const struct cairn_run_source sources[] = {{id_of(1), CAIRN_OBJECT_DATA_PACK, &c},
                                               {id_of(2), CAIRN_OBJECT_METADATA_PACK, &c}};
    const struct cairn_id superseded[] = {id_of(3), id_of(4)};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    if (cairn_run_build(sources, 2, superseded, 2, &buf, NULL) != CAIRN_OK)
        exit(1);
    const size_t packs = CAIRN_RUN_HEADER_BYTES, frames = packs + 2 * 64 + 2 * 32;
    const size_t chunks = frames + 6 * 16;
    save_changed("run", "bad-magic", &buf, 0, 'C');
    save_changed("run", "bad-version", &buf, 8, 2);
    save_changed("run", "bad-pack-count", &buf, 24, 3);
    save_changed("run", "bad-frame-count", &buf, 39, 0x80);
    save_changed("run", "bad-reserved", &buf, 48, 1);
    save_changed("run", "bad-first-frame", &buf, packs + 40, 1);
    save_changed("run", "bad-pack-type", &buf, packs + 56, 6);
    save_changed("run", "bad-pack-reserved", &buf, packs + 63, 1);
    save_changed("run", "bad-frame-length", &buf, frames + 4, 0);
    save_changed("run", "bad-chunk-order", &buf, chunks, 0xff);
    save_changed("run", "bad-chunk-pack", &buf, chunks + 32, 2);
    save_changed("run", "bad-chunk-frame", &buf, chunks + 36, 9);
    save_changed("run", "bad-chunk-length", &buf, chunks + 46, 1);
    save("run", "two-packs", &buf);
    if (cairn_run_build(NULL, 0, NULL, 0, &buf, NULL) != CAIRN_OK)
        exit(1);
    save("run", "empty", &buf);
    cairn_pack_contents_release(&c);
    cairn_buf_release(&buf);
}

static struct cairn_slice text(const char *string)
{
    return (struct cairn_slice){(const uint8_t *)string, strlen(string)};
}

/* An entry with the fields that its type needs. */
static struct cairn_entry entry_of(int type, const char *name)
{
    struct cairn_entry e = {.type = type, .name = text(name), .mode = 0644, .mtime = {-5, 7}};
    if (type == CAIRN_ENTRY_FILE) {
        e.size = 5;
        e.has_inline = true;
        e.inline_data = text("hello");
    } else if (type == CAIRN_ENTRY_SYMLINK) {
        e.link = text("../target");
    } else if (type == CAIRN_ENTRY_BLOCK || type == CAIRN_ENTRY_CHARACTER) {
        e.rdev_major = 8;
        e.rdev_minor = 70000;
    }
    e.has_directory = type == CAIRN_ENTRY_DIRECTORY;
    return e;
}

/* A leaf with an entry of every type, names ascending from first. */
static void put_entries(struct cairn_buf *buf, char first)
{
    struct cairn_buf xattrs = CAIRN_BUF_INIT;
    cairn_xattr_encode(&xattrs, "user.a", 6, "value", 5);
    cairn_xattr_encode(&xattrs, "user.b", 6, "", 0);
    for (int type = CAIRN_ENTRY_FILE; type <= CAIRN_ENTRY_SOCKET; type++) {
        const char name[] = {(char)(first + type), 'x', '\0'};
        struct cairn_entry e = entry_of(type, name);
        e.hardlink_group = type == CAIRN_ENTRY_FIFO ? 9 : 0;
        e.has_btime = e.has_atime = e.has_flags = e.has_project = type % 2;
        if (type == CAIRN_ENTRY_CHARACTER)
            e.xattrs = (struct cairn_slice){xattrs.data, xattrs.len};
        e.has_xattrs_ref = type == CAIRN_ENTRY_SOCKET;
        cairn_entry_encode(&e, buf);
    }
    cairn_buf_release(&xattrs);
}

static void seed_entry(void)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
    } bad[] = {
#define BAD(name, literal) {name, literal, sizeof(literal) - 1}
        BAD("bad-slash", "\x0d\x06\x03"
                         "a/b\x01\x06\xa4\x03\0\0\0\0"),
        BAD("bad-two-dots", "\x0c\x06\x02..\x01\x06\xa4\x03\0\0\0\0"),
        BAD("bad-no-attributes", "\x03\x06\x01x"),
        BAD("bad-tag-order", "\x0e\x01\x01x\x02\x01\0\x01\x06\xa4\x03\0\0\0\0"),
        BAD("bad-length", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x06"),
        BAD("bad-varint", "\x8b\0\x06\x01x\x01\x06\xa4\x03\0\0\0\0"),
        BAD("xattrs", "\6user.a\5value\6user.b\0"),
        BAD("bad-xattr-no-name", "\0\5value"),
    };
    struct cairn_buf buf = CAIRN_BUF_INIT;
    put_entries(&buf, 'a');
    save("entry", "every-type", &buf);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cairn_buf_put(&buf, bad[i].bytes, bad[i].len);
        save("entry", bad[i].name, &buf);
    }
    struct cairn_entry e = entry_of(CAIRN_ENTRY_FILE, "content");
    e.has_inline = false;
    e.has_content = true;
    e.content = text("\x0b");
    cairn_entry_encode(&e, &buf);
    save("entry", "hole", &buf);
    cairn_buf_release(&buf);
}

/* Appends a piece (pieces.h) and empties it. */
static void put_piece(struct cairn_buf *buf, struct cairn_buf *piece)
{
    cairn_buf_put_u16(buf, (uint16_t)piece->len);
    cairn_buf_put(buf, piece->data, piece->len);
    cairn_buf_clear(piece);
}

static void put_item(struct cairn_buf *piece, const char *first, uint8_t id, uint64_t entries)
{
    const struct cairn_id child = id_of(id);
    cairn_buf_put_bytes(piece, first, strlen(first));
    cairn_buf_put(piece, child.bytes, 32);
    cairn_buf_put_varint(piece, entries);
}

/* An inner chunk over an inner chunk and a leaf; what the items say of the last leaf may lie. */
static void save_tree(const char *name, const char *first, uint8_t id, uint64_t entries)
{
    struct cairn_buf buf = CAIRN_BUF_INIT, piece = CAIRN_BUF_INIT;
    cairn_buf_put_u8(&piece, 2);
    put_item(&piece, "Bx", 1, 14);
    put_item(&piece, first, id, entries);
    put_piece(&buf, &piece);
    cairn_buf_put_u8(&piece, 2);
    put_item(&piece, "Bx", 2, 7);
    put_item(&piece, "Rx", 3, 7);
    put_piece(&buf, &piece);
    for (const char *c = "AQa"; *c; c++) {
        cairn_buf_put_u8(&piece, 1);
        put_entries(&piece, *c);
        put_piece(&buf, &piece);
    }
    save("tree", name, &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&piece);
}

static void seed_tree(void)
{
    struct cairn_buf buf = CAIRN_BUF_INIT, piece = CAIRN_BUF_INIT;
    save_tree("three-leaves", "bx", 4, 7);
    save_tree("bad-first-name", "ax", 4, 7);
    save_tree("bad-order", "Ax", 4, 7);
    save_tree("bad-count", "bx", 4, 8);
    save_tree("bad-circle", "bx", 0, 7);
    save_tree("bad-absent", "bx", 9, 7);
    cairn_buf_put_u8(&piece, 1);
    put_piece(&buf, &piece);
    save("tree", "empty", &buf);
    cairn_buf_put_u8(&piece, 3);
    put_piece(&buf, &piece);
    save("tree", "bad-kind", &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&piece);
}

/* Two lists of three extents, one a hole; level 1. */
static void save_content(const char *name, uint64_t size, uint64_t first_len, uint8_t second_id)
{
    struct cairn_buf buf = CAIRN_BUF_INIT, piece = CAIRN_BUF_INIT;
    const struct cairn_id first = id_of(1), second = id_of(second_id);
    cairn_buf_put_u8(&buf, 1);
    cairn_buf_put_u64(&buf, size << 1);
    cairn_buf_put_varint(&piece, first_len);
    cairn_buf_put(&piece, first.bytes, 32);
    cairn_buf_put_varint(&piece, 70000);
    cairn_buf_put(&piece, second.bytes, 32);
    put_piece(&buf, &piece);
    for (int list = 0; list < 2; list++) {
        cairn_buf_put_varint(&piece, 10000 << 1);
        cairn_buf_put_zero(&piece, 32);
        cairn_buf_put_varint(&piece, 50000 << 1 | 1);
        cairn_buf_put_varint(&piece, 10000 << 1);
        cairn_buf_put_zero(&piece, 32);
        put_piece(&buf, &piece);
    }
    save("content", name, &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&piece);
}

static void seed_content(void)
{
    save_content("two-lists", 140000, 70000, 2);
    save_content("bad-size", 140001, 70000, 2);
    save_content("bad-list-length", 140001, 70001, 2);
    save_content("bad-list-in-itself", 140000, 70000, 0);
    save_content("bad-empty-list", 140000, 0, 2);
}

static void seed_changes(void)
{
    static const char node[] = "\1\5"
                               "\1\7\x02\x09"               /* trusted */
                               "\x09\7\x02\x09\6"           /* on another device */
                               "\2\x07\1\0\6\1\6\1\7\2\x09" /* a child in place */
                               "\4\x07\1\0"; /* a child in a piece, whose id follows */
    const struct cairn_id two = id_of(2), zero = id_of(0);
    struct cairn_buf buf = CAIRN_BUF_INIT, piece = CAIRN_BUF_INIT;
    for (int bad = 0; bad < 2; bad++) {
        cairn_buf_put_u8(&piece, 2);
        for (uint8_t i = 1; i < 3; i++) {
            const struct cairn_id id = id_of(bad && i == 2 ? 0 : i);
            cairn_buf_put(&piece, id.bytes, 32);
        }
        put_piece(&buf, &piece);
        cairn_buf_put(&piece, node, sizeof(node) - 1);
        cairn_buf_put(&piece, bad ? zero.bytes : two.bytes, 32);
        put_piece(&buf, &piece);
        cairn_buf_put(&piece, node, 6);
        put_piece(&buf, &piece);
        save("changes", bad ? "bad-parts-in-parts" : "parts", &buf);
    }
    cairn_buf_put(&piece, "\1\5\6\7\2\x09\2\1\6", 9);
    put_piece(&buf, &piece);
    save("changes", "bad-two-children", &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&piece);
}

static void put_manifest(struct cairn_buf *out)
{
    struct cairn_manifest m = {.begun_ns = -1,
                               .ended_ns = INT64_MAX,
                               .host = strdup("host"),
                               .user = strdup("user"),
                               .program = strdup("cairn"),
                               .has_parent = true,
                               .has_changes = true,
                               .files = 3,
                               .bytes = UINT64_MAX,
                               .has_problem_list = true};
    struct cairn_entry root = entry_of(CAIRN_ENTRY_DIRECTORY, "");
    (void)cairn_strings_add(&m.paths, "/a", 2, NULL);
    (void)cairn_strings_add(&m.paths, "/b", 2, NULL);
    (void)cairn_strings_add(&m.tags, "tag", 3, NULL);
    (void)cairn_strings_add(&m.options, "with-atime", 10, NULL);
    cairn_buf_put_u8(&m.root_fields, CAIRN_ENTRY_DIRECTORY);
    cairn_entry_encode_fields(&root, false, &m.root_fields);
    cairn_manifest_encode(&m, out);
    cairn_manifest_release(&m);
}

static void seed_manifest(void)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    put_manifest(&buf);
    save_changed("manifest", "bad-first-tag", &buf, 0, 3);
    save_changed("manifest", "bad-time", &buf, 1, 2);
    buf.len -= 1;
    save("manifest", "bad-end", &buf);
    put_manifest(&buf);
    cairn_buf_put(&buf, "\x0f\0", 2);
    save("manifest", "bad-unknown-tag", &buf);
    put_manifest(&buf);
    save("manifest", "full", &buf);
    cairn_buf_release(&buf);
}

/* The plain body of a log entry with these records, as a piece. */
static void put_log_entry(struct cairn_buf *buf, const struct cairn_buf *records)
{
    struct cairn_buf body = CAIRN_BUF_INIT;
    cairn_buf_put_zero(&body, 56);
    cairn_buf_put_bytes(&body, "cairn", 5);
    cairn_buf_put(&body, records->data, records->len);
    put_piece(buf, &body);
    cairn_buf_release(&body);
}

static void put_genesis(struct cairn_buf *records)
{
    const struct cairn_genesis genesis = {id_of(1), CAIRN_CHUNKER_DYNAMIC,  1 << 20, 1 << 18,
                                          4 << 20,  CAIRN_LEVEL_FILESYSTEM, 0};
    cairn_log_put_genesis(records, &genesis);
}

/* One record of every kind. */
static void put_records(struct cairn_buf *records)
{
    const struct cairn_log_pack pack = {.name = id_of(5),
                                        .length = 4096,
                                        .type = CAIRN_OBJECT_DATA_PACK,
                                        .level = CAIRN_LEVEL_NONE};
    const struct cairn_log_segment segment = {.name = id_of(6), .length = 500};
    const struct cairn_id id = id_of(7), other = id_of(8);
    uint8_t key[33] = {CAIRN_SLOT_ADDED, 7};
    cairn_log_put_bytes(records, CAIRN_LOG_BOOT, "0123456789abcdef", 16);
    cairn_log_put_pack(records, &pack);
    cairn_log_put_level(records, CAIRN_LEVEL_NONE);
    cairn_log_put_segment(records, &segment);
    cairn_log_put_bytes(records, CAIRN_LOG_SNAPSHOT, "manifest", 8);
    cairn_log_put_id(records, CAIRN_LOG_FORGET, &id);
    cairn_log_put_id(records, CAIRN_LOG_SEGMENT_SUPERSEDED, &id);
    cairn_log_put_id(records, CAIRN_LOG_CONDEMN, &id);
    cairn_log_put_id(records, CAIRN_LOG_CONDEMN, &other);
    cairn_log_put_id(records, CAIRN_LOG_PACK_REMOVED, &other);
    cairn_log_put_bytes(records, CAIRN_LOG_KEY, key, sizeof(key));
    key[1] = 8;
    cairn_log_put_bytes(records, CAIRN_LOG_KEY, key, sizeof(key));
    key[0] = CAIRN_SLOT_REMOVED;
    cairn_log_put_bytes(records, CAIRN_LOG_KEY, key, sizeof(key));
    cairn_log_put_bytes(records, CAIRN_LOG_SETTING, "\1\1\4", 3);
    cairn_log_put_pack_level(records, &id, CAIRN_LEVEL_FILE);
    cairn_log_put_bytes(records, 64, "skipped", 7);
}

/* Two entries: genesis, then all kinds of records and one more. */
static void save_log(const char *name, int tag, const void *value, size_t len)
{
    struct cairn_buf buf = CAIRN_BUF_INIT, records = CAIRN_BUF_INIT;
    put_genesis(&records);
    put_log_entry(&buf, &records);
    cairn_buf_clear(&records);
    put_records(&records);
    cairn_log_put_bytes(&records, tag, value, len);
    put_log_entry(&buf, &records);
    save("log", name, &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&records);
}

static void seed_log(void)
{
    static const uint8_t zeros[64];
    const uint8_t readded[33] = {CAIRN_SLOT_ADDED, 8};
    struct cairn_buf buf = CAIRN_BUF_INIT, records = CAIRN_BUF_INIT;
    save_log("every-record", 99, "", 0);
    save_log("slot-added-again", CAIRN_LOG_KEY, readded, sizeof(readded));
    save_log("bad-unknown-tag", 17, "", 0);
    save_log("bad-short-id", CAIRN_LOG_FORGET, zeros, 31);
    save_log("bad-long-segment", CAIRN_LOG_SEGMENT, zeros, 41);
    save_log("bad-level", CAIRN_LOG_LEVEL, "\5", 1);
    save_log("bad-pack-level", CAIRN_LOG_PACK_LEVEL, zeros, 33);
    save_log("bad-key-change", CAIRN_LOG_KEY, zeros, 33);
    save_log("bad-setting", CAIRN_LOG_SETTING, "\2\1\1", 3);
    save_log("bad-genesis", CAIRN_LOG_GENESIS, zeros, 56);
    cairn_log_put_bytes(&records, CAIRN_LOG_CHECKPOINT, "", 0);
    put_genesis(&records);
    put_records(&records);
    put_log_entry(&buf, &records);
    put_log_entry(&buf, &records);
    save("log", "checkpoints", &buf);
    cairn_buf_clear(&records);
    put_records(&records);
    put_log_entry(&buf, &records);
    save("log", "bad-no-genesis", &buf);
    cairn_buf_release(&buf);
    cairn_buf_release(&records);
}

static void seed_slot(void)
{
    static const uint8_t header[CAIRN_SLOT_HEADER_BYTES], root[32] = {9}, secret[32] = {1, 2, 3};
    struct cairn_slot slot = {.kind = CAIRN_SLOT_KEY_FILE, .created = 5, .label = "label"};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    char key_file[CAIRN_KEY_FILE_BYTES];
    if (cairn_slot_make(header, &slot, CAIRN_AEAD_AES_256_GCM, secret, 32, root, &buf, NULL) != 0)
        exit(1);
    save_changed("slot", "bad-kind", &buf, 128, 3);
    save_changed("slot", "bad-derivation", &buf, 130, 1);
    save_changed("slot", "bad-commitment", &buf, 184, (uint8_t)~buf.data[184]);
    save_changed("slot", "bad-wrapped-key", &buf, 216, (uint8_t)~buf.data[216]);
    save_changed("slot", "bad-label-length", &buf, 265, 1);
    cairn_store_u16(buf.data + 128, CAIRN_SLOT_PASSWORD);
    cairn_store_u16(buf.data + 130, 1);
    cairn_store_u32(buf.data + 132, UINT32_MAX);
    save("slot", "bad-memory", &buf);
    if (cairn_slot_make(header, &slot, CAIRN_AEAD_AES_256_GCM, secret, 32, root, &buf, NULL) != 0)
        exit(1);
    save("slot", "key-file-slot", &buf);
    cairn_key_file_format(key_file, secret);
    cairn_buf_put(&buf, key_file, sizeof(key_file));
    save_changed("slot", "bad-key-file-digit", &buf, 20, 'g');
    save_changed("slot", "bad-key-file-end", &buf, buf.len - 1, '0');
    save("slot", "key-file", &buf);
    cairn_buf_release(&buf);
}

/* A plain length, then the text compressed, twice if asked for. */
static void save_codec(const char *name, uint32_t plain_len, const void *before, size_t before_len,
                       int times)
{
    static char plain[2000];
    uint8_t packed[4000];
    size_t packed_len = 0;
    struct cairn_codec *codec = NULL;
    struct cairn_buf buf = CAIRN_BUF_INIT;
    memset(plain, 'x', sizeof(plain));
    memcpy(plain + 900, "cairn cairn stone stone", 23);
    if (cairn_codec_new(&codec, NULL) != CAIRN_OK ||
        cairn_codec_compress(codec, 3, plain, sizeof(plain), packed, sizeof(packed), &packed_len,
                             NULL) != CAIRN_OK)
        exit(1);
    cairn_buf_put_u32(&buf, plain_len);
    cairn_buf_put(&buf, before, before_len);
    for (int i = 0; i < times; i++)
        cairn_buf_put(&buf, packed, packed_len);
    save("codec", name, &buf);
    cairn_codec_free(codec);
    cairn_buf_release(&buf);
}

static void seed_codec(void)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
    /* No content size; a window of 128 MiB; one raw block of one byte. */
    static const uint8_t window[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x09, 0, 0, 'x'};
    /* A single segment of 2 GiB in one repeated block. */
    static const uint8_t huge[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x80, 0x03, 0, 0x10, 'x'};
    /* Names dictionary 7. */
    static const uint8_t dictionary[] = {0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 1, 0x09, 0, 0, 'x'};
    save_codec("text", 2000, NULL, 0, 1);
    save_codec("bad-plain-length", 1999, NULL, 0, 1);
    save_codec("bad-two-frames", 4000, NULL, 0, 2);
    save_codec("bad-skippable-frame", 2000, skippable, sizeof(skippable), 1);
    save_codec("bad-window", 1, window, sizeof(window), 0);
    save_codec("bad-size", 1 << 20, huge, sizeof(huge), 0);
    save_codec("bad-dictionary", 1, dictionary, sizeof(dictionary), 0);
}

static void seed_chunker(void)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    uint64_t random = 1;
    cairn_buf_put(&buf, "\x10\5\7", 3);
    for (int i = 0; i < 512; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        cairn_buf_put_u64(&buf, random);
    }
    save("chunker", "noise", &buf);
    cairn_buf_put(&buf, "\xff\0\xff", 3);
    cairn_buf_put_zero(&buf, 300);
    save("chunker", "zeros", &buf);
    cairn_buf_release(&buf);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: make_seeds CORPUS\n");
        return 2;
    }
    corpus = argv[1];
    (void)mkdir(corpus, 0777);
    seed_header();
    seed_pack();
    seed_run();
    seed_entry();
    seed_tree();
    seed_content();
    seed_changes();
    seed_manifest();
    seed_log();
    seed_slot();
    seed_codec();
    seed_chunker();
    return 0;
}
