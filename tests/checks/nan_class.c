/* SPDX-License-Identifier: MIT
 *
 * Plants it, and holds the finding against what was planted.
 */
#include "nan_class.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

/* The cfg with the layer wherever "%d" stands. */
static void write_cfg(char *out, const char *cfg, int layer)
{
    for (; *cfg; cfg++)
        if (cfg[0] == '%' && cfg[1] == 'd') {
            *out++ = (char)('0' + layer);
            cfg++;
        } else {
            *out++ = *cfg;
        }
    *out = '\0';
}

static void plant(live *l, const nan_class *c, int layer, const char *only)
{
    wrong_op op = c->op;
    wrong_token token = c->token;
    struct txd_override override = {.layer = layer, .install = c->install, .self = &op};
    txd_tap tap = wrong_token_tap(&token);
    live_plant planted = {.tap = token.value != 0 ? &tap : NULL,
                          .override = c->install ? &override : NULL};
    char cfg[2048];

    token.layer = layer;
    ck_assert_uint_lt(strlen(c->cfg), sizeof cfg);
    write_cfg(cfg, c->cfg, layer);
    live_run_planted(l, cfg, only, &planted);
    ck_assert_msg(l->inapplicable == NULL, "%s", l->inapplicable);
    ck_assert(token.value == 0 || token.set > 0);
}

/* Finds the first value that is not finite, among what the causal mask shows. */
typedef struct witness {
    const nan_class *c;
    int layer;
    bool is_found;
    spot at;
} witness;

static unsigned ask_witness(void *self, const txd_site *site)
{
    const witness *w = self;
    char name[96];

    snprintf(name, sizeof name, "layers.%d.%s", w->layer, w->c->point);
    return strcmp(site->name, name) == 0 ? TXD_ASK_VALUE : 0;
}

static txd_status look(void *self, const txd_block *block, const void *slot)
{
    size_t count = txd_tensor_count(&block->value);
    int rank = block->value.rank;
    witness *w = self;

    (void)slot;
    for (size_t i = 0; i < count && !w->is_found; i++) {
        size_t at[TXD_MAX_RANK], rest = i;

        for (int axis = rank; axis-- > 0; rest /= block->value.dims[axis])
            at[axis] = block->start[axis] + rest % block->value.dims[axis];
        if ((rank == 4 && at[3] > at[2]) || isfinite(txd_tensor_get(&block->value, i)))
            continue;
        w->is_found = true;
        w->at = rank == 4 ? (spot){(int)at[0], (int)at[1], (int)at[2], (int)at[3]}
                          : (spot){(int)at[0], -1, (int)at[1], -1};
    }
    return TXD_OK;
}

/* Where the first is, by another look. */
static spot find(const nan_class *c, int layer)
{
    wrong_op op = c->op;
    witness w = {.c = c, .layer = layer};
    struct txd_override override = {.layer = layer, .install = c->install, .self = &op};
    txd_tap tap = {.name = "witness",
                   .self = &w,
                   .gradients = true,
                   .ask = ask_witness,
                   .merge = look};
    live_plant planted = {.tap = &tap, .override = c->install ? &override : NULL};
    char cfg[2048];
    live l;

    write_cfg(cfg, c->cfg, layer);
    live_run_planted(&l, cfg, "finite", &planted);
    live_finish(&l);
    ck_assert_msg(w.is_found, "layer %d: no %s is infinite", layer, c->point);
    return w.at;
}

static void expect_words(const txd_finding *finding, const char *words)
{
    ck_assert_msg(strstr(finding->message, words) != NULL, "%s: no \"%s\"",
                  finding->message, words);
}

static void expect_at(const nan_class *c, int layer)
{
    const txd_finding *finding;
    const txd_result *r;
    char site[96];
    spot at;
    live l;

    plant(&l, c, layer, "finite");
    r = live_result(&l, "finite");
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "layer %d: %s", layer,
                  txd_verdict_name(r->verdict));
    ck_assert_uint_eq(r->finding_count, 1);
    finding = r->findings;
    snprintf(site, sizeof site, "layers.%d.%s", layer, c->point);
    ck_assert_msg(strcmp(finding->site, site) == 0, "%s: %s", finding->site,
                  finding->message);
    ck_assert_int_eq(finding->layer, layer);
    at = c->is_sought ? find(c, layer) : c->at;
    ck_assert_msg(finding->batch == at.batch && finding->head == at.head &&
                      finding->query == at.query && finding->key == at.key,
                  "at %d %d %d %d: %s", (int)finding->batch, (int)finding->head,
                  (int)finding->query, (int)finding->key, finding->message);
    expect_words(finding, c->operands);
    expect_words(finding, c->cause);
    live_finish(&l);
}

void nan_class_expect(const nan_class *c)
{
    for (int layer = 0; layer < NAN_LAYERS; layer++)
        expect_at(c, layer);
}

void nan_class_expect_finite(const nan_class *c, const char *law)
{
    for (int layer = 0; layer < NAN_LAYERS; layer++) {
        live l;

        plant(&l, c, layer, law ? law : live_watching());
        for (size_t i = 0; i < l.count; i++)
            ck_assert_msg(law ? l.results[i].verdict == TXD_VERDICT_FAIL
                              : l.results[i].verdict != TXD_VERDICT_FAIL &&
                                    l.results[i].verdict != TXD_VERDICT_WARN &&
                                    l.results[i].verdict != TXD_VERDICT_OPEN,
                          "layer %d: %s: %s", layer, l.results[i].check,
                          l.results[i].finding_count ? l.results[i].findings[0].message
                                                     : l.results[i].note);
        live_finish(&l);
        plant(&l, c, layer, "finite");
        ck_assert_int_eq(live_result(&l, "finite")->verdict, TXD_VERDICT_PASS);
        live_finish(&l);
    }
}

void nan_class_expect_healthy(const char *cfg)
{
    const nan_class c = {.cfg = cfg};
    live l;

    plant(&l, &c, 0, "finite");
    ck_assert_int_eq(live_result(&l, "finite")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
}

void nan_class_expect_harmless(const nan_class *c)
{
    nan_class alone = *c;

    alone.install = NULL;
    for (int layer = 0; layer < NAN_LAYERS; layer++) {
        live l;

        plant(&l, &alone, layer, "finite");
        ck_assert_int_eq(live_result(&l, "finite")->verdict, TXD_VERDICT_PASS);
        live_finish(&l);
    }
}
