/* SPDX-License-Identifier: MIT
 *
 * The tensors of a checkpoint by name, and the names that a family gives a parameter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/select.h"
#include "formats/checkpoint_internal.h"

static int compare_tensors(const void *a, const void *b)
{
    const txd_stored *first = a, *second = b;

    return strcmp(first->name, second->name);
}

txd_status txd_stored_index(txd_checkpoint *checkpoint)
{
    size_t count = txd_trace_count(checkpoint->trace);
    txd_stored *tensors = txd_arena_alloc(checkpoint->arena, count, sizeof *tensors);
    txd_trace_info info;

    if (!tensors)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        TXD_TRY(txd_trace_get(checkpoint->trace, &info, i));
        tensors[i] = (txd_stored){.name = info.name, .index = i};
    }
    if (count > 1)
        qsort(tensors, count, sizeof *tensors, compare_tensors);
    checkpoint->tensors = tensors;
    checkpoint->count = count;
    return TXD_OK;
}

txd_stored *txd_stored_find(const txd_checkpoint *checkpoint, const char *name)
{
    txd_stored wanted = {.name = name};

    if (checkpoint->count == 0)
        return NULL;
    return bsearch(&wanted, checkpoint->tensors, checkpoint->count, sizeof wanted,
                   compare_tensors);
}

/* NULL where the family has no such stack. */
static const txd_naming *naming_of(const txd_checkpoint *checkpoint, bool of_encoder)
{
    const txd_family *family =
        checkpoint->has_own_names ? &txd_family_own : checkpoint->reading.family;

    if (checkpoint->reading.naming && !checkpoint->has_own_names && !of_encoder)
        return checkpoint->reading.naming;
    if (checkpoint->reading.architecture && !checkpoint->has_own_names)
        return of_encoder            ? NULL
               : family->gguf_naming ? family->gguf_naming
                                     : &txd_gguf_naming;
    if (!of_encoder)
        return &family->naming;
    return family->encoder_naming.names ? &family->encoder_naming : NULL;
}

/* A tied head may be stored all the same: as another name of the embedding. */
static bool holds(const txd_tensor_name *name, const txd_checkpoint *checkpoint,
                  const txd_wanted *wanted)
{
    return name->id == wanted->id ||
           (name->id == TXD_PARAM_HEAD_WEIGHT && wanted->id == TXD_PARAM_EMBED_TOK &&
            checkpoint->config.tie_embeddings);
}

/* Whether a naming before `last`, in the chain from `first` on, names the parameter. */
static bool is_hidden(const txd_naming *first, const txd_naming *last, txd_param_id id)
{
    for (; first != last; first = first->rest)
        for (size_t i = 0; i < first->name_count; i++)
            if (first->names[i].id == id)
                return true;
    return false;
}

/* Entry `at` of a naming and of those that it follows; NULL where it is hidden, or past
 * the end, where *past is set. */
static const txd_tensor_name *entry_of(bool *past, const txd_naming *first, size_t at)
{
    for (const txd_naming *naming = first; naming; naming = naming->rest) {
        if (at < naming->name_count)
            return is_hidden(first, naming, naming->names[at].id) ? NULL
                                                                  : &naming->names[at];
        at -= naming->name_count;
    }
    *past = true;
    return NULL;
}

const txd_tensor_name *txd_stored_name(char text[TXD_NAME_BYTES],
                                       const txd_checkpoint *checkpoint,
                                       const txd_wanted *wanted, size_t *at)
{
    const txd_naming *naming = naming_of(checkpoint, wanted->of_encoder);
    const txd_tensor_name *name = NULL;
    bool past = naming == NULL;

    while (!past) {
        name = entry_of(&past, naming, *at);
        *at += !past;
        if (!name || !holds(name, checkpoint, wanted))
            continue;
        if (name->name[0] == '/')
            snprintf(text, TXD_NAME_BYTES, "%s", name->name + 1);
        else if (wanted->layer >= 0)
            snprintf(text, TXD_NAME_BYTES, "%s%s%d.%s", checkpoint->prefix,
                     naming->layer, wanted->layer, name->name);
        else
            snprintf(text, TXD_NAME_BYTES, "%s%s", checkpoint->prefix, name->name);
        return name;
    }
    return NULL;
}

/* The token embedding tells. */
void txd_stored_prefix(txd_checkpoint *checkpoint)
{
    static const txd_wanted embedding = {.id = TXD_PARAM_EMBED_TOK, .layer = -1};
    const txd_naming *naming = naming_of(checkpoint, false);
    char name[TXD_NAME_BYTES];

    for (size_t i = 0; naming->prefixes && naming->prefixes[i]; i++) {
        checkpoint->prefix = naming->prefixes[i];
        if (txd_source_exists(name, checkpoint, &embedding))
            return;
    }
    checkpoint->prefix = naming->prefixes ? naming->prefixes[0] : "";
}

static bool is_listed(const char *const *list, const char *name)
{
    for (; list && *list; list++) {
        size_t length = strlen(*list);

        if (strcmp(*list, name) == 0 ||
            ((*list)[length - 1] == '*' && strncmp(*list, name, length - 1) == 0))
            return true;
    }
    return false;
}

/* What follows "layers.12."; NULL if the name is of no layer. */
static const char *after_layer(const char *name, const char *layer)
{
    size_t length = strlen(layer), digits;

    if (strncmp(name, layer, length) != 0)
        return NULL;
    digits = strspn(name + length, "0123456789");
    if (digits == 0 || name[length + digits] != '.')
        return NULL;
    return name + length + digits + 1;
}

static bool is_buffer_of(const txd_naming *naming, const char *name)
{
    const char *in_layer = after_layer(name, naming->layer);

    for (; naming; naming = naming->rest)
        if (is_listed(naming->buffers, name) ||
            (in_layer && is_listed(naming->layer_buffers, in_layer)))
            return true;
    return false;
}

static bool is_buffer(const txd_checkpoint *checkpoint, const char *name)
{
    size_t prefix = strlen(checkpoint->prefix);

    if (strncmp(name, checkpoint->prefix, prefix) == 0)
        name += prefix;
    for (int i = 0; i < 2; i++) {
        const txd_naming *naming = naming_of(checkpoint, i == 1);

        if (naming && is_buffer_of(naming, name))
            return true;
    }
    return false;
}

txd_status txd_stored_refuse_classifier(const txd_checkpoint *checkpoint)
{
    static const char *const classifiers[] = {"score.weight",
                                              "classifier.weight",
                                              "qa_outputs.weight",
                                              "classification_head.dense.weight",
                                              "classifier.dense.weight",
                                              "cls.weight",
                                              NULL};
    static const txd_wanted head = {.id = TXD_PARAM_HEAD_WEIGHT, .layer = -1};
    char name[TXD_NAME_BYTES];

    if (txd_source_exists(name, checkpoint, &head) || checkpoint->config.head_transform)
        return TXD_OK;
    for (size_t i = 0; classifiers[i]; i++)
        if (txd_stored_find(checkpoint, classifiers[i]))
            return txd_fail(TXD_ERR_UNSUPPORTED,
                            "%s: tensor \"%s\": the head of a classifier, and there is "
                            "no language head; only models whose outputs are logits "
                            "over their vocabulary can be read",
                            checkpoint->path, classifiers[i]);
    return TXD_OK;
}

const char *txd_stored_placeless(const txd_checkpoint *checkpoint, const char *near)
{
    const char **names =
        txd_arena_alloc(checkpoint->arena, checkpoint->count, sizeof *names);
    const char *nearest;
    size_t count = 0;

    for (size_t i = 0; names && i < checkpoint->count; i++)
        if (!checkpoint->tensors[i].used &&
            !is_buffer(checkpoint, checkpoint->tensors[i].name))
            names[count++] = checkpoint->tensors[i].name;
    if (count == 0)
        return NULL;
    nearest = txd_nearest(near, names, count);
    return nearest ? nearest : names[0];
}

txd_status txd_stored_unused(const txd_checkpoint *checkpoint)
{
    const char *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < checkpoint->count; i++) {
        const txd_stored *tensor = &checkpoint->tensors[i];

        if (tensor->used || is_buffer(checkpoint, tensor->name))
            continue;
        first = first ? first : tensor->name;
        count++;
    }
    if (count == 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%.200s\"%s no place in a %s model as the "
                    "configuration describes it",
                    checkpoint->path, first, count == 1 ? " has" : " (and others) have",
                    checkpoint->reading.family->name);
}

bool txd_reading_has_tensor(const txd_reading *r, const char *name)
{
    return txd_stored_find(r->checkpoint, name) != NULL;
}
