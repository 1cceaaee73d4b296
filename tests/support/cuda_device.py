#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whether kernels can be built and run on a GPU here: exit 0 and its name, or exit 77
and which of nvcc, the driver and the device is missing, with what to do."""
import ctypes
import shutil
import sys

NO_DEVICE = 100


def absent(reason):
    print(f"no tests on a GPU: {reason}", file=sys.stderr)
    sys.exit(77)


def main():
    if not shutil.which("nvcc"):
        absent("there is no nvcc in PATH or in CUDA_PATH/bin: install the CUDA "
               "toolkit, 12.0 or later")
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        absent(f"there is no CUDA driver ({error}): install that of NVIDIA for the GPU")
    status = driver.cuInit(0)
    count = ctypes.c_int(0)
    if status == 0:
        status = driver.cuDeviceGetCount(ctypes.byref(count))
    if status == NO_DEVICE or (status == 0 and count.value == 0):
        absent("there is a CUDA driver, but no GPU that it can use: see nvidia-smi, "
               "CUDA_VISIBLE_DEVICES, and whether this container is given one")
    if status != 0:
        absent(f"the CUDA driver answers with error {status}: see nvidia-smi")
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, len(name), 0) != 0:
        absent("the CUDA driver does not name its first GPU: see nvidia-smi")
    print(name.value.decode(errors="replace"))


main()
