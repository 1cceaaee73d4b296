/* SPDX-License-Identifier: MIT
 *
 * The byte budget of a recording: before a run, the points that `full` records are
 * thinned until the file will fit, the largest first: every second, fourth, ... step,
 * then layer, then nothing of it. What remains is written as uses of `full` like any
 * others, so that whoever reads the recording knows what is not there.
 */
#include <stdio.h>
#include <string.h>

#include "probes/common.h"
#include "probes/recorder.h"

/* What `full` records of one name, with a star for the layer where all layers that its
 * use selects are meant. */
typedef struct group {
    const char *name;
    size_t bytes;
    size_t steps, layers; /* every n-th */
    bool has_layers, is_dropped;
} group;

typedef struct budget {
    txd_arena *arena;
    const txd_probe_context *context;
    txd_probe_use *uses; /* as asked for, those of `full` by name */
    size_t *group_of;    /* per use; SIZE_MAX = another probe's */
    txd_probe_use *left; /* thinned, without those that are dropped */
    size_t count, left_count;
    group *groups;
    size_t group_count;
} budget;

/* ---- uses by name ---- */

static bool is_full(const txd_probe_use *use)
{
    return strcmp(use->probe, txd_probe_full.name) == 0;
}

/* "layers.3.attn.q" becomes "layers.*.attn.q"; false if it has no layer. */
static bool star_name(char star[TXD_SITE_NAME_BYTES], const txd_site *site)
{
    char layer[32];
    const char *found;

    snprintf(layer, sizeof layer, ".%d.", site->layer);
    found = site->layer < 0 ? NULL : strstr(site->name, layer);
    if (!found)
        return false;
    snprintf(star, TXD_SITE_NAME_BYTES, "%.*s.*.%s", (int)(found - site->name),
             site->name, found + strlen(layer));
    return true;
}

/* Whether a use selects all layers of a name that its range allows. */
static bool selects_star(const txd_probe_use *use, const char *star,
                         const txd_probe_sites *sites)
{
    txd_probe_use alone = *use;

    alone.points = star;
    for (size_t i = 0; i < sites->count; i++)
        if (txd_probe_use_selects(&txd_probe_full, &alone, sites->names[i],
                                  sites->list[i].layer, -1) &&
            !txd_probe_use_selects(&txd_probe_full, use, sites->names[i],
                                   sites->list[i].layer, -1))
            return false;
    return true;
}

static size_t find_group(const budget *b, const char *name)
{
    size_t i = 0;

    while (i < b->group_count && strcmp(b->groups[i].name, name) != 0)
        i++;
    return i;
}

static txd_status add_use(budget *b, const txd_probe_use *use, const char *name,
                          bool has_layers)
{
    size_t at = find_group(b, name), first = b->count;

    while (first > 0 && b->uses[first - 1].setting == use->setting &&
           b->group_of[first - 1] != SIZE_MAX)
        if (b->group_of[--first] == at)
            return TXD_OK; /* of another layer */
    if (at == b->group_count) {
        name = txd_arena_string(b->arena, name);
        if (!name)
            return TXD_ERR_MEMORY;
        b->groups[b->group_count++] =
            (group){.name = name, .steps = 1, .layers = 1, .has_layers = has_layers};
    }
    b->uses[b->count] = *use;
    b->uses[b->count].points = b->groups[at].name;
    b->uses[b->count].next = NULL;
    b->group_of[b->count++] = at;
    return TXD_OK;
}

static txd_status add_names(budget *b, const txd_probe_use *use,
                            const txd_probe_sites all[TXD_SITE_KINDS])
{
    txd_probe_use alone = *use;

    alone.next = NULL;
    for (int kind = 0; kind < TXD_SITE_KINDS; kind++)
        for (size_t i = 0; i < all[kind].count; i++) {
            const txd_site *site = &all[kind].list[i];
            char star[TXD_SITE_NAME_BYTES];
            bool has_star;

            if (!txd_probe_use_selects(&txd_probe_full, &alone, site->name, site->layer,
                                       -1))
                continue;
            has_star = star_name(star, site) && selects_star(&alone, star, &all[kind]);
            TXD_TRY(add_use(b, &alone, has_star ? star : site->name, has_star));
        }
    return TXD_OK;
}

static txd_status explode(budget *b, const txd_probe_use *uses, size_t count)
{
    const txd_probe_use everything = {.points = "*,*@grad"};
    txd_probe_sites all[TXD_SITE_KINDS];
    size_t most = 0, room = 0;

    for (int kind = 0; kind < TXD_SITE_KINDS; kind++) {
        TXD_TRY(txd_probe_sites_find(&all[kind], b->arena, &txd_probe_full, &everything,
                                     b->context, (txd_site_kind)kind));
        most += all[kind].count;
    }
    for (size_t i = 0; i < count; i++)
        room += is_full(&uses[i]) ? most : 1;
    b->uses = txd_arena_alloc(b->arena, room, sizeof *b->uses);
    b->left = txd_arena_alloc(b->arena, room, sizeof *b->left);
    b->group_of = txd_arena_alloc(b->arena, room, sizeof *b->group_of);
    b->groups = txd_arena_alloc(b->arena, room, sizeof *b->groups);
    if (!b->uses || !b->left || !b->group_of || !b->groups)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (is_full(&uses[i])) {
            TXD_TRY(add_names(b, &uses[i], all));
            continue;
        }
        b->uses[b->count] = uses[i];
        b->group_of[b->count++] = SIZE_MAX;
    }
    return TXD_OK;
}

/* ---- thinner ---- */

static void every(txd_range *range, size_t n)
{
    if (n == 1)
        return;
    if (range->count == 0) {
        range->count = 1;
        range->parts[0].begin = 0;
        range->parts[0].end = SIZE_MAX;
        range->parts[0].every = n;
        return;
    }
    for (int i = 0; i < range->count; i++) {
        size_t *part = &range->parts[i].every;

        *part = *part > SIZE_MAX / n ? SIZE_MAX : *part * n;
    }
}

static void choose(budget *b)
{
    b->left_count = 0;
    for (size_t i = 0; i < b->count; i++) {
        const group *of =
            b->group_of[i] == SIZE_MAX ? NULL : &b->groups[b->group_of[i]];
        txd_probe_use *use = &b->left[b->left_count];

        *use = b->uses[i];
        if (of) {
            every(&use->steps, of->steps);
            every(&use->layers, of->layers);
        }
        b->left_count += !of || !of->is_dropped;
    }
}

static void thin(const budget *b, group *g)
{
    if (g->steps < b->context->steps)
        g->steps *= 2;
    else if (g->has_layers && g->layers < b->context->claimed->n_layers)
        g->layers *= 2;
    else
        g->is_dropped = true;
}

/* ---- bytes ---- */

static txd_status add_bytes(void *self, const txd_probe_dataset *dataset)
{
    budget *b = self;

    for (size_t i = 0; i < b->group_count; i++)
        if (!b->groups[i].is_dropped && txd_glob(b->groups[i].name, dataset->name)) {
            b->groups[i].bytes += txd_probe_dataset_bytes(dataset);
            return TXD_OK;
        }
    return TXD_OK;
}

static txd_status measure_full(budget *b, txd_arena *arena)
{
    const txd_probe_listing listing = {add_bytes, b};
    txd_probe_context dry = *b->context;
    txd_probe_use *first = NULL, *uses;
    txd_probe_frame *frame;

    dry.recording = NULL;
    dry.listing = &listing;
    uses = txd_arena_alloc(arena, b->left_count, sizeof *uses);
    if (!uses)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < b->left_count; i++) {
        uses[i] = b->left[i];
        if (!is_full(&uses[i]))
            continue;
        uses[i].next = first;
        first = &uses[i];
    }
    for (size_t i = 0; i < b->group_count; i++)
        b->groups[i].bytes = 0;
    if (!first)
        return TXD_OK;
    TXD_TRY(txd_probe_create(&frame, &txd_probe_full, first, &dry));
    txd_probe_destroy(frame);
    return TXD_OK;
}

static txd_status measure(size_t *total, budget *b)
{
    txd_recorder_cost cost = {0};
    txd_arena *arena = NULL;
    txd_status status;
    txd_text list;

    choose(b);
    txd_text_init(&list);
    status = txd_recorder_plan(&list, &cost, b->context, b->left, b->left_count);
    txd_text_finish(&list);
    TXD_TRY(status);
    TXD_TRY(txd_size_add(total, cost.disk, cost.wrong));
    TXD_TRY(txd_arena_create(&arena));
    status = measure_full(b, arena);
    txd_arena_destroy(arena);
    return status;
}

static group *largest(const budget *b)
{
    group *found = NULL;

    for (size_t i = 0; i < b->group_count; i++)
        if (!b->groups[i].is_dropped && (!found || b->groups[i].bytes > found->bytes))
            found = &b->groups[i];
    return found;
}

static void add_every(txd_text *out, size_t n, const char *what)
{
    bool second = n % 10 == 2 && n % 100 != 12;

    txd_text_addf(out, "every %zu%s %s", n, second ? "nd" : "th", what);
}

static void say(txd_text *out, const group *g)
{
    if (!g->is_dropped && g->steps == 1 && g->layers == 1)
        return;
    txd_text_addf(out, "%s%s: ", out->length ? "; " : "", g->name);
    if (g->is_dropped)
        txd_text_add(out, "left out");
    if (!g->is_dropped && g->steps > 1)
        add_every(out, g->steps, "step");
    if (!g->is_dropped && g->steps > 1 && g->layers > 1)
        txd_text_add(out, " of ");
    if (!g->is_dropped && g->layers > 1)
        add_every(out, g->layers, "layer");
}

static txd_status fit(budget *b, txd_text *said)
{
    size_t most = b->context->how.max_bytes, total;

    TXD_TRY(measure(&total, b));
    while (total > most) {
        group *g = largest(b);

        if (!g)
            return txd_fail(
                TXD_ERR_CONFIG,
                "recording.max_bytes is %zu, but the recording would take "
                "%zu bytes even without full values, with what it "
                "takes to list all that may be wrong; allow more, or record less "
                "(`run --dry-run` says what takes how much)",
                most, total);
        thin(b, g);
        TXD_TRY(measure(&total, b));
    }
    for (size_t i = 0; i < b->group_count; i++)
        say(said, &b->groups[i]);
    return txd_text_status(said);
}

txd_status txd_record_fit(txd_probe_use **uses, size_t *count, txd_arena *arena,
                          const txd_probe_context *context, txd_text *said)
{
    budget b = {.arena = arena, .context = context};

    if (context->how.max_bytes == 0)
        return TXD_OK;
    TXD_TRY(explode(&b, *uses, *count));
    TXD_TRY(fit(&b, said));
    /* Uses that nothing was taken from stay as they were written. */
    if (said->length == 0)
        return TXD_OK;
    *uses = b.left;
    *count = b.left_count;
    return TXD_OK;
}
