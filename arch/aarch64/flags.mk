# SPDX-License-Identifier: MIT
# Landing pads and signed return addresses, which context.S has too. The unwind tables must hold at
# every instruction, for signals and for the switch that stands inside functions.
ARCH_CFLAGS := -mbranch-protection=standard -fasynchronous-unwind-tables
