"""Reads the flag tables of installed programs, in the interpreter that has them.

This package runs over there, where smgcfg is not installed: standard library only, for Python 3.8 and newer, and its
modules import each other by relative names. What it prints is JSON; `smgcfg.drift.ask` runs it.
"""
