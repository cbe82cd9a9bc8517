#!/bin/sh
# SPDX-License-Identifier: MIT
# What programs that are linked already would miss, or what is new and not listed yet.
exec sh package/abi.sh check
