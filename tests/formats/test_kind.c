/* SPDX-License-Identifier: MIT
 *
 * Files told apart by their first bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/kind.h"
#include "suite.h"

/* A string with its zero bytes, copied so that sanitizers see its end. */
#define KIND(bytes) kind_of(bytes, sizeof bytes - 1)

static txd_file_kind kind_of(const char *bytes, size_t count)
{
    unsigned char *copy = malloc(count ? count : 1);
    txd_file_kind kind;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, count);
    kind = txd_file_kind_of(copy, count);
    free(copy);
    return kind;
}

static txd_file_kind kind_of_archive(const char *member)
{
    char bytes[64] = "PK\x03\x04";

    bytes[26] = (char)strlen(member);
    memcpy(bytes + 30, member, strlen(member));
    return kind_of(bytes, 30 + strlen(member));
}

START_TEST(kinds_are_told_by_their_first_bytes)
{
    ck_assert_int_eq(KIND(""), TXD_FILE_EMPTY);
    ck_assert_int_eq(KIND("\x89HDF\r\n\x1a\n\0\0"), TXD_FILE_HDF5);
    ck_assert_int_eq(KIND("\x93NUMPY\x01\0"), TXD_FILE_NPY);
    ck_assert_int_eq(KIND("GGUF\x03\0\0\0"), TXD_FILE_GGUF);
    ck_assert_int_eq(KIND("\x80\x02}q\0."), TXD_FILE_TORCH);
    ck_assert_int_eq(KIND("\x89PNG\r\n\x1a\n\0"), TXD_FILE_PICTURE);
    ck_assert_int_eq(KIND("\x10\0\0\0\0\0\0\0{\"a\""), TXD_FILE_SAFETENSORS);
    ck_assert_int_eq(KIND(" \n{ \"model_type\": 1 }"), TXD_FILE_JSON);
    ck_assert_int_eq(KIND("model : { vocab = 3; };\n"), TXD_FILE_TEXT);
    ck_assert_int_eq(KIND("# Gr\xc3\xb6\xc3\x9f"), TXD_FILE_TEXT);
    ck_assert_int_eq(KIND("# Gr\xc3"), TXD_FILE_TEXT); /* cut in a character */
}
END_TEST

START_TEST(archives_are_told_by_their_first_member)
{
    ck_assert_int_eq(kind_of_archive("memory.npy"), TXD_FILE_NPZ);
    ck_assert_int_eq(kind_of_archive("archive/data.pkl"), TXD_FILE_TORCH);
    ck_assert_int_eq(kind_of_archive("notes.txt"), TXD_FILE_ZIP);
    ck_assert_int_eq(KIND("PK\x03\x04\x14"), TXD_FILE_ZIP);
    ck_assert_int_eq(KIND("PK\x05\x06\0\0"), TXD_FILE_ZIP);
}
END_TEST

START_TEST(what_is_none_of_them_is_something_else)
{
    ck_assert_int_eq(KIND("\x93NUM"), TXD_FILE_OTHER);
    ck_assert_int_eq(KIND("\0"), TXD_FILE_OTHER);
    ck_assert_int_eq(KIND("text\0text"), TXD_FILE_OTHER);
    ck_assert_int_eq(KIND("\xc3(x"), TXD_FILE_OTHER);
    ck_assert_int_eq(txd_file_kind_at("/nowhere/at/all"), TXD_FILE_OTHER);
    ck_assert_int_eq(txd_file_kind_at("/"), TXD_FILE_OTHER);
    ck_assert_str_eq(txd_file_kind_name(TXD_FILE_OTHER), "a file of another kind");
}
END_TEST

START_TEST(the_files_of_real_models_are_what_they_are_called)
{
    static const struct {
        const char *name;
        txd_file_kind kind;
    } files[] = {
        {"stories260K/model.safetensors", TXD_FILE_SAFETENSORS},
        {"stories260K/config.json", TXD_FILE_JSON},
        {"stories260K/stories260K-f16.gguf", TXD_FILE_GGUF},
        {"stories260K/stories260K.bin", TXD_FILE_LLAMA2C},
        {"stories260K/tok512.bin", TXD_FILE_OTHER},
        {"stories260K/golden/prompt_ids.npy", TXD_FILE_NPY},
        {"stories260K/PROVENANCE.txt", TXD_FILE_TEXT},
    };

    if (!test_model(files[0].name))
        test_skip(TEST_NO_MODEL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ck_assert_int_eq(txd_file_kind_at(test_model(files[i].name)), files[i].kind);
}
END_TEST

TEST_MAIN(kinds_are_told_by_their_first_bytes, archives_are_told_by_their_first_member,
          what_is_none_of_them_is_something_else,
          the_files_of_real_models_are_what_they_are_called)
