# SPDX-License-Identifier: MIT
# Landing pads, which context.S has too; not =full, which would claim shadow stacks. The unwind tables
# must hold at every instruction, for signals and for the switch that stands inside functions.
ARCH_CFLAGS := -fcf-protection=branch -fasynchronous-unwind-tables
