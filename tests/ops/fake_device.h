/* SPDX-License-Identifier: MIT
 *
 * A device that is none: a backend whose memory is the host's, but holds every value
 * with its bits turned, so that whoever uses its memory without the backend's upload
 * and download gets nonsense.
 */
#ifndef TXD_TESTS_FAKE_DEVICE_H
#define TXD_TESTS_FAKE_DEVICE_H

#include "ops/ops.h"

/* Does on its memory what a backend of the host ("cpu32", "bf16") does there; the same
 * for the same name, and at most two names. Not for several threads at once. */
const txd_backend *fake_device(const char *host);

#endif
