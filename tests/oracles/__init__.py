"""The real programs as judges of what smgcfg writes and reads.

Start with `tokenspeed.oracle()` and `smg.oracle()`: `oracle().parse(argv)` gives what the real parser reads, or raises
`parsing.Refused`. `argv_strategies.lines(flags)` generates command lines, good and bad.
"""
