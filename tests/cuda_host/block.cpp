/* SPDX-License-Identifier: MIT
 *
 * The threads of a block. A thread runs until it waits or ends; then those whose wait
 * is over go on, else one that has not begun does, on the fibre of one that has ended
 * if there is one: threads that never wait follow each other without a switch.
 */
#include "block.h"

#include <new>
#include <string.h>

#include "fibre.h"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;
__thread void *emulated_shared_memory;

namespace emulated
{

enum : unsigned { WARP = 32, MOST_WARPS = MOST_THREADS / WARP };

enum state : unsigned char { NOT_BEGUN, RUNS, WAITS, ENDED };

struct thread {
    fibre *on;
    uint64_t value;
    const char *file;
    int line;
    unsigned mask, source;
    uint3 index;
    emulated_wait wait;
    state now;
};

/* All that a thread of the host needs to run blocks: made at its first launch, kept
 * until it ends. */
struct machine {
    thread threads[MOST_THREADS];
    uint16_t order[MOST_THREADS];
    uint16_t lanes[MOST_THREADS]; /* the same, warp after warp */
    uint16_t ready[MOST_THREADS]; /* a ring */
    unsigned first_ready, ready_count;
    unsigned waiting[MOST_WARPS]; /* lanes at a shuffle or vote */
    unsigned count, begun, ended, at_barrier, current;
    fibre host;
    fibre *idle[MOST_THREADS];
    unsigned idle_count, fibres;
};

static __thread machine *own;

static void body();

static const char *name_of(emulated_wait wait)
{
    static const char *const names[EMULATED_WAITS] = {
        "the barrier", "the barrier of its warp", "the shuffle", "the vote"};

    return names[wait];
}

static void resume(machine *m, unsigned t)
{
    m->current = t;
    threadIdx = m->threads[t].index;
}

static unsigned pop_ready(machine *m)
{
    unsigned t = m->ready[m->first_ready];

    m->first_ready = (m->first_ready + 1) % MOST_THREADS;
    m->ready_count--;
    return t;
}

static void push_ready(machine *m, unsigned t)
{
    m->threads[t].now = RUNS;
    m->ready[(m->first_ready + m->ready_count++) % MOST_THREADS] =
        static_cast<uint16_t>(t);
}

/* Describes why thread `t` will never go on. */
[[noreturn]] static void stuck(machine *m, unsigned t)
{
    const thread &waits = m->threads[t];
    bool barrier = waits.wait == EMULATED_BARRIER;

    for (unsigned other = 0; other < m->count; other++) {
        const thread &o = m->threads[other];
        bool in_warp = other / WARP == t / WARP && (waits.mask >> other % WARP & 1);

        if (!barrier && !in_warp)
            continue;
        if (o.now == ENDED)
            blame(t, "waits at %s of %s:%d, but thread (%u,%u,%u) has ended",
                  name_of(waits.wait), waits.file, waits.line, o.index.x, o.index.y,
                  o.index.z);
        if (o.now == WAITS && (o.wait != waits.wait || o.mask != waits.mask))
            blame(t,
                  "waits at %s of %s:%d, but thread (%u,%u,%u) waits at %s of %s:%d%s",
                  name_of(waits.wait), waits.file, waits.line, o.index.x, o.index.y,
                  o.index.z, name_of(o.wait), o.file, o.line,
                  o.wait == waits.wait ? " with another mask" : "");
    }
    blame(t,
          "waits at %s of %s:%d with mask 0x%08x, which names lanes that are not there",
          name_of(waits.wait), waits.file, waits.line, waits.mask);
}

[[noreturn]] static void stuck(machine *m)
{
    for (unsigned wait = EMULATED_WAITS; wait-- > 0;)
        for (unsigned t = 0; t < m->count; t++)
            if (m->threads[t].now == WAITS &&
                m->threads[t].wait == static_cast<emulated_wait>(wait))
                stuck(m, t);
    blame(m->current, "never ended");
}

/* A fibre on which the next thread may begin. */
static fibre *idle_fibre(machine *m)
{
    fibre *one;

    if (m->idle_count)
        return m->idle[--m->idle_count];
    one = fibre_new(body, m->fibres++);
    if (!one)
        blame(m->current, "has no stack: out of memory");
    return one;
}

static void begin_next(machine *m, fibre *on)
{
    unsigned t = m->order[m->begun++];

    m->threads[t].on = on;
    m->threads[t].now = RUNS;
    resume(m, t);
}

/* Gives way for a thread that waits; returns when its wait is over. */
static void give_way(machine *m, fibre *from)
{
    fibre *to;

    if (m->ready_count) {
        unsigned next = pop_ready(m);

        to = m->threads[next].on;
        resume(m, next);
    } else if (m->begun < m->count) {
        to = idle_fibre(m);
        begin_next(m, to);
    } else {
        stuck(m);
    }
    if (to != from)
        fibre_switch(from, to);
}

/* What a fibre does: runs threads, and stands idle between. */
static void body()
{
    machine *m = own;
    fibre *self = m->threads[m->current].on;

    fibre_begin();
    for (;;) {
        here.work->call(here.work->self);
        m->threads[m->current].now = ENDED;
        m->ended++;
        if (!m->ready_count && m->begun < m->count) {
            begin_next(m, self);
            continue;
        }
        m->idle[m->idle_count++] = self;
        if (m->ready_count) {
            unsigned next = pop_ready(m);

            resume(m, next);
            fibre_switch(self, m->threads[next].on);
        } else if (m->ended == m->count) {
            fibre_switch(self, &m->host);
        } else {
            stuck(m);
        }
    }
}

/* Ends with its thread. No kernel runs then: all fibres are idle. */
struct owner {
    machine *kept = nullptr;

    ~owner()
    {
        for (unsigned i = 0; kept && i < kept->idle_count; i++)
            fibre_free(kept->idle[i]);
        if (kept)
            fibre_free_point(kept->host.point);
        delete kept;
        own = nullptr;
    }
};

static bool prepare()
{
    static thread_local owner owner;

    if (own)
        return true;
    own = owner.kept = new (std::nothrow) machine();
    if (own)
        own->host = fibre_here();
    return own != nullptr;
}

static void sort_lanes(machine *m)
{
    unsigned sorted[MOST_WARPS] = {};

    for (unsigned i = 0; i < m->count; i++) {
        unsigned warp = m->order[i] / WARP;

        m->lanes[warp * WARP + sorted[warp]++] = m->order[i];
    }
}

bool block_prepare(const emulated_work &work)
{
    dim3 size = work.block;
    machine *m;

    if (!prepare())
        return false;
    m = own;
    m->count = size.x * size.y * size.z;
    thread_order(m->order, m->count);
    sort_lanes(m);
    for (unsigned t = 0; t < m->count; t++)
        m->threads[t].index = {t % size.x, t / size.x % size.y, t / size.x / size.y};
    return true;
}

void block_run()
{
    machine *m = own;
    fibre *first = idle_fibre(m);

    for (unsigned t = 0; t < m->count; t++)
        m->threads[t].now = NOT_BEGUN;
    m->begun = m->ended = m->at_barrier = 0;
    begin_next(m, first);
    fibre_switch(&m->host, first);
}

unsigned block_thread()
{
    return own ? own->current : 0;
}

static void wait_here(machine *m, emulated_wait wait, unsigned mask, const char *file,
                      int line)
{
    thread &t = m->threads[m->current];

    t.wait = wait;
    t.mask = mask;
    t.file = file;
    t.line = line;
    t.now = WAITS;
}

static bool same_place(const thread &a, const thread &b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* All threads are at a barrier: it must be one. */
static void release_block(machine *m)
{
    const thread &first = m->threads[m->order[0]];

    m->at_barrier = 0;
    for (unsigned i = 0; i < m->count; i++) {
        const thread &t = m->threads[m->order[i]];

        if (!same_place(t, first))
            blame(
                m->order[i],
                "waits at the barrier of %s:%d, but thread (%u,%u,%u) at that of %s:%d",
                t.file, t.line, first.index.x, first.index.y, first.index.z, first.file,
                first.line);
        push_ready(m, m->order[i]);
    }
}

static void check_lane(machine *m, unsigned t, const thread &last)
{
    const thread &lane = m->threads[t];

    if (lane.wait != last.wait || lane.mask != last.mask)
        stuck(m, m->current);
    if (lane.wait == EMULATED_SHUFFLE && !(last.mask >> lane.source & 1))
        blame(
            t,
            "reads lane %u by the shuffle of %s:%d, whose mask 0x%08x does not name it",
            lane.source, lane.file, lane.line, lane.mask);
}

/* All lanes of the last one's mask are there: what each of them gets. */
static void release_lanes(machine *m, unsigned warp, const thread &last)
{
    uint64_t values[WARP], votes = 0;

    m->waiting[warp] &= ~last.mask;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (last.mask >> lane & 1) {
            check_lane(m, warp * WARP + lane, last);
            values[lane] = m->threads[warp * WARP + lane].value;
            votes |= static_cast<uint64_t>(values[lane] != 0) << lane;
        }
    for (unsigned lane = 0; lane < WARP; lane++)
        if (last.mask >> lane & 1) {
            thread &one = m->threads[warp * WARP + lane];

            one.value = one.wait == EMULATED_SHUFFLE ? values[one.source] : votes;
        }
    for (unsigned i = warp * WARP; i < (warp + 1) * WARP && i < m->count; i++)
        if (last.mask >> m->lanes[i] % WARP & 1)
            push_ready(m, m->lanes[i]);
}

} // namespace emulated

using namespace emulated;

void emulated_barrier(const char *file, int line)
{
    machine *m = own;

    wait_here(m, EMULATED_BARRIER, 0, file, line);
    if (++m->at_barrier == m->count)
        release_block(m);
    give_way(m, m->threads[m->current].on);
}

unsigned emulated_lane()
{
    return own->current % WARP;
}

uint64_t emulated_exchange(emulated_wait wait, unsigned mask, uint64_t value,
                           unsigned source, const char *file, int line)
{
    machine *m = own;
    unsigned t = m->current, warp = t / WARP;
    thread &self = m->threads[t];

    if (!(mask >> t % WARP & 1))
        blame(t, "is not named by the mask 0x%08x of %s of %s:%d", mask, name_of(wait),
              file, line);
    wait_here(m, wait, mask, file, line);
    self.value = value;
    self.source = source;
    m->waiting[warp] |= 1u << t % WARP;
    if ((m->waiting[warp] & mask) == mask)
        release_lanes(m, warp, self);
    give_way(m, self.on);
    return self.value;
}
