/* SPDX-License-Identifier: Apache-2.0
 *
 * A main for a fuzz target without a fuzzer: runs every file that is named, and every file of every
 * directory that is named, through it. Fails if there is none.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static size_t runs;

static int run_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &st) != 0) {
        perror(path);
        return 1;
    }
    /* Exactly as large as the file, so that a sanitizer sees its end. */
    const size_t size = (size_t)st.st_size;
    uint8_t *bytes = malloc(size ? size : 1);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) {
        perror(path);
        return 1;
    }
    (void)fclose(file);
    printf("%s\n", path); /* the last line names the input that ends the program */
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    runs++;
    return 0;
}

static int run_directory(const char *path)
{
    struct dirent **names;
    int failed = 0;
    const int count = scandir(path, &names, NULL, alphasort);
    if (count < 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        if (names[i]->d_name[0] != '.') {
            (void)snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
            failed |= run_file(file);
        }
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            failed |= run_directory(argv[i]);
        else
            failed |= run_file(argv[i]);
    }
    printf("%zu inputs\n", runs);
    return failed || runs == 0;
}
