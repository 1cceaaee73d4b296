/* SPDX-License-Identifier: MIT
 *
 * Interrupts: a signal sets a flag, the run finishes its step and closes its files.
 */
#ifndef TXD_CLI_INTERRUPT_H
#define TXD_CLI_INTERRUPT_H

/* From here on SIGINT, SIGTERM and SIGHUP are counted instead of ending the process,
 * and a file size limit makes a write fail instead of killing. */
void txd_interrupt_watch(void);

/* How many arrived: one asks to finish the step, two to stop where it is. */
int txd_interrupt_count(void);

#endif
