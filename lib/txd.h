/* SPDX-License-Identifier: MIT
 *
 * The one public header of the library: everything that probes, checks, figures and
 * programs around txdiag need.
 */
#ifndef TXD_H
#define TXD_H

#include "base/arena.h"
#include "base/compare.h"
#include "base/half.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/select.h"
#include "base/settings.h"
#include "base/signals.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text.h"
#include "base/trace.h"
#include "faults/faults.h"
#include "formats/cfg.h"
#include "formats/checkpoint.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/input_source.h"
#include "formats/json_read.h"
#include "formats/kind.h"
#include "formats/llama2c.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/recording.h"
#include "formats/replay.h"
#include "formats/safetensors.h"
#include "formats/sharded.h"
#include "formats/tokenizer.h"
#include "model/block.h"
#include "model/cache.h"
#include "model/bias.h"
#include "model/config.h"
#include "model/encoder.h"
#include "model/generate.h"
#include "model/inputs.h"
#include "model/operands.h"
#include "model/params.h"
#include "model/points.h"
#include "model/rope.h"
#include "model/run.h"
#include "model/taps.h"
#include "ops/kernels.h"
#include "ops/rows.h"
#include "ops/stats.h"

#endif
