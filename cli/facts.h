/* SPDX-License-Identifier: MIT
 *
 * What `info` found out about a file: facts, the entries of a trace, a configuration,
 * verdicts. Collected once, then written as text or JSON.
 */
#ifndef TXD_CLI_FACTS_H
#define TXD_CLI_FACTS_H

#include "txd.h"

#define TXD_FACTS_MAX 48

typedef struct txd_fact {
    const char *name;
    const char *text; /* NULL: a number */
    double number;
} txd_fact;

typedef struct txd_facts {
    txd_arena *arena;
    txd_fact list[TXD_FACTS_MAX];
    size_t count;
    const char *entry_word;   /* "datasets", "tensors" */
    const txd_trace *entries; /* NULL = none */
    const char *config;       /* in model.cfg syntax; NULL = none */
    const char **laws, **verdicts;
    size_t verdict_count;
} txd_facts;

/* Adds a fact; the text is copied, NULL is left out. */
void txd_facts_text(txd_facts *facts, const char *name, const char *text);
void txd_facts_number(txd_facts *facts, const char *name, double number);

/* "byte-level BPE, 50257 tokens, begin <s>, end </s>" as the fact "tokenizer". */
void txd_facts_tokenizer(txd_facts *facts, const txd_tokenizer *tokenizer);

/* Bytes of all entries of a trace. */
double txd_facts_bytes(const txd_trace *trace);

/* Writes everything. */
void txd_facts_print(txd_text *out, const txd_facts *facts);
void txd_facts_json(txd_text *out, const txd_facts *facts);

#endif
