/* SPDX-License-Identifier: MIT
 *
 * Every key of model.cfg: the tables of all areas, joined.
 */
#ifndef TXD_CLI_KEYS_H
#define TXD_CLI_KEYS_H

#include "txd.h"

/* All tables, ended by NULL, in `arena`. */
txd_status txd_keys_all(const txd_key *const **out, txd_arena *arena);

/* Those of a rules file: `checks` and `waivers`. */
txd_status txd_keys_rules(const txd_key *const **out, txd_arena *arena);

#endif
