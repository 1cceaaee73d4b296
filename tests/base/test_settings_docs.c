/* SPDX-License-Identifier: MIT
 *
 * Key tables as Markdown.
 */
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "formats/input_source.h"
#include "model/params.h"
#include "suite.h"

static const txd_key first[] = {
    {"seed", "int", "1", "", "0 to 9", "of all that is random"},
    {"mask.fill", "real|-inf", "\"-inf\"", "", "", "what a hidden score becomes"},
    {"faults[].name", "string", "required", "", "", "which"},
    {"mask.window", "int", "0", "positions", "0 to 5", "how far back"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
static const txd_key second[] = {
    {"version", "int", "1", "", "1", "of the format"},
    {"mask.causal", "bool", "true", "", "", "no future"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

START_TEST(keys_are_grouped_by_section_in_table_order)
{
    static const char expected[] =
        "## At the top\n\n"
        "| key | type | default | unit | range | meaning |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `seed` | `int` | 1 |  | 0 to 9 | of all that is random |\n"
        "| `version` | `int` | 1 |  | 1 | of the format |\n"
        "\n## mask\n\n"
        "| key | type | default | unit | range | meaning |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `mask.fill` | `real\\|-inf` | \"-inf\" |  |  | what a hidden score becomes "
        "|\n"
        "| `mask.window` | `int` | 0 | positions | 0 to 5 | how far back |\n"
        "| `mask.causal` | `bool` | true |  |  | no future |\n"
        "\n## faults\n\n"
        "| key | type | default | unit | range | meaning |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `faults[].name` | `string` | required |  |  | which |\n";
    const txd_key *const tables[] = {first, second, NULL};
    txd_text text;

    txd_text_init(&text);
    txd_keys_markdown(&text, tables);
    ck_assert_int_eq(txd_text_status(&text), TXD_OK);
    ck_assert_str_eq(txd_text_get(&text), expected);
    txd_text_finish(&text);
}
END_TEST

START_TEST(every_key_of_the_model_and_input_is_on_the_page_once)
{
    const txd_key *const tables[] = {txd_config_keys, txd_weights_keys, txd_input_keys,
                                     NULL};
    txd_text text;

    txd_text_init(&text);
    txd_keys_markdown(&text, tables);
    for (size_t t = 0; tables[t]; t++) {
        for (const txd_key *key = tables[t]; key->path; key++) {
            char row[128];
            const char *found;

            snprintf(row, sizeof row, "| `%s` |", key->path);
            found = strstr(txd_text_get(&text), row);
            ck_assert_msg(found != NULL, "no row of %s", key->path);
            ck_assert_ptr_null(strstr(found + 1, row));
            ck_assert_msg(*key->sentence != '\0', "%s says nothing", key->path);
        }
    }
    txd_text_finish(&text);
}
END_TEST

TEST_MAIN(keys_are_grouped_by_section_in_table_order,
          every_key_of_the_model_and_input_is_on_the_page_once)
